import { describe, expect, it } from "vitest";
import type { Want } from "../../../src/protocol/beats/beat.ts";
import {
  serveWants,
  type Serving,
  type ServingRecords,
} from "../../../src/protocol/beats/serving.ts";
import type { ChainPlace } from "../../../src/wire/places.ts";

const MINUTE = 60_000;
const MIDNIGHT = Date.parse("2026-06-02T00:00:00Z");
const id = (n: number): string => n.toString(16).padStart(64, "0");
const place = (seq: number, author = "forge"): ChainPlace => ({ author, seq, id: id(seq) });
const want = (first: number, last: number, author = "forge"): Want => ({
  first,
  last: place(last, author),
});

/** What one agent remembers, as a list; it holds 10,000 lines of everybody, and has named all of forge and ann. */
class Records implements ServingRecords {
  readonly done: (Serving & { readonly reader: string; readonly atMs: number })[] = [];
  nowMs = MIDNIGHT;
  isCarried = false;

  hasNamed({ author }: ChainPlace): boolean {
    return ["forge", "ann"].includes(author);
  }

  linesFor({ first, last: { author, seq } }: Want, limit: number) {
    const numbers = Array.from({ length: Math.min(limit, seq - first + 1) }, (_, at) => first + at);
    return numbers.map((each) => ({
      n: each + (author === "forge" ? 0 : 100_000),
      place: place(each, author),
    }));
  }

  servedMs(reader: string, n: number): number | undefined {
    return this.done.findLast((each) => each.reader === reader && each.n === n)?.atMs;
  }

  served(reader: string, sinceMs: number) {
    const today = this.done.filter((each) => each.reader === reader && each.atMs >= sinceMs);
    return { copies: today.filter(({ isCopy }) => isCopy).length, lines: today.length };
  }

  /** Numbers that are copied for a beat. */
  serve(wants: readonly Want[], reader = "scribe", isChained = true): number[] {
    const { nowMs, isCarried } = this;
    const servings = serveWants(
      this,
      reader,
      { isChained, wants },
      { nowMs, isCarried: () => isCarried },
    );
    this.done.push(...servings.map((each) => ({ ...each, reader, atMs: nowMs })));
    return servings.filter(({ isCopy }) => isCopy).map(({ place: { seq } }) => seq);
  }
}

describe("serving what others want", () => {
  it("copies the lines of what we have named, the lowest first", () => {
    const records = new Records();
    expect(records.serve([want(16, 18), want(2, 2, "ann"), want(1, 5, "mason")])).toEqual([
      ...[16, 17, 18, 2],
    ]);
  });

  it("copies at most 256 lines for a beat in all", () => {
    const records = new Records();
    const first = records.serve([want(1, 200), want(150, 400), want(1, 400, "ann")]);
    expect([first.length, Math.max(...first)]).toEqual([256, 256]);
  });

  it("copies what was copied before again only ten minutes later", () => {
    const records = new Records();
    expect(records.serve([want(1, 2)])).toEqual([1, 2]);
    records.nowMs += 10 * MINUTE - 1;
    expect(records.serve([want(1, 3)])).toEqual([3]);
    records.nowMs += 1;
    expect(records.serve([want(1, 3)])).toEqual([1, 2]);
  });

  it("leaves out what stands in its author's carrier, unless it is wanted again ten minutes later", () => {
    const records = new Records();
    records.isCarried = true;
    expect(records.serve([want(1, 2)])).toEqual([]);
    records.nowMs += 9 * MINUTE;
    expect(records.serve([want(1, 2)])).toEqual([]);
    records.nowMs += MINUTE;
    expect(records.serve([want(1, 2)])).toEqual([1, 2]);
    expect(records.serve([want(1, 2)], "ann")).toEqual([]);
  });

  it("copies at most 4,096 lines on a UTC day for one reader", () => {
    const records = new Records();
    let count = 0;
    for (let at = 0; at < 20; at += 1)
      count += records.serve([want(1 + at * 256, (at + 1) * 256)]).length;
    expect(count).toBe(4_096);
    expect(records.serve([want(1, 3)], "ann")).toEqual([1, 2, 3]);
    records.nowMs += 24 * 60 * MINUTE - 1;
    expect(records.serve([want(9_000, 9_001)])).toEqual([]);
    records.nowMs += 1;
    expect(records.serve([want(9_000, 9_001)])).toEqual([9_000, 9_001]);
  });

  it("takes wants of an unchained beat for lines of its author alone", () => {
    const records = new Records();
    expect(records.serve([want(1, 2), want(7, 7, "ann")], "ann", false)).toEqual([7]);
  });
});

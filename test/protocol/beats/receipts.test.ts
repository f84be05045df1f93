import { describe, expect, it } from "vitest";
import { hasRead, hasTakenIn } from "../../../src/protocol/beats/receipts.ts";
import type { ChainPlace, PlaceJson } from "../../../src/wire/places.ts";
import type { ModelLine } from "../../model/model.ts";
import { storeOf, Writer } from "../../support/chain-lines.ts";

const chainPlace = ([author, seq, id]: PlaceJson): ChainPlace => {
  if (seq === null) throw new Error("no place of a chain");
  return { author, seq, id };
};

/** `read` of the head of one place. */
function head(
  by: Writer,
  [author, seq, id]: PlaceJson,
  read: number,
  type = "heartbeat",
): PlaceJson {
  return by.say(type, "", { heads: { [author]: [seq, id, read] } });
}

function shown(lines: readonly ModelLine[], tip: PlaceJson, line: PlaceJson): string {
  const history = storeOf(lines).history("w");
  const [by, of] = [chainPlace(tip), chainPlace(line)];
  if (hasRead(history, by, of)) return "read";
  return hasTakenIn(history, by, of) ? "taken in" : "nothing";
}

describe("what heads prove of a line", () => {
  const forge = new Writer("forge");
  const [f1, f2, f3] = [1, 2, 3].map((n) => forge.say("ship", `t${n}`, {})) as [
    PlaceJson,
    PlaceJson,
    PlaceJson,
  ];

  it("is taken in, and read up to its number, from that beat on", () => {
    const scribe = new Writer("scribe");
    const s1 = scribe.say("ship", "t", {});
    const s2 = head(scribe, f2, 1);
    const s3 = scribe.say("ship", "t", {});
    const lines = [...forge.lines, ...scribe.lines];
    expect([s1, s2, s3].map((tip) => shown(lines, tip, f1))).toEqual(["nothing", "read", "read"]);
    expect([s1, s2, s3].map((tip) => shown(lines, tip, f2))).toEqual([
      "nothing",
      "taken in",
      "taken in",
    ]);
    expect(shown(lines, s3, f3)).toBe("nothing");
  });

  it("only rises along a branch, whatever a later beat says", () => {
    const scribe = new Writer("scribe");
    head(scribe, f3, 2);
    const lower = head(scribe, f1, 0);
    const lines = [...forge.lines, ...scribe.lines];
    expect([f1, f2, f3].map((line) => shown(lines, lower, line))).toEqual([
      "read",
      "read",
      "taken in",
    ]);
  });

  it("is nothing on another branch, in another type of line, and of a line that nobody holds", () => {
    const scribe = new Writer("scribe");
    const s1 = head(scribe, f3, 3, "ship");
    head(scribe, ["forge", 3, "0".repeat(64)], 3);
    const s3 = head(scribe, f3, 3);
    scribe.goBackTo(s1);
    const other = scribe.say("ship", "t", {});
    const lines = [...forge.lines, ...scribe.lines];
    expect([s1, s3, other].map((tip) => shown(lines, tip, f3))).toEqual([
      "nothing",
      "read",
      "nothing",
    ]);
  });

  it("is taken for the branch of the line alone, where its author has forked", () => {
    const author = new Writer("forge");
    const base = author.say("ship", "t", {});
    const left = author.say("ship", "left", {});
    author.goBackTo(base);
    const right = author.say("ship", "right", {});
    const scribe = new Writer("scribe");
    const tip = head(scribe, right, 2);
    const lines = [...author.lines, ...scribe.lines];
    expect([base, left, right].map((line) => shown(lines, tip, line))).toEqual([
      "read",
      "nothing",
      "read",
    ]);
  });

  it("counts from the moment on at which the line is held and linked", () => {
    const scribe = new Writer("scribe");
    const tip = head(scribe, f3, 3);
    const store = storeOf(scribe.lines);
    expect(hasTakenIn(store.history("w"), chainPlace(tip), chainPlace(f1))).toBe(false);
    const late = storeOf([...scribe.lines, ...forge.lines.toReversed()]);
    expect(hasTakenIn(late.history("w"), chainPlace(tip), chainPlace(f1))).toBe(true);
  });

  it("can be asked of all branches at once", () => {
    const scribe = new Writer("scribe");
    const s1 = scribe.say("ship", "t", {});
    head(scribe, f2, 2);
    scribe.goBackTo(s1);
    head(scribe, f3, 1);
    const history = storeOf([...forge.lines, ...scribe.lines]).history("w");
    const asked = [f1, f2, f3].map(chainPlace);
    expect(asked.map((line) => history.hasHead("scribe", line, "taken_in"))).toEqual([
      true,
      true,
      true,
    ]);
    expect(asked.map((line) => history.hasHead("scribe", line, "read"))).toEqual([
      true,
      true,
      false,
    ]);
  });
});

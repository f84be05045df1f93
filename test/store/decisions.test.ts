import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { NewEntry } from "../../src/store/decisions.ts";
import { storeOf } from "../support/chain-lines.ts";

const idOf = (text: string): string => createHash("sha256").update(text).digest("hex");

function entry(name: string, signer: string | undefined, proposal?: string): NewEntry {
  const about = proposal === undefined ? undefined : idOf(proposal);
  return { id: idOf(name), signer, proposal: about, bytes: Buffer.from(name) };
}

const many = (count: number, signer: string | undefined): NewEntry[] =>
  Array.from({ length: count }, (_, at) => entry(`${signer ?? "nobody"} ${at}`, signer));

describe("entries of decisions.jsonl in the store (spec 3.4.7)", () => {
  test("a flood of one signer, or of nobody, is bounded and keeps nobody else's entries out", () => {
    const store = storeOf([]);
    const { decisions } = store;
    store.write(() => {
      expect(decisions.add(many(3_000, "mallory"), 1)).toBe(false);
      expect(decisions.add(many(3_000, undefined), 1)).toBe(true);
      expect(decisions.add([entry("real", "forge", "p")], 1)).toBe(true);
    });
    const kept = decisions.due(10_000);
    const count = (signer: string | null): number =>
      kept.filter((each) => each.signer === signer).length;
    expect([count("mallory"), count(null), count("forge")]).toEqual([2_048, 64, 1]);
  });

  test("of one signer and proposal the first proved entry is kept, of two signers both", () => {
    const store = storeOf([]);
    const { decisions } = store;
    store.write(() => {
      const entries = ["one", "two"].map((name) => entry(name, "forge", "p"));
      decisions.add([...entries, entry("one", "scribe", "p")], 1);
      for (const { e } of decisions.due(9)) decisions.settle(e, "proved", "");
    });
    expect(decisions.proved(idOf("p")).map(({ signer }) => signer)).toEqual(["forge", "scribe"]);
  });

  test("what a reading of the whole file has not found is forgotten, and recorded again", () => {
    const store = storeOf([]);
    const { decisions } = store;
    const expected = { id: idOf("p"), at: 5, isContested: false };
    store.write(() => {
      decisions.expect(7, expected);
      decisions.add([entry("one", "forge", "p")], 1);
      for (const { e } of decisions.due(9)) decisions.settle(e, "proved", "");
    });
    expect(decisions.toRecord(9, 9)).toEqual([]);
    store.write(() => {
      decisions.forgetUnseen(2);
    });
    expect([decisions.toRecord(4, 9), decisions.nextAfter(4)]).toEqual([[], 5]);
    expect(decisions.toRecord(5, 9)).toEqual([7]);
  });
});

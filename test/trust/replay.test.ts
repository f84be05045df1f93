import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sha256Hex } from "../../src/wire/canonical.ts";
import { SeenIds } from "../../src/trust/replay.ts";

function idOf(n: number): string {
  return sha256Hex(Buffer.from(String(n)));
}

describe("seen ids", () => {
  test("are those that were added, with their first tag", () => {
    const seen = new SeenIds();
    seen.add(idOf(1), 0xffffffff);
    seen.add(idOf(1), 5);
    expect(seen.tagOf(idOf(1))).toBe(0xffffffff);
    expect([seen.has(idOf(1)), seen.has(idOf(2))]).toEqual([true, false]);
    expect(seen.size).toBe(1);
  });

  test("grow, and survive their text", () => {
    const seen = new SeenIds();
    for (let n = 0; n < 20_000; n += 1) seen.add(idOf(n), n);
    const restored = SeenIds.restore(seen.serialise());
    for (const set of [seen, restored]) {
      expect(set?.size).toBe(20_000);
      for (let n = 0; n < 20_000; n += 1) {
        if (set?.tagOf(idOf(n)) !== n) expect.fail(`lost ${n}`);
      }
      for (let n = 20_000; n < 40_000; n += 1) {
        if (set?.has(idOf(n))) expect.fail(`invented ${n}`);
      }
    }
  });

  test("go on growing after they were restored, at every size", () => {
    for (let size = 0; size <= 70; size += 1) {
      const before = new SeenIds();
      for (let n = 0; n < size; n += 1) before.add(idOf(n), n);
      const seen = SeenIds.restore(before.serialise());
      for (let n = size; n < size + 70; n += 1) seen?.add(idOf(n), n);
      for (let n = 0; n < size + 70; n += 1) expect(seen?.tagOf(idOf(n))).toBe(n);
    }
  });

  test("have a text in pieces, none of them long", () => {
    const seen = new SeenIds();
    expect([...seen.pieces()]).toEqual([]);
    for (let n = 0; n < 10_000; n += 1) seen.add(idOf(n), n);
    const pieces = [...seen.pieces()];
    expect(pieces.map(({ length }) => length)).toEqual([81_920, 81_920, 81_920, 20_908]);
    expect(pieces.join("")).toBe(seen.serialise());
  });

  test.each(["AAAA", "not base64", "=", "AA"])("are not restored from %j", (text) => {
    expect(SeenIds.restore(text)).toBeUndefined();
  });

  test("that share their first bits are kept apart", () => {
    const word = fc.integer({ min: 0, max: 3 });
    const hex = (n: number): string => n.toString(16).padStart(8, "0");
    // Ids made of few words fall on the same slots again and again.
    const ids = fc
      .tuple(word, word, word, word)
      .map((words) => words.map(hex).join("").padEnd(64, "0"));
    fc.assert(
      fc.property(fc.array(fc.tuple(ids, fc.nat()), { maxLength: 200 }), (added) => {
        const seen = new SeenIds();
        const model = new Map<string, number>();
        for (const [id, tag] of added) {
          seen.add(id, tag);
          if (!model.has(id)) model.set(id, tag);
        }
        expect(seen.size).toBe(model.size);
        for (const [id, tag] of model) expect(seen.tagOf(id)).toBe(tag);
        expect(SeenIds.restore(seen.serialise())?.serialise()).toBe(seen.serialise());
      }),
    );
  });
});

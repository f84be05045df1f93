import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sha256Hex } from "../../src/wire/canonical.ts";
import { IdTable, wordsOf } from "../../src/admission/rules/id-table.ts";

const SALT = 0x5eed;

function idOf(n: number): string {
  return sha256Hex(Buffer.from(String(n)));
}

function add(table: IdTable, id: string, tag: number, seq = 0): void {
  table.add({ words: wordsOf(id), tag, seq });
}

function tagOf(table: IdTable | undefined, id: string): number | undefined {
  return table?.tagOf(wordsOf(id));
}

describe("a table of ids", () => {
  test("are those that were added, with their first tag", () => {
    const seen = new IdTable(SALT);
    add(seen, idOf(1), 0xffffffff);
    add(seen, idOf(1), 5);
    expect(tagOf(seen, idOf(1))).toBe(0xffffffff);
    expect(tagOf(seen, idOf(2))).toBeUndefined();
    expect(seen.size).toBe(1);
  });

  test("are given back whole, whatever their tag and place in the chain", () => {
    const seen = new IdTable(SALT);
    const seqs = [0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER];
    for (const [n, seq] of seqs.entries()) add(seen, idOf(n), n, seq);
    const restored = IdTable.restore(seen.serialise(), SALT + 1);
    const entries = seqs.map((seq, n) => ({ words: wordsOf(idOf(n)), tag: n, seq }));
    for (const set of [seen, restored]) expect([...(set?.entries() ?? [])]).toEqual(entries);
  });

  test("grow, and survive their text", () => {
    const seen = new IdTable(SALT);
    for (let n = 0; n < 20_000; n += 1) add(seen, idOf(n), n);
    const restored = IdTable.restore(seen.serialise(), SALT + 1);
    for (const set of [seen, restored]) {
      expect(set?.size).toBe(20_000);
      for (let n = 0; n < 20_000; n += 1) {
        if (tagOf(set, idOf(n)) !== n) expect.fail(`lost ${n}`);
      }
      for (let n = 20_000; n < 40_000; n += 1) {
        if (tagOf(set, idOf(n)) !== undefined) expect.fail(`invented ${n}`);
      }
    }
  });

  test("go on growing after they were restored, at every size", () => {
    for (let size = 0; size <= 70; size += 1) {
      const before = new IdTable(SALT);
      for (let n = 0; n < size; n += 1) add(before, idOf(n), n);
      const seen = IdTable.restore(before.serialise(), SALT + 1) ?? expect.fail("not restored");
      for (let n = size; n < size + 70; n += 1) add(seen, idOf(n), n);
      for (let n = 0; n < size + 70; n += 1) expect(tagOf(seen, idOf(n))).toBe(n);
    }
  });

  test("have a text in pieces, none of them long", () => {
    const seen = new IdTable(SALT);
    expect([...seen.pieces()]).toEqual([]);
    for (let n = 0; n < 10_000; n += 1) add(seen, idOf(n), n);
    const pieces = [...seen.pieces()];
    expect(pieces.map(({ length }) => length)).toEqual([86_016, 86_016, 86_016, 86_016, 29_272]);
    expect(pieces.join("")).toBe(seen.serialise());
  });

  test.each(["AAAA", "not base64", "=", "AA"])("are not restored from %j", (text) => {
    expect(IdTable.restore(text, SALT)).toBeUndefined();
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
        const seen = new IdTable(SALT);
        const model = new Map<string, number>();
        for (const [id, tag] of added) {
          add(seen, id, tag);
          if (!model.has(id)) model.set(id, tag);
        }
        expect(seen.size).toBe(model.size);
        for (const [id, tag] of model) expect(tagOf(seen, id)).toBe(tag);
        expect(IdTable.restore(seen.serialise(), SALT + 1)?.serialise()).toBe(seen.serialise());
      }),
    );
  });

  test("that their author has searched for cost no more than others", () => {
    const COUNT = 20_000;
    // The last 16 bits of the first word of all are the same: 65,536 tries for each.
    const ground = (n: number) => ((n << 16) | 0x1234).toString(16).padStart(8, "0");
    const ids = Array.from({ length: COUNT }, (_, n) => ground(n) + idOf(n).slice(8));
    for (const salt of [0, SALT, 0xffffffff]) {
      const seen = new IdTable(salt);
      for (const [n, id] of ids.entries()) add(seen, id, n);
      for (const [n, id] of ids.entries()) if (tagOf(seen, id) !== n) expect.fail(`lost ${n}`);
      const restored = IdTable.restore(seen.serialise(), salt + 1);
      // Four questions for each id: added, asked for, and put into grown tables about twice.
      expect(seen.probes / COUNT).toBeLessThan(8);
      expect((restored?.probes ?? 0) / COUNT).toBeLessThan(2);
    }
  });

  test("that were searched for with one salt are as good as any with another", () => {
    // Who knew the salt could fill one corner of the table.
    const known = new IdTable(SALT);
    const crowded: string[] = [];
    for (let n = 0; crowded.length < 200; n += 1) {
      const before = known.probes;
      add(known, idOf(n), n);
      if (known.probes - before > 3) crowded.push(idOf(n));
    }
    const other = new IdTable(SALT + 1);
    for (const id of crowded) add(other, id, 1);
    expect(other.probes / crowded.length).toBeLessThan(6);
  });
});

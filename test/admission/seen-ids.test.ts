import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { sha256Hex } from "../../src/wire/canonical.ts";
import { IdTable, type IdEntry } from "../../src/admission/rules/id-table.ts";
import { SeenIds, type ShownRows } from "../../src/admission/rules/seen-ids.ts";

const SALT = 0x5eed;

/** As a line of a log: its id follows from all that it says, its place too. */
function line(seq: number | undefined, body: number) {
  return { id: sha256Hex(Buffer.from(`${seq ?? "none"} ${body}`)), ...(seq && { seq }) };
}

/** Rows in memory. */
class Rows implements ShownRows {
  mark = "";
  reads = 0;
  rows: IdEntry[] = [];

  at(row: number): IdEntry {
    this.reads += 1;
    const found = this.rows[row];
    return found ?? expect.fail(`no row ${row} was written`);
  }

  write(kept: number, rows: readonly IdEntry[]): void {
    if (kept > this.rows.length) expect.fail("a hole between the rows");
    if (kept === 0) this.mark = `${this.mark}x`;
    this.rows = [...this.rows.slice(0, kept), ...rows];
  }
}

describe("the ids that a log has shown", () => {
  test("are those that were added, with their first tag", () => {
    const seen = new SeenIds(SALT);
    seen.add(line(1, 1), 0xffffffff);
    seen.add(line(1, 1), 5);
    expect(seen.tagOf(line(1, 1))).toBe(0xffffffff);
    expect([seen.has(line(1, 1)), seen.has(line(2, 1))]).toEqual([true, false]);
    expect(seen.size).toBe(1);
  });

  test("a long chain is not in memory, and the next line of it costs no look at the rows", () => {
    const seen = new SeenIds(SALT);
    const rows = new Rows();
    for (let seq = 1; seq <= 1_000; seq += 1) seen.add(line(seq, 0), seq);
    seen.add(line(undefined, 7), 7);
    seen.settle(rows);
    expect([seen.size, seen.lately, rows.rows.length]).toEqual([1_001, 1, 1_000]);
    expect(seen.saveApart().runs).toEqual([{ first: 1, count: 1_000 }]);
    expect(seen.has(line(1_001, 0))).toBe(false);
    expect(rows.reads).toBe(0);
    expect([seen.tagOf(line(500, 0)), seen.tagOf(line(500, 1))]).toEqual([500, undefined]);
    expect(rows.reads).toBe(2);
    expect(seen.tagOf(line(undefined, 7))).toBe(7);
  });

  test("a line that is known outside memory keeps its first tag", () => {
    const seen = new SeenIds(SALT);
    seen.add(line(1, 0), 1);
    seen.settle(new Rows());
    seen.add(line(1, 0), 2);
    expect(seen.tagOf(line(1, 0))).toBe(1);
    seen.unsettle();
    expect(seen.tagOf(line(1, 0))).toBe(1);
  });

  test("a log with many gaps costs memory, not looks at many rows", () => {
    const seen = new SeenIds(SALT);
    const rows = new Rows();
    for (let seq = 1; seq <= 1_000; seq += 1) seen.add(line(2 * seq, 0), seq);
    seen.settle(rows);
    expect([rows.rows.length, seen.lately]).toEqual([64, 936]);
    for (let seq = 1; seq <= 1_000; seq += 1) expect(seen.tagOf(line(2 * seq, 0))).toBe(seq);
    expect(rows.reads).toBe(64);
  });

  test("are in nothing that is saved where they were taken back into memory", () => {
    const seen = new SeenIds(SALT);
    const [first, second] = [new Rows(), new Rows()];
    for (let seq = 1; seq <= 9; seq += 1) seen.add(line(seq, 0), seq);
    seen.settle(first);
    seen.unsettle();
    expect([seen.lately, seen.saveApart().runs]).toEqual([9, []]);
    expect(seen.tagOf({ id: line(4, 0).id })).toBe(4);
    seen.settle(second);
    expect(second.rows).toEqual(first.rows);
  });

  test("are taken back once: a log that lacks a million lines asks for it a million times", () => {
    const seen = new SeenIds(SALT);
    const rows = new Rows();
    for (let seq = 1; seq <= 9; seq += 1) seen.add(line(seq, 0), seq);
    seen.settle(rows);
    seen.unsettle();
    const copied = vi.spyOn(IdTable.prototype, "add");
    for (let again = 0; again < 5; again += 1) seen.unsettle();
    expect([copied.mock.calls.length, rows.reads, seen.lately]).toEqual([0, 9, 9]);
    copied.mockRestore();
  });

  test("any order of acts gives the answers of one set", () => {
    const someLine = fc.record({
      seq: fc.option(fc.integer({ min: 1, max: 12 })),
      body: fc.nat(1),
    });
    const act = fc.oneof(
      { weight: 9, arbitrary: someLine.map((of) => ({ do: "add" as const, of })) },
      { weight: 3, arbitrary: fc.constant({ do: "settle" as const }) },
      { weight: 1, arbitrary: fc.constant({ do: "unsettle" as const }) },
      { weight: 2, arbitrary: fc.constant({ do: "restart" as const }) },
      { weight: 1, arbitrary: fc.constant({ do: "crash" as const }) },
    );
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        let rows = new Rows();
        let [seen, saved] = [new SeenIds(SALT), new SeenIds(SALT).save()];
        let [model, savedModel] = [new Map<string, number>(), new Map<string, number>()];
        const restored = () => {
          const isThere = saved.runs.length > 0;
          if (isThere && saved.mark !== rows.mark) return undefined;
          return SeenIds.restore(saved, SALT + 1, isThere ? rows : undefined);
        };
        for (const [tag, each] of acts.entries()) {
          if (each.do === "add") {
            const { id, seq } = line(each.of.seq ?? undefined, each.of.body);
            seen.add({ id, seq }, tag);
            if (!model.has(id)) model.set(id, tag);
          }
          if (each.do === "settle" || each.do === "restart") {
            seen.settle(rows);
            [saved, savedModel] = [seen.save(), new Map(model)];
          }
          if (each.do === "unsettle") seen.unsettle();
          if (each.do === "restart") seen = restored() ?? expect.fail("its own rows do not fit");
          if (each.do === "crash") {
            // What was saved last, with the rows as they are now; or nothing, where they do not fit.
            const before = restored();
            seen = before ?? new SeenIds(SALT);
            model = before === undefined ? new Map() : new Map(savedModel);
            if (before === undefined) rows = new Rows();
            if (before === undefined) [saved, savedModel] = [seen.save(), new Map()];
          }
        }
        expect(seen.size).toBeGreaterThanOrEqual(model.size);
        for (let seq = 0; seq <= 12; seq += 1) {
          for (const body of [0, 1]) {
            const asked = line(seq || undefined, body);
            expect(seen.tagOf(asked)).toBe(model.get(asked.id));
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

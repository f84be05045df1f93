import fc from "fast-check";
import { expect, test } from "vitest";
import { NoteColumns, type LineNote } from "../../src/audit/note-columns.ts";

const line = fc.oneof(
  fc.integer({ min: 1, max: 400 }),
  fc.integer({ min: 60_000, max: 70_000 }),
  fc.integer({ min: 1, max: 2 ** 32 - 2 }),
);
const at = fc.integer({ min: 0, max: 2_000_000_000_000 });
const tag = fc.integer({ min: 0, max: 2 ** 52 - 1 });
const note = fc.record({ at, length: fc.integer({ min: 0, max: 1_048_576 }), tag });
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ line, note }) },
  { weight: 1, arbitrary: fc.record({ to: at }) },
);

test("notes are what was set last, whatever lines a journal names", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const columns = new NoteColumns();
      const model = new Map<number, LineNote>();
      for (const each of steps) {
        if ("to" in each) {
          columns.lower(each.to);
          for (const [of, was] of model) {
            model.set(of, { ...was, at: Math.min(was.at, each.to) });
          }
        } else {
          columns.set(each.line, each.note);
          model.set(each.line, each.note);
        }
      }
      for (const of of [...model.keys(), 0, 17, 65_000, 2 ** 32 - 1]) {
        expect(columns.at(of)).toEqual(model.get(of));
      }
    }),
  );
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { authenticate } from "../../src/admission/authenticate.ts";
import {
  restoreLogAdmission,
  saveLogAdmission,
  type LogAdmission,
} from "../../src/admission/log-admission.ts";
import { admit, freshLog, judge, LOG, verified } from "./admission-scene.ts";
import {
  context,
  lineOf,
  NOON_MS,
  note,
  signV30,
  signV31,
  unsignedContext,
  type Fields,
} from "../trust/people.ts";

/** A chain of eight, a fork of it, and lines outside it: what a log could hold in any order. */
function possibleLines(): Uint8Array[] {
  const lines: Fields[] = [];
  for (let seq = 1; seq <= 8; seq += 1) {
    const prev = lines.at(-1)?.["event_id"];
    const link = prev === undefined ? {} : { prev };
    lines.push(signV31(note({ log: "alice_to_bob", seq, body: seq, ...link })));
  }
  const fork = signV31({ ...lines[4], body: "instead of line 5" });
  const outside = [signV31(note({ body: "v3.1" })), signV30(note({ body: "v3.0" }))];
  const plain = [...lines, ...lines, ...lines, fork, ...outside].map(lineOf);
  const respelled = new TextEncoder().encode(` ${JSON.stringify(lines[2])}`);
  return [...plain, respelled];
}

const LINES = possibleLines();
const someLines = fc.array(fc.constantFrom(...LINES), { maxLength: 30 });

function judgeAll(lines: readonly Uint8Array[], log: LogAdmission): string[] {
  return lines.map((line) => {
    return JSON.stringify(judge(line, log));
  });
}

test("a mutated line never throws, judges the same twice, and is accepted only unchanged", () => {
  const originals = LINES.slice(-5);
  const ids = new Set(originals.map((line) => verified(line).id));
  const edit = fc.record({
    at: fc.nat(),
    remove: fc.integer({ min: 0, max: 6 }),
    insert: fc.oneof(fc.uint8Array({ maxLength: 3 }), fc.constantFrom('"', "{", "\\u0000", ",")),
  });
  const mutated = fc
    .tuple(fc.constantFrom(...originals), fc.array(edit, { minLength: 1, maxLength: 3 }))
    .map(([line, edits]) => {
      let bytes = Buffer.from(line);
      for (const { at, remove, insert } of edits) {
        const place = at % (bytes.length + 1);
        const tail = bytes.subarray(place + remove);
        bytes = Buffer.concat([bytes.subarray(0, place), Buffer.from(insert as string), tail]);
      }
      return new Uint8Array(bytes);
    });
  fc.assert(
    fc.property(mutated, (line) => {
      const first = authenticate(line, { owner: "alice", log: LOG }, context());
      expect(authenticate(line, { owner: "alice", log: LOG }, context())).toEqual(first);
      if (first.ok) expect(ids).toContain(first.message.id);
    }),
    { numRuns: 3_000 },
  );
});

test("anything at all never throws", () => {
  const anything = fc.oneof(
    fc.uint8Array({ maxLength: 64 }),
    fc.json().map((text) => new TextEncoder().encode(text)),
    fc.dictionary(fc.constantFrom(...Object.keys(signV31(note()))), fc.jsonValue()).map(lineOf),
    fc
      .tuple(fc.constantFrom(...Object.keys(signV31(note()))), fc.jsonValue())
      .map(([key, value]) => lineOf({ ...signV31(note()), [key]: value })),
  );
  const open = unsignedContext({ signing: { enforceSigned: false, allowUnsignedFrom: [] } });
  fc.assert(
    fc.property(anything, fc.integer({ min: 0, max: 2 * NOON_MS }), (line, atMs) => {
      const result = authenticate(line, { owner: undefined, log: undefined }, open);
      if (result.ok) admit(result.message, freshLog(), open, atMs);
    }),
    { numRuns: 2_000 },
  );
});

test("admission is a function of what it is given", () => {
  fc.assert(
    fc.property(someLines, (lines) => {
      expect(judgeAll(lines, freshLog())).toEqual(judgeAll(lines, freshLog()));
    }),
  );
});

test("duplicates change nothing", () => {
  const withRepeats = fc
    .array(fc.tuple(fc.constantFrom(...LINES), fc.nat(2)), { maxLength: 20 })
    .map((items) => ({
      once: items.map(([line]) => line),
      repeated: items.flatMap(([line, more]) => Array<Uint8Array>(1 + more).fill(line)),
    }));
  fc.assert(
    fc.property(withRepeats, ({ once, repeated }) => {
      const one = freshLog();
      const other = freshLog();
      const accepted = (verdicts: string[]): string[] =>
        verdicts.filter((verdict) => verdict.includes('"accepted"'));
      expect(accepted(judgeAll(repeated, other))).toEqual(accepted(judgeAll(once, one)));
      expect(saveLogAdmission(other)).toEqual(saveLogAdmission(one));
    }),
  );
});

test("a checkpoint at any line changes no verdict", () => {
  fc.assert(
    fc.property(someLines, fc.nat(30), (lines, cut) => {
      const straight = freshLog();
      const whole = judgeAll(lines, straight);
      const before = freshLog();
      const head = judgeAll(lines.slice(0, cut), before);
      const saved = JSON.parse(JSON.stringify(saveLogAdmission(before))) as ReturnType<
        typeof saveLogAdmission
      >;
      const after = restoreLogAdmission(freshLog(), saved);
      if (after === undefined) throw new Error("not restored");
      expect([...head, ...judgeAll(lines.slice(cut), after)]).toEqual(whole);
      expect(saveLogAdmission(after)).toEqual(saveLogAdmission(straight));
    }),
  );
});

test("what the journal recalls leaves a log as live admission left it", () => {
  fc.assert(
    fc.property(someLines, (lines) => {
      const live = freshLog();
      const recalled = freshLog();
      for (const line of lines) {
        const message = verified(line);
        const verdict = admit(message, live, context(), NOON_MS);
        if (verdict.outcome === "wait" || verdict.outcome === "duplicate") continue;
        const reason = verdict.outcome === "refused" ? verdict.reason : undefined;
        admit(message, recalled, context(), NOON_MS, { mode: "recall", noted: { reason } });
      }
      expect(saveLogAdmission(recalled)).toEqual(saveLogAdmission(live));
    }),
  );
});

test("no line is accepted twice, and none after a fork", () => {
  fc.assert(
    fc.property(someLines, (lines) => {
      const log = freshLog();
      const accepted = new Set<string>();
      let forked = false;
      for (const line of lines) {
        const message = verified(line);
        const verdict = admit(message, log, context(), NOON_MS);
        if (verdict.outcome === "refused" && verdict.reason === "log_forked") forked = true;
        if (verdict.outcome !== "accepted") continue;
        expect(forked).toBe(false);
        expect(accepted).not.toContain(message.id);
        accepted.add(message.id);
      }
    }),
  );
});

import { describe, expect, test } from "vitest";
import { REFUSAL_REASONS, type RefusalReason } from "../../src/admission/checks.ts";
import { type LogAdmission } from "../../src/admission/log-admission.ts";
import type { Absences } from "../../src/wire/roster/members.ts";
import { admit, type Reader, freshLog, judge, short, verified } from "./admission-scene.ts";
import {
  alice,
  context,
  note,
  NOON_MS,
  peer,
  signV31,
  storeOf,
  type Fields,
} from "../trust/people.ts";

const LOG = "alice_to_bob";
const HOUR_MS = 3_600_000;

/** Which verdicts may differ between readers of one line, and that no other does. Spec 2.4. */
interface Case {
  readonly line: Fields;
  readonly shown?: readonly Fields[];
  /** The last of them has closed the log. */
  readonly isClosed?: boolean;
  readonly wireId?: string;
  readonly store?: ReturnType<typeof storeOf>;
  readonly receivedAtMs?: number;
  readonly left?: Absences;
}

const link = (seq: number, prev?: unknown) => ({
  log: LOG,
  seq,
  ...(prev === undefined ? {} : { prev }),
});
const first = signV31(note(link(1)));
const second = signV31(note({ ...link(2, first["event_id"]), body: "two" }));
const other = signV31(note({ ...link(2, first["event_id"]), body: "another two" }));
const plain = signV31(note({ body: "plain" }));
const stray = signV31(note({ to: ["carol"] }));
const untrusted = storeOf(peer(alice, "UNTRUSTED"));

/** Alice left after so many lines. */
function leftAfter(lines: number): Absences {
  const logs = new Map([[LOG, { lines, seq: lines, eventId: undefined }]]);
  return new Map([["alice", [{ atMs: NOON_MS, logs, back: undefined }]]]);
}

const CASES: readonly (readonly [reason: RefusalReason, is: Case])[] = [
  ["wrong_wire", { line: signV31(note({ wire: "another" })), wireId: "w1" }],
  ["unchained", { line: plain, shown: [first] }],
  ["left_member", { line: second, shown: [first], left: leftAfter(1) }],
  ["closed_log", { line: second, shown: [first], isClosed: true }],
  ["log_forked", { line: other, shown: [first, second] }],
  ["clock_skew", { line: first, receivedAtMs: NOON_MS - HOUR_MS }],
  ["replayed", { line: stray }],
  ["tier_refused", { line: first, store: untrusted }],
  ["body_too_large", { line: signV31(note({ ...link(1), body: "x".repeat(70_000) })) }],
  [
    "too_many_refs",
    { line: signV31(note({ ...link(1), refs: Array.from({ length: 65 }, () => "a") })) },
  ],
];

/** What an audit does not know without a note: which tier and which limits there were. */
const NOT_ASKED = new Set<RefusalReason>(["tier_refused", "body_too_large", "too_many_refs"]);

function verdictOf(is: Case, reading: Reader | undefined, receivedAtMs?: number): string {
  const ctx = context({
    ...(is.wireId === undefined ? {} : { wireId: is.wireId }),
    ...(is.store === undefined ? {} : { store: is.store }),
    ...(is.left === undefined ? {} : { left: is.left }),
  });
  const log: LogAdmission = freshLog();
  for (const line of is.shown ?? []) judge(line, log);
  if (is.isClosed === true) log.closing = { into: "alice", by: log.chain.head };
  const at = receivedAtMs ?? is.receivedAtMs ?? NOON_MS;
  return short(admit(verified(is.line), log, ctx, at, reading));
}

describe("the same line, judged by other readers", () => {
  test("every reason behind the signature is among the cases", () => {
    const behind = REFUSAL_REASONS.slice(REFUSAL_REASONS.indexOf("invalid_signature") + 1);
    expect(CASES.map(([reason]) => reason)).toEqual(behind);
  });

  test.each(CASES)("%s: live and in the journal", (reason, is) => {
    expect(verdictOf(is, undefined)).toBe(reason);
    expect(verdictOf(is, { mode: "recall", noted: { reason } })).toBe(reason);
    expect(verdictOf(is, { mode: "recall", noted: { reason: undefined } })).toBe("accepted");
  });

  test.each(CASES)("%s: in an audit with the journal", (reason, is) => {
    expect(verdictOf(is, { mode: "audit", noted: { reason } })).toBe(reason);
  });

  test.each(CASES)("%s: in an audit of the logs alone", (reason, is) => {
    // The line's own timestamp is its receipt time.
    const expected = reason === "clock_skew" || NOT_ASKED.has(reason) ? "accepted" : reason;
    expect(verdictOf(is, { mode: "audit" }, NOON_MS)).toBe(expected);
  });

  test("what our pins, clock and limits said then counts in an audit, not what the chain is", () => {
    const fork: Case = { line: other, shown: [first, second] };
    expect(verdictOf(fork, { mode: "audit", noted: { reason: undefined } })).toBe("log_forked");
    const outside: Case = { line: plain, shown: [first] };
    expect(verdictOf(outside, { mode: "audit", noted: { reason: undefined } })).toBe("accepted");
  });

  test("only a live reader waits", () => {
    const late: Case = { line: second };
    expect(verdictOf(late, undefined)).toBe("wait");
    expect(verdictOf(late, { mode: "audit" })).toBe("accepted");
  });
});

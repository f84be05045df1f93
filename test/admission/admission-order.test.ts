import { describe, expect, test } from "vitest";
import { authenticate } from "../../src/admission/authenticate.ts";
import { REFUSAL_REASONS, type RefusalReason } from "../../src/admission/checks.ts";
import { type LogAdmission } from "../../src/admission/log-admission.ts";
import { NOBODY_LEFT, type Absences } from "../../src/wire/roster/members.ts";
import { admit, freshLog, judge, short } from "./admission-scene.ts";
import {
  alice,
  bob,
  context,
  lineOf,
  NOON_MS,
  note,
  peer,
  pinned,
  signV31,
  storeOf,
  type Fields,
} from "../trust/people.ts";

type Faults = ReadonlySet<RefusalReason>;

const first = signV31(note({ wire: "w1", log: "alice_to_bob", seq: 1 }));

/** Alice left after her first line. */
const LEFT_AFTER_FIRST: Absences = new Map([
  [
    "alice",
    [
      {
        atMs: NOON_MS,
        logs: new Map([["alice_to_bob", { lines: 1, seq: 1, eventId: undefined }]]),
        back: undefined,
      },
    ],
  ],
]);

/** The second line of alice's log, wrong in just these ways. */
function faultyFields(faults: Faults): Fields {
  const fields = note({
    body: faults.has("body_too_large") ? "x".repeat(70_000) : "second",
    refs: faults.has("too_many_refs") ? Array.from({ length: 65 }, (_, at) => `${at}`) : [],
    ...(faults.has("schema") ? { subject: 5 } : {}),
    ...(faults.has("kind_mismatch") ? { kind: 100 } : {}),
    wire: faults.has("wrong_wire") ? "w2" : "w1",
    log: "alice_to_bob",
    ...(faults.has("unchained")
      ? {}
      : { seq: 2, prev: faults.has("log_forked") ? "00".repeat(32) : first["event_id"] }),
  });
  const signed = signV31(fields);
  return {
    ...signed,
    ...(faults.has("event_id_mismatch") ? { event_id: "00".repeat(32) } : {}),
    ...(faults.has("from_mismatch") ? { public_key_id: bob.signer.keyId } : {}),
    ...(faults.has("invalid_signature") ? { signature: first["signature"] } : {}),
    ...(faults.has("unsigned") ? { signature: undefined } : {}),
  };
}

function faultyLine(faults: Faults): Uint8Array {
  const text = new TextDecoder().decode(lineOf(faultyFields(faults)));
  const cut = faults.has("malformed") ? text.slice(0, -1) : text;
  return new TextEncoder().encode(faults.has("oversized") ? cut.padEnd(1_048_577) : cut);
}

function logAfterFirst(): LogAdmission {
  const log = freshLog();
  judge(first, log, context({ wireId: "w1" }));
  return log;
}

function verdictOf(faults: Faults): string {
  const author = peer(alice, faults.has("tier_refused") ? "UNTRUSTED" : "ATTESTED");
  const keys = [pinned(alice, !faults.has("untrusted_key"))];
  const left = faults.has("left_member") ? LEFT_AFTER_FIRST : NOBODY_LEFT;
  const ctx = context({ wireId: "w1", store: storeOf({ ...author, keys }), left });
  const owner = faults.has("wrong_file") ? "bob" : "alice";
  const result = authenticate(faultyLine(faults), { owner, log: "alice_to_bob" }, ctx);
  if (!result.ok) return result.reason;
  const log = logAfterFirst();
  if (faults.has("closed_log")) log.closing = { into: "alice", by: log.chain.head };
  if (faults.has("replayed")) log.seen.add(result.message, result.message.lineTag ^ 1);
  const atMs = faults.has("clock_skew") ? NOON_MS - 3_600_000 : NOON_MS;
  const verdict = admit(result.message, log, ctx, atMs);
  return short(verdict);
}

test("a line without fault is accepted", () => {
  expect(verdictOf(new Set())).toBe("accepted");
});

describe("the first check that fails decides", () => {
  test.each(REFUSAL_REASONS)("%s alone", (reason) => {
    expect(verdictOf(new Set([reason]))).toBe(reason);
  });

  const pairs = REFUSAL_REASONS.flatMap((earlier, at) =>
    REFUSAL_REASONS.slice(at + 1).map((later) => [earlier, later] as const),
  );
  // A line outside the chain cannot fork it.
  const possible = pairs.filter((pair) => pair.join() !== "unchained,log_forked");

  test.each(possible)("%s before %s", (earlier, later) => {
    expect(verdictOf(new Set([earlier, later]))).toBe(earlier);
  });

  test("all at once, and one after the other fixed", () => {
    const faults = new Set(REFUSAL_REASONS);
    for (const reason of REFUSAL_REASONS) {
      expect(verdictOf(faults)).toBe(reason === "log_forked" ? "clock_skew" : reason);
      faults.delete(reason);
      if (reason === "unchained") faults.delete("log_forked");
    }
  });
});

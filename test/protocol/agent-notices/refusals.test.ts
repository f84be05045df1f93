import { describe, expect, test } from "vitest";
import { refusalRemedy, refusalsOf } from "../../../src/protocol/agent-notices/refusals.ts";
import type { Refusal, SentMessage } from "../../../src/protocol/receipts/sent.ts";
import { lineEvent, NOON, WireScript } from "../../support/scripts/wire-script.ts";

const BEAT = lineEvent(new WireScript("pairwise", ["a", "b"]).beat("b_to_a", NOON), "a");

const refusal = (line: number, change: Partial<SentMessage> = {}, by = "b"): Refusal => ({
  message: {
    ...{ id: `m${line}`, log: "a_to_b", line, at: NOON, timestamp: "", type: "request" },
    ...{ subject: `subject ${line}`, correlationId: "t", receipts: new Map(), ...change },
  },
  by,
  reason: "too_many_refs",
});

const REMEDY = "(too_many_refs): it has too many references; send it again with fewer.";

describe("messages that a beat names as refused", () => {
  test("are one notice about the beat, by the first of them", () => {
    expect(refusalsOf([refusal(4)], BEAT)).toEqual([
      {
        kind: "refused",
        about: BEAT.message.id,
        text: `b refused your request "subject 4" ${REMEDY}`,
        peer: "b",
      },
    ]);
    const three = [refusal(4), refusal(2, { type: "proposal" }), refusal(3)];
    expect(refusalsOf(three, BEAT).map(({ text }) => text)).toEqual([
      `b refused your proposal "subject 2" and 2 more of your messages ${REMEDY}`,
    ]);
  });

  test("are one notice for each peer", () => {
    const two = [refusal(2, {}, "c"), refusal(1), refusal(3, {}, "c")];
    expect(refusalsOf(two, BEAT).map(({ peer, text }) => [peer, text])).toEqual([
      ["b", `b refused your request "subject 1" ${REMEDY}`],
      ["c", `c refused your request "subject 2" and 1 more of your messages ${REMEDY}`],
    ]);
  });

  test("are none where a daemon alone has written them, or no line came", () => {
    expect(refusalsOf([refusal(1, { type: "heartbeat" })], BEAT)).toEqual([]);
    const both = [refusal(1, { type: "trust_tier_announcement" }), refusal(2)];
    expect(refusalsOf(both, BEAT).map(({ text }) => text)).toEqual([
      `b refused your request "subject 2" ${REMEDY}`,
    ]);
    expect(refusalsOf([refusal(1)], { kind: "started", at: NOON })).toEqual([]);
    expect(refusalsOf([], BEAT)).toEqual([]);
  });
});

const DIGITS = "(deaddrop trust sas b)";
const DOCTOR = "your operator should run deaddrop doctor, and its operator deaddrop peer show";

test.each([
  [
    "tier_refused",
    "your tier there is too low for this type; ask its operator to raise it (deaddrop peers shows how far b trusts you), then send it again",
  ],
  [
    "body_too_large",
    "its body is too large there; put the text into a file, name it with --ref and send it again",
  ],
  ["too_many_refs", "it has too many references; send it again with fewer"],
  [
    "clock_skew",
    "it is dated ahead of the clock there; have both operators compare their clocks with a time server (timedatectl), then send it again",
  ],
  ["replayed", "it has that line already; there is nothing to do"],
  [
    "wrong_wire",
    "its configuration has another wire id; the operators have to compare their config.json",
  ],
  ["unchained", `it does not find the line in the chain of your log; ${DOCTOR}`],
  ["log_forked", `it does not find the line in the chain of your log; ${DOCTOR}`],
  ["left_member", "to it you are no member of this wire any more; ask its operator"],
  ["closed_log", "that log is closed; ask its operator which layout it uses"],
  [
    "foreign",
    `it could not prove that the line is yours; have your operator check that it has your key ${DIGITS}`,
  ],
  [
    "mixed",
    "its operator finds the reasons in its quarantine file; send it again when they are gone",
  ],
])("a refusal for %s comes with what to do about that", (reason, remedy) => {
  expect(refusalRemedy(reason, "b")).toBe(remedy);
});

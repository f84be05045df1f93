import { expect, test } from "vitest";
import { applyNotices, emptyNotices } from "../../../src/protocol/notices.ts";
import { headsFor } from "../../../src/protocol/receipts/own-heads.ts";
import { coverageAt } from "../../../src/protocol/logs/covering-beats.ts";
import { moment, ScriptedAgent } from "../../support/scripts/scripted-agent.ts";
import { lineEvent, NOON, scriptEnv, WireScript } from "../../support/scripts/wire-script.ts";

// A rewritten log that the operator takes again: its lines go on from those that it had. Spec 1.6.

const OURS = "forge_to_scribe";
const THEIRS = "scribe_to_forge";

/** Forge has read three lines of scribe, and reads two others that took their place. */
function begunAnew() {
  const old = new WireScript("pairwise", ["forge", "scribe"]);
  const forge = new ScriptedAgent(old, scriptEnv(old.layout, "forge"));
  for (const at of [1, 2, 3]) old.say(THEIRS, NOON + at, { type: "feedback" });
  forge.read(moment(NOON + 10));
  const before = headsFor(forge.receipts, forge.logs, OURS, forge.env)[THEIRS];
  const reset = { kind: "reset", at: NOON + 11, peer: "scribe" } as const;
  forge.fold({ ...reset, logs: [{ log: THEIRS, lines: 3 }, { log: OURS }] });
  const anew = new WireScript("pairwise", ["forge", "scribe"]);
  const lines = [1, 2].map((at) => anew.say(THEIRS, NOON + 20 + at, { type: "ship" }));
  const heads = () => headsFor(forge.receipts, forge.logs, OURS, forge.env)[THEIRS];
  const read = (refusedSecond = false) => {
    for (const line of lines) {
      const refused = refusedSecond && line === lines[1] ? ("tier_refused" as const) : undefined;
      forge.fold(lineEvent(line, "forge", { line: 3 + line.line, refused }));
    }
  };
  return { forge, before, lines, heads, read };
}

test("our heads count what is in it now, and name the newest line of it", () => {
  const { forge, before, lines, heads, read } = begunAnew();
  expect(before).toMatchObject({ lines: 3, seq: 3 });
  expect(heads()).toEqual({ lines: 0, read_lines: 0, refused: [] });
  read();
  const head = { lines: 2, seq: 2, event_id: lines[1]?.message.id, refused: [] };
  // Something of before is unread still.
  expect(heads()).toEqual({ ...head, read_lines: 0 });
  forge.fold({ kind: "read", ids: "all", at: NOON + 30 });
  expect(heads()).toEqual({ ...head, read_lines: 2 });
});

test("refusals are named by the number of the line as it is now", () => {
  const { heads, read } = begunAnew();
  read(true);
  expect(heads()?.refused).toEqual([[2, 2, "tier_refused"]]);
});

test("a range goes over no line that we have had before: to others it is there for the first time", () => {
  const { forge, heads } = begunAnew();
  const refused = { kind: "refused", log: THEIRS, at: NOON + 30, reason: "malformed" } as const;
  forge.fold({ ...refused, line: 4 });
  forge.fold({ kind: "skipped", log: THEIRS, line: 5, at: NOON + 30, isCopy: true });
  forge.fold({ ...refused, line: 6 });
  forge.fold({ kind: "skipped", log: THEIRS, line: 7, at: NOON + 30 });
  forge.fold({ ...refused, line: 8 });
  expect(heads()?.refused).toEqual([
    [1, 1, "foreign"],
    [3, 5, "foreign"],
  ]);
});

test("our beat covers the new lines, and marks nothing as read that is not", () => {
  const { forge, heads, read } = begunAnew();
  read();
  const unread = () => forge.receipts.taken.get(THEIRS)?.unread.lines;
  expect(unread()?.[0]).toBe(1);
  forge.say(OURS, moment(NOON + 40), { type: "heartbeat", body: { heads: { [THEIRS]: heads() } } });
  expect(coverageAt(forge.logs, OURS, 1, THEIRS)).toBe(5);
  expect(unread()).toEqual([1, 2, 3, 4, 5]);
  forge.fold({ kind: "read", ids: "all", at: NOON + 50 });
  forge.say(OURS, moment(NOON + 60), { type: "heartbeat", body: { heads: { [THEIRS]: heads() } } });
  expect(forge.receipts.taken.get(THEIRS)).toMatchObject({ readFloor: 5, unread: { lines: [] } });
});

test("a head that names a line of before counts as it counted then", () => {
  const { forge, before } = begunAnew();
  forge.say(OURS, moment(NOON + 40), { type: "heartbeat", body: { heads: { [THEIRS]: before } } });
  expect(coverageAt(forge.logs, OURS, 1, THEIRS)).toBe(3);
});

test("what the operator has decided is among the notices and silences none", () => {
  const state = emptyNotices();
  const logs = [{ log: THEIRS }, { log: "scribe_to_quill", lines: 4 }];
  applyNotices(state, { kind: "reset", at: NOON, peer: "scribe", logs });
  expect(state.notices).toEqual([
    {
      at: NOON,
      cause: "reset",
      peer: "scribe",
      subject: "the operator has decided about scribe",
      detail: "scribe_to_forge, scribe_to_quill",
    },
  ]);
  expect([state.told.size, state.recent.size]).toEqual([0, 0]);
});

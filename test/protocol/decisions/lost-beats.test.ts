import { expect, test } from "vitest";
import { apply } from "../../../src/protocol/core.ts";
import { proposalsView } from "../../../src/protocol/decisions/proposals-view.ts";
import { emptyState } from "../../../src/protocol/state.ts";
import {
  lineEvent,
  NOON,
  scriptEnv,
  WireScript,
  type ScriptLine,
} from "../../support/scripts/wire-script.ts";

// The proposer's log decides by its first beat that does. A reader who gets the answers late keeps
// the beats that count them, but not without end.
const BEATS = 20_000;

/** b ratifies with its first beat; the last ones count that the other side has rejected since. */
function logs() {
  const script = new WireScript("pairwise", ["a", "b"]);
  const { message } = script.say("b_to_a", NOON, { type: "proposal" });
  const thread = message.correlationId;
  const answer = (at: number, approve: boolean) =>
    script.say("a_to_b", at, { type: "ack", thread, body: { acks: message.id, approve } });
  answer(NOON + 1, true);
  const first = script.beat("b_to_a", NOON + 2, { a_to_b: { lines: 1 } });
  answer(NOON + 3, false);
  const last = script.beat("b_to_a", NOON + 4, { a_to_b: { lines: 2 } });
  const theirs = [...(script.lines.get("b_to_a") ?? [])];
  // Copies of the last one with another place and id: to compose so many takes long.
  for (let n = 1; n < BEATS; n += 1) {
    const id = n.toString(16).padStart(64, "0");
    const seq = (last.message.seq ?? 0) + n;
    theirs.push({ ...last, line: last.line + n, message: { ...last.message, id, seq } });
  }
  return { layout: script.layout, first, theirs, ours: script.lines.get("a_to_b") ?? [] };
}

function seenBy(lines: readonly ScriptLine[], { layout }: ReturnType<typeof logs>) {
  const env = scriptEnv(layout, "c");
  const state = emptyState();
  for (const line of lines) apply(state, lineEvent(line, "c"), env);
  const [proposal] = proposalsView(state.proposals, state.logs, env);
  return proposal;
}

test("no two readers tell different ends, however late the answers come to one of them", () => {
  const all = logs();
  const { theirs, ours, first } = all;
  const inTime = seenBy([...ours, ...theirs], all);
  expect([inTime?.status, inTime?.decided_by]).toEqual(["ratified", first.message.id]);
  const late = seenBy([...theirs, ...ours], all);
  expect([late?.status, late?.decided_by]).toEqual(["open", null]);
  expect(late?.waits_for).toMatch(/^nothing that can come: too many heartbeats of b /u);
});

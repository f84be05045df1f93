import { expect, test } from "vitest";
import { closingBody } from "../../src/wire/roster/closing.ts";
import { toPlain } from "../../src/wire/json/json.ts";
import { makeLayout, pairNames } from "../../src/wire/layout.ts";
import {
  newLogAdmission,
  restoreLogAdmission,
  saveLogAdmission,
  type LogAdmission,
} from "../../src/admission/log-admission.ts";
import { freshLog, judge, short } from "./admission-scene.ts";
import { alice, context, note, peer, signV31, storeOf, type Fields } from "../trust/people.ts";

const LOG = "alice_to_bob";
const ROSTER = ["alice", "bob", "carol"];
const moved = makeLayout("outbox", ROSTER, undefined, pairNames(ROSTER));
const closes = { type: "correction", body: toPlain(closingBody(LOG, "alice")) };

function closedLayoutLog(): LogAdmission {
  const log = moved.logs.get(LOG);
  if (log === undefined) throw new Error(`no log ${LOG}`);
  return newLogAdmission(log, moved, 1);
}

function chainOf(...contents: Fields[]): Fields[] {
  const lines: Fields[] = [];
  for (const [at, content] of contents.entries()) {
    const prev = lines.at(-1)?.["event_id"];
    const link = { log: LOG, seq: at + 1, ...(prev === undefined ? {} : { prev }) };
    lines.push(signV31(note({ ...link, body: `line ${at + 1}`, ...content })));
  }
  return lines;
}

const verdicts = (log: LogAdmission, lines: readonly Fields[], ctx = context()): string[] =>
  lines.map((line) => short(judge(line, log, ctx)));

test("a log takes nothing after the line that closes it", () => {
  const log = closedLayoutLog();
  expect(log.closing).toEqual({ into: "alice", by: undefined });
  const lines = chainOf({}, closes, {}, {});
  expect(verdicts(log, lines)).toEqual(["accepted", "accepted", "closed_log", "closed_log"]);
  expect(log.closing?.by).toEqual({ seq: 2, id: lines[1]?.["event_id"] });
  expect(log.chain.head?.seq).toBe(2);
});

test("a line that forks the chain after that holds nobody", () => {
  const log = closedLayoutLog();
  const [first, last] = chainOf({}, closes) as [Fields, Fields];
  const [, other] = chainOf({}, { body: "another line 2" }) as [Fields, Fields];
  expect(verdicts(log, [first, last, other])).toEqual(["accepted", "accepted", "closed_log"]);
  expect(log.held).toBeUndefined();
});

test("copies of its lines are duplicates, and what was missing is taken", () => {
  const log = closedLayoutLog();
  const [first, second, last] = chainOf({}, {}, closes) as [Fields, Fields, Fields];
  const seen = verdicts(log, [first, last, second, last, first]);
  expect(seen).toEqual(["accepted", "accepted", "accepted", "duplicate", "duplicate"]);
});

test("the log of an agent whose tier says nothing else is closed all the same", () => {
  const log = closedLayoutLog();
  const ctx = context({ store: storeOf(peer(alice, "UNTRUSTED")) });
  expect(verdicts(log, chainOf({ type: "heartbeat", body: {} }, closes, {}), ctx)).toEqual([
    "accepted",
    "tier_refused",
    "closed_log",
  ]);
});

test("without the change of layout it is a correction, and the log goes on", () => {
  const log = freshLog();
  expect(verdicts(log, chainOf({}, closes, {}))).toEqual(["accepted", "accepted", "accepted"]);
  expect(log.closing).toBeUndefined();
});

test("a checkpoint knows which line has closed the log", () => {
  const log = closedLayoutLog();
  const lines = chainOf({}, closes, {});
  verdicts(log, lines.slice(0, 2));
  const saved: unknown = JSON.parse(JSON.stringify(saveLogAdmission(log)));
  const restored = restoreLogAdmission(closedLayoutLog(), saved as never);
  expect(restored?.closing).toEqual(log.closing);
  expect(restored === undefined ? [] : verdicts(restored, lines.slice(2))).toEqual(["closed_log"]);
  const before = restoreLogAdmission(closedLayoutLog(), saveLogAdmission(closedLayoutLog()));
  expect(before?.closing?.by).toBeUndefined();
});

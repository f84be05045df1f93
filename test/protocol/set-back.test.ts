import { describe, expect, test } from "vitest";
import { apply } from "../../src/protocol/core.ts";
import type { CoreEvent } from "../../src/protocol/events.ts";
import { emptyState, type State } from "../../src/protocol/state.ts";
import { OutcomeScript } from "../support/scripts/outcome-script.ts";
import {
  hours,
  lineEvent,
  NOON,
  seconds,
  type ScriptLine,
} from "../support/scripts/wire-script.ts";

/** By our clock all lines came then; they are dated NOON and later. */
const AHEAD = NOON + hours(5);
/** The time to which our clock was set back. */
const NOW = NOON + hours(4) + 7;

const STEPS = [
  "b beats",
  "a beats",
  "a proposes P",
  "b proposes Q thread=second",
  "a asks R request=11111111 thread=third",
  "b approves R thread=third",
  "b approves unknown request=22222222 thread=third",
  "a claims C paths=src/**",
  "a incident I thread=fourth",
  "a incident J thread=fifth",
  "b beats",
  "b acks I thread=fourth",
  "b acks unknown thread=sixth",
];

/** What a has noted when all of these were received `at` that time. */
function noted(at: number): State {
  const script = new OutcomeScript("pairwise", ["a", "b"], STEPS);
  const state = emptyState();
  const env = script.env("a");
  const fold = (event: CoreEvent) => apply(state, event, env);
  const say = (log: string, type: string, body: object): ScriptLine =>
    script.script.say(log, NOON + seconds(60), { type, body, thread: "seventh" });
  const lines = [
    ...script.order,
    say("a_to_b", "incident", { resolves: script.idOf("I") }),
    say("a_to_b", "ack", { acks: "x", request_id: "33333333", approve: true, parks: true }),
  ];
  for (const line of lines) {
    const isHistory = line.message.id === script.idOf("J");
    fold(lineEvent(line, "a", { at, live: !isHistory }));
  }
  fold({ kind: "woken", by: "an earlier approval", at });
  fold({ kind: "keyed", key: { name: "key", digest: "digest" }, messages: [], at });
  fold({ kind: "told", key: "a matter", cause: "log_forked", peer: "b", at });
  fold({
    kind: "noticed",
    at,
    places: [0],
    notices: [{ at: "", id: "n-1", kind: "escalated", about: "x", text: "x", peer: "b" }],
  });
  return state;
}

/** The kinds of places in a state that hold a number of this range, each once. */
function placesOf(state: unknown, from: number, to: number): string[] {
  const found = new Set<string>();
  const look = (value: unknown, path: readonly string[]): void => {
    if (typeof value === "number" && value >= from && value <= to) found.add(path.join("."));
    if (typeof value !== "object" || value === null) return;
    const isMany = value instanceof Map || value instanceof Set || Array.isArray(value);
    const items: Iterable<unknown> = isMany ? value.values() : [];
    for (const item of items) look(item, [...path, "*"]);
    if (isMany) return;
    for (const [key, item] of Object.entries(value)) look(item, [...path, key]);
  };
  look(state, []);
  return [...found].sort();
}

const PLACES = [
  "agentNotices.recent.*.*",
  "claims.byLog.*.*.at",
  "heartbeats.agentLastSeen",
  "heartbeats.paces.*.intervalFrom",
  "heartbeats.parking.parked.at",
  "heartbeats.parking.woken.at",
  "heartbeats.peerBeats.*.at",
  "incidents.ahead.*.*.at",
  "incidents.declared.*.*.acks.*.at",
  "incidents.declared.*.*.at",
  "incidents.declared.*.*.shown.*.arrived.at",
  "incidents.declared.*.*.shown.*.read.at",
  "incidents.declared.*.*.shown.*.readLive.at",
  "logs.*.beats.*.at",
  "notices.notices.*.at",
  "notices.recent.*.*",
  "notices.told.*",
  "proposals.proposals.*.at",
  "proposals.proposals.*.readings.*.at",
  "receipts.sent.messages.*.at",
  "receipts.sent.messages.*.receipts.*.at",
  "receipts.taken.*.unread.ats.*",
  "requests.ahead.*.*.said.at",
  "requests.requests.*.answers.*.at",
  "requests.requests.*.at",
  "sendKeys.*.at",
  "threads.threads.*.messages.*.at",
];
/** The next beat begins it again. */
const LEFT = ["heartbeats.paces.*.inAllFrom"];

const ENV = new OutcomeScript("pairwise", ["a", "b"], []).env("a");
const setBack = (state: State, at: number): State => {
  apply(state, { kind: "set_back", at }, ENV);
  return state;
};

describe("when our clock was set back", () => {
  test("nothing that was noted before happened later than that", () => {
    const state = noted(AHEAD);
    expect(placesOf(state, AHEAD, Infinity)).toEqual([...PLACES, ...LEFT].sort());
    setBack(state, NOW);
    expect(placesOf(state, NOW + 1, Infinity)).toEqual(LEFT);
    expect(placesOf(state, NOW, NOW)).toEqual(PLACES);
  });

  test("what happened before that stays as it is", () => {
    const before = noted(AHEAD);
    expect(setBack(noted(AHEAD), AHEAD)).toEqual(before);
    expect(setBack(noted(AHEAD), AHEAD + 1)).toEqual(before);
  });

  test("what never happened has not happened then", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], ["b asks R", "b incident I"]);
    const state = setBack(script.fold("a"), NOON - seconds(1));
    expect(state.heartbeats.agentLastSeen).toBeUndefined();
    expect(state.heartbeats.parking).toEqual({ parked: undefined, woken: undefined });
    expect([...state.heartbeats.paces.values()]).toMatchObject([{ intervalFrom: undefined }]);
    const [incident] = state.incidents.declared.get("b_to_a")?.values() ?? [];
    expect(incident).toMatchObject({ at: NOON - seconds(1) });
  });

  test("what a peer says of its own time stays as it is", () => {
    const state = setBack(noted(AHEAD), NOON - hours(1));
    const [proposal] = state.proposals.proposals.values();
    expect(proposal).toMatchObject({ at: NOON - hours(1), timestampMs: NOON + seconds(2) });
    const [beat] = state.logs.get("b_to_a")?.beats ?? [];
    expect(beat).toMatchObject({ at: NOON - hours(1), timestampMs: NOON });
  });
});

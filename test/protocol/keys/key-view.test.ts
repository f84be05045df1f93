import { expect, test } from "vitest";
import { apply } from "../../../src/protocol/core.ts";
import { emptyProposals } from "../../../src/protocol/decisions/proposals-state.ts";
import type { Env } from "../../../src/protocol/env.ts";
import { keysView } from "../../../src/protocol/keys/key-view.ts";
import type { OwnKeys } from "../../../src/protocol/keys/own-keys.ts";
import { emptyState } from "../../../src/protocol/state.ts";
import { keyId } from "../../../src/wire/signature.ts";
import {
  hours,
  lineEvent,
  NOON,
  scriptEnv,
  seconds,
  WireScript,
} from "../../support/scripts/wire-script.ts";

const keyOf = (fill: number): string => keyId("forge", new Uint8Array(32).fill(fill));
const [OLD, MIDDLE, NEW, NEXT] = [keyOf(1), keyOf(2), keyOf(3), keyOf(4)];

const KEYS: OwnKeys = {
  current: NEW,
  sinceMs: NOON,
  next: NEXT,
  nextIsUrgent: false,
  earlier: [OLD, MIDDLE],
  graceMs: hours(1),
};

/** What forge and scribe say about the end of a key, as forge sees it. */
function scene(ownKeys?: OwnKeys) {
  const script = new WireScript("pairwise", ["forge", "scribe"]);
  const state = emptyState();
  const env: Env = {
    ...scriptEnv(script.layout, "forge"),
    ...(ownKeys === undefined ? {} : { ownKeys }),
  };
  const fold = (line: ReturnType<WireScript["say"]>) => {
    apply(state, lineEvent(line, "forge"), env);
    return line.message;
  };
  const propose = (key: string) => {
    const body = { action: "deactivate_key", key_id: key, required: ["scribe"] };
    return fold(script.say("forge_to_scribe", NOON, { type: "proposal", body, to: ["scribe"] }));
  };
  const ack = ({ id, correlationId }: ReturnType<typeof propose>) => {
    const answer = { type: "ack", body: { acks: id }, thread: correlationId };
    fold(script.say("scribe_to_forge", NOON + seconds(1), answer));
    const lines = script.lines.get("scribe_to_forge")?.length ?? 0;
    fold(script.beat("forge_to_scribe", NOON + seconds(2), { scribe_to_forge: { lines } }));
  };
  return { state, env, propose, ack };
}

test("our keys are listed with when we began to sign", () => {
  const { state, env } = scene(KEYS);
  expect(keysView(state.keyChanges, state.proposals, env)).toEqual({
    current: NEW,
    since: "2026-11-20T12:00:00.000Z",
    next: NEXT,
    earlier: [OLD, MIDDLE],
    asked: [],
  });
});

test("a key that was in use from the start has no beginning, and none has to follow it", () => {
  const first = { ...KEYS, sinceMs: undefined, next: undefined, earlier: [] };
  const { state, env } = scene(first);
  expect(keysView(state.keyChanges, state.proposals, env)).toEqual({
    current: NEW,
    since: null,
    next: null,
    earlier: [],
    asked: [],
  });
});

test("where our keys cannot change none are listed", () => {
  const { state, env } = scene();
  expect(keysView(state.keyChanges, state.proposals, env)).toEqual({
    current: "",
    since: null,
    next: null,
    earlier: [],
    asked: [],
  });
});

test("what we have asked about our keys is listed with what became of it", () => {
  const { state, env, propose, ack } = scene(KEYS);
  const first = propose(OLD);
  ack(first);
  const second = propose(MIDDLE);
  const { asked } = keysView(state.keyChanges, state.proposals, env);
  const request = { action: "deactivate_key", log: "forge_to_scribe", required: ["scribe"] };
  expect(asked).toEqual([
    { ...request, event_id: first.id, key_id: OLD, status: "ratified" },
    { ...request, event_id: second.id, key_id: MIDDLE, status: "open" },
  ]);
});

test("a proposal that is no longer remembered is shown as forgotten", () => {
  const { state, env, propose } = scene(KEYS);
  propose(OLD);
  const { asked } = keysView(state.keyChanges, emptyProposals(), env);
  expect(asked).toMatchObject([{ key_id: OLD, status: "forgotten" }]);
});

test("what a peer asks about its own keys is not listed as ours", () => {
  const { state, env, propose } = scene(KEYS);
  propose(OLD);
  const asScribe = { ...env, self: "scribe" };
  expect(keysView(state.keyChanges, state.proposals, asScribe).asked).toEqual([]);
});

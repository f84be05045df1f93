import { expect, test } from "vitest";
import {
  applyKeyChanges,
  askedFor,
  decideKeyChanges,
  dueKeyChanges,
  emptyKeyChanges,
} from "../../../src/protocol/keys/key-changes.ts";
import type { OwnKeys } from "../../../src/protocol/keys/own-keys.ts";
import type { Outcome, Proposal } from "../../../src/protocol/decisions/proposal.ts";
import { emptyProposals } from "../../../src/protocol/decisions/proposals-state.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import type { Env } from "../../../src/protocol/env.ts";
import { encodeBase64, keyId, publicKeyOf } from "../../../src/wire/signature.ts";
import {
  hours,
  lineEvent,
  NOON,
  scriptEnv,
  WireScript,
} from "../../support/scripts/wire-script.ts";

const keyOf = (fill: number): Uint8Array => publicKeyOf(new Uint8Array(32).fill(fill));
const OLD = keyId("forge", keyOf(1));
const NEW = keyId("forge", keyOf(2));

/** What `self` makes of what forge and scribe say. */
function scene(self: "forge" | "scribe", ownKeys?: Partial<OwnKeys>) {
  const script = new WireScript("pairwise", ["forge", "scribe"]);
  const state = emptyKeyChanges();
  const proposals = emptyProposals();
  const keys = {
    current: OLD,
    sinceMs: undefined,
    next: undefined,
    nextIsUrgent: false,
    earlier: [],
    graceMs: hours(1),
  };
  const env: Env = {
    ...scriptEnv(script.layout, self),
    ...(ownKeys === undefined ? {} : { ownKeys: { ...keys, ...ownKeys } }),
  };
  const say = (type: string, body: unknown, change: Partial<LineEvent> = {}): string => {
    const log = type === "ack" ? "scribe_to_forge" : "forge_to_scribe";
    const line = script.say(log, NOON, { type, body, thread: "keys" });
    applyKeyChanges(state, lineEvent(line, env.self, change));
    return line.message.id;
  };
  const settle = (id: string, status: Outcome["status"]): void => {
    proposals.proposals.set(id, { outcome: { status } as Outcome } as Proposal);
  };
  const due = () => dueKeyChanges(state, proposals, env);
  const sends = (nowMs: number) =>
    decideKeyChanges(state, env, { wallMs: nowMs, monoMs: 0 }).flatMap((effect) =>
      effect.do === "send" ? [[effect.log, effect.draft.body]] : [],
    );
  return { state, env, say, settle, due, sends };
}

const add = (fill = 2) => {
  const key = keyOf(fill);
  return { action: "add_key", key_id: keyId("forge", key), key: encodeBase64(key) };
};

test("a peer's new key is due once we have acked it, until it is added", () => {
  const { state, say, due } = scene("scribe");
  const id = say("proposal", add());
  expect(due()).toEqual([]);
  say("ack", { acks: id, approve: false });
  say("ack", { acks: "another" });
  expect(due()).toEqual([]);
  say("ack", { acks: id });
  expect(due()).toMatchObject([{ due: "peer", change: { id, keyId: NEW, action: "add_key" } }]);
  applyKeyChanges(state, { kind: "key_changed", id, at: NOON });
  expect(due()).toEqual([]);
});

test.each([
  ["refused by us", add(), { refused: "tier_refused" as const }],
  ["of history", add(), { live: false }],
  ["about somebody else's key", { ...add(), key_id: keyId("scribe", keyOf(2)) }, {}],
  ["whose id is another key's", { ...add(), key_id: OLD }, {}],
  ["with a key of small order", { ...add(), key: encodeBase64(new Uint8Array(32)) }, {}],
  ["without a key", { action: "add_key", key_id: NEW }, {}],
  ["of another kind", { ...add(), action: "replace_key" }, {}],
])("a proposal %s changes no key", (_what, body, change) => {
  const { say, due } = scene("scribe");
  say("ack", { acks: say("proposal", body, change) });
  expect(due()).toEqual([]);
});

test("neither an ack by its author nor one of history makes a change due", () => {
  const { say, due } = scene("scribe");
  const id = say("proposal", add());
  say("ack", { acks: id }, { own: false });
  say("ack", { acks: id }, { live: false });
  expect(due()).toEqual([]);
});

test("of the many changes that an author asks for, the latest are remembered", () => {
  const { state, say } = scene("scribe");
  for (let fill = 1; fill <= 70; fill += 1) say("proposal", add(fill));
  expect(state.get("forge")).toHaveLength(64);
  expect(state.get("forge")?.at(-1)?.keyId).toBe(keyId("forge", keyOf(70)));
});

test("we sign with our next key once everybody asked has acked it, by the latest proposal", () => {
  const { say, settle, due, state, env } = scene("forge", { next: NEW });
  expect(due()).toEqual([]);
  const first = say("proposal", add());
  expect(due()).toEqual([]);
  settle(first, "reverted");
  expect(due()).toEqual([]);
  const second = say("proposal", add());
  expect(askedFor(state, env, "add_key", NEW).map(({ id }) => id)).toEqual([second]);
  settle(second, "ratified");
  expect(due()).toEqual([{ due: "switch", keyId: NEW }]);
});

test("the end of the earlier key is asked for after the grace period, once", () => {
  const keys = { current: NEW, sinceMs: NOON, earlier: [OLD] };
  const { say, settle, due, sends } = scene("forge", keys);
  say("proposal", { ...add(), required: ["scribe"] });
  expect(sends(NOON + hours(1) - 1)).toEqual([]);
  const [[log, body] = []] = sends(NOON + hours(1));
  expect([log, body]).toMatchObject([
    "forge_to_scribe",
    { action: "deactivate_key", key_id: OLD, required: ["scribe"] },
  ]);
  const id = say("proposal", body);
  expect(sends(NOON + hours(2))).toEqual([]);
  expect(due()).toEqual([]);
  settle(id, "ratified");
  expect(due()).toEqual([{ due: "retire", keyId: OLD }]);
});

test("a key that was in use from the start is not asked to end", () => {
  expect(scene("forge", { earlier: [OLD] }).sends(NOON + hours(99))).toEqual([]);
  expect(scene("forge").sends(NOON)).toEqual([]);
});

test("an urgent key waits for nobody", () => {
  expect(scene("forge", { next: NEW, nextIsUrgent: true }).due()).toEqual([
    { due: "switch", keyId: NEW },
  ]);
  expect(scene("forge", { nextIsUrgent: true }).due()).toEqual([]);
});

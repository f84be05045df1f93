import { expect, test } from "vitest";
import {
  applyAnnouncements,
  decideAnnouncements,
  emptyAnnouncements,
  awaitsComparison,
  refusalsOf,
} from "../../../src/protocol/keys/announcements.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import type { Env } from "../../../src/protocol/env.ts";
import type { Tier } from "../../../src/trust/tiers.ts";
import {
  lineEvent,
  NOON,
  scriptEnv,
  WireScript,
  type Saying,
} from "../../support/scripts/wire-script.ts";

/** What forge does about scribe, whose tier here is what `tier` says. */
function scene(kind: "pairwise" | "outbox" = "pairwise") {
  const script = new WireScript(kind, ["forge", "scribe"]);
  const state = emptyAnnouncements();
  let tier: Tier | undefined = "UNTRUSTED";
  const env: Env = {
    ...scriptEnv(script.layout, "forge"),
    tierOf: () => ({ tier, sinceMs: undefined }),
  };
  const logOf = (from: string): string =>
    kind === "outbox" ? from : `${from}_to_${from === "forge" ? "scribe" : "forge"}`;
  const take = (from: string, saying: Saying, change: Partial<LineEvent> = {}): void => {
    const line = script.say(logOf(from), NOON, saying);
    applyAnnouncements(state, lineEvent(line, env.self, change), env);
  };
  const due = () =>
    decideAnnouncements(state, env).map((effect) =>
      effect.do === "send" ? [effect.log, effect.draft.to, effect.draft.body] : effect,
    );
  /** What is due is sent, and read back. */
  const answer = (): void => {
    for (const effect of decideAnnouncements(state, env)) {
      if (effect.do === "send") take("forge", { type: effect.draft.type, body: effect.draft.body });
    }
  };
  const refuse = (change: Partial<LineEvent> = {}) =>
    take("scribe", { type: "request" }, { refused: "tier_refused", ...change });
  return {
    state,
    env,
    take,
    due,
    answer,
    refuse,
    setTier: (next: Tier | undefined) => {
      tier = next;
    },
  };
}

test.each(["pairwise", "outbox"] as const)("a tier refusal is answered once (%s)", (kind) => {
  const { due, answer, refuse } = scene(kind);
  expect(due()).toEqual([]);
  refuse();
  const log = kind === "outbox" ? "forge" : "forge_to_scribe";
  expect(due()).toEqual([[log, ["scribe"], { about: "scribe", tier: "UNTRUSTED" }]]);
  answer();
  refuse();
  expect(due()).toEqual([]);
});

test("who was refused hears when its tier has changed, and nobody else does", () => {
  const { due, answer, refuse, setTier } = scene();
  setTier("VERIFIED");
  expect(due()).toEqual([]);
  setTier("UNTRUSTED");
  refuse();
  answer();
  setTier("VERIFIED");
  expect(due()).toEqual([["forge_to_scribe", ["scribe"], { about: "scribe", tier: "VERIFIED" }]]);
  answer();
  expect(due()).toEqual([]);
});

test("neither history nor other refusals are answered, nor who is blocked or held", () => {
  const { due, env, state, refuse, setTier } = scene();
  refuse({ live: false });
  refuse({ refused: "clock_skew" });
  expect(due()).toEqual([]);
  refuse();
  setTier(undefined);
  expect(due()).toEqual([]);
  setTier("UNTRUSTED");
  expect(
    decideAnnouncements(state, {
      ...env,
      reading: { ...env.reading, heldPeers: new Set(["scribe"]) },
    }),
  ).toEqual([]);
  expect(due()).toHaveLength(1);
});

test("what a peer says of us counts until it says otherwise, and only about us", () => {
  const { state, env, take } = scene();
  const says = (body: unknown, change: Partial<LineEvent> = {}): void => {
    take("scribe", { type: "trust_tier_announcement", body }, change);
  };
  const refused = (type: string, to: readonly string[] = ["*"]) => refusalsOf(state, env, type, to);
  says({ about: "mason", tier: "UNTRUSTED" });
  says({ about: "forge", tier: "DEITY" });
  says({ about: "forge", tier: 7 });
  says({ about: "forge", tier: "UNTRUSTED" }, { refused: "clock_skew" });
  take("scribe", { type: "feedback", body: { about: "forge", tier: "UNTRUSTED" } });
  expect(refused("request")).toEqual([]);
  says({ about: "forge", tier: "UNTRUSTED" });
  // What an agent sends that is not verified there waits, and is not refused.
  expect([refused("request"), awaitsComparison(state, env, "scribe")]).toEqual([[], true]);
  says({ about: "forge", tier: "VERIFIED" });
  expect(awaitsComparison(state, env, "scribe")).toBe(false);
  expect(refused("claim")).toEqual([{ peer: "scribe", tier: "VERIFIED" }]);
  expect(refused("claim", ["scribe"])).toHaveLength(1);
  expect(refused("claim", ["mason"])).toEqual([]);
  expect([refused("request"), refused("heartbeat")]).toEqual([[], []]);
});

test("what is sent names the tier in its subject and waits for nobody", () => {
  const { env, state, refuse } = scene();
  refuse();
  const [effect] = decideAnnouncements(state, env);
  expect(effect).toMatchObject({
    draft: { subject: "scribe is UNTRUSTED here", priority: "low", to: ["scribe"] },
  });
});

test("an announcement that lacks the agent or the tier, or names a stranger, says nothing", () => {
  const { state, take } = scene();
  const type = "trust_tier_announcement";
  for (const from of ["forge", "scribe"]) {
    take(from, { type, body: { about: from === "forge" ? "scribe" : "forge" } });
    take(from, { type, body: { tier: "VERIFIED" } });
    take(from, { type, body: { about: "stranger", tier: "VERIFIED" } });
    take(from, { type, body: {} });
  }
  // What a peer says of another, or of itself, is not what we have said.
  take("scribe", { type, body: { about: "scribe", tier: "VERIFIED" } });
  expect([[...state.said], [...state.given]]).toEqual([[], []]);
  take("forge", { type, body: { about: "scribe", tier: "VERIFIED" } });
  take("scribe", { type, body: { about: "forge", tier: "ATTESTED" } });
  expect([[...state.said], [...state.given]]).toEqual([
    [["scribe", "VERIFIED"]],
    [["scribe", "ATTESTED"]],
  ]);
});

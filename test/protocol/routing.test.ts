import { describe, expect, test } from "vitest";
import type { LineEvent } from "../../src/protocol/events.ts";
import {
  authorTier,
  isMail,
  isVerified,
  isWantedBeat,
  listedSubject,
} from "../../src/protocol/routing.ts";
import { TIERS, type Tier } from "../../src/trust/tiers.ts";
import {
  lineEvent,
  NOON,
  scriptEnv,
  WireScript,
  type Saying,
} from "../support/scripts/wire-script.ts";

/** A line of a to b, and what b makes of it. */
function line(saying: Saying, change: Partial<LineEvent> = {}, tier: Tier = "TRUSTED") {
  const script = new WireScript("outbox", ["a", "b"]);
  const env = scriptEnv(script.layout, "b", { a: { tier } });
  const event = lineEvent(script.say("a", NOON, saying), "b", change);
  return { mail: isMail(event, env), beat: isWantedBeat(event, env) };
}

describe("a line is mail", () => {
  test.each<[string, Saying, Partial<LineEvent>, boolean]>([
    ["a message to us", { type: "request", to: ["b"] }, {}, true],
    ["a message to all", { type: "feedback" }, {}, true],
    ["a correction", { type: "correction", body: { corrects: "x" } }, {}, true],
    ["none to others", { type: "request", to: ["c"] }, {}, false],
    ["none that we refuse", { type: "request" }, { refused: "tier_refused" }, false],
    ["none of how an agent is", { type: "heartbeat" }, {}, false],
    ["no announcement of a tier", { type: "trust_tier_announcement" }, {}, false],
  ])("%s", (_what, saying, change, expected) => {
    expect(line(saying, change).mail).toBe(expected);
  });

  test("but what a daemon writes when it moves to its outbox is none", () => {
    const script = new WireScript("moving", ["a", "b"]);
    const env = scriptEnv(script.layout, "b");
    const moved = script.move("a", NOON);
    expect(moved.map(({ log }) => log)).toEqual(["a_to_b", "a"]);
    expect(moved.map((each) => isMail(lineEvent(each, "b"), env))).toEqual([false, false]);
    const next = script.say("a", NOON + 1, { type: "correction" });
    expect(isMail(lineEvent(next, "b"), env)).toBe(true);
  });
});

describe("a heartbeat may be shown", () => {
  test.each<[string, Saying, Partial<LineEvent>, Tier, boolean]>([
    ["of who is verified", { type: "heartbeat" }, {}, "VERIFIED", true],
    ["of who is trusted", { type: "heartbeat" }, {}, "TRUSTED", true],
    ["of no stranger", { type: "heartbeat" }, {}, "UNTRUSTED", false],
    ["none that we refuse", { type: "heartbeat" }, { refused: "clock_skew" }, "TRUSTED", false],
    ["none to others", { type: "heartbeat", to: ["c"] }, {}, "TRUSTED", false],
    ["and no other line", { type: "feedback" }, {}, "TRUSTED", false],
  ])("%s", (_what, saying, change, tier, expected) => {
    expect(line(saying, change, tier).beat).toBe(expected);
  });
});

describe("an author", () => {
  const { layout } = new WireScript("outbox", ["a", "b"]);
  const believed = (tier: Tier | undefined) => {
    const env = scriptEnv(layout, "b");
    return { ...env, tierOf: () => ({ tier, sinceMs: 0 }) };
  };

  test("is believed as far as its tier says, and ourselves always", () => {
    for (const tier of TIERS) expect(authorTier(believed(tier), "a")).toBe(tier);
    expect(authorTier(believed(undefined), "a")).toBeNull();
    expect(authorTier(believed(undefined), "b")).toBe("TRUSTED");
  });

  test("is verified from that tier on", () => {
    expect(TIERS.filter(isVerified)).toEqual(["VERIFIED", "ATTESTED", "TRUSTED"]);
    expect(isVerified(null)).toBe(false);
  });

  test("below that has no subject in a list", () => {
    const shown = (tier: Tier | undefined) => listedSubject(believed(tier), "a", "a word");
    expect(shown("VERIFIED")).toBe("a word");
    expect(shown("UNTRUSTED")).toBe("(not shown: a is UNTRUSTED)");
    expect(shown(undefined)).toBe("(not shown: a is of no tier)");
    expect(listedSubject(believed(undefined), "b", "a word")).toBe("a word");
  });
});

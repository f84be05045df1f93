import { describe, expect, test } from "vitest";
import type { PeerStanding } from "../../../src/protocol/agent-notices/agent-notice.ts";
import { standingNews } from "../../../src/protocol/agent-notices/standing.ts";
import { apply } from "../../../src/protocol/core.ts";
import { emptyState } from "../../../src/protocol/state.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { minutes, NOON, seconds } from "../../support/scripts/wire-script.ts";
import { setBreaches } from "../../support/scripts/ignored-incidents.ts";

// What lasts, and is told when it begins and when it ends.

const OWES = "forge proposes P needs=scribe @1";
const OWED = "scribe proposes Q needs=forge thread=new @2";
const BEAT = "scribe beats @0";

interface Told {
  readonly peers?: readonly [string, PeerStanding][];
  readonly held?: readonly string[];
  readonly after?: number;
  readonly roster?: readonly string[];
}

/** What forge is told anew, so long after noon. */
function news(
  steps: readonly string[],
  { peers = [], held = [], after = 0, roster = ["forge", "scribe"] }: Told = {},
) {
  const script = new OutcomeScript(roster.length > 2 ? "outbox" : "pairwise", roster, steps);
  const env = script.env("forge", { heldPeers: new Set(held) });
  const state = emptyState();
  for (const event of script.events("forge")) apply(state, event, env);
  for (const [peer, standing] of peers) state.agentNotices.peers.set(peer, standing);
  return standingNews(state, env, NOON + after);
}

describe("a peer", () => {
  test("that is silent is told of, with its last heartbeat and what it owes", () => {
    expect(news([OWES, BEAT], { after: minutes(5) })).toStrictEqual({
      peers: [["scribe", "silent"]],
      matters: [
        {
          kind: "peer_silent",
          about: "scribe 2026-11-20T12:00:00.000Z",
          text: "scribe is silent, its last heartbeat came at 2026-11-20T12:00:00.000Z, and it owes you 1 answer.",
          peer: "scribe",
        },
      ],
    });
  });

  test("that is held is told of, with what the operator can do", () => {
    expect(news([OWES], { held: ["scribe"], after: seconds(7) })).toStrictEqual({
      peers: [["scribe", "held"]],
      matters: [
        {
          kind: "peer_held",
          about: "scribe 2026-11-20T12:00:07.000Z",
          text: "Nothing more of scribe is taken in until your operator decides (deaddrop peer show scribe), and it owes you 1 answer.",
          peer: "scribe",
        },
      ],
    });
  });

  test("that is well again is told of", () => {
    expect(news([OWES], { peers: [["scribe", "held"]], after: seconds(7) })).toStrictEqual({
      peers: [["scribe", "well"]],
      matters: [
        {
          kind: "peer_back",
          about: "scribe 2026-11-20T12:00:07.000Z",
          text: "scribe is back, and it owes you 1 answer.",
          peer: "scribe",
        },
      ],
    });
  });

  test.each<[string, string[], string]>([
    ["it owes", [OWES], "it owes you 1 answer"],
    [
      "it owes twice",
      [OWES, "forge proposes R needs=scribe thread=new @3"],
      "it owes you 2 answers",
    ],
    ["we owe", [OWED], "you owe it 1 answer"],
    ["both owe", [OWES, OWED], "it owes you 1 answer and you owe it 1 answer"],
  ])("is told of with what is owed: %s", (_what, steps, owed) => {
    const { matters } = news(steps, { peers: [["scribe", "held"]] });
    expect(matters.map(({ text }) => text)).toEqual([`scribe is back, and ${owed}.`]);
  });

  test("that owes nothing and to which nothing is owed is no matter", () => {
    for (const held of [[], ["scribe"]]) {
      const { peers, matters } = news([BEAT], { held, after: minutes(60) });
      expect(peers).toEqual([["scribe", held.length === 0 ? "silent" : "held"]]);
      expect(matters).toEqual([]);
    }
  });

  test("is no matter for what is owed between others", () => {
    const steps = [
      "forge proposes P needs=mason to=mason thread=new",
      "mason proposes Q needs=scribe to=scribe thread=new",
      "scribe proposes R needs=mason to=mason thread=new",
      "mason proposes S needs=forge to=forge thread=new",
    ];
    const roster = ["forge", "mason", "scribe"];
    const { peers, matters } = news(steps, { held: roster, roster });
    expect(peers).toEqual([
      ["mason", "held"],
      ["scribe", "held"],
    ]);
    expect(matters.map(({ peer, text }) => [peer, text.slice(-46)])).toEqual([
      ["mason", " it owes you 1 answer and you owe it 1 answer."],
    ]);
  });
});

describe("the standing of a peer", () => {
  test.each<[string, PeerStanding, Told, PeerStanding | undefined]>([
    ["well, online", "well", {}, undefined],
    ["well, late", "well", { after: minutes(4) }, undefined],
    ["well, silent", "well", { after: minutes(5) }, "silent"],
    ["well, held", "well", { held: ["scribe"] }, "held"],
    ["silent still", "silent", { after: minutes(5) }, undefined],
    ["silent, then late: not back", "silent", { after: minutes(4) }, undefined],
    ["silent, then online", "silent", {}, "well"],
    ["silent, then held", "silent", { held: ["scribe"], after: minutes(5) }, "held"],
    ["held still", "held", { held: ["scribe"], after: minutes(5) }, undefined],
    ["held, then late", "held", { after: minutes(4) }, "well"],
    ["held, then silent", "held", { after: minutes(5) }, "silent"],
  ])("changes as it is seen: %s", (_what, told, now, expected) => {
    const { peers } = news([BEAT], { ...now, peers: told === "well" ? [] : [["scribe", told]] });
    expect(peers).toEqual(expected === undefined ? [] : [["scribe", expected]]);
  });
});

describe("safe mode", () => {
  const breach = { incident: "i", log: "scribe_to_forge", line: 1, resumed: false };
  const modes = (told: string | null, author: string | undefined) => {
    const script = new OutcomeScript("pairwise", ["forge", "scribe"], []);
    const state = emptyState();
    if (author !== undefined) {
      const by = { author, of: "forge", escalation: "e", secondBeatMs: NOON };
      setBreaches(state.incidents, [{ ...breach, ...by }]);
    }
    state.agentNotices.safeMode = told;
    return standingNews(state, script.env("forge"), NOON);
  };
  const text = (verb: string) =>
    `Safe mode ${verb}, because forge did not ack an incident of scribe in time: most messages are not sent; ` +
    "it ends when you acknowledge incident i (deaddrop incident ack i), " +
    "when scribe resolves it, or, for forge alone, when your operator resumes sending.";

  test("is told when it begins, and when another escalation goes on", () => {
    const matter = (verb: string) => ({
      kind: "safe_mode_begun",
      about: "e",
      text: text(verb),
      peer: undefined,
    });
    expect(modes(null, "scribe")).toStrictEqual({
      peers: [],
      safeMode: "e",
      matters: [matter("has begun")],
    });
    expect(modes("another", "scribe").matters).toEqual([matter("goes on")]);
  });

  test("is told when it ends, by the escalation that was told", () => {
    expect(modes("e", undefined)).toStrictEqual({
      peers: [],
      safeMode: null,
      matters: [
        {
          kind: "safe_mode_ended",
          about: "e",
          text: "Safe mode has ended: all messages are sent again.",
          peer: undefined,
        },
      ],
    });
  });

  test.each([
    ["none", null, undefined],
    ["the same escalation", "e", "scribe"],
  ])("is not told again: %s", (_what, told, author) => {
    expect(modes(told, author)).toStrictEqual({ peers: [], matters: [] });
  });
});

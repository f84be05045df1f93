import { describe, expect, test } from "vitest";
import { decideProposals } from "../../../src/protocol/decisions/proposal-deadlines.ts";
import type { Effect } from "../../../src/protocol/effects.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { hours, NOON, seconds, type EnvChange } from "../../support/scripts/wire-script.ts";

interface Scene {
  steps: string[];
  kind?: "pairwise" | "outbox";
  env?: EnvChange;
  live?: boolean;
  /** How our own lines and the peers' are read: e.g. as refused. */
  change?: (event: LineEvent) => LineEvent;
}

function scene({ steps, kind = "pairwise", env = {}, live = true, change }: Scene) {
  const roster = kind === "outbox" ? ["a", "b", "c"] : ["a", "b"];
  const script = new OutcomeScript(kind, roster, steps);
  const events = script.events("a", () => ({ live })).map((event) => change?.(event) ?? event);
  const state = script.fold("a", events);
  return (afterMs: number): Effect[] => {
    const now = { wallMs: NOON + afterMs, monoMs: afterMs };
    return decideProposals(state.proposals, state.logs, script.env("a", env), now);
  };
}

const done = (effects: Effect[]): string[] =>
  effects.map((effect) => {
    if (effect.do === "send") return `${effect.draft.type} to ${effect.draft.to.join(",")}`;
    return effect.do === "tell" ? `tell ${effect.incident.cause}` : effect.do;
  });

const past = (event: LineEvent): LineEvent => ({ ...event, live: false });

const REVERTED = ["correction to b", "tell proposal_silent"];

describe("the time to answer", () => {
  test("is twice a cadence from the first live beat that covers the proposal", () => {
    // b's beat is one second after noon, and T1 is 90 s.
    const at = scene({ steps: ["a proposes P", "b beats"] });
    expect(at(seconds(180))).toEqual([]);
    expect(done(at(seconds(181)))).toEqual(REVERTED);
  });

  test.each([
    ["ahead of", -hours(1)],
    ["behind", hours(1)],
  ])("runs by our clock, although the sender's is an hour %s it", (_, byMs) => {
    // Its lines reach us an hour before, or after, the moment that they name.
    const at = scene({
      steps: ["a proposes P", "b beats"],
      change: (event) => ({ ...event, at: event.at + byMs }),
    });
    expect(at(byMs + seconds(181) - 1)).toEqual([]);
    expect(done(at(byMs + seconds(181)))).toEqual(REVERTED);
  });

  test("the revert names the proposal, in its thread", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], ["a proposes P", "b beats"]);
    const state = script.fold("a");
    const now = { wallMs: NOON + hours(1), monoMs: 0 };
    const id = script.idOf("P");
    const reason = "b did not answer in time";
    expect(decideProposals(state.proposals, state.logs, script.env("a"), now)).toEqual([
      {
        do: "send",
        log: "a_to_b",
        draft: {
          to: ["b"],
          type: "correction",
          subject: "reverted: proposes P",
          body: fromPlain({ corrects: id, reverts: id, reason }),
          correlationId: "2026-11-20T12:00:00.000000Z",
        },
      },
      {
        do: "tell",
        incident: {
          key: `proposal_silent:${id}`,
          cause: "proposal_silent",
          peer: "b",
          subject: "no answer to: proposes P",
          detail: `${reason}; the proposal is reverted. Ask again in a new thread`,
          concernsWire: false,
        },
      },
    ]);
  });

  test("starts with a live beat, not with one from history", () => {
    const at = scene({
      steps: ["a proposes P", "b beats", "b beats"],
      change: (event) =>
        event.message.type === "heartbeat" && event.line === 1 ? past(event) : event,
    });
    expect(at(seconds(182) - 1)).toEqual([]);
    expect(done(at(seconds(182)))).toEqual(REVERTED);
  });

  test("does not run before a beat covers it, but 24 h from our writing end it in any case", () => {
    const at = scene({ steps: ["b beats", "a proposes P"] });
    expect(at(seconds(1) + hours(24) - 1)).toEqual([]);
    expect(done(at(seconds(1) + hours(24)))).toEqual(REVERTED);
  });

  test("a peer whose beats carry no heads covers it with its next beat", () => {
    const at = scene({ steps: ["b beats none=1", "a proposes P", "b beats none=1"] });
    expect(at(seconds(181))).toEqual([]);
    expect(done(at(seconds(182)))).toEqual(REVERTED);
  });

  test("a counter stops nothing", () => {
    const at = scene({ steps: ["a proposes P", "b beats", "b proposes Q counters=P"] });
    expect(done(at(seconds(181)))).toEqual(REVERTED);
  });

  test("an ack that we have read is not late, even when no beat of ours covers it yet", () => {
    const at = scene({ steps: ["a proposes P", "b beats", "b acks P"] });
    expect(at(hours(48))).toEqual([]);
  });

  test("nor is a rejection silence", () => {
    expect(scene({ steps: ["a proposes P", "b beats", "b rejects P"] })(hours(48))).toEqual([]);
  });

  test("an ack that we refused, and shall name so, is none", () => {
    const at = scene({
      steps: ["a proposes P", "b beats", "b acks P"],
      change: (event) =>
        event.message.type === "ack" ? { ...event, refused: "tier_refused" } : event,
    });
    expect(done(at(seconds(181)))).toEqual(REVERTED);
  });

  test("history starts no deadline", () => {
    expect(scene({ steps: ["a proposes P", "b beats"], live: false })(hours(48))).toEqual([]);
  });

  test("nothing is reverted twice, nor what is decided or void", () => {
    expect(scene({ steps: ["a proposes P", "b beats", "a reverts P"] })(hours(48))).toEqual([]);
    expect(scene({ steps: ["a proposes P", "b acks P", "a beats"] })(hours(48))).toEqual([]);
    expect(scene({ steps: ["a proposes P needs=x", "b beats"] })(hours(48))).toEqual([]);
    expect(scene({ steps: ["b proposes P", "a beats"] })(hours(48))).toEqual([]);
  });

  test("no other line of ours in the thread is a revert of it", () => {
    const steps = ["a proposes P", "b beats", "a acks P", "a reverts 000"];
    expect(done(scene({ steps })(hours(1)))).toEqual(REVERTED);
  });

  test("an ack of another message after the ack is no answer to the proposal", () => {
    const steps = ["a proposes P", "a asks R", "b acks P", "b acks R", "b beats"];
    expect(scene({ steps })(hours(1))).toEqual([]);
  });

  test("what is no longer remembered asks for nothing", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], ["a proposes P", "b beats"]);
    const state = script.fold("a");
    state.proposals.running.add("forgotten");
    state.proposals.diverging.add("forgotten");
    const now = { wallMs: NOON + hours(1), monoMs: 0 };
    const decided = () => decideProposals(state.proposals, state.logs, script.env("a"), now);
    expect(done(decided())).toEqual(REVERTED);
    state.proposals.topics.clear();
    expect(decided()).toEqual([]);
  });

  test("nor again while the revert waits for what an ack before it names", () => {
    const steps = ["a proposes P", "b beats", "a acks 000", "a reverts P"];
    expect(scene({ steps })(hours(48))).toEqual([]);
  });

  test("waits until the logs of the required parties are read to their end", () => {
    const env = { caughtUp: () => false };
    expect(scene({ steps: ["a proposes P", "b beats"], env })(hours(48))).toEqual([]);
    const steps = ["a proposes P needs=b,c", "b beats", "c beats"];
    const oneOfTwo = { caughtUp: (log: string) => log !== "c" };
    expect(scene({ steps, kind: "outbox", env: oneOfTwo })(hours(48))).toEqual([]);
  });

  test("does not run against a peer whose lines we hold back, except the 24 h", () => {
    const env = { holdsBack: () => true, caughtUp: () => false };
    const at = scene({ steps: ["a proposes P", "b beats"], env });
    expect(at(hours(24) - 1)).toEqual([]);
    expect(done(at(hours(24)))).toEqual(REVERTED);
  });

  test("among three one who is silent is enough", () => {
    const steps = ["a proposes P needs=b,c", "b acks P", "b beats", "c beats"];
    const at = scene({ steps, kind: "outbox" });
    expect(at(seconds(182))).toEqual([]);
    expect(done(at(seconds(183)))).toEqual(["correction to b,c", "tell proposal_silent"]);
  });
});

describe("cadences", () => {
  const covering = (nextEta: string) => {
    const script = new OutcomeScript("pairwise", ["a", "b"], ["a proposes P"]);
    const head = { a_to_b: { lines: 1 } };
    script.order.push(script.script.beat("b_to_a", NOON, head, { next_eta: nextEta }));
    const state = script.fold("a");
    return (afterMs: number) => {
      const now = { wallMs: NOON + afterMs, monoMs: afterMs };
      return decideProposals(state.proposals, state.logs, script.env("a"), now).length > 0;
    };
  };

  test.each([
    { name: "the one that it last advertised", eta: "2026-11-20T12:04:30Z", limit: 540 },
    { name: "at least T1", eta: "2026-11-20T12:00:01Z", limit: 180 },
    { name: "at most T3", eta: "9999-01-01T00:00:00Z", limit: 2_400 },
    { name: "T1 when it goes backwards", eta: "2026-11-20T11:00:00Z", limit: 180 },
    { name: "T1 when it is no time", eta: "soon", limit: 180 },
  ])("$name", ({ eta, limit }) => {
    const isOver = covering(eta);
    expect(isOver(seconds(limit) - 1)).toBe(false);
    expect(isOver(seconds(limit))).toBe(true);
  });
});

describe("counters that do not converge", () => {
  const rounds = (count: number): string[] => {
    const steps = ["a proposes P0"];
    for (let n = 1; n <= count; n++) steps.push(`b proposes Q${n}`, `a proposes P${n}`);
    return steps;
  };

  test("are told after three round trips, once", () => {
    expect(done(scene({ steps: rounds(2) })(0))).toEqual([]);
    expect(scene({ steps: rounds(3) })(0)).toEqual([
      {
        do: "tell",
        incident: {
          key: "not_converging:a_to_b b_to_a 2026-11-20T12:00:00.000000Z",
          cause: "not_converging",
          subject: "proposals go back and forth",
          detail:
            'thread "2026-11-20T12:00:00.000000Z": three round trips of counters and no agreement; ' +
            "the operators should talk",
          concernsWire: false,
        },
      },
    ]);
    expect(done(scene({ steps: rounds(3), live: false })(0))).toEqual([]);
  });

  test("are told to the other operator too", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], rounds(3));
    const state = script.fold("b");
    const now = { wallMs: NOON, monoMs: 0 };
    const effects = decideProposals(state.proposals, state.logs, script.env("b"), now);
    expect(done(effects)).toEqual(["tell not_converging"]);
  });
});

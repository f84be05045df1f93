import { describe, expect, test } from "vitest";
import { decideProposals } from "../../../src/protocol/decisions/proposal-deadlines.ts";
import type { Effect } from "../../../src/protocol/effects.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import { proposalsView } from "../../../src/protocol/decisions/proposals-view.ts";
import { dueOf } from "../../../src/protocol/due.ts";
import { fromPlain, toPlain } from "../../../src/wire/json/json.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import {
  hours,
  minutes,
  NOON,
  seconds,
  type EnvChange,
} from "../../support/scripts/wire-script.ts";

interface Scene {
  steps: string[];
  kind?: "pairwise" | "outbox";
  env?: EnvChange;
  live?: boolean;
  /** How our own lines and the peers' are read: e.g. as refused. */
  change?: (event: LineEvent) => LineEvent;
}

/** With `answer_minutes` 0 only the two heartbeats are left. */
const BARE = { answerMinutes: 0, proposalHours: 24 };

function scene({ steps, kind = "pairwise", env = {}, live = true, change }: Scene) {
  const roster = kind === "outbox" ? ["a", "b", "c"] : ["a", "b"];
  const script = new OutcomeScript(kind, roster, steps);
  const events = script.events("a", () => ({ live })).map((event) => change?.(event) ?? event);
  const state = script.fold("a", events);
  return (afterMs: number): Effect[] => {
    const now = { wallMs: NOON + afterMs, monoMs: afterMs };
    const times = { answerTimes: BARE, ...env };
    return decideProposals(state.proposals, state.logs, script.env("a", times), now);
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
  test("is at least twice a cadence from the first live beat that covers the proposal as read", () => {
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
    const reason = "b read it at 2026-11-20T12:00:01.000Z and did not answer in time";
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

  test("a revert that its full thread does not read is not written", () => {
    const acks = Array.from({ length: 1_023 }, () => "a acks R");
    const almost = ["a proposes P", "b asks R", ...acks.slice(1)];
    expect(done(scene({ steps: almost })(hours(30)))).toEqual(REVERTED);
    expect(scene({ steps: ["a proposes P", "b asks R", ...acks] })(hours(30))).toEqual([]);
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

  test("a peer whose beats carry no heads reads it with its next beat", () => {
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

  test("an ack that we refused, and will name so, is none", () => {
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

  test.each(["b=5", "b=3"])(
    "nor while a beat of ours before the revert covers lines that we lack",
    (heads) => {
      const steps = ["a proposes P", "b beats", `a beats ${heads}`, "a reverts P"];
      expect(scene({ steps })(hours(48))).toEqual([]);
    },
  );

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
    const head = { a_to_b: { lines: 1, read: 1 } };
    script.order.push(script.script.beat("b_to_a", NOON, head, { next_eta: nextEta }));
    const state = script.fold("a");
    return (afterMs: number) => {
      const now = { wallMs: NOON + afterMs, monoMs: afterMs };
      const env = script.env("a", { answerTimes: BARE });
      return decideProposals(state.proposals, state.logs, env, now).length > 0;
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

/** What the daemon says of the proposal that it takes back then. */
const reasonAt = (effects: Effect[]): string =>
  effects.flatMap((effect) => (effect.do === "tell" ? [effect.incident.detail] : [])).join("\n");

describe("the agent's clock", () => {
  const USUAL = { answerTimes: { answerMinutes: 30, proposalHours: 24 } };
  const usual = (steps: string[], kind: "pairwise" | "outbox" = "pairwise") =>
    scene({ steps, kind, env: USUAL });

  test("gives an agent half an hour from the beat that shows that it has read the proposal", () => {
    const at = usual(["a proposes P", "b beats"]);
    expect(at(seconds(1) + minutes(30) - 1)).toEqual([]);
    expect(done(at(seconds(1) + minutes(30)))).toEqual(REVERTED);
    expect(reasonAt(at(hours(1)))).toBe(
      "b read it at 2026-11-20T12:00:01.000Z and did not answer in time; " +
        "the proposal is reverted. Ask again in a new thread",
    );
  });

  test("does not run while the agent has not read it: only the time of the proposal does", () => {
    const at = usual(["a proposes P", "b beats unread", "b beats unread"]);
    expect(at(hours(24) - 1)).toEqual([]);
    expect(done(at(hours(24)))).toEqual(REVERTED);
    expect(reasonAt(at(hours(24)))).toContain(
      "it reached b, whose agent had not read it when its time was over",
    );
  });

  test("does not run while the agent is busy", () => {
    const at = usual(["a proposes P", "b beats busy", "b beats busy"]);
    expect(at(hours(24) - 1)).toEqual([]);
    expect(reasonAt(at(hours(24)))).toContain(
      "b had read it and was busy or paused until its time was over",
    );
  });

  test("does not run while the daemon is paused: that says nothing of its agent", () => {
    const at = usual(["a proposes P", "b beats paused", "b beats busy"]);
    expect(at(hours(24) - 1)).toEqual([]);
    expect(done(at(hours(24)))).toEqual(REVERTED);
  });

  test("runs from the first beat that is not busy, and work that begins later does not stop it", () => {
    const at = usual(["a proposes P", "b beats busy", "b beats", "b beats busy"]);
    expect(at(seconds(2) + minutes(30) - 1)).toEqual([]);
    expect(done(at(seconds(2) + minutes(30)))).toEqual(REVERTED);
  });

  test("runs from a late reading, also when the time of the proposal ends before it does", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], ["a proposes P", "b beats unread"]);
    const late = NOON + hours(24) - minutes(1);
    script.order.push(script.script.beat("b_to_a", late, { a_to_b: { lines: 1, read: 1 } }));
    const state = script.fold("a");
    const ends = (wallMs: number) =>
      done(decideProposals(state.proposals, state.logs, script.env("a"), { wallMs, monoMs: 0 }));
    expect(ends(late + minutes(30) - 1)).toEqual([]);
    expect(ends(late + minutes(30))).toEqual(REVERTED);
  });

  test("a line that never reached the party is said to be so", () => {
    const at = usual(["b beats", "a proposes P", "b beats a=0"]);
    expect(reasonAt(at(hours(25)))).toContain("it had not reached b when its time was over");
  });

  test("heads that name another event prove no reading", () => {
    const at = usual(["a proposes P", "b beats wrong=a"]);
    expect(at(hours(23))).toEqual([]);
  });

  test("a daemon that has read nothing of us yet is none without heads", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], ["a proposes P"]);
    script.order.push(script.script.beat("b_to_a", NOON + 1, {}, { heads: {} }));
    const state = script.fold("a");
    const now = { wallMs: NOON + hours(23), monoMs: 0 };
    expect(decideProposals(state.proposals, state.logs, script.env("a"), now)).toEqual([]);
  });

  test("among three the reason says who has read it and who has not", () => {
    const steps = ["a proposes P needs=b,c", "c beats unread", "b beats"];
    expect(reasonAt(usual(steps, "outbox")(hours(1)))).toContain(
      "b read it at 2026-11-20T12:00:02.000Z and did not answer in time; read by b; not read by c;",
    );
    const agreed = ["a proposes P needs=b,c", "c beats unread", "b agrees P"];
    expect(reasonAt(usual(agreed, "outbox")(hours(25)))).toContain(
      "it reached c, whose agent had not read it when its time was over; read by b; not read by c;",
    );
  });

  test.each([
    ["all have read it", ["b beats", "c beats busy"], "read by b, c; the proposal"],
    ["one was busy", ["b beats unread", "c beats busy"], "read by c; not read by b; the proposal"],
    ["nobody has read it", ["b beats unread", "c beats unread"], "over; not read by b, c; the"],
  ])("among three the reason names those alone of whom it is true: %s", (_name, beats, said) => {
    const steps = ["a proposes P needs=b,c", ...beats];
    expect(reasonAt(usual(steps, "outbox")(hours(25)))).toContain(said);
  });

  test("forgets no beat that began it, however many follow", () => {
    const steps = ["a proposes P", "b beats"];
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    for (let n = 2; n < 1_600; n += 1) {
      script.order.push(script.script.beat("b_to_a", NOON + seconds(n), { a_to_b: { lines: 1 } }));
    }
    const state = script.fold("a");
    expect(state.logs.get("b_to_a")?.beats[0]?.line).toBeGreaterThan(1);
    const now = { wallMs: NOON + seconds(1) + minutes(30), monoMs: 0 };
    const effects = decideProposals(state.proposals, state.logs, script.env("a"), now);
    expect(done(effects)).toEqual(REVERTED);
  });
});

describe("body.due", () => {
  const USUAL = { answerTimes: { answerMinutes: 30, proposalHours: 24 } };
  const until = (due: number, ...beats: string[]) =>
    scene({ steps: [`a proposes P due=${due}`, ...beats], env: USUAL });

  test.each([
    ["takes the place of the half hour, shorter", 600, 600],
    ["or longer", 14_400, 14_400],
    ["but leaves two heartbeats", 120, 181],
    ["is none when it is less than two minutes away", 119, 1_801],
    ["is none when it is more than 30 days away", 30 * 86_400 + 1, 1_801],
    ["may be 30 days away", 30 * 86_400, 30 * 86_400],
  ])("%s", (_name, due, ends) => {
    const at = until(due, "b beats");
    expect(at(seconds(ends) - 1)).toEqual([]);
    expect(done(at(seconds(ends)))).toEqual(REVERTED);
  });

  test("keeps an unread proposal open until then, and never shorter than a day", () => {
    expect(until(600, "b beats unread")(hours(24) - 1)).toEqual([]);
    expect(done(until(600, "b beats unread")(hours(24)))).toEqual(REVERTED);
    expect(until(200_000, "b beats unread")(seconds(200_000) - 1)).toEqual([]);
    expect(done(until(200_000, "b beats unread")(seconds(200_000)))).toEqual(REVERTED);
  });

  test("that is no instant is none", () => {
    for (const due of ["soon", 5, null, ["2026-11-20T16:00:00Z"]]) {
      expect(dueOf(fromPlain({ due }), NOON)).toBeUndefined();
    }
    expect(dueOf(fromPlain({ due: "2026-11-20T16:00:00Z" }), NOON)).toBe(NOON + hours(4));
  });
});

describe("a sibling that was agreed to", () => {
  /** Ids are digests: of two crossing proposals either may have the lower. */
  const crossing = (isLower: boolean): string[] => {
    for (let n = 0; ; n += 1) {
      const steps = ["a proposes P", `b proposes Q${n} counters=P`];
      const script = new OutcomeScript("pairwise", ["a", "b"], steps);
      if (script.idOf(`Q${n}`) < script.idOf("P") === isLower) return [...steps, `a agrees Q${n}`];
    }
  };
  const statusOfP = (steps: string[]): string | undefined => {
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    return script.outcomes(script.fold("a"))[0];
  };

  test("replaces the proposal at once when it is ratified", () => {
    const steps = [...crossing(false), "b beats"];
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    const state = script.fold("a");
    const now = { wallMs: NOON + 1, monoMs: 0 };
    const sibling = [...script.names].find(([name]) => name.startsWith("Q"))?.[1] ?? "";
    const id = script.idOf("P");
    const reason = 'replaced by b\'s "proposes Q", which is ratified';
    const [effect, ...more] = decideProposals(state.proposals, state.logs, script.env("a"), now);
    const draft = effect?.do === "send" ? effect.draft : undefined;
    expect(draft).toMatchObject({ type: "correction", to: ["b"], subject: "reverted: proposes P" });
    expect(toPlain(draft?.body ?? null)).toEqual({
      corrects: id,
      reverts: id,
      reason: reason.replace("Q", [...script.names.keys()][1] ?? ""),
      replaced_by: sibling,
    });
    expect(more).toEqual([]);
  });

  test("is shown as what it was replaced by, by everybody", () => {
    const steps = [...crossing(false), "b beats"];
    const counter = named(steps);
    const all = [...steps, `a reverts P replaced=${counter}`];
    expect(statusOfP(all)).toBe("P replaced by a:3");
    const script = new OutcomeScript("pairwise", ["a", "b"], all);
    const state = script.fold("b");
    const views = proposalsView(state.proposals, state.logs, script.env("b"));
    expect(views.find(({ proposal_id: id }) => id === script.idOf("P"))?.replaced_by).toBe(
      script.idOf(counter),
    );
  });

  test("with the lower id has withdrawn it already", () => {
    const steps = [...crossing(true), "b beats", "a beats"];
    expect(statusOfP(steps)).toMatch(/^P withdrawn/u);
    expect(scene({ steps })(0)).toEqual([]);
  });

  test.each([
    ["is not ratified yet", (steps: string[]) => steps],
    [
      "was rejected since",
      (steps: string[]) => [...steps, `a rejects ${named(steps)}`, "b beats b=9"],
    ],
    [
      "is ratified, and was rejected after that",
      (steps: string[]) => [...steps, "b beats", `a rejects ${named(steps)}`],
    ],
  ])("replaces nothing while it %s", (_name, change) => {
    const sent = scene({ steps: change(crossing(false)) })(0);
    expect(sent).toEqual([]);
  });

  test("replaces nothing that was proposed after it", () => {
    const steps = ["b proposes Q", "a agrees Q", "b beats", "a proposes P"];
    expect(scene({ steps })(seconds(5))).toEqual([]);
  });

  test("to which the proposer has not agreed replaces nothing", () => {
    const steps = ["a proposes P needs=b", "b proposes Q needs=c", "c agrees Q", "b beats"];
    expect(scene({ steps, kind: "outbox" })(seconds(5))).toEqual([]);
  });
});

/** The counter in those steps. */
function named(steps: readonly string[]): string {
  return /proposes (Q\d+)/u.exec(steps.join(" "))?.[1] ?? "";
}

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

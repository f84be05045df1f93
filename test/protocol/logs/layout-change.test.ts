import { describe, expect, test } from "vitest";
import { apply } from "../../../src/protocol/core.ts";
import { decideLayout, layoutView } from "../../../src/protocol/logs/layout-change.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import { emptyState } from "../../../src/protocol/state.ts";
import { makeLayout, type Layout } from "../../../src/wire/layout.ts";
import type { Message } from "../../../src/wire/message.ts";
import {
  lineEvent,
  NOON,
  scriptEnv,
  seconds,
  WireScript,
  type Saying,
} from "../../support/scripts/wire-script.ts";

const MOVE = { action: "layout", layout: "outbox" };

/** A pairwise wire on which agents ask each other to move to outboxes. */
function scene(roster: readonly string[], layout: Layout = makeLayout("pairwise", roster)) {
  const script = new WireScript("pairwise", roster);
  const state = emptyState();
  const env = scriptEnv(layout, "a");
  let at = NOON;
  const take = (line: ReturnType<WireScript["say"]>, change: Partial<LineEvent> = {}): Message => {
    apply(state, lineEvent(line, "a", change), env);
    at += seconds(1);
    return line.message;
  };
  const say = (log: string, saying: Saying, change: Partial<LineEvent> = {}): Message =>
    take(script.say(log, at, saying), change);
  const propose = (from: string, to: string, body: object = MOVE, more: Partial<Saying> = {}) =>
    say(`${from}_to_${to}`, {
      type: "proposal",
      body: { ...body, required: [to] },
      to: [to],
      ...more,
    });
  /** The answer of the one who is asked, and the beat by which it counts. */
  const answer = (of: Message, approve: boolean): void => {
    const [to = ""] = of.to ?? [];
    const log = `${to}_to_${of.from}`;
    say(log, { type: "ack", body: { acks: of.id, approve }, thread: of.correlationId });
    const lines = script.lines.get(log)?.length ?? 0;
    take(script.beat(`${of.from}_to_${to}`, at, { [log]: { lines } }));
  };
  const agree = (from: string, to: string): string => {
    const proposal = propose(from, to);
    answer(proposal, true);
    return proposal.id;
  };
  const view = () => layoutView(state.proposals, state.logs, env);
  const decided = () => decideLayout(state.proposals, state.logs, env);
  return { state, env, say, propose, answer, agree, view, decided };
}

describe("the agreement of a pair", () => {
  test("is none while nobody has proposed the move", () => {
    const { view, propose } = scene(["a", "b", "c"]);
    propose("a", "b", { decision: "tabs" });
    propose("a", "b", { action: "layout", layout: "pairwise" });
    propose("a", "b", { action: "add_key", layout: "outbox" });
    const none = { proposal_id: null, status: "none" };
    expect(view()).toEqual({
      layout: "pairwise",
      agreed: false,
      pairs: [
        { between: ["a", "b"], ...none },
        { between: ["a", "c"], ...none },
        { between: ["b", "c"], ...none },
      ],
      unchained: [],
      closed: [],
    });
  });

  test("follows from a proposal of either side, and from no other pair's", () => {
    const { view, propose, agree } = scene(["a", "b", "c"]);
    const { id: asked } = propose("c", "a");
    const agreed = agree("c", "b");
    expect(view().pairs).toEqual([
      { between: ["a", "b"], proposal_id: null, status: "none" },
      { between: ["a", "c"], proposal_id: asked, status: "open" },
      { between: ["b", "c"], proposal_id: agreed, status: "ratified" },
    ]);
  });

  test("is by the newest proposal until one is ratified", () => {
    const { view, propose, answer } = scene(["a", "b"]);
    const first = propose("a", "b");
    answer(first, false);
    expect(view().pairs).toMatchObject([{ proposal_id: first.id, status: "rejected" }]);
    const second = propose("b", "a");
    expect(view().pairs).toMatchObject([{ proposal_id: second.id, status: "open" }]);
    answer(second, true);
    propose("a", "b");
    expect(view().pairs).toMatchObject([{ proposal_id: second.id, status: "ratified" }]);
  });

  test("has ended when its proposer has taken the proposal back", () => {
    const { view, say, propose } = scene(["a", "b"]);
    const { id, correlationId: thread } = propose("a", "b");
    say("a_to_b", { type: "correction", body: { reverts: id }, thread });
    say("a_to_b", { type: "heartbeat" });
    expect(view().pairs).toEqual([{ between: ["a", "b"], proposal_id: id, status: "ended" }]);
  });

  test("has ended when its proposer has agreed to another proposal instead", () => {
    const { view, state, propose } = scene(["a", "b"]);
    const { id } = propose("a", "b");
    const proposal = state.proposals.proposals.get(id);
    if (proposal === undefined) throw new Error("one proposal");
    const by = { by: "x", log: "a_to_b", line: 2, at: "2026-11-20T12:00:00Z", ackIds: [] };
    proposal.outcome = { ...by, status: "reverted", replacedBy: "y" };
    expect(view().pairs).toMatchObject([{ status: "ended" }]);
  });

  test("is void when nobody in the pair can agree, until one is proposed that is not", () => {
    const { view, propose } = scene(["a", "b", "c"]);
    const [others, meant] = [
      { between: ["a", "c"], proposal_id: null, status: "none" },
      { between: ["b", "c"], proposal_id: null, status: "none" },
    ];
    const none = propose("a", "b", MOVE, { body: { ...MOVE, required: [] } });
    const is = (proposal: Message, status: string) => [
      { between: ["a", "b"], proposal_id: proposal.id, status },
      others,
      meant,
    ];
    expect(view().pairs).toEqual(is(none, "void"));
    const elsewhere = propose("b", "a", MOVE, { body: { ...MOVE, required: ["c"] } });
    expect(view().pairs).toEqual(is(elsewhere, "void"));
    const open = propose("a", "b");
    propose("a", "b", MOVE, { body: { ...MOVE, required: [] } });
    expect(view().pairs).toEqual(is(open, "open"));
  });

  test("is not asked for by a proposal that waits for a roster", () => {
    const { state, view, propose } = scene(["a", "b"]);
    propose("a", "b", MOVE, {
      to: ["stranger"],
      body: { ...MOVE, required: ["stranger"] },
    });
    expect([...state.proposals.proposals.values()]).toMatchObject([{ awaitsRoster: true }]);
    expect(view().pairs).toEqual([{ between: ["a", "b"], proposal_id: null, status: "none" }]);
  });

  test("is not asked for by a proposal that is unchained", () => {
    const { view, propose } = scene(["a", "b"]);
    propose("a", "b", MOVE, { unsigned: true });
    expect(view().pairs).toMatchObject([{ proposal_id: null, status: "none" }]);
  });

  test("is not asked of an agent that has left", () => {
    const left = new Map([["c", [{ atMs: NOON, logs: new Map(), back: undefined }]]]);
    const { view, agree } = scene(["a", "b", "c"], makeLayout("pairwise", ["a", "b", "c"], left));
    agree("a", "b");
    expect(view()).toMatchObject({ agreed: true, pairs: [{ between: ["a", "b"] }] });
    expect(view().pairs).toHaveLength(1);
  });
});

describe("our operator", () => {
  test("is told when every pair has agreed, and by which proposals", () => {
    const { view, decided, agree } = scene(["a", "b", "c"]);
    const first = agree("a", "b");
    const second = agree("c", "a");
    expect(view().agreed).toBe(false);
    expect(decided()).toEqual([]);
    const third = agree("b", "c");
    expect(view().agreed).toBe(true);
    const ids = [first, second, third].map((id) => id.slice(0, 12));
    expect(decided()).toEqual([
      {
        do: "tell",
        incident: {
          key: `layout_agreed:${ids.join(" ")}`,
          cause: "layout_agreed",
          subject: "all agents have agreed to move this wire to outboxes",
          detail: expect.stringContaining("deaddrop layout accept"),
          concernsWire: false,
        },
      },
    ]);
  });

  test("is told of an agreement between two agents", () => {
    const { decided, propose, answer } = scene(["a", "b"]);
    const proposal = propose("a", "b");
    expect(decided()).toEqual([]);
    answer(proposal, true);
    expect(decided()).toMatchObject([{ incident: { key: expect.stringMatching(/:.{12}$/u) } }]);
  });

  test("of a wire of one agent is told nothing, since nobody has asked", () => {
    const { view, decided } = scene(["a"]);
    expect(view()).toMatchObject({ agreed: true, pairs: [] });
    expect(decided()).toEqual([]);
  });
});

describe("an agent is unchained", () => {
  const refused = { kind: "refused", log: "b_to_a", at: NOON, reason: "malformed" } as const;

  test("when no line of a log of its own is chained", () => {
    const { view, say } = scene(["a", "b", "c"]);
    say("b_to_a", { type: "feedback" });
    say("a_to_b", { type: "feedback" });
    expect(view().unchained).toEqual([]);
    say("b_to_c", { type: "feedback", unsigned: true });
    expect(view().unchained).toEqual(["b"]);
    say("b_to_c", { type: "feedback" });
    expect(view().unchained).toEqual([]);
  });

  test("also when others have written in its log", () => {
    const { state, env, view, say } = scene(["a", "b"]);
    say("b_to_a", { type: "feedback", unsigned: true });
    apply(state, { ...refused, line: 2 }, env);
    expect(view().unchained).toEqual(["b"]);
  });

  test("but not by what others alone have written in its log", () => {
    const { state, env, view } = scene(["a", "b"]);
    apply(state, { ...refused, line: 1 }, env);
    apply(state, { ...refused, line: 2 }, env);
    expect(view().unchained).toEqual([]);
  });
});

describe("a wire that has moved", () => {
  const script = () => new WireScript("moving", ["a", "b"]);

  test("lists its closed logs with the lines that have closed them", () => {
    const wire = script();
    const state = emptyState();
    const env = scriptEnv(wire.layout, "a");
    const moved = wire.move("b", NOON);
    for (const line of moved) apply(state, lineEvent(line, "a"), env);
    expect(layoutView(state.proposals, state.logs, env)).toEqual({
      layout: "outbox",
      agreed: false,
      pairs: [],
      unchained: [],
      closed: [
        { log: "a_to_b", by: null },
        { log: "b_to_a", by: moved[0]?.message.id },
      ],
    });
  });

  test("shows no unchained agents, and tells its operator nothing of what was agreed", () => {
    const { state, env, agree, say } = scene(["a", "b"]);
    agree("a", "b");
    say("b_to_a", { type: "feedback" });
    const moved = { ...env, layout: script().layout };
    expect(decideLayout(state.proposals, state.logs, env)).toHaveLength(1);
    expect(decideLayout(state.proposals, state.logs, moved)).toEqual([]);
    const other = script();
    const plain = other.say("b_to_a", NOON, { type: "feedback", unsigned: true });
    const fresh = emptyState();
    apply(fresh, lineEvent(plain, "a"), moved);
    expect(layoutView(fresh.proposals, fresh.logs, moved)).toMatchObject({ unchained: [] });
  });
});

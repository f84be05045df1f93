import { describe, expect, test } from "vitest";
import { pendingView } from "../../../src/protocol/threads/threads-view.ts";
import { threadsView, threadView } from "./all-threads.ts";
import { proposalsView } from "../../../src/protocol/decisions/proposals-view.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { apply } from "../../../src/protocol/core.ts";
import { emptyState, type State } from "../../../src/protocol/state.ts";
import {
  hours,
  lineEvent,
  minutes,
  NOON,
  seconds,
  scriptEnv,
  WireScript,
} from "../../support/scripts/wire-script.ts";

const THREAD = "2026-11-20T12:00:00.000000Z";
const iso = (ms: number) => new Date(ms).toISOString();

describe("a thread is shown whole", () => {
  const script = new OutcomeScript(
    "pairwise",
    ["a", "b"],
    ["a proposes P", "b feedback F", "a correction C", "b beats"],
  );
  const [asked, remark, correction] = script.order.map(({ message }) => message);
  const state = script.fold("a");
  const env = script.env("a");
  const due = NOON + seconds(3) + minutes(30);
  const obligation = {
    event_id: asked?.id,
    correlation_id: THREAD,
    request_id: null,
    request_type: null,
    action: null,
    decision: "text of P",
    type: "proposal",
    subject: "proposes P",
    from: "a",
    owed_by: "b",
    due_at: iso(due),
    overdue: false,
    since: iso(NOON),
  };

  test("with its messages, what is owed in it, and its proposals", () => {
    const base = { tier: "TRUSTED", refused: null, corrections: [] };
    const view = {
      correlation_id: THREAD,
      root: asked?.id,
      subject: "proposes P",
      status: "waiting_on",
      waiting_on: ["b"],
      participants: ["a", "b"],
      messages: [
        {
          ...base,
          event_id: asked?.id,
          log: "a_to_b",
          line: 1,
          received_at: iso(NOON),
          from: "a",
          type: "proposal",
          subject: "proposes P",
          timestamp: THREAD,
          corrections: [correction?.id],
        },
        {
          ...base,
          event_id: remark?.id,
          log: "b_to_a",
          line: 1,
          received_at: iso(NOON + seconds(1)),
          from: "b",
          type: "feedback",
          subject: "feedback F",
          timestamp: "2026-11-20T12:00:01.000000Z",
        },
        {
          ...base,
          event_id: correction?.id,
          log: "a_to_b",
          line: 2,
          received_at: iso(NOON + seconds(2)),
          from: "a",
          type: "correction",
          subject: "correction C",
          timestamp: "2026-11-20T12:00:02.000000Z",
        },
      ],
      omitted: 0,
      obligations: [obligation],
      proposals: proposalsView(state.proposals, state.logs, env),
    };
    expect(threadView(state, env, due - 1, THREAD)).toEqual([view]);
    expect(threadsView(state, env, due - 1)).toEqual([view]);
    expect(view.proposals).toHaveLength(1);
    expect(threadView(state, env, due, "another")).toEqual([]);
  });

  test("and what is owed is overdue from the moment at which it is due", () => {
    expect(pendingView(state, env, due - 1)).toEqual([obligation]);
    expect(pendingView(state, env, due)).toEqual([{ ...obligation, overdue: true }]);
  });
});

describe("what is owed", () => {
  const pairs = (...steps: string[]) => {
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    const state = script.fold("a");
    return pendingView(state, script.env("a"), NOON).map(
      ({ subject, owed_by: who, due_at: at }) =>
        `${who} on ${subject} in ${(Date.parse(at ?? "") - NOON) / 1_000} s`,
    );
  };

  test.each<[string, string[], string[]]>([
    ["a day for a proposal that no beat covers", ["a proposes P"], ["b on proposes P in 86400 s"]],
    ["a day for one of theirs", ["b proposes P"], ["a on proposes P in 86400 s"]],
    ["nothing for a proposal that is rejected", ["a proposes P", "b rejects P", "a beats"], []],
    [
      "nothing for one that is superseded",
      ["a proposes P", "a proposes Q"],
      ["b on proposes Q in 86401 s"],
    ],
    ["nothing by whom it does not need", ["a proposes P needs=x"], []],
  ])("is %s", (_name, steps, expected) => {
    expect(pairs(...steps)).toEqual(expected);
  });

  const asking = (log: string, change: object) => {
    const wire = new WireScript("pairwise", ["a", "b"]);
    const env = scriptEnv(wire.layout, "a");
    const state: State = emptyState();
    const say = (at: number, name: string, saying: Parameters<WireScript["say"]>[2], more = {}) => {
      const line = wire.say(name, at, saying);
      const message = { ...line.message, ...more };
      apply(state, lineEvent({ ...line, message }, "a"), env);
      return message;
    };
    const asked = say(NOON, log, { type: "incident", ...change }, { ackRequired: true });
    const owed = () =>
      pendingView(state, env, NOON).map(({ owed_by: who, due_at: at }) => [
        who,
        at === null ? null : (Date.parse(at) - NOON) / 1_000,
      ]);
    return { wire, state, env, say, asked, owed };
  };

  test("an incident is due one cadence after its addressee has read it, at least T1", () => {
    const { wire, state, env, say, owed } = asking("b_to_a", { type: "request" });
    const beat = (lines: number, read: number, extra = {}) =>
      apply(
        state,
        lineEvent(wire.beat("b_to_a", NOON, { a_to_b: { lines, read } }, extra), "a"),
        env,
      );
    beat(0, 0);
    say(NOON, "a_to_b", { type: "incident" }, { ackRequired: true });
    const ofIncident = () => owed().filter(([who]) => who === "b");
    expect(ofIncident()).toEqual([["b", null]]);
    beat(1, 0);
    expect(ofIncident()).toEqual([["b", null]]);
    beat(1, 1);
    expect(ofIncident()).toEqual([["b", 90]]);
    beat(1, 1, { next_eta: iso(NOON + seconds(200)) });
    expect(ofIncident()).toEqual([["b", 200]]);
  });

  test("until it is resolved, by whomever", () => {
    const { say, asked, owed } = asking("a_to_b", {});
    say(NOON + 1, "a_to_b", { type: "incident", body: { resolves: asked.id } });
    expect(owed()).toEqual([]);
  });

  test("anything else is due within a day", () => {
    expect(asking("a_to_b", { type: "request" }).owed()).toEqual([["b", 86_400]]);
    expect(asking("b_to_a", { type: "request" }).owed()).toEqual([["a", 86_400]]);
  });

  test("is listed by when it came, then by id", () => {
    const { say, state, env, asked } = asking("a_to_b", { type: "request", subject: "first" });
    const more = { ackRequired: true };
    const ids = [
      say(NOON + 2, "a_to_b", { type: "request", subject: "x" }, more).id,
      say(NOON + 2, "b_to_a", { type: "request", subject: "y" }, more).id,
      say(NOON + 2, "a_to_b", { type: "request", subject: "z", thread: "T" }, more).id,
      say(NOON + 2, "b_to_a", { type: "request", subject: "w", thread: "T" }, more).id,
    ];
    const early = say(NOON + 1, "b_to_a", { type: "request", subject: "v" }, more).id;
    const listed = pendingView(state, env, NOON + hours(1)).map(({ event_id: id }) => id);
    expect(listed).toEqual([asked.id, early, ...ids.sort()]);
  });
});

describe("a thread is", () => {
  const statuses = (...steps: string[]) => {
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    return threadsView(script.fold("a"), script.env("a"), NOON).map(
      ({ status, waiting_on: waiting, root }) =>
        `${status} ${waiting.join(",")}${root === null ? "without root" : ""}`,
    );
  };

  test.each<[string, string[], string[]]>([
    ["open where nothing was asked", ["a ship S", "b feedback F"], ["open "]],
    ["waiting for who owes", ["a proposes P", "b proposes Q"], ["waiting_on a"]],
    ["closed when all is answered", ["a proposes P", "b acks P"], ["closed "]],
    ["open without a root", ["a ship S thread=unknown"], ["open without root"]],
    ["two, where two began it", ["a ship S", "b ship T thread=new"], ["open ", "open "]],
  ])("%s", (_name, steps, expected) => {
    expect(statuses(...steps)).toEqual(expected);
  });
});

describe("proposals", () => {
  const script = new OutcomeScript(
    "outbox",
    ["a", "b", "c"],
    [
      "a proposes P needs=b,c",
      "b acks P",
      "c rejects P",
      "b proposes Q needs=a thread=second",
      "a proposes R needs=a thread=third",
    ],
  );
  const env = script.env("a");

  test("are shown with what each required party supports", () => {
    const state = script.fold("a");
    const view = proposalsView(state.proposals, state.logs, env);
    const base = { problem: null, decided_by: null, replaced_by: null };
    expect(view).toEqual([
      {
        ...base,
        proposal_id: script.idOf("P"),
        correlation_id: THREAD,
        proposer: "a",
        subject: "proposes P",
        decision: "text of P",
        required: ["b", "c"],
        status: "open",
        waits_for: "the next heartbeat of a",
        support: { b: script.idOf("P"), c: "rejected" },
      },
      {
        ...base,
        proposal_id: script.idOf("Q"),
        correlation_id: "second",
        proposer: "b",
        subject: "proposes Q",
        decision: "text of Q",
        required: ["a"],
        status: "open",
        waits_for: "an answer of a",
        support: { a: null },
      },
      {
        ...base,
        proposal_id: script.idOf("R"),
        correlation_id: "third",
        proposer: "a",
        subject: "proposes R",
        decision: null,
        required: [],
        status: "void",
        problem: "body.required names the proposer",
        waits_for: null,
        support: {},
      },
    ]);
    expect(proposalsView(state.proposals, state.logs, env, "second")).toEqual([view[1]]);
  });

  test("of one time are listed by id, whichever was read first", () => {
    const wire = new WireScript("pairwise", ["a", "b"]);
    const lines = Array.from({ length: 6 }, (_, n) =>
      wire.say("a_to_b", NOON, { type: "proposal", thread: `${n}` }),
    );
    const state = emptyState();
    for (const line of lines) apply(state, lineEvent(line, "a"), scriptEnv(wire.layout, "a"));
    const ids = proposalsView(state.proposals, state.logs, scriptEnv(wire.layout, "a")).map(
      ({ proposal_id: id }) => id,
    );
    expect(ids).toEqual(lines.map(({ message }) => message.id).sort());
  });

  test("whose threads are forgotten are supported if they were ratified", () => {
    const pair = new OutcomeScript(
      "pairwise",
      ["a", "b"],
      [
        "a proposes P",
        "b acks P",
        "a beats",
        "a proposes Q thread=second",
        "b acks Q thread=second",
      ],
    );
    const state = pair.fold("a");
    const support = () =>
      proposalsView(state.proposals, state.logs, pair.env("a")).map((view) => view.support);
    expect(support()).toEqual([{ b: pair.idOf("P") }, { b: pair.idOf("Q") }]);
    state.proposals.topics.clear();
    expect(support()).toEqual([{ b: pair.idOf("P") }, { b: null }]);
  });
});

import { describe, expect, test } from "vitest";
import { MAX_INCIDENTS } from "../../../src/protocol/incidents/incident-state.ts";
import { stageOf } from "../../../src/protocol/incidents/incident-deadlines.ts";
import {
  incidentsView,
  unresolvedIncidents,
  type IncidentView,
} from "../../../src/protocol/incidents/incident-view.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import type { Effect } from "../../../src/protocol/effects.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { moment, ScriptedAgent } from "../../support/scripts/scripted-agent.ts";
import {
  hours,
  lineEvent,
  minutes,
  NOON,
  scriptEnv,
  seconds,
  WireScript,
  type ScriptHeads,
} from "../../support/scripts/wire-script.ts";

/** Incidents that the agent itself has not acked by that time, though it was due. */
function overdueFor({ incidents, env, logs }: ScriptedAgent, at: number): IncidentView[] {
  const owes = ({ addressees }: IncidentView): boolean =>
    addressees.some(
      ({ handle, acked, due_at: due }) =>
        handle === env.self && !acked && due !== null && Date.parse(due) <= at,
    );
  return unresolvedIncidents(incidents, env, logs).filter(owes);
}

const OURS = "forge_to_scribe";
const THEIRS = "scribe_to_forge";

function scene(change: Parameters<typeof scriptEnv>[3] = {}) {
  const script = new WireScript("pairwise", ["forge", "scribe"]);
  const forge = new ScriptedAgent(script, scriptEnv(script.layout, "forge", {}, change));
  // An addressee is not asked about what its first beat covers.
  script.beat(THEIRS, NOON - hours(1), { [OURS]: { lines: 0 } });
  forge.read(moment(NOON - hours(1)));
  return {
    script,
    forge,
    raise: (at: number, body: object = { severity: "high" }) =>
      forge.say(OURS, moment(at), { type: "incident", subject: "disk full", body }).message,
    hear: (at: number, heads: ScriptHeads, extra: object = {}) => {
      const read = Object.entries(heads).map(([log, head]) => [log, { read: head.lines, ...head }]);
      script.beat(THEIRS, at, Object.fromEntries(read) as ScriptHeads, extra);
      forge.read(moment(at));
    },
    answer: (at: number, saying: Parameters<WireScript["say"]>[2]) => {
      const line = script.say(THEIRS, at, saying);
      forge.read(moment(at));
      return line;
    },
    effects: (at: number) =>
      forge.decideIncidents(moment(at)).filter((each) => each.do !== "mirror"),
  };
}

const kinds = (effects: readonly Effect[]) =>
  effects.map((effect) =>
    effect.do === "tell" ? effect.incident.cause : effect.do === "send" ? effect.draft.subject : "",
  );

describe("the sender's daemon", () => {
  test("escalates one cadence after the first beat that covers it as read, once", () => {
    const { forge, raise, hear, effects } = scene();
    const { id, correlationId } = raise(NOON);
    hear(NOON + minutes(2), { [OURS]: { lines: 1 } });
    hear(NOON + minutes(3), { [OURS]: { lines: 1 } });
    expect(effects(NOON + minutes(2) + seconds(90) - 1)).toEqual([]);
    const [escalation] = effects(NOON + minutes(2) + seconds(90));
    const body = { escalates: id, of: "scribe", severity: "high" };
    expect(escalation).toEqual({
      do: "send",
      log: OURS,
      draft: {
        to: ["scribe"],
        type: "incident",
        subject: "not acked by scribe: disk full",
        body: fromPlain(body),
        priority: "high",
        correlationId,
      },
    });
    expect(effects(NOON + minutes(4))).toEqual([escalation]);
    forge.say(OURS, moment(NOON + minutes(4)), { type: "incident", body });
    expect(effects(NOON + minutes(400))).toEqual([]);
  });

  test("waits as long as the addressee last advertised, but at most T3", () => {
    const { raise, hear, effects } = scene();
    raise(NOON);
    const eta = new Date(NOON + minutes(600)).toISOString();
    hear(NOON + minutes(1), { [OURS]: { lines: 1 } }, { next_eta: eta });
    expect(effects(NOON + minutes(21) - 1)).toEqual([]);
    expect(kinds(effects(NOON + minutes(21)))).toEqual(["not acked by scribe: disk full"]);
  });

  test("waits as long as it advertised last, from the beat that covers", () => {
    const { raise, hear, effects } = scene();
    raise(NOON);
    const eta = (ms: number) => ({ next_eta: new Date(ms).toISOString() });
    hear(NOON + minutes(1), { [OURS]: { lines: 1 } }, eta(NOON + minutes(11)));
    hear(NOON + minutes(2), { [OURS]: { lines: 1 } }, eta(NOON + minutes(4)));
    expect(effects(NOON + minutes(3) - 1)).toEqual([]);
    expect(kinds(effects(NOON + minutes(3)))).toEqual(["not acked by scribe: disk full"]);
  });

  test("acked in time, or answered by a resolution: nothing", () => {
    for (const body of [{ acks: "id" }, undefined, { resolves: "id" }]) {
      const { raise, hear, answer, effects, forge } = scene();
      const { id, correlationId } = raise(NOON);
      hear(NOON + minutes(1), { [OURS]: { lines: 1 } });
      const named = Object.fromEntries(Object.keys(body ?? {}).map((name) => [name, id]));
      answer(NOON + minutes(2), {
        type: "resolves" in named ? "incident" : "ack",
        thread: correlationId,
        body: named,
      });
      expect(effects(NOON + minutes(60))).toEqual([]);
      const status = incidentsView(forge.incidents, forge.env, forge.logs)[0]?.status;
      expect(status).toBe("resolves" in named ? "resolved" : "acked");
    }
  });

  test("an ack of something else in the thread is none, nor the answer to a request", () => {
    const { raise, hear, answer, effects } = scene();
    const { correlationId: thread } = raise(NOON);
    hear(NOON + minutes(1), { [OURS]: { lines: 1 } });
    answer(NOON + minutes(2), { type: "ack", thread, body: { acks: "0".repeat(64) } });
    answer(NOON + minutes(2), { type: "ack", thread, body: { request_id: "00112233" } });
    answer(NOON + minutes(2), { type: "feedback", thread });
    expect(kinds(effects(NOON + minutes(10)))).toEqual(["not acked by scribe: disk full"]);
  });

  test("not covered: the operator is told, nothing escalates", () => {
    const { raise, effects, hear } = scene();
    const { id } = raise(NOON);
    hear(NOON + minutes(1), { [OURS]: { lines: 0 } });
    expect(effects(NOON + minutes(5) - 1)).toEqual([]);
    const told = effects(NOON + minutes(5));
    expect(told).toEqual([
      {
        do: "tell",
        incident: {
          key: `incident_not_covered:${OURS}:${id}:scribe`,
          cause: "incident_not_covered",
          peer: "scribe",
          subject: "incident has not reached scribe: disk full",
          detail:
            "no heartbeat of scribe shows that it has arrived, so it cannot be escalated; " +
            "reach scribe by another way",
          concernsWire: false,
        },
      },
    ]);
    expect(effects(NOON + minutes(600))).toEqual(told);
  });

  test("named as refused is not covered", () => {
    const { raise, effects, hear } = scene();
    raise(NOON);
    hear(NOON + minutes(1), { [OURS]: { lines: 1, refused: [[1, "tier_refused"]] } });
    const [told] = effects(NOON + minutes(10));
    expect(told).toMatchObject({ do: "tell", incident: { cause: "incident_not_covered" } });
    expect(JSON.stringify(told)).toContain("scribe refused the line");
  });

  test("a long subject is cut at 500 characters, and an escalation names all addressees", () => {
    const { forge, hear, effects } = scene();
    forge.say(OURS, moment(NOON), { type: "incident", subject: "é".repeat(500) });
    hear(NOON + 1, { [OURS]: { lines: 1 } });
    const prefix = "not acked by scribe: ";
    expect(kinds(effects(NOON + minutes(9)))).toEqual([
      `${prefix}${"é".repeat(500 - prefix.length)}`,
    ]);
  });

  test("a slow peer is waited for until it counts as silent", () => {
    const { raise, hear, effects } = scene();
    const eta = new Date(NOON + minutes(4)).toISOString();
    hear(NOON, { [OURS]: { lines: 0 } }, { next_eta: eta });
    raise(NOON + 1);
    expect(effects(NOON + minutes(12))).toEqual([]);
    expect(kinds(effects(NOON + 1 + minutes(12)))).toEqual(["incident_not_covered"]);
  });

  test("a peer without heads shows nothing of it: the operator is told, nothing escalates", () => {
    const script = new WireScript("pairwise", ["forge", "scribe"]);
    const forge = new ScriptedAgent(script, scriptEnv(script.layout, "forge"));
    script.beat(THEIRS, NOON - 1);
    forge.say(OURS, moment(NOON), { type: "incident", body: { severity: "high" } });
    script.beat(THEIRS, NOON + minutes(3));
    forge.read(moment(NOON + minutes(3)));
    const causes = (at: number) =>
      kinds(forge.decideIncidents(moment(at)).filter((each) => each.do !== "mirror"));
    expect(causes(NOON + minutes(4.5))).toEqual([]);
    expect(causes(NOON + minutes(5))).toEqual(["incident_not_covered"]);
  });

  test("no deadline against a peer that is held or not read to the end, nor from history", () => {
    for (const change of [{ heldPeers: new Set(["scribe"]) }, { caughtUp: () => false }]) {
      const { raise, effects, hear } = scene(change);
      raise(NOON);
      hear(NOON + minutes(1), { [OURS]: { lines: 1 } });
      expect(effects(NOON + minutes(600))).toEqual([]);
    }
    const { script, forge, effects } = scene();
    const old = script.say(OURS, NOON, { type: "incident", body: { severity: "high" } });
    forge.fold(lineEvent(old, "forge", { live: false }));
    script.beat(THEIRS, NOON + 1, { [OURS]: { lines: 1, read: 1 } });
    forge.read(moment(NOON + 1));
    expect(effects(NOON + minutes(600))).toEqual([]);
  });

  test("the first live beat that covers starts the clock, not one from history", () => {
    const { script, forge, raise, effects, hear } = scene();
    raise(NOON);
    const old = script.beat(THEIRS, NOON + 1, { [OURS]: { lines: 1, read: 1 } });
    forge.fold(lineEvent(old, "forge", { live: false }));
    expect(effects(NOON + minutes(4))).toEqual([]);
    script.beat(THEIRS, NOON + minutes(30), { [OURS]: { lines: 1, read: 1 } });
    const line = script.lines.get(THEIRS)?.[2];
    if (line !== undefined) forge.fold(lineEvent(line, "forge"));
    expect(effects(NOON + minutes(31))).toEqual([]);
    expect(kinds(effects(NOON + minutes(31.5)))).toEqual(["not acked by scribe: disk full"]);
    expect(hear).toBeDefined();
  });

  test("escalations, resumes and automatic incidents ask nothing", () => {
    for (const body of [
      { escalates: "x", of: "scribe" },
      { escalates: "x" },
      { resumes: "x" },
      { resumes_here: "x" },
      { resolves: "x" },
      { cause: "log_gap" },
    ]) {
      const { forge, raise, hear, effects } = scene();
      raise(NOON, body);
      hear(NOON + minutes(1), { [OURS]: { lines: 1 } });
      expect(effects(NOON + minutes(60))).toEqual([]);
      expect(incidentsView(forge.incidents, forge.env, forge.logs)).toEqual([]);
    }
  });

  test("an escalation that names nobody who was asked escalates nothing, however many come", () => {
    const { script, forge, raise } = scene();
    const { id, correlationId: thread } = raise(NOON);
    const { id: theirs } = script.say(THEIRS, NOON, { type: "incident" }).message;
    for (let n = 1; n <= 50; n += 1) {
      const of = `nobody ${n}`;
      script.say(OURS, NOON + n, { type: "incident", thread, body: { escalates: id, of } });
      script.say(THEIRS, NOON + n, { type: "incident", thread, body: { escalates: theirs, of } });
    }
    forge.read(moment(NOON + minutes(1)));
    const held = [...forge.incidents.declared.values()].flatMap((each) => [...each.values()]);
    expect(held.map(({ escalations }) => escalations.size)).toEqual([0, 0]);
    const views = incidentsView(forge.incidents, forge.env, forge.logs);
    expect(views.map(({ status }) => status)).toEqual(["open", "open"]);
  });

  test("in an outbox each silent addressee is named by an escalation of its own", () => {
    const script = new WireScript("outbox", ["ada", "bob", "eve", "sam"]);
    const ada = new ScriptedAgent(script, scriptEnv(script.layout, "ada"));
    const { id } = ada.say("ada", moment(NOON), { type: "incident", to: ["bob", "eve"] }).message;
    for (const log of ["bob", "eve", "sam"]) {
      script.beat(log, NOON, { ada: { lines: 0 } });
      script.beat(log, NOON + 1, { ada: { lines: 1, read: 1 } });
    }
    script.say("sam", NOON + 2, { type: "ack", thread: "x", body: { acks: id } });
    ada.read(moment(NOON + 2));
    const sends = ada
      .decideIncidents(moment(NOON + minutes(2)))
      .filter(({ do: it }) => it === "send");
    expect(kinds(sends)).toEqual(["not acked by bob: incident", "not acked by eve: incident"]);
    const [view] = incidentsView(ada.incidents, ada.env, ada.logs);
    expect(view?.addressees.map(({ handle, acked }) => [handle, acked])).toEqual([
      ["bob", false],
      ["eve", false],
    ]);
  });
});

test("the operator of every other agent is told of safe mode, once", () => {
  const script = new WireScript("pairwise", ["forge", "scribe"]);
  const scribe = new ScriptedAgent(script, scriptEnv(script.layout, "scribe"));
  const { id } = script.say(OURS, NOON, { type: "incident", body: { severity: "high" } }).message;
  script.beat(THEIRS, NOON, { [OURS]: { lines: 0 } });
  script.beat(THEIRS, NOON + 1, { [OURS]: { lines: 1, read: 1 } });
  const body = { escalates: id, of: "scribe" };
  const escalation = script.say(OURS, NOON + minutes(2), { type: "incident", body });
  scribe.read(moment(NOON + minutes(2)));
  expect(scribe.decideIncidents(moment(NOON + minutes(2)))).toEqual([]);
  script.beat(THEIRS, NOON + minutes(11), { [OURS]: { lines: 2 } });
  scribe.read(moment(NOON + minutes(11)));
  const escalationId = escalation.message.id;
  expect(scribe.decideIncidents(moment(NOON + minutes(11)))).toEqual([
    {
      do: "tell",
      incident: {
        key: `safe_mode:${escalationId}`,
        cause: "safe_mode",
        subject: "safe mode: scribe did not ack an incident of forge",
        detail:
          `since 2026-11-20T12:11:00.000Z, by escalation ${escalationId.slice(0, 10)} of incident ${id.slice(0, 10)}; ` +
          `it ends when scribe acknowledges incident ${id.slice(0, 10)} (deaddrop incident ack ${id.slice(0, 10)}), ` +
          "when forge resolves it, or, for scribe alone, when the operator of scribe " +
          'runs: deaddrop resume --reason "why it is safe to go on"',
        concernsWire: false,
      },
    },
  ]);
});

describe("the mirror", () => {
  test("our incident, then every ack, resolution and escalation, in order, as the same bytes", () => {
    const { forge, raise, answer } = scene();
    const { id, correlationId: thread } = raise(NOON);
    forge.say(OURS, moment(NOON + 1), { type: "incident", body: { escalates: id, of: "scribe" } });
    answer(NOON + 2, { type: "ack", thread, body: { acks: id } });
    answer(NOON + 3, { type: "feedback", thread });
    answer(NOON + 4, { type: "incident", thread, body: { resolves: id } });
    forge.say(OURS, moment(NOON + 5), { type: "ship", thread });
    const mirrors = () =>
      forge.decideIncidents(moment(NOON + 6)).filter((effect) => effect.do === "mirror");
    const isBeat = (event: LineEvent) => event.message.type === "heartbeat";
    const lines = forge.events.filter((event) => event.kind === "line");
    const raws = lines.filter((event) => !isBeat(event)).map(({ raw }) => raw);
    expect(mirrors().map(({ raw }) => raw)).toEqual([raws[0], raws[1], raws[2], raws[4]]);
    forge.fold({ kind: "mirrored", id, at: NOON + 7 });
    expect(mirrors().map(({ raw }) => raw)).toEqual([raws[1], raws[2], raws[4]]);
  });

  test("what others raised is theirs to mirror, and history has been mirrored", () => {
    const { script, forge, answer } = scene();
    answer(NOON, { type: "incident", body: { severity: "critical" } });
    const old = script.say(OURS, NOON, { type: "incident" });
    forge.fold(lineEvent(old, "forge", { live: false }));
    expect(forge.decideIncidents(moment(NOON + 1))).toEqual([]);
  });
});

describe("views", () => {
  test("show an incident whole, oldest first, no matter who raised it", () => {
    const { forge, raise, hear, answer } = scene();
    const first = answer(NOON, { type: "incident", subject: "help" }).message;
    const second = raise(NOON + minutes(1));
    hear(NOON + minutes(2), { [OURS]: { lines: 1 } });
    const escalates = { escalates: second.id, of: "scribe" };
    forge.say(OURS, moment(NOON + minutes(4)), { type: "incident", body: escalates });
    const thread = second.correlationId;
    answer(NOON + minutes(5), { type: "ack", thread, body: { acks: second.id } });
    const views = () => incidentsView(forge.incidents, forge.env, forge.logs);
    const shown = [
      {
        event_id: first.id,
        correlation_id: first.correlationId,
        from: "scribe",
        severity: "medium",
        subject: "help",
        raised_at: "2026-11-20T12:00:00.000000Z",
        addressees: [
          {
            handle: "forge",
            acked: false,
            acked_at: null,
            due_at: null,
            stage: "undelivered",
            escalated: false,
          },
        ],
        status: "open",
        automatic: false,
      },
      {
        event_id: second.id,
        correlation_id: second.correlationId,
        from: "forge",
        severity: "high",
        subject: "disk full",
        raised_at: "2026-11-20T12:01:00.000000Z",
        addressees: [
          {
            handle: "scribe",
            acked: true,
            acked_at: "2026-11-20T12:05:00.000Z",
            due_at: "2026-11-20T12:03:30.000Z",
            stage: "read",
            escalated: true,
          },
        ],
        status: "acked",
        automatic: false,
      },
    ];
    expect(views()).toEqual(shown);
    expect(unresolvedIncidents(forge.incidents, forge.env, forge.logs)).toEqual(shown);
    forge.say(OURS, moment(NOON + minutes(6)), { type: "incident", body: { resolves: second.id } });
    expect(views().map(({ status }) => status)).toEqual(["open", "resolved"]);
    expect(unresolvedIncidents(forge.incidents, forge.env, forge.logs)).toEqual(shown.slice(0, 1));
  });

  test("a later log does not hide what is older in another", () => {
    const { forge, script, raise } = scene();
    raise(NOON + minutes(1));
    const line = script.say(THEIRS, NOON, { type: "incident", subject: "older" });
    forge.fold(lineEvent(line, "forge"));
    const subjects = incidentsView(forge.incidents, forge.env, forge.logs).map((it) => it.subject);
    expect(subjects).toEqual(["older", "disk full"]);
  });

  const outbox = (self: string) => {
    const script = new WireScript("outbox", ["ada", "bob", "eve"]);
    const agent = new ScriptedAgent(script, scriptEnv(script.layout, self));
    const tell = (from: string, at: number, saying: Parameters<WireScript["say"]>[2]) => {
      const line = script.say(from, at, saying);
      agent.fold(lineEvent(line, self));
      return line.message;
    };
    const statuses = () =>
      incidentsView(agent.incidents, agent.env, agent.logs).map(({ status }) => status);
    return { script, agent, tell, statuses };
  };

  test("acked is what all of its addressees have acked, if it has any", () => {
    const { tell, statuses } = outbox("ada");
    const { id } = tell("ada", NOON, { type: "incident" });
    const ack = { type: "ack", thread: "any", body: { acks: id } };
    tell("bob", NOON + 1, ack);
    expect(statuses()).toEqual(["open"]);
    tell("eve", NOON + 2, ack);
    expect(statuses()).toEqual(["acked"]);
    tell("ada", NOON + 3, { type: "incident", to: ["sam"] });
    expect(statuses()).toEqual(["acked", "open"]);
  });

  test("overdue is what we ourselves owe, from the moment at which it is due", () => {
    const { agent, script, tell } = outbox("ada");
    const owed = tell("bob", NOON, { type: "incident", subject: "owed" });
    tell("bob", NOON, { type: "incident", subject: "theirs", to: ["eve"] });
    const done = tell("bob", NOON, { type: "incident", subject: "acked" });
    tell("ada", NOON, { type: "ack", thread: "any", body: { acks: done.id } });
    for (const log of ["ada", "eve"]) {
      agent.fold(lineEvent(script.beat(log, NOON, { bob: { lines: 0 } }), "ada"));
      agent.fold(lineEvent(script.beat(log, NOON + 1, { bob: { lines: 3, read: 3 } }), "ada"));
    }
    const overdue = (at: number) => overdueFor(agent, at).map(({ event_id: id }) => id);
    expect(overdue(NOON + seconds(90))).toEqual([]);
    expect(overdue(NOON + 1 + seconds(90))).toEqual([owed.id]);
    expect(overdue(NOON + hours(9))).toEqual([owed.id]);
  });

  test("what our own agent owes is overdue by our own beats", () => {
    const { forge, answer } = scene();
    forge.beat(moment(NOON - minutes(5)));
    answer(NOON, { type: "incident", subject: "help", body: { severity: "low" } });
    const overdue = (at: number) => overdueFor(forge, at).map(({ subject }) => subject);
    forge.fold({ kind: "read", ids: "all", at: NOON });
    forge.beat(moment(NOON + 1));
    expect(overdue(NOON + seconds(89))).toEqual([]);
    expect(overdue(NOON + seconds(91))).toEqual(["help"]);
    const [view] = unresolvedIncidents(forge.incidents, forge.env, forge.logs);
    expect(view).toMatchObject({ from: "scribe", severity: "low", status: "open" });
    forge.say(OURS, moment(NOON + minutes(3)), {
      type: "ack",
      thread: view?.correlation_id ?? "",
      body: { acks: view?.event_id ?? "" },
    });
    expect(overdue(NOON + minutes(9))).toEqual([]);
  });

  test("a severity that is missing or unknown is medium", () => {
    const { forge, raise } = scene();
    for (const body of ["help", {}, { severity: "apocalyptic" }, { severity: 5 }]) {
      raise(NOON, body as object);
    }
    const views = incidentsView(forge.incidents, forge.env, forge.logs);
    expect(views.map(({ severity }) => severity)).toEqual(Array(4).fill("medium"));
  });

  test("only the newest of a log are remembered", () => {
    const { forge, raise } = scene();
    const first = raise(NOON).id;
    for (let n = 0; n < MAX_INCIDENTS; n += 1) raise(NOON + n);
    const views = incidentsView(forge.incidents, forge.env, forge.logs);
    expect(views).toHaveLength(MAX_INCIDENTS);
    expect(views.some(({ event_id }) => event_id === first)).toBe(false);
    expect(forge.incidents.asking.get(THEIRS)?.length).toBeLessThanOrEqual(MAX_INCIDENTS + 1);
  });
});

describe("how an incident has come to its addressee", () => {
  const stage = (forge: ScriptedAgent) =>
    [...forge.incidents.declared.values()]
      .flatMap((byId) => [...byId.values()])
      .map((incident) => stageOf(incident, "scribe", forge.env, forge.logs));

  test("undelivered, then unread, then busy, then read", () => {
    const { forge, raise, script } = scene();
    raise(NOON);
    const beat = (at: number, read: number, state: string) => {
      script.beat(THEIRS, at, { [OURS]: { lines: 1, read } }, { state });
      forge.read(moment(at));
    };
    expect(stage(forge)).toEqual(["undelivered"]);
    beat(NOON + minutes(1), 0, "busy");
    expect(stage(forge)).toEqual(["unread"]);
    beat(NOON + minutes(2), 1, "busy");
    expect(stage(forge)).toEqual(["busy"]);
    beat(NOON + minutes(3), 1, "idle");
    expect(stage(forge)).toEqual(["read"]);
  });

  test("nobody says it of one between others", () => {
    const script = new WireScript("outbox", ["forge", "scribe", "quill"]);
    const forge = new ScriptedAgent(script, scriptEnv(script.layout, "forge"));
    script.say("quill", NOON, { type: "incident", to: ["scribe"], body: { severity: "high" } });
    forge.read(moment(NOON));
    expect(stage(forge)).toEqual([null]);
  });
});

import { describe, expect, test } from "vitest";
import { eventId } from "../../support/scripts/event-id.ts";
import {
  emptyIncidents,
  type Breach,
  MAX_INCIDENTS,
  type Incident,
} from "../../../src/protocol/incidents/incident-state.ts";
import { safeMode } from "../../../src/protocol/incidents/safe-mode.ts";
import type { Tier } from "../../../src/trust/tiers.ts";
import { moment, ScriptedAgent } from "../../support/scripts/scripted-agent.ts";
import {
  lineEvent,
  minutes,
  NOON,
  scriptEnv,
  WireScript,
  type EnvChange,
  type Saying,
  type ScriptLine,
} from "../../support/scripts/wire-script.ts";
import { setBreaches } from "../../support/scripts/ignored-incidents.ts";

const THREAD = "2026-11-20T12:00:00.000000Z";

/** What ada sees of an outbox of three, line by line. */
class Wire {
  readonly script = new WireScript("outbox", ["ada", "bob", "eve"]);
  readonly ada = new ScriptedAgent(this.script, scriptEnv(this.script.layout, "ada"));
  private said = 0;

  write(log: string, saying: Partial<Saying> = {}): ScriptLine {
    const at = NOON + this.said++;
    return this.script.say(log, at, { type: "incident", thread: THREAD, ...saying });
  }

  read(...lines: readonly ScriptLine[]): void {
    for (const line of lines) this.ada.fold(lineEvent(line, "ada"));
  }

  say(log: string, saying: Partial<Saying> = {}): ScriptLine {
    const line = this.write(log, saying);
    this.read(line);
    return line;
  }

  incident({ log, message }: ScriptLine): Incident {
    const incident = this.ada.incidents.declared.get(log)?.get(message.id);
    if (incident === undefined) throw new Error("no such incident");
    return incident;
  }

  acks(line: ScriptLine): [string, number][] {
    return [...this.incident(line).acks].map(([who, mark]) => [who, mark.line]);
  }

  mirrored(): string[] {
    return this.ada.incidents.mirror.map(({ id }) => id);
  }
}

/** Ada's incident and escalation of bob, whose agent has read both and acks neither. */
function ignored(wire: Wire): ScriptLine {
  const beat = (at: number, lines: number) =>
    wire.read(wire.script.beat("bob", at, { ada: { lines, read: lines } }));
  beat(NOON, 0);
  const line = wire.say("ada", { body: { severity: "high" } });
  beat(NOON + 10, 1);
  const escalation = wire.say("ada", { body: { escalates: line.message.id, of: "bob" } });
  beat(NOON + minutes(11), 2);
  return escalation;
}

const ackOf = (line: ScriptLine): Partial<Saying> => ({
  type: "ack",
  body: { acks: line.message.id },
});
const resolves = (line: ScriptLine): Partial<Saying> => ({ body: { resolves: line.message.id } });

describe("an ack", () => {
  test("that names an incident is of that one alone, in whatever thread it is", () => {
    const wire = new Wire();
    const [first, second] = [wire.say("ada"), wire.say("ada")];
    wire.say("bob", { ...ackOf(second), thread: "another" });
    expect([wire.acks(first), wire.acks(second)]).toEqual([[], [["bob", 1]]]);
  });

  test("that names none is of all in its thread, and mirrored once", () => {
    const wire = new Wire();
    const [first, second] = [wire.say("ada"), wire.say("ada")];
    const other = wire.say("ada", { thread: "another" });
    const ack = wire.say("bob", { type: "ack" });
    expect([first, second, other].map((line) => wire.acks(line))).toEqual([
      [["bob", 1]],
      [["bob", 1]],
      [],
    ]);
    const ids = [first, second, other, ack].map(({ message }) => message.id);
    expect(wire.mirrored()).toEqual(ids);
  });

  test("is its author's first", () => {
    const wire = new Wire();
    const line = wire.say("ada");
    const first = wire.say("bob", ackOf(line));
    wire.say("bob", ackOf(line));
    expect([...wire.incident(line).acks]).toEqual([["bob", { line: 1, at: first.at }]]);
  });

  test("of its author, or of one to whom it was not addressed, is none", () => {
    const wire = new Wire();
    const line = wire.say("ada", { to: ["bob"] });
    for (const log of ["ada", "eve"]) {
      wire.say(log, ackOf(line));
      wire.say(log, { type: "ack" });
    }
    expect(wire.acks(line)).toEqual([]);
    expect(wire.mirrored()).toEqual([line.message.id]);
  });

  test("that was read before the incident counts all the same: the first of them", () => {
    const wire = new Wire();
    const line = wire.write("ada");
    wire.say("bob", { type: "ack" });
    wire.say("bob", ackOf(line));
    wire.say("eve", ackOf(line));
    wire.say("eve", { type: "ack" });
    wire.read(line);
    expect(wire.acks(line)).toEqual([
      ["bob", 1],
      ["eve", 1],
    ]);
  });

  test("of something else, read before the incident, is none", () => {
    const wire = new Wire();
    const line = wire.write("ada");
    wire.say("bob", { type: "ack", body: { acks: "0".repeat(64) } });
    wire.say("eve", { type: "ack", thread: "another" });
    wire.read(line);
    expect(wire.acks(line)).toEqual([]);
    expect([...wire.incident(line).resolvedBy]).toEqual([]);
  });

  test("ahead of its incident is remembered among 4,096, in the order of its log", () => {
    const wire = new Wire();
    const [first, second] = [wire.write("ada"), wire.write("ada")];
    wire.say("bob", ackOf(first));
    wire.say("bob", ackOf(second));
    const ahead = () => wire.ada.incidents.ahead.get("bob");
    const { raw, message } = wire.write("bob", { type: "ack" });
    const acks = (n: number) => ({
      ...message,
      id: eventId(`id ${n}`),
      correlationId: `thread ${n}`,
    });
    for (let n = 3; n <= 4_096; n += 1) {
      wire.ada.fold(lineEvent({ log: "bob", line: n, at: NOON, message: acks(n), raw }, "ada"));
    }
    expect(ahead()?.size).toBe(4_096);
    const last = { log: "bob", line: 4_097, at: NOON, message: acks(4_097), raw };
    wire.ada.fold(lineEvent(last, "ada"));
    expect(ahead()?.size).toBe(4_096);
    wire.read(first, second);
    expect([wire.acks(first), wire.acks(second)]).toEqual([[], [["bob", 2]]]);
  });
});

describe("a resolution", () => {
  test.each([
    ["ada", ["ada", "bob"]],
    ["bob", ["bob"]],
    ["eve", ["bob"]],
  ])("by %s counts when it is the author or an addressee", (by, expected) => {
    const wire = new Wire();
    const line = wire.say("ada", { to: ["bob"] });
    const said = wire.say(by, resolves(line));
    wire.say("bob", resolves(line));
    const { resolvedBy, acks } = wire.incident(line);
    expect([...resolvedBy]).toEqual(expected);
    expect([...acks.keys()]).toEqual([]);
    expect(wire.mirrored().includes(said.message.id)).toBe(expected.includes(by));
  });

  test("by its own author does not touch another's incident in the thread", () => {
    const wire = new Wire();
    const [ours, theirs] = [wire.say("ada"), wire.say("bob")];
    wire.say("ada", resolves(ours));
    expect([...wire.incident(ours).resolvedBy]).toEqual(["ada"]);
    expect([...wire.incident(theirs).resolvedBy]).toEqual([]);
  });

  test("that was read before the incident counts, and is no ack", () => {
    const wire = new Wire();
    const line = wire.write("ada");
    wire.say("bob", resolves(line));
    wire.read(line);
    expect([...wire.incident(line).resolvedBy]).toEqual(["bob"]);
    expect(wire.acks(line)).toEqual([]);
  });
});

describe("an escalation", () => {
  test("is, of each addressee, the first; and the first of all alone can be honoured", () => {
    const wire = new Wire();
    const line = wire.say("ada", { body: { severity: "high" } });
    const escalates = (of: string) => ({ body: { escalates: line.message.id, of } });
    const [first, second, third] = [escalates("bob"), escalates("bob"), escalates("eve")].map(
      (saying) => wire.say("ada", saying),
    );
    const incident = wire.incident(line);
    expect([...incident.escalations]).toEqual([
      ["bob", first?.message.id],
      ["eve", third?.message.id],
    ]);
    expect(incident.first).toEqual({
      id: first?.message.id,
      line: 2,
      of: "bob",
      settled: false,
      resumed: false,
    });
    expect(wire.mirrored()).toContain(second?.message.id);
  });

  test.each<[string, Partial<Saying>, Partial<Saying>, boolean]>([
    ["of a grave incident", { body: { severity: "high" } }, {}, false],
    ["of a small one", { body: { severity: "low" } }, {}, true],
    ["of a stranger", { body: { severity: "critical" }, to: ["eve"] }, {}, true],
  ])("%s is judged, or settled at once", (_name, raised, more, settled) => {
    const wire = new Wire();
    const line = wire.say("ada", raised);
    wire.say("ada", { body: { escalates: line.message.id, of: "bob" }, ...more });
    expect(wire.incident(line).first?.settled).toBe(settled);
  });

  test("that is not signed is mirrored, and none that can be honoured", () => {
    const wire = new Wire();
    const line = wire.say("ada", { body: { severity: "high" } });
    const escalates = { body: { escalates: line.message.id, of: "bob" } };
    const unsigned = wire.say("ada", { ...escalates, unsigned: true });
    expect(wire.incident(line).first).toBeUndefined();
    expect(wire.mirrored()).toContain(unsigned.message.id);
    const signed = wire.say("ada", escalates);
    expect(wire.incident(line).first?.id).toBe(signed.message.id);
  });

  function unheeded(): { wire: Wire; escalation: ScriptLine } {
    const wire = new Wire();
    return { wire, escalation: ignored(wire) };
  }
  const stands = (wire: Wire) => safeMode(wire.ada.incidents, wire.ada.env) !== undefined;
  const resumed = (wire: Wire) => wire.ada.incidents.breaches.map((breach) => breach.resumed);

  test("that was not heeded stays open until its author ends it, by its id", () => {
    const { wire, escalation } = unheeded();
    expect([stands(wire), resumed(wire)]).toEqual([true, [false]]);
    wire.say("ada", { body: { resumes: "another" } });
    wire.say("eve", { body: { resumes: escalation.message.id } });
    wire.say("ada", { body: { resumes: escalation.message.id }, unsigned: true });
    expect([stands(wire), resumed(wire)]).toEqual([true, [false]]);
    const resume = wire.say("ada", { body: { resumes: escalation.message.id } });
    expect([stands(wire), resumed(wire)]).toEqual([false, [true]]);
    expect(wire.mirrored()).toContain(resume.message.id);
  });

  test("is ended by an agent for itself, once and for good", () => {
    const { wire, escalation } = unheeded();
    const { id } = escalation.message;
    const here = wire.ada.incidents.resumedHere;
    wire.say("bob", { body: { resumes_here: id } });
    wire.say("ada", { body: { resumes_here: id }, unsigned: true });
    expect([stands(wire), [...here]]).toEqual([true, [["bob", [id]]]]);
    wire.say("ada", { body: { resumes_here: id } });
    wire.say("ada", { body: { resumes_here: id } });
    expect([stands(wire), here.get("ada")]).toEqual([false, [id]]);
    for (let n = 0; n < 256; n += 1) wire.say("ada", { body: { resumes_here: `id ${n}` } });
    expect([here.get("ada")?.length, here.get("ada")?.[0]]).toEqual([256, "id 0"]);
  });
});

describe("whose beats are asked about an incident", () => {
  const asked = (wire: Wire) =>
    Object.fromEntries([...wire.ada.incidents.asking].map(([log, about]) => [log, about.length]));
  const beat = (wire: Wire, log: string, lines: number, change = {}) => {
    const head = { lines, read: lines };
    const line = wire.script.beat(log, NOON + minutes(1), { ada: head, bob: head });
    wire.ada.fold(lineEvent(line, "ada", change));
  };

  test.each<[string, string, object, object]>([
    ["all of ours", "ada", { severity: "low" }, { bob: 1, eve: 1 }],
    ["ourselves of others'", "bob", { severity: "low" }, { ada: 1 }],
    ["all of what is grave", "bob", { severity: "critical" }, { ada: 1, eve: 1 }],
  ])("%s", (_name, from, body, expected) => {
    const wire = new Wire();
    const line = wire.say(from, { body });
    expect(asked(wire)).toEqual(expected);
    wire.say(from, { body: { escalates: line.message.id, of: "eve" } });
    expect(asked(wire)).toEqual(expected);
  });

  test("until they show it, live if it is live, and what became of its escalation", () => {
    const wire = new Wire();
    const line = wire.say("ada", { body: { severity: "high" } });
    beat(wire, "bob", 0);
    expect(asked(wire)).toEqual({ bob: 1, eve: 1 });
    beat(wire, "bob", 1, { live: false });
    expect(asked(wire)).toEqual({ bob: 1, eve: 1 });
    const at = { timestampMs: NOON + minutes(1), at: NOON + minutes(1), cadenceMs: 90_000 };
    expect(wire.incident(line).shown.get("bob")).toEqual({
      fromStart: false,
      read: { line: 2, ...at },
    });
    beat(wire, "bob", 1);
    beat(wire, "eve", 1);
    expect(asked(wire)).toEqual({ bob: 0, eve: 0 });
    expect(wire.incident(line).shown.get("bob")).toEqual({
      fromStart: false,
      read: { line: 2, ...at },
      arrived: { line: 3, ...at },
      readLive: { line: 3, ...at },
    });
    // The very first beat of eve covers it.
    expect(wire.incident(line).shown.get("eve")).toEqual({ fromStart: true });
    wire.say("ada", { body: { escalates: line.message.id, of: "bob" } });
    beat(wire, "bob", 2);
    beat(wire, "eve", 2);
    expect(asked(wire)).toEqual({ bob: 1, eve: 0 });
  });

  test("history is asked until it is shown, live or not", () => {
    const wire = new Wire();
    const line = wire.write("ada");
    wire.ada.fold(lineEvent(line, "ada", { live: false }));
    beat(wire, "bob", 0, { live: false });
    beat(wire, "bob", 1, { live: false });
    expect(asked(wire)).toEqual({ bob: 0, eve: 1 });
    expect(wire.incident(line).shown.get("bob")?.readLive).toBeUndefined();
  });

  test("a beat without heads shows nothing", () => {
    const wire = new Wire();
    const [ours, theirs] = [wire.say("ada"), wire.say("bob", { body: { severity: "high" } })];
    wire.read(wire.script.beat("eve", NOON + minutes(1)));
    expect(wire.incident(ours).shown.size).toBe(0);
    expect(wire.incident(theirs).shown.size).toBe(0);
  });

  test("what is forgotten is not asked about", () => {
    const wire = new Wire();
    for (let n = 0; n < MAX_INCIDENTS + 9; n += 1) wire.say("bob");
    expect(asked(wire)["ada"]).toBeLessThanOrEqual(MAX_INCIDENTS + 1);
    wire.read(wire.script.beat("ada", NOON + minutes(1), { bob: { lines: MAX_INCIDENTS + 9 } }));
    expect(asked(wire)["ada"]).toBe(0);
  });
});

describe("unheeded escalations", () => {
  const breach = (change: Partial<Breach>): Breach => ({
    author: "bob",
    of: "eve",
    incident: "i",
    escalation: "e",
    log: "bob",
    line: 1,
    secondBeatMs: NOON,
    resumed: false,
    ...change,
  });
  const standing = (breaches: Breach[], change: EnvChange = {}) => {
    const state = emptyIncidents();
    setBreaches(state, breaches);
    return safeMode(state, { ...new Wire().ada.env, ...change })?.escalation_id;
  };

  test("count in the order of their second beats, then of the places where they stand", () => {
    const three = [
      breach({ escalation: "1st", log: "a", line: 9 }),
      breach({ escalation: "2nd", log: "a", line: 10 }),
      breach({ escalation: "3rd", log: "b", line: 1 }),
    ];
    const [x, y, z] = three as [Breach, Breach, Breach];
    for (const order of [
      [x, y, z],
      [x, z, y],
      [y, x, z],
      [y, z, x],
      [z, x, y],
      [z, y, x],
    ]) {
      expect(standing(order)).toBe("1st");
    }
    const earlier = breach({ escalation: "early", log: "z", line: 99, secondBeatMs: NOON - 1 });
    expect(standing([x, y, z, earlier])).toBe("early");
    expect(standing([earlier, x, y, z])).toBe("early");
  });

  test("are shown with who raised the incident and who did not ack", () => {
    const state = emptyIncidents();
    setBreaches(state, [breach({})]);
    expect(safeMode(state, new Wire().ada.env)).toEqual({
      active: true,
      since: "2026-11-20T12:00:00.000Z",
      author: "bob",
      incident_id: "i",
      escalation_id: "e",
      of: "eve",
    });
  });

  test.each<[Tier | undefined, number | undefined, boolean]>([
    ["TRUSTED", undefined, true],
    ["ATTESTED", NOON - 1, true],
    ["ATTESTED", NOON, false],
    ["VERIFIED", NOON - 1, false],
    [undefined, undefined, false],
  ])("of an author who is %s since %s count: %s", (tier, sinceMs, expected) => {
    const tierOf = () => ({ tier, sinceMs });
    expect(standing([breach({})], { tierOf }) !== undefined).toBe(expected);
    expect(standing([breach({ author: "ada" })], { tierOf })).toBe("e");
  });

  test.each<[number, number | undefined, string]>([
    [255, 5, "id 0"],
    [256, 5, "id 0"],
    [256, undefined, "id 1"],
  ])("of %i, one more is remembered; what is over goes first: %s", (count, over, first) => {
    const wire = new Wire();
    wire.ada.incidents.breaches = Array.from({ length: count }, (_, n) =>
      breach({ author: "ada", escalation: `id ${n}`, resumed: n === over }),
    );
    ignored(wire);
    const { breaches } = wire.ada.incidents;
    expect([breaches.length, breaches[0]?.escalation]).toEqual([256, first]);
    expect(breaches.some(({ resumed: ended }) => ended)).toBe(count === 255);
    expect(breaches.at(-1)?.author).toBe("ada");
  });

  test("however many one author has, those of another are not forgotten for them", () => {
    const wire = new Wire();
    const theirs = breach({ author: "bob", escalation: "of bob" });
    const ours = Array.from({ length: 1_024 }, (_, n) =>
      breach({ author: "ada", escalation: `id ${n}` }),
    );
    wire.ada.incidents.breaches = [theirs, ...ours];
    ignored(wire);
    expect(wire.ada.incidents.breaches[0]).toEqual(theirs);
  });
});

describe("the mirror", () => {
  const full = (characters: number, count: number) => {
    const wire = new Wire();
    wire.ada.incidents.mirror = Array.from({ length: count }, (_, n) => ({
      id: eventId(`id ${n}`),
      raw: "r".repeat(n === 0 ? characters - count + 1 : 1),
    }));
    const line = wire.write("ada");
    wire.ada.fold(lineEvent(line, "ada", { raw: "r".repeat(1_000) }));
    return wire.mirrored().length - count;
  };

  test.each([
    [255, 1],
    [256, 0],
  ])("of %i lines takes %i more", (count, more) => {
    expect(full(count, count)).toBe(more);
  });

  test.each([
    [8 * 1_024 * 1_024 - 1_000, 1],
    [8 * 1_024 * 1_024 - 999, 0],
  ])("of %i characters takes %i lines of 1,000 more", (characters, more) => {
    expect(full(characters, 1)).toBe(more);
    expect(full(characters, 3)).toBe(more);
  });

  test("takes what is ours and live, and leaves what is there", () => {
    const wire = new Wire();
    const line = wire.say("ada");
    wire.read(line);
    const [history, ack] = [wire.write("ada"), wire.write("bob", ackOf(line))];
    wire.ada.fold(lineEvent(history, "ada", { live: false }));
    wire.ada.fold(lineEvent(ack, "ada", { live: false }));
    wire.say("bob", ackOf(history));
    wire.say("bob");
    expect(wire.ada.incidents.mirror).toEqual([{ id: line.message.id, raw: line.raw }]);
    const told = wire.ada.decideIncidents(moment(NOON));
    expect(told).toEqual([{ do: "mirror", id: line.message.id, raw: line.raw }]);
    wire.ada.fold({ kind: "mirrored", id: "another", at: NOON });
    expect(wire.mirrored()).toHaveLength(1);
    wire.ada.fold({ kind: "mirrored", id: line.message.id, at: NOON });
    expect(wire.mirrored()).toEqual([]);
  });

  test("is emptied sixteen lines at once", () => {
    const wire = new Wire();
    for (let n = 0; n < 20; n += 1) wire.say("ada", { to: ["nobody"] });
    const told = wire.ada.decideIncidents(moment(NOON));
    const ids = told.map((effect) => (effect.do === "mirror" ? effect.id : effect.do));
    expect(ids).toEqual(wire.mirrored().slice(0, 16));
  });
});

test("a line in a log that the wire does not have declares nothing", () => {
  const wire = new Wire();
  const line = wire.write("ada");
  wire.ada.fold(lineEvent({ ...line, log: "sam" }, "ada"));
  expect(wire.ada.incidents.declared.size).toBe(0);
});

test("the incident that makes room is the oldest of its log", () => {
  const wire = new Wire();
  const lines = Array.from({ length: MAX_INCIDENTS + 1 }, () => wire.say("bob"));
  const ids = [...(wire.ada.incidents.declared.get("bob")?.keys() ?? [])];
  expect(ids).toEqual(lines.slice(1).map(({ message }) => message.id));
});

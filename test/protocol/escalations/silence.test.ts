import { describe, expect, it } from "vitest";
import type { SafeModeReader } from "../../../src/protocol/escalations/safe-mode.ts";
import { safeModeOf } from "../../../src/protocol/escalations/safe-mode.ts";
import {
  escalationDue,
  incidentTrouble,
  stageOf,
  type SilentAddressee,
} from "../../../src/protocol/escalations/silence.ts";
import { incidentStanding } from "../../../src/protocol/escalations/open-incident.ts";
import type { History } from "../../../src/protocol/asks/history.ts";
import { isChained, type ChainPlace, type PlaceJson } from "../../../src/wire/places.ts";
import {
  atMinute,
  emptyStore,
  holdAll,
  placeFrom,
  TimedWriter,
  type TimedLine,
} from "../../support/timed-lines.ts";

const READER: SafeModeReader = {
  self: "forge",
  members: new Set(["forge", "scribe", "ann"]),
  cadences: { T1_active: 90_000, T3_long_idle: 1_200_000 },
};

function chainPlace(place: PlaceJson): ChainPlace {
  const found = placeFrom(place);
  if (!isChained(found)) throw new Error("not in a chain");
  return found;
}

function pair(): { forge: TimedWriter; scribe: TimedWriter; incident: PlaceJson } {
  const forge = new TimedWriter("forge");
  const scribe = new TimedWriter("scribe");
  const incident = forge.say("incident", { severity: "high" }, { minute: 0, to: ["scribe"] });
  return { forge, scribe, incident };
}

type Pair = ReturnType<typeof pair>;

/** Judges what was written so far. */
function ask<T>(
  { forge, scribe, incident }: Pair,
  judge: (history: History, silent: SilentAddressee) => T,
  more: readonly TimedLine[] = [],
): T {
  const store = emptyStore();
  const history = holdAll(store, [...forge.lines, ...scribe.lines, ...more]);
  const whole = scribe.lines.length === 0 ? undefined : chainPlace(scribe.last);
  const silent = { incident: chainPlace(incident), of: "scribe", whole, cadenceMs: 90_000 };
  const found = judge(history, silent);
  store.close();
  return found;
}

const due = (scene: Pair, reader: Partial<SafeModeReader> = {}): unknown =>
  ask(scene, (history, silent) => escalationDue(history, silent, { ...READER, ...reader }));

describe("our daemon escalates", () => {
  it("as soon as two beats show that the addressee has read and is silent", () => {
    const scene = pair();
    const { forge, scribe, incident } = scene;
    expect(due(scene)).toBeUndefined();
    scribe.beat(1, [[incident, 0]]);
    scribe.beat(2, [], { state: "busy" });
    const first = scribe.beat(3, [[incident, 1]]);
    scribe.beat(12, []);
    expect(due(scene)).toBeUndefined();
    const second = scribe.beat(13, []);
    const body = due(scene);
    expect(body).toEqual({
      escalates: incident,
      of: "scribe",
      beats: [first.slice(1), second.slice(1)],
      severity: "high",
    });
    forge.say("incident", body, { minute: 14 });
    expect(due(scene)).toBeUndefined();
    const store = emptyStore();
    const history = holdAll(store, [...forge.lines, ...scribe.lines]);
    expect(safeModeOf(history, [chainPlace(forge.last)], READER)).toBeDefined();
    store.close();
  });

  it("takes a beat that says neither that it is busy, nor more than the time that has passed", () => {
    const scene = pair();
    const { scribe, incident } = scene;
    const idle = scribe.beat(1, [[incident, 1]]);
    scribe.beat(2, [], { state: "busy" });
    scribe.beat(3, [], { next_eta: "2026-06-01T12:23:00.000Z" });
    const last = scribe.beat(13, []);
    expect(due(scene)).toMatchObject({ beats: [idle.slice(1), last.slice(1)] });
  });

  it("by live lines only, and nothing that was acked, resolved, refused or is not grave", () => {
    const silent = (scene: Pair, saying: object = {}): Pair => {
      scene.scribe.beat(1, [[scene.incident, 1]], {}, saying);
      scene.scribe.beat(13, []);
      return scene;
    };
    expect(due(silent(pair()))).toBeDefined();
    expect(due(silent(pair(), { isHistorical: true }))).toBeUndefined();
    expect(due(silent(pair()), { members: new Set(["forge", "ann"]) })).toBeUndefined();
    expect(due(silent(pair()), { self: "ann" })).toBeUndefined();
    const acked = pair();
    acked.scribe.say("ack", { about: acked.incident }, { minute: 0.5 });
    expect(due(silent(acked))).toBeUndefined();
    const resolved = pair();
    resolved.forge.say("incident", { resolves: resolved.incident });
    expect(due(silent(resolved))).toBeUndefined();
    const refused = pair();
    const [author, seq, id] = refused.incident;
    refused.scribe.beat(0.5, [], { refused: [[author, seq, seq, id, "schema"]] });
    expect(due(silent(refused))).toBeUndefined();
    const small = pair();
    small.incident = small.forge.say("incident", { severity: "medium" }, { to: ["scribe"] });
    small.scribe.beat(1, [[small.incident, 2]]);
    small.scribe.beat(13, []);
    expect(due(small)).toBeUndefined();
    const old = pair();
    const raised = { minute: 0, to: ["scribe"], isHistorical: true };
    old.incident = old.forge.say("incident", { severity: "high" }, raised);
    old.scribe.beat(1, [[old.incident, 2]]);
    old.scribe.beat(13, []);
    expect(due(old)).toBeUndefined();
  });
});

describe("the operator is told", () => {
  const trouble = (scene: Pair, minute: number): unknown =>
    ask(scene, (history, silent) => incidentTrouble(history, silent, atMinute(minute)));

  it("of what has not reached the addressee after five minutes, and after three cadences", () => {
    const scene = pair();
    expect(trouble(scene, 4.9)).toBeUndefined();
    expect(trouble(scene, 5)).toBe("incident_not_covered");
    const slow = (minute: number): unknown =>
      ask(scene, (history, silent) =>
        incidentTrouble(history, { ...silent, cadenceMs: 1_200_000 }, atMinute(minute)),
      );
    expect(slow(59.9)).toBeUndefined();
    expect(slow(60)).toBe("incident_not_covered");
  });

  it("of what it has not read one cadence after it took it in", () => {
    const scene = pair();
    scene.scribe.beat(2, [[scene.incident, 0]], {}, { takenMinute: 3 });
    expect(trouble(scene, 4.4)).toBeUndefined();
    expect(trouble(scene, 4.5)).toBe("incident_unread");
    scene.scribe.beat(5, [[scene.incident, 1]]);
    expect(trouble(scene, 60)).toBeUndefined();
  });

  it("how far an incident has come", () => {
    const scene = pair();
    const stage = (): unknown => ask(scene, stageOf);
    expect(stage()).toBe("undelivered");
    scene.scribe.beat(1, [[scene.incident, 0]]);
    expect(stage()).toBe("unread");
    scene.scribe.beat(2, [[scene.incident, 1]], { state: "busy" });
    expect(stage()).toBe("busy");
    scene.scribe.beat(3, []);
    expect(stage()).toBe("read");
  });
});

describe("an incident is open", () => {
  const standing = (scene: Pair, more: readonly TimedLine[] = []): unknown =>
    ask(
      scene,
      (history, { incident }) => {
        const line = history.linked(incident);
        const found = line && incidentStanding(history, line, READER.members);
        return (
          found && [found.status, ...found.addressees.map(({ handle, ack }) => [handle, ack?.id])]
        );
      },
      more,
    );

  it("until each addressee has acked it", () => {
    const { forge, scribe } = pair();
    const ann = new TimedWriter("ann");
    const incident = forge.say("incident", { severity: "low" }, { to: ["*"] });
    const scene = { forge, scribe, incident };
    expect(standing(scene)).toEqual(["open", ["scribe", undefined], ["ann", undefined]]);
    const ack = scribe.say("ack", { about: incident });
    ann.say("ack", { about: forge.lines.map(({ author, seq, id }) => [author, seq, id])[0] });
    expect(standing(scene, ann.lines)).toEqual(["open", ["scribe", ack[2]], ["ann", undefined]]);
    const last = ann.say("ack", { about: incident });
    expect(standing(scene, ann.lines)).toEqual(["acked", ["scribe", ack[2]], ["ann", last[2]]]);
  });

  it("until one that does not chain has acked it by its id, or later in its thread without a name", () => {
    const scene = pair();
    const ann = new TimedWriter("ann");
    scene.incident = scene.forge.say("incident", {}, { to: ["ann"], minute: 2 });
    ann.sayLoose("ack", {}, { minute: 1 });
    ann.sayLoose("ack", { acks: "f".repeat(64) }, { minute: 3 });
    ann.sayLoose("ack", {}, { minute: 3, thread: "t2" });
    expect(standing(scene, ann.lines)).toEqual(["open", ["ann", undefined]]);
    const bare = ann.sayLoose("ack", {}, { minute: 3 });
    expect(standing(scene, ann.lines)).toEqual(["acked", ["ann", bare[2]]]);
    const other = new TimedWriter("ann");
    const named = other.sayLoose("ack", { acks: scene.incident[2] }, { minute: 1 });
    expect(standing(scene, other.lines)).toEqual(["acked", ["ann", named[2]]]);
  });

  it("until its author has resolved it", () => {
    const scene = pair();
    const beats = [
      [1, "a".repeat(64)],
      [2, "b".repeat(64)],
    ];
    scene.forge.say("incident", { escalates: scene.incident, of: "scribe", beats });
    expect(standing(scene)).toEqual(["escalated", ["scribe", undefined]]);
    scene.forge.say("incident", { resolves: scene.incident });
    expect(standing(scene)).toEqual(["resolved", ["scribe", undefined]]);
  });
});

import { describe, expect, it } from "vitest";
import {
  mayBeSentInSafeMode,
  safeModeOf,
  type SafeModeReader,
} from "../../../src/protocol/escalations/safe-mode.ts";
import { safeModeEnd, type SafeMode } from "../../../src/protocol/escalations/safe-mode-end.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { isChained, type PlaceJson } from "../../../src/wire/places.ts";
import type { Tier } from "../../../src/trust/tiers.ts";
import { emptyStore, holdAll, TimedWriter, type TimedLine } from "../../support/timed-lines.ts";

const READER: SafeModeReader = {
  self: "ann",
  members: new Set(["forge", "scribe", "ann"]),
  cadences: { T1_active: 90_000, T3_long_idle: 1_200_000 },
};

interface Reading {
  readonly reader?: Partial<SafeModeReader>;
  readonly tierOf?: (handle: string) => Tier | undefined;
}

function safeMode(
  lines: readonly TimedLine[],
  { reader, tierOf }: Reading = {},
): SafeMode | undefined {
  const store = emptyStore();
  const reading = { ...READER, ...reader };
  const history = holdAll(store, lines, (of, place) => {
    if (!isChained(place)) return;
    store.escalations.take(of, place, reading, tierOf ?? (() => "ATTESTED"));
    store.escalations.settle(of, reading);
  });
  const found = safeModeOf(history, store.escalations.open(), reading);
  store.close();
  return found;
}

const pair = ([, seq, id]: PlaceJson): unknown => [seq, id];

/** The example of the text: scribe reads an incident of forge and is silent for twelve minutes. */
class Scene {
  readonly forge = new TimedWriter("forge");
  readonly scribe = new TimedWriter("scribe");
  readonly ann = new TimedWriter("ann");
  incident: PlaceJson;
  first: PlaceJson;
  second: PlaceJson;

  constructor({
    severity = "high",
    to = ["scribe"],
    read = 1,
    wait = 12,
    firstSays = {},
    between = (_: Scene): void => {},
  } = {}) {
    this.incident = this.forge.say("incident", { severity, text: "CI is red" }, { minute: 0, to });
    this.first = this.scribe.beat(1, [[this.incident, read]], firstSays);
    this.second = this.first;
    between(this);
    this.second = this.scribe.beat(1 + wait, []);
  }

  escalate(more: object = {}, minute = 14): PlaceJson {
    const beats = [pair(this.first), pair(this.second)];
    const body = { escalates: this.incident, of: "scribe", beats, severity: "high", ...more };
    return this.forge.say("incident", body, { minute });
  }

  get lines(): TimedLine[] {
    return [...this.forge.lines, ...this.scribe.lines, ...this.ann.lines];
  }
}

function escalated(settings?: ConstructorParameters<typeof Scene>[0], more?: object): Scene {
  const scene = new Scene(settings);
  scene.escalate(more);
  return scene;
}

describe("an escalation", () => {
  it("puts everybody who holds its lines into safe mode, from the second beat on", () => {
    const scene = new Scene();
    const escalation = scene.escalate();
    expect(safeMode(scene.lines)).toEqual({
      active: true,
      since: "2026-06-01T12:13:00.000Z",
      author: "forge",
      of: "scribe",
      incident_id: scene.incident[2],
      escalation_id: escalation[2],
    });
  });

  it("does nothing before all of its lines are held", () => {
    const scene = escalated();
    for (const lacking of scene.lines) {
      expect(safeMode(scene.lines.filter((line) => line !== lacking))).toBeUndefined();
    }
    expect(safeMode(scene.lines.toReversed())).toBeDefined();
  });

  it("is of an incident of its author that is grave and addresses the silent one", () => {
    expect(safeMode(escalated({ severity: "critical" }).lines)).toBeDefined();
    expect(safeMode(escalated({ severity: "medium" }).lines)).toBeUndefined();
    expect(safeMode(escalated({ to: ["ann"] }).lines)).toBeUndefined();
    expect(safeMode(escalated({ to: ["*"] }).lines)).toBeDefined();
    const ship = new Scene();
    ship.incident = ship.forge.say("ship", { severity: "high" }, { to: ["scribe"] });
    ship.first = ship.scribe.beat(14, [[ship.incident, 2]]);
    ship.second = ship.scribe.beat(30, []);
    ship.escalate();
    expect(safeMode(ship.lines)).toBeUndefined();
  });

  it.each([{ resolves: 1 }, { resumes: [] }, { escalates: 1 }, { cause: "peer_silent" }])(
    "is of no line with %j, which is no incident",
    (more) => {
      const scene = new Scene();
      const body = { severity: "high", ...more };
      scene.incident = scene.forge.say("incident", body, { minute: 14, to: ["scribe"] });
      scene.first = scene.scribe.beat(15, [[scene.incident, 2]]);
      scene.second = scene.scribe.beat(30, []);
      scene.escalate({}, 31);
      expect(safeMode(scene.lines)).toBeUndefined();
    },
  );

  it("descends from the incident", () => {
    const scene = new Scene();
    scene.forge.goBackTo(undefined);
    scene.escalate();
    expect(safeMode(scene.lines)).toBeUndefined();
  });

  it("is signed once for each incident and addressee: a second one does not hold", () => {
    const scene = new Scene({ firstSays: { state: "busy" } });
    scene.escalate();
    const idle = scene.scribe.beat(20, []);
    scene.first = idle;
    scene.second = scene.scribe.beat(40, []);
    scene.escalate({}, 3_000);
    expect(safeMode(scene.lines)).toBeUndefined();
  });

  it("needs a first beat at which the addressee has read, and is not busy", () => {
    expect(safeMode(escalated({ read: 0 }).lines)).toBeUndefined();
    expect(safeMode(escalated({ firstSays: { state: "busy" } }).lines)).toBeUndefined();
    expect(safeMode(escalated({ firstSays: { state: "paused" } }).lines)).toBeDefined();
  });

  it("does not hold against one that has refused the incident", () => {
    const scene = new Scene();
    scene.scribe.goBackTo(undefined);
    const [author, seq, id] = scene.incident;
    const refused = [[author, seq, seq, id, "body_too_large"]];
    scene.first = scene.scribe.beat(1, [[scene.incident, 1]], { refused });
    scene.second = scene.scribe.beat(13, []);
    scene.escalate();
    expect(safeMode(scene.lines)).toBeUndefined();
  });

  it("needs two beats of one branch of the addressee, in their order", () => {
    const scene = new Scene();
    const { first, second } = scene;
    scene.scribe.goBackTo(undefined);
    const elsewhere = scene.scribe.beat(13, []);
    const ship = scene.scribe.say("ship", {}, { minute: 20 });
    for (const beats of [
      [second, first],
      [first, elsewhere],
      [elsewhere, second],
      [first, ship],
      [first, first],
      [first],
    ]) {
      const other = new Scene();
      other.escalate({ beats: beats.map(pair) });
      const lines = [...other.forge.lines, ...scene.scribe.lines];
      expect(safeMode(lines)).toBeUndefined();
    }
  });

  it("needs two beats: nothing else that the addressee says", () => {
    const scene = new Scene();
    scene.first = scene.scribe.say("ship", {}, { minute: 20 });
    scene.second = scene.scribe.beat(40, []);
    scene.escalate({}, 41);
    expect(safeMode(scene.lines)).toBeUndefined();
    const other = new Scene();
    other.second = other.scribe.say("ship", {}, { minute: 40 });
    other.escalate({}, 41);
    expect(safeMode(other.lines)).toBeUndefined();
  });

  it("needs ten minutes between the beats, and the cadence that the first one advertises", () => {
    expect(safeMode(escalated({ wait: 10 }).lines)).toBeDefined();
    expect(safeMode(escalated({ wait: 9.9 }).lines)).toBeUndefined();
    const slow = { next_eta: "2026-06-01T12:16:00.000Z" };
    expect(safeMode(escalated({ wait: 14.9, firstSays: slow }).lines)).toBeUndefined();
    expect(safeMode(escalated({ wait: 15, firstSays: slow }).lines)).toBeDefined();
    const never = { next_eta: "2027-06-01T12:16:00.000Z" };
    expect(safeMode(escalated({ wait: 20, firstSays: never }).lines)).toBeDefined();
    const past = { next_eta: "2026-06-01T11:00:00.000Z" };
    const slowly = { cadences: { T1_active: 1_000_000, T3_long_idle: 1_200_000 } };
    const early = escalated({ wait: 15, firstSays: past });
    expect(safeMode(early.lines, { reader: slowly })).toBeUndefined();
    expect(safeMode(escalated({ wait: 10, firstSays: past }).lines)).toBeDefined();
  });

  it("does not hold by a beat that is dated ahead of its receipt", () => {
    for (const minutes of [
      [1, 13, 1, 12.9],
      [2, 13, 1.9, 13],
    ] as const) {
      const scene = new Scene();
      scene.scribe.goBackTo(undefined);
      const [first, second, firstTaken, secondTaken] = minutes;
      const heads = [[scene.incident, 1] as const];
      scene.first = scene.scribe.beat(first, heads, {}, { takenMinute: firstTaken });
      scene.second = scene.scribe.beat(second, [], {}, { takenMinute: secondTaken });
      scene.escalate();
      expect(safeMode(scene.lines)).toBeUndefined();
    }
  });

  it("never holds against one that acks within ten minutes of reading", () => {
    const acking = (scene: Scene): void => {
      scene.scribe.say("ack", { about: scene.incident }, { minute: 10 });
    };
    expect(safeMode(escalated({ between: acking }).lines)).toBeUndefined();
    const other = (scene: Scene): void => {
      scene.scribe.say("ack", { acks: scene.incident, approve: true }, { minute: 10 });
      scene.scribe.say("ship", { about: scene.incident }, { minute: 11 });
      scene.ann.say("ack", { about: scene.incident }, { minute: 11 });
    };
    expect(safeMode(escalated({ between: other }).lines)).toBeDefined();
  });

  it("is of members, and of an author that we trust or that is us", () => {
    const { lines } = escalated();
    const without = (handle: string): Reading => ({
      reader: { members: new Set([...READER.members].filter((each) => each !== handle)) },
    });
    expect(safeMode(lines, without("forge"))).toBeUndefined();
    expect(safeMode(lines, without("scribe"))).toBeUndefined();
    expect(safeMode(lines, { tierOf: () => "TRUSTED" })).toBeDefined();
    expect(safeMode(lines, { tierOf: () => "VERIFIED" })).toBeUndefined();
    expect(safeMode(lines, { tierOf: () => undefined })).toBeUndefined();
    const ours = { reader: { self: "forge" }, tierOf: () => undefined };
    expect(safeMode(lines, ours)).toBeDefined();
  });

  it("is judged by the members of the moment at which it was taken in", () => {
    const { lines } = escalated();
    for (const missing of ["forge", "scribe"]) {
      const members = new Set([...READER.members].filter((each) => each !== missing));
      const store = emptyStore();
      const history = holdAll(store, lines, (of, place) => {
        if (!isChained(place)) return;
        store.escalations.take(of, place, { ...READER, members }, () => "ATTESTED");
      });
      expect(safeModeOf(history, store.escalations.open(), READER)).toBeUndefined();
      store.close();
    }
  });

  it("counts only when no other of its author did within a day", () => {
    const again = (minutes: number): Scene => {
      const scene = new Scene();
      const { incident, first, second } = scene;
      scene.incident = scene.forge.say("incident", { severity: "high" }, { to: ["scribe"] });
      scene.escalate({ escalates: incident, beats: [second, first].map(pair) }, 14);
      scene.first = scene.scribe.beat(15, [[scene.incident, 2]]);
      scene.second = scene.scribe.beat(30, []);
      scene.escalate({}, 14 + minutes);
      return scene;
    };
    const uncounted = new Scene();
    uncounted.escalate({ of: "mason" });
    const foreign = uncounted.ann.say("incident", { severity: "high" }, { to: ["scribe"] });
    uncounted.escalate({ escalates: foreign });
    uncounted.escalate();
    expect(safeMode(uncounted.lines)).toBeDefined();
    // The first one is false, and counts all the same.
    expect(safeMode(again(24 * 60 - 1).lines)).toBeUndefined();
    expect(safeMode(again(24 * 60).lines)).toBeDefined();
  });

  it("of somebody else's incident, or with fields of another form, is none", () => {
    const scene = new Scene();
    const foreign = scene.ann.say("incident", { severity: "high" }, { to: ["scribe"] });
    for (const more of [
      { escalates: foreign },
      { escalates: "f30" },
      { of: "no handle" },
      { of: undefined },
      { of: "ann" },
      { beats: [[1, "s1"]] },
    ]) {
      const other = new Scene();
      other.escalate(more);
      expect(safeMode([...other.lines, ...scene.ann.lines])).toBeUndefined();
    }
  });
});

describe("safe mode is over", () => {
  const ends: Readonly<Record<string, (scene: Scene, escalation: PlaceJson) => void>> = {
    "when the addressee acks": ({ scribe, incident }) => {
      scribe.say("ack", { about: incident }, { minute: 60 });
    },
    "when it acks on any branch": ({ scribe, first, incident }) => {
      scribe.goBackTo(first);
      scribe.say("ack", { about: incident }, { minute: 60 });
    },
    "when the author resolves": ({ forge, incident }) => {
      forge.say("incident", { resolves: incident, reason: "fixed" }, { minute: 60 });
    },
    "when the author resumes": ({ forge }, escalation) => {
      forge.say("incident", { resumes: [escalation], reason: "fixed" }, { minute: 60 });
    },
    "when we resume, for us": ({ ann }, escalation) => {
      ann.say("incident", { resumes: [escalation], reason: "go on" }, { minute: 60 });
    },
  };
  it.each(Object.entries(ends))("%s, in whatever order the lines come", (_, end) => {
    const scene = new Scene();
    const escalation = scene.escalate();
    expect(safeMode(scene.lines)).toBeDefined();
    end(scene, escalation);
    expect(safeMode(scene.lines)).toBeUndefined();
    expect(safeMode(scene.lines.toReversed())).toBeUndefined();
  });

  it("not by what others say, nor by a line that only names these places", () => {
    const scene = new Scene();
    const escalation = scene.escalate();
    scene.ann.say("ack", { about: scene.incident });
    scene.ann.say("incident", { resolves: scene.incident });
    scene.scribe.say("incident", { resumes: [escalation] });
    scene.forge.say("ship", { resumes: [escalation], resolves: scene.incident });
    scene.scribe.sayLoose("ack", { acks: scene.incident[2] });
    expect(safeMode(scene.lines)).toBeDefined();
  });

  it("when one of the two leaves, and not again when it comes back", () => {
    for (const left of ["forge", "scribe"]) {
      const store = emptyStore();
      const take = (members: ReadonlySet<string>, lines: readonly TimedLine[]) =>
        holdAll(store, lines, (history, place) => {
          if (!isChained(place)) return;
          store.escalations.take(history, place, { ...READER, members }, () => "ATTESTED");
        });
      const history = take(READER.members, escalated().lines);
      expect(safeModeOf(history, store.escalations.open(), READER)).toBeDefined();
      const members = new Set([...READER.members].filter((each) => each !== left));
      const gone = { ...READER, members };
      expect(safeModeOf(history, store.escalations.open(), gone)).toBeUndefined();
      store.write(() => {
        store.escalations.settle(history, gone);
      });
      expect(safeModeOf(history, store.escalations.open(), READER)).toBeUndefined();
      store.close();
    }
  });

  it("a resume names what is held of the author, which others may count", () => {
    const scene = new Scene();
    const counted = scene.escalate();
    const other = scene.escalate({ of: "ann" }, 15);
    const store = emptyStore();
    holdAll(store, scene.lines, (history, place) => {
      if (isChained(place)) store.escalations.take(history, place, READER, () => "ATTESTED");
    });
    const named = store.escalations.resumable("forge").map(({ id }) => id);
    expect(named).toEqual([counted[2], other[2]]);
    expect(store.escalations.resumable("ann")).toEqual([]);
    store.close();
  });

  it("says who ends it, to an agent and to its operator", () => {
    const scene = escalated();
    const found = safeMode(scene.lines);
    if (found === undefined) throw new Error("no safe mode");
    const id = found.incident_id.slice(0, 10);
    expect(safeModeEnd(found, "scribe", "agent")).toContain(
      `you acknowledge incident ${id} (deaddrop incident ack ${id})`,
    );
    expect(safeModeEnd(found, "forge", "operator")).toContain(`forge resolves it`);
    expect(safeModeEnd(found, "ann", "operator")).toContain("for ann alone");
    expect(safeModeEnd(found, "ann", "agent")).toContain("when your operator resumes sending");
  });
});

describe("in safe mode", () => {
  it.each([
    ["heartbeat", {}],
    ["ack", {}],
    ["incident", {}],
    ["correction", { decides: 1 }],
    ["release", {}],
    ["agent_card", {}],
    ["shutdown", { leave: true }],
    ["proposal", { action: "add_key" }],
    ["proposal", { action: "deactivate_key" }],
    ["proposal", change({ forge: true, scribe: true })],
  ])("%s may be sent with %j", (type, body) => {
    expect(mayBeSentInSafeMode(type, fromPlain(body))).toBe(true);
  });

  it.each([
    ["request", {}],
    ["proposal", {}],
    ["proposal", { action: "members" }],
    ["proposal", change({ forge: true, scribe: true, ann: true })],
    ["proposal", change({ forge: true, scribe: true, ann: true, mason: true })],
    ["claim", {}],
    ["ship", {}],
    ["decision", {}],
  ])("%s may not be sent with %j", (type, body) => {
    expect(mayBeSentInSafeMode(type, fromPlain(body))).toBe(false);
  });
});

function change(makes: Readonly<Record<string, boolean>>): object {
  return {
    ...{ action: "members", after: 0, leaves: [], required: [], makes },
    starts: { forge: true, scribe: true, ann: false },
  };
}

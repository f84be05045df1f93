import { describe, expect, it } from "vitest";
import { readAsk } from "../../../src/protocol/asks/ask-line.ts";
import { outcomeOf, type Outcome } from "../../../src/protocol/asks/outcome.ts";
import { rosterInForce } from "../../../src/protocol/asks/roster.ts";
import type { PlaceJson } from "../../../src/wire/places.ts";
import type { ModelLine } from "../../model/model.ts";
import { storeOf, Writer } from "../../support/chain-lines.ts";

const T = "t1";
/** Before the first line of a chain. */
const NOWHERE: PlaceJson = ["", null, ""];

function outcome(lines: readonly ModelLine[], [author, seq, id]: PlaceJson, of?: string): Outcome {
  const history = storeOf(lines).history("w");
  const place = { author, seq, id };
  const line = history.linked(place) ?? history.loose(place);
  const ask = line === undefined ? undefined : readAsk(line);
  if (ask === undefined) throw new Error("no ask is there");
  return outcomeOf(history, ask, of);
}

function scene(): { forge: Writer; scribe: Writer; all: () => ModelLine[] } {
  const forge = new Writer("forge");
  const scribe = new Writer("scribe");
  return { forge, scribe, all: () => [...forge.lines, ...scribe.lines] };
}

function propose(by: Writer, to: readonly string[], body: object = {}): PlaceJson {
  return by.say("proposal", T, { required: to, ...body }, to);
}

function ack(by: Writer, ask: PlaceJson, approve = true): PlaceJson {
  return by.say("ack", T, { acks: ask, approve });
}

const pair = ([, seq, id]: PlaceJson): unknown => [seq, id];

interface Entry {
  readonly by: Writer;
  readonly ack: PlaceJson;
  readonly at?: PlaceJson;
}

function approve(by: Writer, ask: PlaceJson, ...entries: readonly Entry[]): PlaceJson {
  const answers = entries.map((entry) => ({
    by: entry.by.author,
    ack: pair(entry.ack),
    at: pair(entry.at ?? entry.by.last),
  }));
  return by.say("correction", T, { decides: ask, outcome: "approved", answers });
}

function end(by: Writer, ask: PlaceJson, answers: unknown = [], thread = T): PlaceJson {
  return by.say("correction", thread, { decides: ask, outcome: "ended", answers });
}

describe("a proposal", () => {
  it("is pending until its asker closes it, whatever others say", () => {
    const { forge, scribe, all } = scene();
    const ask = propose(forge, ["scribe"]);
    ack(scribe, ask);
    end(scribe, ask);
    expect(outcome(all(), ask)).toMatchObject({ is: "pending", waitsFor: [] });
  });

  it("is approved by a close that proves the answer of each party", () => {
    const { forge, scribe, all } = scene();
    const ask = propose(forge, ["scribe"]);
    const yes = ack(scribe, ask);
    const close = approve(forge, ask, { by: scribe, ack: yes });
    expect(outcome(all(), ask)).toMatchObject({ is: "approved", close: { id: close[2] } });
  });

  it("waits for what its close names, and judges no later close before", () => {
    const { forge, scribe, all } = scene();
    const ask = propose(forge, ["scribe"]);
    const yes = ack(scribe, ask);
    const close = approve(forge, ask, { by: scribe, ack: yes });
    end(forge, ask);
    const lacking = forge.lines;
    expect(outcome(lacking, ask)).toMatchObject({ is: "pending", waitsFor: [{ id: yes[2] }] });
    expect(outcome(all(), ask)).toMatchObject({ is: "approved", close: { id: close[2] } });
  });

  it("is not approved by one who took its answer back, nor by a party that was left out", () => {
    const { forge, scribe, all } = scene();
    const ann = new Writer("ann");
    const ask = propose(forge, ["scribe", "ann"]);
    const yes = ack(scribe, ask);
    ack(scribe, ask, false);
    const annYes = ack(ann, ask);
    const early = approve(forge, ask, { by: scribe, ack: yes });
    const close = approve(forge, ask, { by: scribe, ack: yes }, { by: ann, ack: annYes });
    const lines = [...all(), ...ann.lines];
    expect(outcome(lines, ask)).toMatchObject({
      is: "pending",
      unproved: [{ id: early[2] }, { id: close[2] }],
    });
  });

  it("is not approved by an answer that the asker knows to be taken back", () => {
    const { forge, scribe, all } = scene();
    const ask = propose(forge, ["scribe"]);
    const yes = ack(scribe, ask);
    const no = ack(scribe, ask, false);
    forge.beat({ scribe: no });
    approve(forge, ask, { by: scribe, ack: yes, at: yes });
    expect(outcome(all(), ask)).toMatchObject({ is: "pending", unproved: [{ author: "forge" }] });
  });

  it("cannot be approved any more when its asker agreed to another one", () => {
    const { forge, scribe, all } = scene();
    const ask = propose(forge, ["scribe"]);
    const counter = propose(scribe, ["forge"], { counters: ask });
    ack(forge, counter);
    const yes = ack(scribe, ask);
    approve(forge, ask, { by: scribe, ack: yes });
    expect(outcome(all(), ask).is).toBe("pending");
  });

  it("an ack of a third agent's proposal in another thread withdraws nothing", () => {
    const { forge, scribe, all } = scene();
    const ask = propose(forge, ["scribe"]);
    const yes = ack(scribe, ask);
    forge.say("ack", "t2", { acks: ["ann", 1, "a".repeat(64)], approve: true });
    approve(forge, ask, { by: scribe, ack: yes });
    expect(outcome(all(), ask).is).toBe("approved");
  });

  it.each([[[]], [["forge"]], [["scribe", "scribe"]], [["scribe", "ann"]], ["scribe"]])(
    "that requires %j is void: only its end closes it",
    (required) => {
      const { forge, scribe, all } = scene();
      const ask = forge.say("proposal", T, { required }, ["scribe"]);
      const yes = ack(scribe, ask);
      approve(forge, ask, { by: scribe, ack: yes });
      expect(outcome(all(), ask).is).toBe("pending");
      end(forge, ask);
      expect(outcome(all(), ask).is).toBe("ended");
    },
  );

  it("is rejected when its end names a rejecting answer or a counter", () => {
    for (const isCounter of [false, true]) {
      const { forge, scribe, all } = scene();
      const ask = propose(forge, ["scribe"]);
      const no = isCounter
        ? propose(scribe, ["forge"], { counters: ask })
        : ack(scribe, ask, false);
      end(forge, ask, [{ by: "scribe", ack: pair(no), at: pair(no) }]);
      expect(outcome(all(), ask).is).toBe("rejected");
    }
  });
});

describe("an asker that forks its chain", () => {
  it("is disputed, until the chain of a party names one of the branches", () => {
    const { forge, scribe, all } = scene();
    const ask = propose(forge, ["scribe"]);
    const yes = ack(scribe, ask);
    const close = approve(forge, ask, { by: scribe, ack: yes });
    forge.goBackTo(ask);
    end(forge, ask);
    const beat = forge.beat({});
    expect(outcome(all(), ask).is).toBe("disputed");
    scribe.beat({ forge: beat });
    expect(outcome(all(), ask).is).toBe("ended");
    scribe.beat({ forge: close });
    expect(outcome(all(), ask).is).toBe("disputed");
  });
});

describe("a request", () => {
  it("is decided for each party by itself", () => {
    const { forge, scribe, all } = scene();
    const ann = new Writer("ann");
    const ask = forge.say("request", T, { required: ["scribe", "ann"], request_type: "x" });
    const yes = scribe.say("ack", T, { answers: ask, approve: true });
    forge.say("correction", T, {
      ...{ decides: ask, of: "scribe", outcome: "approved" },
      answers: [{ by: "scribe", ack: pair(yes), at: pair(yes) }],
    });
    const no = ann.say("ack", T, { answers: ask, approve: false });
    forge.say("correction", T, {
      ...{ decides: ask, of: "ann", outcome: "ended" },
      answers: [{ by: "ann", ack: pair(no), at: pair(no) }],
    });
    const lines = [...all(), ...ann.lines];
    expect(outcome(lines, ask, "scribe").is).toBe("approved");
    expect(outcome(lines, ask, "ann").is).toBe("rejected");
  });
});

describe("lines in no chain", () => {
  it("an ask is closed by its one party, in that party's chain", () => {
    const ann = new Writer("ann");
    const { scribe, forge, all } = scene();
    const ask = ann.sayLoose("proposal", T, {}, ["scribe"]);
    for (const other of [forge, ann])
      other.say("correction", T, { decides: ask, outcome: "approved", answers: [] });
    expect(outcome([...all(), ...ann.lines], ask).is).toBe("pending");
    scribe.say("correction", T, { decides: ask, outcome: "approved", answers: [] });
    expect(outcome([...all(), ...ann.lines], ask).is).toBe("approved");
  });

  it("a bare ack answers the one ask that its thread begins with, while its author has no chain", () => {
    const ann = new Writer("ann");
    const { forge, all } = scene();
    forge.say("heartbeat", "", {});
    const ask = forge.say("proposal", "forge 2", { required: ["ann"] }, ["ann"]);
    const bare = ann.sayLoose("ack", "forge 2", "", ["forge"]);
    const answers = [{ by: "ann", ack: pair(bare) }];
    forge.say("correction", "forge 2", { decides: ask, outcome: "approved", answers });
    expect(outcome(all(), ask)).toMatchObject({ is: "pending", waitsFor: [{ id: bare[2] }] });
    expect(outcome([...all(), ...ann.lines], ask).is).toBe("approved");
    const second = new Writer("forge");
    const chained = new Writer("ann");
    const first = chained.say("heartbeat", "", {});
    second.beat({ ann: first });
    const other = second.say("proposal", "forge 2", { required: ["ann"] }, ["ann"]);
    second.say("correction", "forge 2", { decides: other, outcome: "approved", answers });
    const lines = [...second.lines, ...ann.lines, ...chained.lines];
    expect(outcome(lines, other).is).toBe("pending");
  });
});

describe("members", () => {
  const roster = new Map([
    ["forge", true],
    ["scribe", true],
    ["ann", false],
  ]);
  const starts = Object.fromEntries(roster);
  const makes = { ...starts, mason: true };
  const thread = "roster:w";
  const change = { action: "members", after: 0, starts, leaves: [], makes, required: ["scribe"] };

  const pinned = { roster, epoch: 0 };

  function agreeTo(by: Writer, other: Writer): void {
    const ask = by.say("proposal", thread, { ...change, required: [other.author] });
    const yes = other.say("ack", thread, { acks: ask, approve: true });
    const answers = [{ by: other.author, ack: pair(yes), at: pair(yes) }];
    by.say("correction", thread, { decides: ask, outcome: "approved", answers });
  }

  function changed(body: object): { lines: ModelLine[]; close: PlaceJson; mason: Writer } {
    const { forge, scribe, all } = scene();
    const mason = new Writer("mason");
    const ask = forge.say("proposal", thread, { ...change, ...body });
    const yes = scribe.say("ack", thread, { acks: ask, approve: true });
    const answers = [{ by: "scribe", ack: pair(yes), at: pair(yes) }];
    const close = forge.say("correction", thread, { decides: ask, outcome: "approved", answers });
    return { lines: all(), close, mason };
  }

  it("an approved change makes the roster, and a leave takes its author out", () => {
    const { lines, close, mason } = changed({});
    const after = rosterInForce(storeOf(lines).history("w"), pinned);
    expect(Object.fromEntries(after.roster)).toEqual(makes);
    expect(after.after).toMatchObject({ id: close[2] });
    mason.say("shutdown", "", { leave: true, after: close });
    const left = rosterInForce(storeOf([...lines, ...mason.lines]).history("w"), pinned);
    expect(Object.fromEntries(left.roster)).toEqual(starts);
  });

  it.each([
    ["another start", { starts: { forge: true } }],
    ["two more members", { makes: { ...makes, two: true } }],
    ["a mark that falls", { makes: { forge: true, scribe: false, ann: false } }],
    ["nobody asked", { required: [] }],
    ["another epoch", { after: 1 }],
  ])("a change with %s changes nothing", (_what, body) => {
    const { lines } = changed(body);
    const { roster: inForce } = rosterInForce(storeOf(lines).history("w"), pinned);
    expect(Object.fromEntries(inForce)).toEqual(starts);
  });

  it("of two changes that cross, the one whose parties do not name the end of the other counts nowhere", () => {
    const { forge, scribe, all } = scene();
    for (const by of [forge, scribe]) agreeTo(by, by === forge ? scribe : forge);
    const { roster: inForce, isForked } = rosterInForce(storeOf(all()).history("w"), pinned);
    expect(isForked).toBe(false);
    expect(Object.fromEntries(inForce)).toEqual(makes);
  });

  it("two changes that are approved on branches of forked chains apply neither", () => {
    const { forge, scribe, all } = scene();
    agreeTo(forge, scribe);
    forge.goBackTo(NOWHERE);
    scribe.goBackTo(NOWHERE);
    agreeTo(scribe, forge);
    const { roster: inForce, isForked } = rosterInForce(storeOf(all()).history("w"), pinned);
    expect(isForked).toBe(true);
    expect(Object.fromEntries(inForce)).toEqual(starts);
  });
});

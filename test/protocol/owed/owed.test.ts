import { describe, expect, it } from "vitest";
import { atMinute, emptyStore, type Saying, type TimedWriter } from "../../support/timed-lines.ts";
import type { PlaceJson } from "../../../src/wire/places.ts";
import { agents, fill, owed } from "./owed-rows.ts";

const TO_SCRIBE = { to: ["scribe"], isAckRequired: true };

describe("an answer is owed", () => {
  it("to what asks for an ack, to requests, asks and incidents, by each addressee", () => {
    const [forge, scribe] = agents();
    forge.say("ship", {}, { to: ["scribe"] });
    forge.say("ship", {}, { to: ["*"], isAckRequired: true });
    forge.say("request", {}, { to: ["scribe"] });
    forge.say("request", { request_type: "shutdown" }, { to: ["ann"] });
    forge.say("proposal", {}, TO_SCRIBE);
    forge.say("incident", { severity: "low" }, { to: ["scribe"] });
    forge.say("incident", { cause: "peer_silent" }, { to: ["scribe"] });
    scribe.say("request", {}, { to: ["forge", "ann"], minute: 5 });
    scribe.say("request", {}, { to: ["ann"] });
    expect(owed([...forge.lines, ...scribe.lines])).toEqual([
      ...["ann forge 2", "scribe forge 2", "scribe forge 3", "ann forge 4", "scribe forge 5"],
      ...["scribe forge 6", "forge scribe 1"],
    ]);
  });

  it("to an ask by its parties, and by nobody to one that can never be approved", () => {
    const [forge] = agents();
    forge.say("proposal", { required: ["scribe"] }, { to: ["*"], isAckRequired: true });
    forge.say("proposal", { required: [] }, { to: ["*"], isAckRequired: true });
    expect(owed(forge.lines)).toEqual(["scribe forge 1"]);
  });

  it("by members alone, until they leave", () => {
    const [forge, scribe] = agents();
    forge.say("request", {}, { to: ["*"] });
    scribe.say("request", {}, { to: ["forge"] });
    expect(owed(forge.lines, ["forge", "ann"])).toEqual(["ann forge 1"]);
    const store = emptyStore();
    fill(store, [...forge.lines, ...scribe.lines]);
    store.write(() => {
      store.owed.forgive("scribe");
    });
    expect(store.owed.owedTo("forge", 0, 9).map(({ by }) => by)).toEqual(["ann"]);
    expect(store.owed.owedTo("scribe", 0, 9)).toEqual([]);
    store.close();
  });

  it("by us of mail alone: what is refused asks nothing", () => {
    const [, scribe] = agents();
    scribe.say("request", {}, { to: ["forge"] });
    const store = emptyStore();
    fill(store, scribe.lines);
    expect(store.owed.owedBy("forge", 0, 9)).toEqual([]);
    store.write((into) => {
      into.deliver(1);
    });
    expect(store.owed.owedBy("forge", 0, 9)).toHaveLength(1);
    store.close();
  });

  it("until it is due", () => {
    const [forge] = agents();
    const saying = { ...TO_SCRIBE, minute: 0, takenMinute: 5 };
    forge.say("ship", {}, saying);
    forge.say("proposal", {}, saying);
    forge.say("proposal", { due: "2026-06-01T12:30:00Z" }, saying);
    forge.say("incident", {}, saying);
    const store = emptyStore();
    fill(store, forge.lines);
    const rows = store.owed.owedTo("forge", 0, 9);
    expect(rows.map(({ kind, sinceMs, dueMs }) => [kind, sinceMs, dueMs])).toEqual([
      ["message", atMinute(5), atMinute(5 + 24 * 60)],
      ["ask", atMinute(5), atMinute(24 * 60)],
      ["ask", atMinute(5), atMinute(30)],
      ["incident", atMinute(5), atMinute(6.5)],
    ]);
    store.close();
  });
});

describe("nothing is owed any more", () => {
  /** One line is asked and others are said; what is left, with the lines in and against their order. */
  function left(
    type: string,
    body: object,
    say: (scene: { forge: TimedWriter; scribe: TimedWriter; asked: PlaceJson }) => void,
    saying: Saying = {},
  ): readonly string[] {
    const [forge, scribe] = agents();
    const asked = forge.say(type, body, { ...TO_SCRIBE, minute: 1, ...saying });
    say({ forge, scribe, asked });
    const lines = [...forge.lines, ...scribe.lines];
    const found = owed(lines);
    expect(owed(lines.toReversed())).toEqual(found);
    return found;
  }
  const OWED = ["scribe forge 1"];
  const ASK = { required: ["scribe"] };

  it.each(["acks", "answers", "about"])("of what an ack names in %s, wherever that is", (name) => {
    for (const type of ["ship", "proposal", "incident", "request"]) {
      const found = left(type, type === "proposal" ? ASK : {}, ({ scribe, asked }) => {
        scribe.say("ack", { [name]: asked }, { minute: 0, thread: "elsewhere" });
      });
      expect(found).toEqual([]);
    }
  });

  it("of a proposal that another one counters", () => {
    const found = left("proposal", ASK, ({ scribe, asked }) => {
      scribe.say("proposal", { counters: asked }, { to: ["ann"], thread: "elsewhere" });
    });
    expect(found).toEqual([]);
  });

  it.each([
    ["ship", "ack", true],
    ["ship", "proposal", true],
    ["ship", "feedback", false],
    ["request", "ack", true],
    ["request", "feedback", true],
    ["request", "decision", true],
    ["request", "ship", true],
    ["request", "warning", true],
    ["request", "request", false],
    ["proposal", "ack", false],
    ["incident", "ack", false],
  ])("of a %s in whose thread comes a %s: %s", (asked, type, isAnswered) => {
    const say =
      (saying: Saying) =>
      ({ scribe }: { scribe: TimedWriter }): void => {
        scribe.say(type, {}, { to: ["ann"], ...saying });
      };
    const body = asked === "proposal" ? ASK : {};
    expect(left(asked, body, say({ minute: 2 }))).toEqual(isAnswered ? [] : OWED);
    expect(left(asked, body, say({ minute: 0 }))).toEqual(OWED);
    expect(left(asked, body, say({ minute: 2, thread: "elsewhere" }))).toEqual(OWED);
  });

  it("of what an agent that does not chain answers by its id or without a name", () => {
    for (const type of ["ship", "proposal", "incident", "request"]) {
      const body = type === "proposal" ? ASK : {};
      const by = (answer: (asked: PlaceJson) => object, minute: number): readonly string[] =>
        left(type, body, ({ scribe, asked }) => {
          scribe.sayLoose("ack", answer(asked), { minute });
        });
      expect(by((asked) => ({ acks: asked[2] }), 0)).toEqual([]);
      expect(by(() => ({}), 2)).toEqual([]);
      expect(by(() => ({}), 0)).toEqual(OWED);
    }
    const other = left("proposal", ASK, ({ scribe }) => {
      scribe.sayLoose("ack", { acks: "f".repeat(64) }, { minute: 2 });
    });
    expect(other).toEqual(OWED);
  });

  it("of an ask that its author ends, and of a request for the party that the end is of", () => {
    const end = (body: object) => (scene: { forge: TimedWriter; asked: PlaceJson }) => {
      const close = { decides: scene.asked, outcome: "ended", answers: [], ...body };
      scene.forge.say("correction", close, { minute: 3 });
    };
    expect(left("proposal", ASK, end({}))).toEqual([]);
    expect(left("proposal", ASK, end({ outcome: "approved" }))).toEqual(OWED);
    expect(left("proposal", ASK, end({}), { thread: "t2" })).toEqual(OWED);
    const request = { request_type: "plan_approval" };
    expect(left("request", request, end({}))).toEqual([]);
    const both = { required: ["scribe", "ann"], ...request };
    const toBoth = { to: ["scribe", "ann"] };
    expect(left("request", both, end({ of: "ann" }), toBoth)).toEqual(OWED);
    expect(left("request", both, end({}), toBoth)).toEqual(["ann forge 1", ...OWED]);
    const foreign = left("proposal", ASK, ({ scribe, asked }) => {
      scribe.say("correction", { decides: asked, outcome: "ended", answers: [] });
    });
    expect(foreign).toEqual(OWED);
  });

  it("of an unchained ask that its party closes", () => {
    const [forge, , ann] = agents();
    const asked = ann.sayLoose("proposal", {}, { to: ["forge"], isAckRequired: true });
    expect(owed(ann.lines)).toEqual(["forge ann loose"]);
    forge.say("correction", { decides: asked, outcome: "approved", answers: [] });
    for (const lines of [
      [...ann.lines, ...forge.lines],
      [...forge.lines, ...ann.lines],
    ])
      expect(owed(lines)).toEqual([]);
  });

  it("of an incident that its author resolves", () => {
    const resolve =
      (by: "forge" | "scribe") =>
      (scene: { forge: TimedWriter; scribe: TimedWriter; asked: PlaceJson }) => {
        scene[by].say("incident", { resolves: scene.asked }, { to: [] });
      };
    expect(left("incident", {}, resolve("forge"))).toEqual([]);
    expect(left("incident", {}, resolve("scribe"))).toEqual(OWED);
  });
});

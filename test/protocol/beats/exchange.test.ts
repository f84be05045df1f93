import { describe, expect, it } from "vitest";
import { Wire, type Agent, type Fate } from "./exchange.ts";

const MINUTE = 60_000;
const AT_ONCE: Fate = () => [1];
const id = (n: number): string => n.toString(16).padStart(64, "0");

async function turns(wire: Wire, count: number, stepMs = MINUTE): Promise<void> {
  for (let at = 0; at < count; at += 1) await wire.turn(stepMs);
}

function wholes(wire: Wire, author: string): Record<string, number> {
  return Object.fromEntries(
    wire.agents.map((agent) => [agent.name, agent.store.chains.whole(author).seq]),
  );
}

/** The bodies of an agent's chained beats, as far as they have this field. */
function said<Field extends "heads" | "refused" | "wants">(agent: Agent, field: Field) {
  return agent.beats.map((beat) => beat[field]).filter(({ length }) => length > 0);
}

describe("the beats of two agents", () => {
  it("are chained while there is news, and then are not", async () => {
    const wire = new Wire(["forge", "scribe"], AT_ONCE);
    const [forge, scribe] = wire.agents as [Agent, Agent];
    const f1 = forge.say({});
    await turns(wire, 2);
    expect(said(scribe, "heads")).toEqual([[{ place: f1, read: 0 }]]);
    scribe.markRead(1);
    await turns(wire, 1);
    expect(said(scribe, "heads")[1]?.[0]).toMatchObject({ read: expect.any(Number) as number });
    await turns(wire, 5);
    expect(
      [forge, scribe].map(({ beats, lastBeat }) => [beats.length, lastBeat?.isChained]),
    ).toEqual([
      [0, false],
      [2, false],
    ]);
  });

  it("name what is refused, 32 at a time, and heads stop before the rest", async () => {
    const wire = new Wire(["forge", "scribe"], AT_ONCE);
    const [forge, scribe] = wire.agents as [Agent, Agent];
    // Refused and delivered ones in turn: no two of them are one range.
    for (let at = 0; at < 80; at += 1)
      forge.say({ body: at % 2 === 0 ? "x".repeat(2_000) : "short" });
    await turns(wire, 1);
    expect(scribe.lastBeat?.refused).toHaveLength(32);
    expect(scribe.lastBeat?.heads[0]?.place.seq).toBe(64);
    await turns(wire, 1);
    expect(scribe.lastBeat?.refused).toHaveLength(8);
    expect(scribe.lastBeat?.heads[0]?.place.seq).toBe(80);
    expect(scribe.lastBeat?.refused[0]).toMatchObject({ first: 65, reason: "body_too_large" });
    await turns(wire, 1);
    expect(scribe.lastBeat?.isChained).toBe(false);
  });

  it("name neighbours that are refused for one reason as one range", async () => {
    const wire = new Wire(["forge", "scribe"], AT_ONCE);
    const [forge, scribe] = wire.agents as [Agent, Agent];
    for (let at = 0; at < 5; at += 1) forge.say({ body: "x".repeat(2_000) });
    await turns(wire, 1);
    expect(scribe.lastBeat?.refused).toEqual([
      { first: 1, last: forge.last, reason: "body_too_large" },
    ]);
  });
});

describe("what carriers lost", () => {
  it("is copied by its author, ten minutes after it was wanted, for who sees a gap", async () => {
    let count = 0;
    const wire = new Wire(["forge", "scribe"], () => {
      count += 1;
      return count === 2 ? [] : [1];
    });
    const [forge, scribe] = wire.agents as [Agent, Agent];
    for (let at = 0; at < 3; at += 1) forge.say({});
    await turns(wire, 3);
    expect(said(scribe, "wants")[0]).toEqual([
      { first: 2, last: expect.objectContaining({ author: "forge", seq: 2 }) as object },
    ]);
    expect(scribe.store.chains.whole("forge").seq).toBe(1);
    await turns(wire, 4, 5 * MINUTE);
    expect(scribe.store.chains.whole("forge").seq).toBe(forge.last?.seq);
  });

  it("is copied by who has named it, when its author is gone", async () => {
    const wire = new Wire(["forge", "scribe", "ann"], (owner, reader) =>
      owner === "forge" && reader === "ann" ? [] : [1],
    );
    const [forge, , ann] = wire.agents as [Agent, Agent, Agent];
    for (let at = 0; at < 10; at += 1) forge.say({});
    const last = forge.last?.seq;
    await turns(wire, 1);
    forge.isGone = true;
    await turns(wire, 6, 5 * MINUTE);
    expect(ann.store.chains.whole("forge").seq).toBeGreaterThanOrEqual(Number(last));
  });

  it("comes back to an agent that lost its store and its carrier", async () => {
    const wire = new Wire(["forge", "scribe"], AT_ONCE);
    const [forge, scribe] = wire.agents as [Agent, Agent];
    for (let at = 0; at < 20; at += 1) scribe.say({});
    await turns(wire, 2);
    const { last } = scribe;
    scribe.loseStore();
    wire.carriers.set("scribe", []);
    await turns(wire, 1);
    expect(scribe.lastBeat).toMatchObject({ isChained: false, wants: [{ first: 1, last }] });
    await turns(wire, 2);
    expect(scribe.store.chains.whole("scribe").seq).toBe(last?.seq);
    expect(scribe.mayChain).toBe(true);
    scribe.say({});
    await turns(wire, 6);
    expect(wholes(wire, "scribe")).toEqual({ forge: scribe.last?.seq, scribe: scribe.last?.seq });
    expect(forge.store.chains.whole("scribe").fork).toBe(null);
  });
});

describe("what a hostile agent says", () => {
  it("of lines that do not exist stops nobody, and is asked for an hour, two at a time", async () => {
    const wire = new Wire(["forge", "scribe", "mason"], AT_ONCE);
    const [forge, scribe, mason] = wire.agents as [Agent, Agent, Agent];
    mason.isGone = true;
    forge.say({});
    mason.say({
      type: "heartbeat",
      body: { heads: { forge: [90, id(1), 90], scribe: [9, id(2), 9] } },
    });
    mason.say({ body: { leaves: [3, 4, 5, 6].map((seq) => ["forge", seq, id(seq)]) } });
    await turns(wire, 14, 5 * MINUTE);
    const wants = said(scribe, "wants");
    expect(wants.length).toBeGreaterThan(10);
    expect(Math.max(...wants.map(({ length }) => length))).toBe(2);
    // Each of them had its turn.
    expect(new Set(wants.flat().map(({ last }) => last.seq))).toEqual(new Set([3, 4, 5, 6, 90]));
    await turns(wire, 3, 30 * MINUTE);
    expect([forge, scribe].map(({ lastBeat }) => lastBeat?.isChained)).toEqual([false, false]);
    forge.say({});
    await turns(wire, 3);
    expect(wholes(wire, "forge")).toMatchObject({ scribe: forge.last?.seq });
  });

  it("on two branches is held by everybody, and named once", async () => {
    const branches = new Map<string, readonly string[]>();
    const wire = new Wire(["forge", "scribe", "mason"], (owner, reader, lineId) =>
      owner !== "mason" || branches.get(lineId)?.includes(reader) !== false ? [1] : [],
    );
    const [forge, scribe, mason] = wire.agents as [Agent, Agent, Agent];
    mason.isGone = true;
    const m1 = mason.say({});
    await turns(wire, 1);
    const left = mason.sayFor(["forge"], { body: "left" }, m1, branches);
    const right = mason.sayFor(["scribe"], { body: "right" }, m1, branches);
    await turns(wire, 20);
    for (const agent of [forge, scribe]) {
      expect(agent.store.chains.whole("mason")).toEqual({ seq: 1, id: m1.id, fork: 2 });
      for (const place of [left, right])
        expect(agent.store.chains.stateOf(place)).not.toBe(undefined);
    }
    expect(said(forge, "refused")).toEqual([[{ first: 2, last: right, reason: "log_forked" }]]);
    expect(said(scribe, "refused")).toEqual([[{ first: 2, last: left, reason: "log_forked" }]]);
    expect([forge, scribe].map(({ lastBeat }) => lastBeat?.isChained)).toEqual([false, false]);
  });
});

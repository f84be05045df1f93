import { expect, test } from "vitest";
import { sentState, type SentState } from "../../../src/protocol/beats/receipts.ts";
import type { ChainPlace, RefusedLines } from "../../../src/wire/places.ts";
import { amount } from "../../support/amounts.ts";
import { randomFrom } from "../../support/random.ts";
import { Wire, WIRE_ID, type Agent, type Fate } from "./exchange.ts";

// Agents with real stores and bad carriers: what one of them has said is held by all of them in the end, and
// no beat says more than is true.

const MINUTE = 60_000;

function badCarriers(random: () => number, loss: () => number): Fate {
  return () => {
    if (random() < loss()) return [];
    const delay = (): number => 1 + Math.floor(random() * 4);
    return random() < 0.2 ? [delay(), delay()] : [delay()];
  };
}

/** Every place of the wire, by author. */
function wholes(agent: Agent, names: readonly string[]): number[] {
  return names.map((name) => agent.store.chains.whole(name).seq);
}

const RANKS = ["stored", "published", "delivered", "read", "answered"];
function rank(state: SentState): number {
  return state.is === "refused" ? 1.5 : RANKS.indexOf(state.is);
}

/** What the beat that an agent has just written says, by the text of 3.2.2 and 3.2.3. */
function expectTrueWords(agent: Agent): void {
  const words = agent.lastBeat;
  if (words === undefined) return;
  expect(words.refused.length).toBeLessThanOrEqual(32);
  expect(words.wants.length).toBeLessThanOrEqual(8);
  const earlier = agent.beats.flatMap(({ refused }) => refused);
  for (const { place, read } of words.heads) {
    const lines = agent.store.chain(place.author, { after: 0, limit: 10_000 });
    const upTo = lines.filter(({ seq }) => seq !== null && seq <= place.seq);
    expect(upTo.length).toBe(place.seq);
    for (const { seq, verdict, isOurs, isUnread } of upTo) {
      const isNamed = (range: RefusedLines): boolean =>
        range.last.author === place.author &&
        range.first <= Number(seq) &&
        Number(seq) <= range.last.seq;
      if (isOurs && verdict !== "passed" && verdict !== "mail")
        expect(earlier.some(isNamed)).toBe(true);
      else expect(verdict).not.toBe(null);
      if (Number(seq) <= read) expect(isUnread).toBe(false);
    }
  }
}

/** What is known of the lines of an agent has not fallen. */
function expectRisen(agent: Agent, names: readonly string[], ranks: Map<string, number>): void {
  const history = agent.store.history(WIRE_ID);
  for (const { type, seq, id, thread } of agent.store.chain(agent.name, {
    after: 0,
    limit: 1_000,
  })) {
    if (type !== "ship" || seq === null) continue;
    for (const other of names.filter((name) => name !== agent.name)) {
      const whole = agent.store.chains.whole(other);
      const tip = whole.id === null ? undefined : { author: other, seq: whole.seq, id: whole.id };
      const facts = { publishedMs: () => 0, tip: () => tip, lifeMs: () => undefined };
      const now = rank(
        sentState(history, facts, { place: { author: agent.name, seq, id }, thread }, other),
      );
      const before = ranks.get(`${id} ${other}`) ?? 0;
      if (now < before) expect({ id, other, now }).toEqual({ id, other, now: before });
      ranks.set(`${id} ${other}`, now);
    }
  }
}

test("two or three agents hold all lines in the end, whatever carriers do", async () => {
  for (let seed = 1; seed <= amount(2, 500); seed += 1) {
    const random = randomFrom(seed);
    const names = ["forge", "scribe", "ann"].slice(0, 2 + (seed % 2));
    let loss = 0.4;
    const wire = new Wire(
      names,
      badCarriers(random, () => loss),
    );
    const ranks = new Map<string, number>();
    for (let round = 0; round < 150; round += 1) {
      if (round === 30) loss = 0;
      for (const agent of wire.agents) {
        if (round < 30 && random() < 0.4)
          agent.say({
            to: random() < 0.5 ? ["*"] : [names[Math.floor(random() * names.length)] ?? "*"],
            body: random() < 0.2 ? "x".repeat(2_000) : `round ${round}`,
          });
        if (random() < 0.3 || round > 40) agent.markRead(Math.floor(random() * 20));
      }
      await wire.turn(MINUTE);
      for (const agent of wire.agents) {
        expectTrueWords(agent);
        if (round % 10 === 9) expectRisen(agent, names, ranks);
      }
    }
    const expected = wire.agents.map(({ last }) => last?.seq ?? 0);
    for (const agent of wire.agents)
      expect({ seed, name: agent.name, wholes: wholes(agent, names) }).toEqual({
        ...{ seed, name: agent.name },
        wholes: expected,
      });
    // A wire on which nothing happens does not grow.
    expect(wire.agents.map(({ lastBeat }) => lastBeat?.isChained)).toEqual(names.map(() => false));
    // Every line is read or refused, and everybody knows it.
    expect(new Set(ranks.values())).toEqual(new Set([1.5, 3]));
  }
});

/** Lies, junk and forks, each shown to some of the others alone. */
class Hostile {
  readonly #agent: Agent;
  readonly #random: () => number;
  readonly #places: ChainPlace[] = [];
  readonly shown = new Map<string, readonly string[]>();

  constructor(agent: Agent, random: () => number) {
    this.#agent = agent;
    this.#random = random;
  }

  act(others: readonly Agent[]): void {
    const random = this.#random;
    const some = ["forge", "scribe"].filter(() => random() < 0.7);
    const after =
      random() < 0.3
        ? this.#places[Math.floor(random() * this.#places.length)]
        : this.#places.at(-1);
    const lie = (): readonly [string, number, string] => {
      const last = others[Math.floor(random() * others.length)]?.last;
      const isTrue = random() < 0.5 && last !== undefined;
      const seq = isTrue ? last.seq : 1 + Math.floor(random() * 90);
      return [last?.author ?? "forge", seq, isTrue ? last.id : seq.toString(16).padStart(64, "0")];
    };
    const [author, seq, id] = lie();
    const body =
      random() < 0.5
        ? `${random()}`
        : {
            heads: { [author]: [seq, id, seq] },
            refused: [[author, 1, seq, id, "schema"]],
            wants: [
              [author, 1, seq, id],
              ["mason", 1, seq, id],
            ],
          };
    const said = { type: typeof body === "string" ? "ship" : "heartbeat", body };
    this.#places.push(this.#agent.sayFor(some, said, after, this.shown));
  }
}

test("beside one that lies and forks, two agents hold the same lines in the end", async () => {
  for (let seed = 1; seed <= amount(2, 500); seed += 1) {
    const random = randomFrom(seed);
    const names = ["forge", "scribe", "mason"];
    let loss = 0.3;
    const carriers = badCarriers(random, () => loss);
    const wire: Wire = new Wire(names, (owner, reader, id) =>
      owner === "mason" && hostile.shown.get(id)?.includes(reader) === false
        ? []
        : carriers(owner, reader, id),
    );
    const mason: Agent = wire.agent("mason");
    const hostile: Hostile = new Hostile(mason, random);
    mason.isGone = true;
    const honest = wire.agents.filter((agent) => agent !== mason);
    for (let round = 0; round < 180; round += 1) {
      if (round === 20) loss = 0;
      if (round < 20) {
        hostile.act(honest);
        for (const agent of honest) if (random() < 0.4) agent.say({ body: `round ${round}` });
      }
      for (const agent of honest) agent.markRead(5);
      await wire.turn(MINUTE);
      for (const agent of honest) expectTrueWords(agent);
    }
    const [forge, scribe] = honest as [Agent, Agent];
    const expected = [forge.last?.seq, scribe.last?.seq];
    for (const agent of honest)
      expect({ seed, wholes: wholes(agent, ["forge", "scribe"]) }).toEqual({
        seed,
        wholes: expected,
      });
    expect({ seed, mason: forge.store.chains.whole("mason") }).toEqual({
      seed,
      mason: scribe.store.chains.whole("mason"),
    });
    expect({ seed, last: honest.map(({ lastBeat }) => lastBeat) }).toMatchObject({
      seed,
      last: [{ isChained: false }, { isChained: false }],
    });
  }
});

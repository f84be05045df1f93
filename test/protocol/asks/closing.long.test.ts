import { expect, test } from "vitest";
import type { PlaceJson } from "../../../src/wire/places.ts";
import { findingsOf } from "../../model/model.ts";
import { amount } from "../../support/amounts.ts";
import { AskingAgent, WIRE } from "../../support/asking-agents.ts";
import { randomFrom } from "../../support/random.ts";

const T = "t1";

/** Agents that ask and answer in any interleaving, one of whom does not chain; the daemons close. */
function honestHistory(seed: number): readonly AskingAgent[] {
  const random = randomFrom(seed);
  const chance = (share: number): boolean => random() < share;
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[Math.floor(random() * items.length)];
    if (item === undefined) throw new Error("nothing to pick");
    return item;
  };
  const agents = ["forge", "mason", "scribe"].map((name) => new AskingAgent(name));
  agents.push(new AskingAgent("ann", false));
  const threads = [T];
  for (let step = 0; step < 60; step += 1) {
    const agent = pick(agents);
    const others = agents.filter((each) => each !== agent);
    if (chance(0.5)) {
      agent.read(pick(others), 1 + Math.floor(random() * 3));
      if (chance(0.7)) agent.close();
    } else if (chance(0.25)) {
      if (agent.isChained) agent.beat();
    } else if (chance(0.4)) {
      const parties = others.filter(() => chance(0.4)).map(({ name }) => name);
      const required = parties.length > 0 ? parties : [pick(others).name];
      const to = agent.isChained ? required : required.slice(0, 1);
      const type = chance(0.7) ? "proposal" : "request";
      const body = agent.isChained ? { required, request_type: "x" } : {};
      agent.say({ type, thread: chance(0.5) ? "new" : pick(threads), to, body });
      threads.push(agent.thread);
    } else {
      const asked = others
        .flatMap((each) => each.lines.slice(0, agent.readTo.get(each) ?? 0))
        .filter(({ type, body }) => type === "proposal" || (type === "request" && body !== null))
        .filter(({ to, seq }) => to?.includes(agent.name) === true && (agent.isChained || seq));
      if (asked.length === 0) continue;
      const { type, thread = "", author, seq, id } = pick(asked);
      const name = type === "proposal" ? "acks" : "answers";
      const approve = chance(0.8);
      const ask = agent.isChained ? [author, seq, id] : id;
      agent.say({ type: "ack", thread, to: [author], body: { [name]: ask, approve } });
    }
  }
  for (let isQuiet = false; !isQuiet;) {
    isQuiet = true;
    for (const agent of agents) {
      for (const other of agents) if (other !== agent && agent.read(other)) isQuiet = false;
      if (agent.close().length > 0) isQuiet = false;
    }
  }
  return agents;
}

test("between honest daemons every close is valid, and what all agreed to is approved for everybody", () => {
  const seen = { approved: 0, ended: 0, rejected: 0, pending: 0 };
  for (let seed = 1; seed <= amount(20, 4_000); seed += 1) {
    const agents = honestHistory(seed);
    const lines = agents.flatMap((agent) => agent.lines);
    const roster = agents.map(({ name }) => name);
    const { asks } = findingsOf({ wireId: WIRE, roster, unchained: ["ann"], epoch: 0 }, lines);
    for (const found of asks) {
      const closes = lines.filter(({ type, body }) => {
        const { decides, of } = body as { decides?: PlaceJson; of?: string };
        const isOfParty = found.of === undefined || of === undefined || of === found.of;
        return type === "correction" && decides?.[2] === found.ask[2] && isOfParty;
      });
      expect({ seed, found, closes: closes.length }).toMatchObject({
        closes: found.outcome === "pending" ? 0 : 1,
      });
      const { outcome: said } = (closes[0]?.body ?? {}) as { outcome?: string };
      expect({ seed, approved: said === "approved" }).toEqual({
        seed,
        approved: found.outcome === "approved",
      });
      for (const agent of agents)
        expect({ seed, is: agent.outcome(found.ask, found.of) }).toEqual({
          seed,
          is: found.outcome,
        });
      seen[found.outcome as keyof typeof seen] += 1;
    }
    // What is left open lacks an answer: nobody who agreed waits for a daemon.
    for (const agent of agents.filter(({ isChained }) => isChained)) {
      for (const { ask } of agent.store.asks.open(agent.name)) {
        const agreed = (ask.parties ?? []).filter((party) => {
          const whole = agent.whole.get(party);
          const last = whole === undefined ? undefined : agent.history.lastAnswer(whole, ask);
          const { position } =
            whole === undefined
              ? { position: undefined }
              : agent.history.standing(whole, ask.thread);
          return last?.approves === true && (ask.is === "request" || position?.id === ask.place.id);
        });
        if (!ask.isVoid && ask.place.seq !== null)
          expect({ seed, agreed: agreed.length }).not.toEqual({
            seed,
            agreed: ask.parties?.length,
          });
      }
    }
    for (const { store } of agents) store.close();
  }
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(2);
});

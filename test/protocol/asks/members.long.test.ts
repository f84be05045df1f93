import { expect, test } from "vitest";
import { endingOf } from "../../../src/protocol/asks/closing.ts";
import { placeJson } from "../../../src/wire/places.ts";
import { findingsOf } from "../../model/model.ts";
import { amount } from "../../support/amounts.ts";
import { WIRE } from "../../support/asking-agents.ts";
import { ChangingAgent, PINNED } from "../../support/changing-agents.ts";
import { randomFrom } from "../../support/random.ts";

/** Members that propose, agree, end, leave and return in any interleaving, with delays. */
function play(seed: number): readonly ChangingAgent[] {
  const random = randomFrom(seed);
  const chance = (share: number): boolean => random() < share;
  const agents = [...PINNED.roster.keys()].map((name) => new ChangingAgent(name));
  const pick = (): ChangingAgent => {
    const agent = agents[Math.floor(random() * agents.length)];
    if (agent === undefined) throw new Error("nobody");
    return agent;
  };
  for (let step = 0; step < 70; step += 1) {
    const agent = pick();
    const { roster, after } = agent.members.inForce;
    if (chance(0.55)) {
      const other = pick();
      if (other !== agent) agent.read(other, 1 + Math.floor(random() * 4));
      agent.close();
    } else if (chance(0.3)) {
      const handle = ["eve", "zoe", "mason", "scribe"][Math.floor(random() * 4)] ?? "eve";
      agent.propose((from) => {
        if (!from.has(handle)) return new Map([...from, [handle, true]]);
        return new Map([...from].filter(([name]) => name !== handle));
      });
      agent.close();
    } else if (chance(0.1)) {
      for (const open of agent.store.asks.open(agent.name))
        for (const draft of endingOf(agent.history, open, "no agreement")) agent.say(draft);
    } else if (chance(0.06) && roster.has(agent.name)) {
      for (const open of agent.store.asks.open(agent.name))
        for (const draft of endingOf(agent.history, open, "we leave")) agent.say(draft);
      const body = { leave: true, after: typeof after === "number" ? after : placeJson(after) };
      agent.say({ type: "shutdown", thread: "", body });
    } else {
      const changes = agents
        .filter((other) => other !== agent)
        .flatMap((other) => other.lines.slice(0, agent.readTo.get(other) ?? 0))
        .filter(({ type }) => type === "proposal");
      const change = changes[Math.floor(random() * changes.length)];
      if (change !== undefined) agent.agree([change.author, change.seq, change.id]);
      agent.close();
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

test("honest members never fork the roster, and find the same members as the model", () => {
  let changed = 0;
  for (let seed = 1; seed <= amount(30, 10_000); seed += 1) {
    const agents = play(seed);
    const lines = agents.flatMap((agent) => agent.lines);
    const roster = [...PINNED.roster.keys()];
    const found = findingsOf({ wireId: WIRE, roster, unchained: [], epoch: 0 }, lines);
    const members = Object.keys(found.roster.members);
    for (const { members: each } of agents) {
      const { inForce } = each;
      expect({ seed, isForked: inForce.isForked }).toEqual({ seed, isForked: false });
      expect({ seed, members: [...inForce.roster.keys()].toSorted() }).toEqual({ seed, members });
    }
    const approved = found.asks.filter(({ outcome }) => outcome === "approved").length;
    const closes = lines.filter(
      ({ body }) => (body as { outcome?: string } | null)?.outcome === "approved",
    );
    expect({ seed, approved }).toEqual({ seed, approved: closes.length });
    changed += approved;
    for (const { store } of agents) store.close();
  }
  expect(changed).toBeGreaterThan(10);
});

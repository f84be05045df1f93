import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { apply } from "../../../src/protocol/core.ts";
import { emptyState } from "../../../src/protocol/state.ts";
import { amount } from "../../support/amounts.ts";
import { interleave } from "../../support/scripts/outcome-arbitraries.ts";
import { foldedTwice } from "../../support/scripts/folded-twice.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { slowRequests } from "./slow-requests.ts";

const AGENTS = ["a", "b", "c"];

const anyStep = (agents: readonly string[]) =>
  fc.record({
    agent: fc.constantFrom(...agents),
    verb: fc.constantFrom(
      ...["asks", "asks", "approves", "approves", "declines", "cancels", "expires"],
      ...["beats", "beats", "beats", "beats"],
    ),
    name: fc.constantFrom("P", "Q", "R"),
    ids: fc.constantFrom("0badcafe01", "0badcafe01", "0badcafe02"),
    pick: fc.nat(7),
    behind: fc.nat(3),
    beyond: fc.nat(9).map((chance) => chance === 0),
    refuses: fc.option(fc.integer({ min: 1, max: 6 }), { freq: 4 }),
    one: fc.boolean(),
    plain: fc.nat(3).map((chance) => chance === 0),
  });

type Step = ReturnType<typeof anyStep> extends fc.Arbitrary<infer T> ? T : never;

/** Random steps as a script: each agent asks by each name once, and speaks of what was asked. */
function scriptOf(steps: readonly Step[], agents: readonly string[], mayBePlain: boolean) {
  const said: string[] = [];
  const lengths = new Map<string, number>();
  const known: string[] = [];
  for (const { agent, verb, name, ids, pick, behind, beyond, refuses, one, plain } of steps) {
    const peers = agents.filter((peer) => peer !== agent);
    const peer = peers[pick % peers.length] ?? "";
    const flag = plain && mayBePlain ? " plain" : "";
    if (verb === "beats") {
      const extra = beyond ? 2 : 0;
      const heads = peers.map(
        (each) => `${each}=${Math.max(0, (lengths.get(each) ?? 0) - behind) + extra}`,
      );
      // Heads over a line that is refused and not there yet have a rule of their own: decision 009.
      if (refuses !== null && !beyond) heads.push(`refuses=${peer}:${refuses}`);
      said.push(`${agent} beats ${heads.join(" ")}`);
    } else if (verb === "asks") {
      if (known.includes(`${agent}${name}`)) continue;
      const to = agents.length > 2 ? ` to=${(one ? [peer] : peers).join(",")}` : "";
      said.push(`${agent} asks ${agent}${name} request=${ids}${to}${flag}`);
      known.push(`${agent}${name}`);
    } else {
      const target = known[pick % Math.max(known.length, 1)];
      if (target === undefined) continue;
      const isEnd = verb === "cancels" || verb === "expires";
      const of = isEnd && agents.length > 2 && one ? ` of=${peer}` : "";
      said.push(`${agent} ${verb} ${target}${of}${flag}`);
    }
    lengths.set(agent, (lengths.get(agent) ?? 0) + 1);
  }
  return said;
}

const arbitraryTalk = (agents: readonly string[]) =>
  fc.record({
    steps: fc.array(anyStep(agents), { minLength: 6, maxLength: 26 }),
    picks: fc.array(fc.nat(5), { minLength: 4, maxLength: 40 }),
    viewer: fc.constantFrom(...agents),
  });

describe.each([
  { agents: AGENTS.slice(0, 2), kind: "pairwise" as const },
  { agents: AGENTS, kind: "outbox" as const },
])("requests, $kind", ({ agents, kind }) => {
  test("every end comes up among such talks", () => {
    const seen = new Set<string>();
    for (const { steps } of fc.sample(arbitraryTalk(agents), { numRuns: 500, seed: 5 })) {
      const script = new OutcomeScript(kind, agents, scriptOf(steps, agents, false));
      for (const end of script.requestEnds(script.fold("a"))) seen.add(end.split(" ")[2] ?? "");
    }
    const ends = ["pending", "approved", "rejected", "cancelled", "expired", "void"];
    expect(ends.filter((end) => !seen.has(end))).toEqual([]);
  });

  test("their ends are a function of the logs, not of arrival or of the viewer", () => {
    fc.assert(
      fc.property(arbitraryTalk(agents), ({ steps, picks, viewer }) => {
        const script = new OutcomeScript(kind, agents, scriptOf(steps, agents, true));
        const expected = script.requestEnds(script.fold("a"));
        const mixed = interleave(script.events(viewer), picks);
        expect(script.requestEnds(script.fold(viewer, mixed))).toEqual(expected);
      }),
      { numRuns: amount(100, 3_000) },
    );
  });

  test("they are what the rules say, read from the whole logs at once", () => {
    fc.assert(
      fc.property(arbitraryTalk(agents), ({ steps, picks, viewer }) => {
        const script = new OutcomeScript(kind, agents, scriptOf(steps, agents, false));
        const mixed = interleave(script.events(viewer), picks);
        expect(script.requestEnds(script.fold(viewer, mixed))).toEqual(slowRequests(script));
      }),
      { numRuns: amount(100, 3_000) },
    );
  });

  test("what has ended stays as it is: no two readers ever differ", () => {
    fc.assert(
      fc.property(arbitraryTalk(agents), ({ steps, picks, viewer }) => {
        const script = new OutcomeScript(kind, agents, scriptOf(steps, agents, false));
        const final = script.requestEnds(script.fold("a"));
        const state = emptyState();
        for (const event of interleave(script.events(viewer), picks)) {
          apply(state, event, script.env(viewer));
          const ended = script.requestEnds(state).filter((end) => !end.endsWith("pending"));
          for (const end of ended) expect(final).toContain(end);
        }
      }),
      { numRuns: amount(60, 1_000) },
    );
  });

  test("duplicates change nothing, and a snapshot is the state", () => {
    fc.assert(
      fc.property(arbitraryTalk(agents), fc.nat(30), ({ steps, picks, viewer }, cut) => {
        const script = new OutcomeScript(kind, agents, scriptOf(steps, agents, true));
        const events = interleave(script.events(viewer), picks);
        expect(foldedTwice(script, viewer, events, cut)).toEqual(script.fold(viewer, events));
      }),
      { numRuns: amount(60, 1_000) },
    );
  });
});

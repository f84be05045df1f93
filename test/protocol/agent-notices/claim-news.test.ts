import { expect, test } from "vitest";
import { apply } from "../../../src/protocol/core.ts";
import type { Domains } from "../../../src/protocol/env.ts";
import { emptyState } from "../../../src/protocol/state.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { NOON, type EnvChange } from "../../support/scripts/wire-script.ts";

const THREE = ["a", "b", "c"];
const OWNED: Domains = new Map([["api", { owner: "c", paths: ["src/api/"] }]]);
const A_CLAIMS = "a claims A paths=src/**";
const B_CLAIMS = "b claims B paths=src/x.ts,docs/**";

/** What that agent is told when it comes live. */
function told(self: string, steps: readonly string[], change: EnvChange = {}) {
  const script = new OutcomeScript("outbox", THREE, steps);
  const env = script.env(self, change);
  const state = emptyState();
  apply(state, { kind: "noticed", at: NOON, notices: [], places: [] }, env);
  for (const event of script.events(self)) apply(state, event, env);
  const ids = new Map([...script.names].map(([name, id]) => [id, name]));
  return [...state.agentNotices.due.values()].map(({ kind, about, text, peer }) => {
    const of = about.split(" ").map((id) => ids.get(id) ?? script.place(id));
    return [kind, of.join(" "), text, peer];
  });
}

test("both are told that two claims are contested, and that one is alone again", () => {
  const both = [A_CLAIMS, B_CLAIMS];
  const why =
    "and neither of you knew of the other: neither holds until one of you releases its claim (`deaddrop release`).";
  expect(told("a", both)).toEqual([
    [
      "claim_contested",
      "A B",
      `Your claim of "src/**" and b's of "src/x.ts" and 1 more overlap, ${why}`,
      "b",
    ],
  ]);
  expect(told("b", both).map(([kind, of]) => [kind, of])).toEqual([["claim_contested", "B A"]]);
  expect(told("c", both)).toEqual([]);
  expect(told("a", [...both, "b releases B"]).at(-1)).toEqual([
    "claim_alone",
    "A B",
    'b released its claim of "src/x.ts" and 1 more: nothing overlaps yours of "src/**" any more.',
    "b",
  ]);
  const third = [...both, "c claims C paths=src/y.ts", "b releases B"];
  expect(told("a", third).map(([kind, of]) => [kind, of])).toEqual([
    ["claim_contested", "A B"],
    ["claim_contested", "A C"],
  ]);
});

test("both are told who holds when one knew of the other", () => {
  const known = [A_CLAIMS, "b beats", B_CLAIMS];
  expect(told("a", known).map(([kind, , text]) => [kind, text])).toEqual([
    [
      "claim_kept",
      'Your claim of "src/**" and b\'s of "src/x.ts" and 1 more overlap: yours was known to b and holds.',
    ],
  ]);
  expect(told("b", known).map(([kind, , text]) => [kind, text])).toEqual([
    [
      "claim_lost",
      'Your claim of "src/x.ts" and 1 more and a\'s of "src/**" overlap: a\'s was known to you and holds, so yours does not.',
    ],
  ]);
});

test("an owner's answer is told, and no other ack", () => {
  const change = { domains: OWNED };
  const mine = "a claims A paths=src/api/*";
  expect(told("a", [mine, "c grants A"], change)).toEqual([
    ["claim_granted", "c:1", 'c granted your claim of "src/api/*".', "c"],
  ]);
  expect(told("a", [mine, "c denies A"], change).map(([kind]) => kind)).toEqual(["claim_denied"]);
  expect(told("a", [mine, "b grants A"], change)).toEqual([]);
  expect(told("a", [mine, "c grants A"])).toEqual([]);
});

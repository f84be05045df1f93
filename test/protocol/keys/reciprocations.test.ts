import { expect, test } from "vitest";
import type { Outcome, Proposal } from "../../../src/protocol/decisions/proposal.ts";
import {
  applyReciprocations,
  dueReciprocations,
  emptyReciprocations,
} from "../../../src/protocol/keys/reciprocations.ts";
import type { Standing } from "../../../src/protocol/env.ts";
import { hours, NOON, scriptEnv, WireScript } from "../../support/scripts/wire-script.ts";

const { layout } = new WireScript("outbox", ["forge", "scribe", "mason"]);

function ratified(atMs: number, change: Partial<Proposal> = {}): Proposal {
  const at = new Date(atMs).toISOString();
  const outcome = { status: "ratified", at } as Outcome;
  return { own: true, settled: true, required: ["scribe"], outcome, ...change } as Proposal;
}

function due(proposals: readonly Proposal[], standing: Partial<Standing>) {
  const state = emptyReciprocations();
  for (const proposal of proposals) applyReciprocations(state, new Set([proposal]));
  const tierOf = (): Standing => ({ tier: "VERIFIED", sinceMs: undefined, ...standing });
  return Object.fromEntries(
    dueReciprocations(state, { ...scriptEnv(layout, "forge"), tierOf }).entries(),
  );
}

test("decisions of ours count for each who acked them, from when it was verified", () => {
  const both = ratified(NOON, { required: ["scribe", "mason"] });
  expect(due([both, ratified(NOON + 1)], { setAtMs: NOON })).toEqual({ scribe: 2, mason: 1 });
  expect(due([both, ratified(NOON + 1)], { setAtMs: NOON + 1 })).toEqual({ scribe: 1 });
  expect(due([both], { setAtMs: NOON + hours(1) })).toEqual({});
  expect(due([both], {})).toEqual({ scribe: 1, mason: 1 });
});

test("neither others' decisions count, nor what was not ratified or may still change", () => {
  const other = { ...ratified(NOON), own: false };
  const rejected = { ...ratified(NOON), outcome: { status: "rejected" } as Outcome };
  const open = { ...ratified(NOON), outcome: undefined };
  const unsettled = { ...ratified(NOON), settled: false };
  expect(due([other, rejected, open, unsettled], {})).toEqual({});
});

test("only who is VERIFIED rises by counting, and only what the store does not know is told", () => {
  const three = [ratified(NOON), ratified(NOON), ratified(NOON)];
  expect(due(three, { reciprocations: 2 })).toEqual({ scribe: 3 });
  expect(due(three, { reciprocations: 3 })).toEqual({});
  for (const tier of ["UNTRUSTED", "ATTESTED", "TRUSTED", undefined] as const) {
    expect(due(three, { tier })).toEqual({});
  }
});

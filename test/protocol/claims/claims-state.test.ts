import { describe, expect, test } from "vitest";
import {
  addClaim,
  allClaims,
  claimEndMs,
  emptyClaims,
  isLiveClaim,
  keepAhead,
  MAX_LIVE_CLAIMS,
  takeAhead,
  type Claim,
  type ClaimAnswer,
} from "../../../src/protocol/claims/claims-state.ts";
import { NOON } from "../../support/scripts/wire-script.ts";

// What is remembered of claims, and for how long.

const TTL_MS = 60_000;
/** Claims of one log that are remembered, and acks of one log that wait for their claims. */
const [REMEMBERED, ACKS_AHEAD] = [64, 256];

function claim(id: string, about: Partial<Claim> = {}): Claim {
  return {
    ...{ id, log: "ada", line: 1, from: "ada", to: ["bob"], correlationId: id, paths: ["src/**"] },
    ...{ mode: "exclusive", reason: undefined, ttlMs: TTL_MS, at: NOON, live: true },
    ...{ timestampMs: NOON, isReleased: false, answers: new Map() },
    ...about,
  };
}

function answer(id: string): ClaimAnswer {
  return { id, line: 1, grants: true, reason: undefined };
}

const ids = (claims: readonly { readonly id: string }[]): string[] => claims.map(({ id }) => id);

describe("a claim ends", () => {
  test("when its TTL is over, to the millisecond", () => {
    expect(isLiveClaim(claim("A"), NOON + TTL_MS - 1)).toBe(true);
    expect(isLiveClaim(claim("A"), NOON + TTL_MS)).toBe(false);
    expect(isLiveClaim(claim("A", { isReleased: true }), NOON)).toBe(false);
  });

  test.each([
    ["of a live one from its receipt", { live: true, timestampMs: NOON - 5_000 }, NOON],
    ["of history from its timestamp", { live: false, timestampMs: NOON - 5_000 }, NOON - 5_000],
    ["but from no later time than its receipt", { live: false, timestampMs: NOON + 5_000 }, NOON],
  ])("%s", (_what, about, fromMs) => {
    expect(claimEndMs(claim("A", about))).toBe(fromMs + TTL_MS);
  });
});

describe("of the claims of one log", () => {
  test("one too many is not taken, until one of the others has ended", () => {
    const state = emptyClaims();
    for (let at = 0; at < MAX_LIVE_CLAIMS; at += 1)
      expect(addClaim(state, claim(`A${at}`), NOON)).toBe(true);
    expect(addClaim(state, claim("more"), NOON)).toBe(false);
    expect(addClaim(state, claim("B", { log: "bob" }), NOON)).toBe(true);
    expect(addClaim(state, claim("later"), NOON + TTL_MS)).toBe(true);
    expect(ids(allClaims(state))).not.toContain("more");
  });

  test("the oldest that has ended is forgotten first, and none that is live", () => {
    const state = emptyClaims();
    addClaim(state, claim("live", { ttlMs: 10 * TTL_MS }), NOON);
    for (let at = 1; at < REMEMBERED; at += 1)
      addClaim(state, claim(`A${at}`, { isReleased: true }), NOON);
    expect(ids(allClaims(state))).toHaveLength(REMEMBERED);
    addClaim(state, claim("last"), NOON);
    const kept = ids(allClaims(state));
    expect(kept).toHaveLength(REMEMBERED);
    expect([kept[0], kept[1], kept.at(-1)]).toEqual(["live", "A2", "last"]);
  });
});

describe("acks that came before their claim", () => {
  test("the last one that names it counts, and those that name others stay", () => {
    const state = emptyClaims();
    keepAhead(state, "bob", "A", answer("1"));
    keepAhead(state, "bob", "B", answer("2"));
    keepAhead(state, "bob", "A", answer("3"));
    expect(takeAhead(state, "eve", "A")).toBeUndefined();
    expect(takeAhead(state, "bob", "C")).toBeUndefined();
    expect(takeAhead(state, "bob", "A")?.id).toBe("3");
    expect(takeAhead(state, "bob", "A")).toBeUndefined();
    expect([...state.ahead.keys()]).toEqual(["bob"]);
    expect(takeAhead(state, "bob", "B")?.id).toBe("2");
    expect([...state.ahead.keys()]).toEqual([]);
  });

  test("are so many that the oldest is forgotten", () => {
    const state = emptyClaims();
    for (let at = 0; at < ACKS_AHEAD; at += 1) keepAhead(state, "bob", `C${at}`, answer(`${at}`));
    expect(state.ahead.get("bob")).toHaveLength(ACKS_AHEAD);
    keepAhead(state, "bob", "one more", answer("one more"));
    expect(state.ahead.get("bob")).toHaveLength(ACKS_AHEAD);
    expect(takeAhead(state, "bob", "C0")).toBeUndefined();
    expect(takeAhead(state, "bob", "C1")?.id).toBe("1");
    expect(takeAhead(state, "bob", "one more")?.id).toBe("one more");
  });
});

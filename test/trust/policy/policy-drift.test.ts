import { describe, expect, test } from "vitest";
import {
  DEFAULT_CONFIG,
  type SigningPolicy,
  type WireConfig,
} from "../../../src/trust/policy/config.ts";
import { DEFAULT_HEARTBEAT_TIERS } from "../../../src/trust/policy/heartbeat-tiers.ts";
import {
  diffConfig,
  diffTiers,
  isLooser,
  policyConflict,
  policyLines,
} from "../../../src/trust/policy/policy-drift.ts";

const open: SigningPolicy = { enforceSigned: false, allowUnsignedFrom: [] };
const strict: SigningPolicy = { enforceSigned: true, allowUnsignedFrom: [] };
const only = (...allowUnsignedFrom: string[]): SigningPolicy => ({
  enforceSigned: true,
  allowUnsignedFrom,
});

describe("a looser signing policy", () => {
  test.each([
    [strict, open, true],
    [strict, only("a"), true],
    [only("a"), only("a", "b"), true],
    [open, strict, false],
    [open, open, false],
    [only("a", "b"), only("a"), false],
    [only("a"), only("a"), false],
    [only("a"), open, true],
    [open, only("a"), false],
    [only("a", "b"), only("b", "c"), true],
  ])("from %j to %j: looser %s", (from, to, expected) => {
    expect(isLooser(from, to)).toBe(expected);
  });
});

describe("what config accept shows", () => {
  const from: WireConfig = {
    ...DEFAULT_CONFIG,
    roster: ["a", "b"],
    domains: new Map([
      ["docs", { owner: "a", paths: ["docs/**", "*.md"] }],
      ["old", { owner: "b", paths: ["old/**"] }],
    ]),
  };

  test("is nothing when nothing changes", () => {
    expect(diffConfig(from, { ...from })).toEqual([]);
  });

  test("is nothing when the same agents stand in another order", () => {
    const signing = [only("a", "b"), only("b", "a")] as const;
    const [one, other] = signing.map((policy) => ({ ...from, signing: policy }));
    expect([diffConfig(one!, other!), diffConfig(other!, one!)]).toEqual([[], []]);
  });

  test("is a line for each setting", () => {
    const to: WireConfig = {
      wireId: "w1",
      protocolVersion: "v3.0",
      roster: ["a", "b", "c"],
      unchained: ["c"],
      rosterEpoch: 1,
      signing: { enforceSigned: false, allowUnsignedFrom: ["c"] },
      domains: new Map([
        ["docs", { owner: "b", paths: ["docs/**"] }],
        ["new", { owner: "a", paths: [] }],
      ]),
      limits: {
        max_message_body_kb: 1,
        max_clock_skew_seconds: 2,
        rate_limit_msg_per_min: 3,
        max_refs: 4,
        ...{ answer_minutes: 5, proposal_hours: 6 },
      },
    };
    expect(diffConfig(from, to)).toEqual([
      "wire_id: (none) → w1",
      "protocol_version: v3.1 → v3.0",
      "roster: a, b → a, b, c",
      "v3_signing.enforce_signed: true → false",
      "v3_signing.allow_unsigned_from: (nobody) → c",
      "limits.max_message_body_kb: 64 → 1",
      "limits.max_clock_skew_seconds: 300 → 2",
      "limits.rate_limit_msg_per_min: 60 → 3",
      "limits.max_refs: 64 → 4",
      "limits.answer_minutes: 30 → 5",
      "limits.proposal_hours: 24 → 6",
      'domains["docs"]: a owns "docs/**", "*.md" → b owns "docs/**"',
      'domains["old"]: b owns "old/**" → (none)',
      "unchained: (none) → c",
      "roster_epoch: (none) → 1",
      'domains["new"]: (none) → a owns no paths',
      "WEAKER: lines that had to be signed would be taken unsigned",
    ]);
  });

  test("carries no control characters of the file", () => {
    const name = "\u001b[2J\u202e";
    const to = { ...from, domains: new Map([[name, { owner: "a", paths: [name] }]]) };
    expect(diffConfig(from, to).join("")).toMatch(/^[ -~→]*$/);
  });

  test("of tiers.json, too", () => {
    const { cadencesMs, transitions } = DEFAULT_HEARTBEAT_TIERS;
    const to = { cadencesMs: { ...cadencesMs, T2_idle: 60_000 }, transitions };
    expect(diffTiers(DEFAULT_HEARTBEAT_TIERS, to)).toEqual([
      "tiers.T2_idle.cadence_seconds: 270 → 60",
    ]);
    expect(diffTiers(to, { ...to, transitions: [] })).toEqual([
      expect.stringMatching(/^transitions: .* → \[\]$/),
    ]);
  });
});

describe("what config accept refuses (spec 1.1)", () => {
  const now = { wireId: "w1", roster: ["a", "b", "c"], unchained: ["c"], rosterEpoch: 1 };

  test.each<[object, RegExp | undefined]>([
    [{}, undefined],
    [{ roster: ["c", "b", "a"] }, undefined],
    [{ roster: ["a", "b"], unchained: [], rosterEpoch: 2 }, undefined],
    [{ roster: ["a", "b", "c", "d"] }, /^roster or unchained would change within epoch 1/u],
    [{ unchained: [] }, /^roster or unchained would change within epoch 1/u],
    [{ rosterEpoch: 0 }, /^roster_epoch would fall from 1 to 0/u],
    [{ roster: ["b", "c"], rosterEpoch: 2 }, /^the roster of epoch 2 \(b, c\) leaves you out/u],
    [{ wireId: "w2" }, /^the wire id would change from w1 to w2/u],
    [{ wireId: undefined }, /^the wire id would change from w1 to none/u],
  ])("with %j: %s", (change, expected) => {
    const conflict = policyConflict(now, { ...now, ...change }, "a");
    if (expected === undefined) expect(conflict).toBeUndefined();
    else expect(conflict).toMatch(expected);
  });
});

test("init and join show a line for each setting, cadences too, and no transitions", () => {
  const config: WireConfig = {
    ...DEFAULT_CONFIG,
    roster: ["a", "b"],
    domains: new Map([["docs", { owner: "a", paths: [] }]]),
  };
  const lines = policyLines(config, DEFAULT_HEARTBEAT_TIERS);
  expect(lines).toContain("roster: a, b");
  expect(lines).toContain("wire_id: (none)");
  expect(lines).toContain("v3_signing.allow_unsigned_from: (nobody)");
  expect(lines).toContain('domains["docs"]: a owns no paths');
  const cadences = Object.entries(DEFAULT_HEARTBEAT_TIERS.cadencesMs);
  expect(lines.slice(-cadences.length)).toEqual(
    cadences.map(([tier, ms]) => `tiers.${tier}.cadence_seconds: ${ms / 1_000}`),
  );
  expect(lines.filter((line) => line.startsWith("transitions"))).toEqual([]);
});

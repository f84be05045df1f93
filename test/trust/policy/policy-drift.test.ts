import { describe, expect, test } from "vitest";
import {
  DEFAULT_CONFIG,
  type SigningPolicy,
  type WireConfig,
} from "../../../src/trust/policy/config.ts";
import { pairNames } from "../../../src/wire/layout.ts";
import { DEFAULT_HEARTBEAT_TIERS } from "../../../src/trust/policy/heartbeat-tiers.ts";
import {
  changesLayout,
  diffConfig,
  diffTiers,
  isLooser,
  lostPast,
  policyLines,
} from "../../../src/trust/policy/policy-drift.ts";
import { NOBODY_LEFT, type Absence } from "../../../src/wire/roster/members.ts";

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
      layout: "outbox",
      closedLogs: ["a_to_b"],
      roster: ["a", "b", "c"],
      left: new Map([["c", [absence]]]),
      membersChangedBy: "abc",
      signing: { enforceSigned: false, allowUnsignedFrom: ["c"] },
      domains: new Map([
        ["docs", { owner: "b", paths: ["docs/**"] }],
        ["new", { owner: "a", paths: [] }],
      ]),
      limits: {
        maxMessageBodyKb: 1,
        maxClockSkewSeconds: 2,
        rateLimitMsgPerMin: 3,
        maxRefs: 4,
      },
      answerTimes: { answerMinutes: 5, proposalHours: 6 },
    };
    expect(diffConfig(from, to)).toEqual([
      "wire_id: (none) → w1",
      "protocol_version: v3.1 → v3.0",
      "layout: pairwise → outbox",
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
      "layout.closed: (none) → a_to_b",
      "left[c]: (none) → left at 1970-01-01T00:00:01.000Z after c_to_a line 3; a member since 1970-01-01T00:00:02.000Z, from no line",
      "members_changed_by: (none) → abc",
      'domains["new"]: (none) → a owns no paths',
      "WEAKER: lines that had to be signed would be taken unsigned",
    ]);
  });

  test("says of each member who left and came back what there is to say", () => {
    const [leaves, joins] = [
      { ...absence, back: undefined },
      { ...absence, atMs: undefined, logs: new Map() },
    ];
    const to = (...absences: Absence[]) => ({ ...from, left: new Map([["b", absences]]) });
    const left = "left at 1970-01-01T00:00:01.000Z after c_to_a line 3";
    const joined = "a member since 1970-01-01T00:00:02.000Z, from no line";
    expect(diffConfig(from, to(leaves))).toEqual([`left[b]: (none) → ${left}`]);
    expect(diffConfig(from, to(joins))).toEqual([`left[b]: (none) → ${joined}`]);
    const place = { lines: 4, seq: 3, eventId: "ab" };
    const two = { ...leaves, logs: new Map([...leaves.logs, ["c_to_d", place] as const]) };
    expect(diffConfig(from, to(two))).toEqual([`left[b]: (none) → ${left}, c_to_d line 4`]);
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

/** It left after line 3 of its log to a, and came back. */
const absence: Absence = {
  atMs: 1_000,
  logs: new Map([["c_to_a", { lines: 3, seq: 3, eventId: "e3" }]]),
  back: { atMs: 2_000, logs: new Map() },
};

describe("what would go unread", () => {
  const now = {
    layout: "pairwise",
    closedLogs: [],
    roster: ["a", "b", "c"],
    left: NOBODY_LEFT,
    wireId: "w1",
  } as const;
  const closedLogs = pairNames(now.roster);

  test.each<[object, string | undefined]>([
    [{}, undefined],
    [{ roster: ["c", "b", "a", "d"] }, undefined],
    [
      { layout: "outbox" },
      "the layout would change from pairwise to outbox: none of the logs would be read any more",
    ],
    [{ layout: "outbox", closedLogs }, undefined],
    [
      { layout: "outbox", closedLogs: closedLogs.slice(1) },
      "the layout would change from pairwise to outbox: none of the logs would be read any more",
    ],
    [{ roster: ["b", "c"] }, "the roster there (b, c) leaves you out"],
    [{ roster: [] }, "the roster there ((nobody)) leaves you out"],
    [
      { roster: ["a"] },
      "the roster would lose b, c: every decision that they took part in would be void",
    ],
    [
      { wireId: "w2" },
      "the wire id would change from w1 to w2: no line of the logs would belong to this wire any more",
    ],
    [
      { wireId: undefined },
      "the wire id would change from w1 to none: no line of the logs would belong to this wire any more",
    ],
  ])("with %j: %s", (change, expected) => {
    expect(lostPast(now, { ...now, ...change }, "a")).toBe(expected);
  });

  test("is what closed logs that are left out say", () => {
    const moved = { ...now, layout: "outbox", closedLogs } as const;
    expect(lostPast(moved, moved, "a")).toBeUndefined();
    expect(lostPast(moved, { ...moved, closedLogs: closedLogs.slice(1) }, "a")).toBe(
      "the closed logs would lose a_to_b: what was said there would not be read any more",
    );
    expect(lostPast(moved, now, "a")).toBeDefined();
    expect([changesLayout(moved, moved), changesLayout(now, moved)]).toEqual([false, true]);
    expect(changesLayout(moved, { ...moved, closedLogs: closedLogs.toReversed() })).toBe(false);
    expect(changesLayout(moved, { ...moved, closedLogs: closedLogs.slice(1) })).toBe(true);
    expect(changesLayout(now, { ...now, layout: "outbox" })).toBe(true);
  });

  const left = (...absences: Absence[]) => ({ ...now, left: new Map([["c", absences]]) });
  const away: Absence = { ...absence, back: undefined };

  test("members leave and come back, and nothing that is noted of it changes", () => {
    const allowed: [object, object][] = [
      [now, left(away)],
      [left(away), left(absence)],
      [left(absence), left(absence, away)],
      [left(absence, away), left(absence, absence)],
    ];
    for (const [from, to] of allowed) {
      expect(lostPast({ ...now, ...from }, { ...now, ...to }, "a")).toBeUndefined();
    }
    const other: Absence = { ...away, logs: new Map() };
    const refused: [object, object][] = [
      [left(away), now],
      [left(away), left(other)],
      [left(absence), left(away)],
      [left(absence, away), left(absence)],
      [left(absence, away), left(away, away)],
      [left(absence), left({ ...absence, back: { atMs: 3_000, logs: new Map() } })],
    ];
    for (const [from, to] of refused) {
      expect(lostPast({ ...now, ...from }, { ...now, ...to }, "a")).toBe(
        "what is noted of the leaving of c would change: lines that were refused would count",
      );
    }
    expect(lostPast(now, left(away), "c")).toBe("c would be no member any more");
  });

  test("a wire that had no id says so", () => {
    expect(lostPast({ ...now, wireId: undefined }, now, "a")).toContain("from none to w1");
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

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  DEFAULT_HEARTBEAT_TIERS,
  parseHeartbeatTiers,
} from "../../../src/trust/policy/heartbeat-tiers.ts";

function parse(document: unknown): ReturnType<typeof parseHeartbeatTiers> {
  return parseHeartbeatTiers(new TextEncoder().encode(JSON.stringify(document)));
}

const TIERS = {
  T0_HEADS_DOWN: { cadence_seconds: 30 },
  T1_active: { cadence_seconds: 90 },
  T2_idle: { cadence_seconds: 270 },
  T3_long_idle: { cadence_seconds: 1200 },
};

// As the spec prints it (3.1).
const OURS = {
  schema_version: "v1",
  tiers: TIERS,
  transitions: [
    { from: "*", to: "T0_HEADS_DOWN", when: "conflict_or_multi_edit" },
    { from: "T0_HEADS_DOWN", to: "T1_active", when: "state_change_posted" },
    { from: "T1_active", to: "T2_idle", when: "idle_cycles", count: 3 },
    { from: "T2_idle", to: "T3_long_idle", when: "idle_cycles", count: 9 },
    { from: ["T2_idle", "T3_long_idle"], to: "T1_active", when: "non_heartbeat_message" },
  ],
};

describe("tiers.json", () => {
  test("of ours says what the defaults say", () => {
    expect(parse(OURS)).toEqual({ ok: true, tiers: DEFAULT_HEARTBEAT_TIERS });
  });

  test("as it ships is the same", () => {
    const shipped = readFileSync(new URL("../../../tiers.json", import.meta.url));
    expect(parseHeartbeatTiers(shipped)).toEqual({ ok: true, tiers: DEFAULT_HEARTBEAT_TIERS });
  });

  test("of the reference implementation: its cadences, our transitions", () => {
    const reference = {
      schema_version: "v1",
      ratified_at: "2026-04-26T00:00:00Z",
      tiers: { ...TIERS, T1_active: { cadence_seconds: 45, trigger: "default during work" } },
      transitions: { any_to_T0: "either side detects a conflict", T0_to_T1: "a change is posted" },
    };
    expect(parse(reference)).toEqual({
      ok: true,
      tiers: {
        cadencesMs: { ...DEFAULT_HEARTBEAT_TIERS.cadencesMs, T1_active: 45_000 },
        transitions: DEFAULT_HEARTBEAT_TIERS.transitions,
      },
    });
  });

  test.each([1, 3_600])("a cadence may be %i s", (cadence_seconds) => {
    expect(parse({ ...OURS, tiers: { ...TIERS, T2_idle: { cadence_seconds } } }).ok).toBe(true);
  });

  const cadence = (cadence_seconds: unknown) => ({
    ...OURS,
    tiers: { ...TIERS, T2_idle: { cadence_seconds } },
  });
  const transition = (change: object) => ({
    ...OURS,
    transitions: [{ ...OURS.transitions[2], ...change }],
  });
  const { T1_active: _, ...threeTiers } = TIERS;

  const known = "T0_HEADS_DOWN, T1_active, T2_idle, T3_long_idle";
  const inCadence = "tiers.T2_idle.cadence_seconds";
  const inFrom = `transitions[0].from names no tier, or one that is none; expected "*" or ${known}`;
  const anyCondition =
    "conflict_or_multi_edit, state_change_posted, idle_cycles, non_heartbeat_message";

  test.each([
    [cadence(0), `${inCadence} is 0; expected a whole number from 1 to 3600`],
    [cadence(3_601), `${inCadence} is 3601; expected a whole number from 1 to 3600`],
    [cadence(1.5), `${inCadence} is 1.5; expected a whole number from 1 to 3600`],
    [cadence("90"), `${inCadence} is "90"; expected a whole number from 1 to 3600`],
    [
      { ...OURS, tiers: threeTiers },
      "tiers.T1_active.cadence_seconds is missing; expected a whole number of seconds, such as 90",
    ],
    [{ ...OURS, tiers: { ...TIERS, T4: {} } }, `tiers: "T4" is no tier; expected ${known}`],
    [{ ...OURS, schema_version: "v2" }, 'schema_version is "v2"; expected "v1"'],
    [{ ...OURS, schema_version: undefined }, 'schema_version is null; expected "v1"'],
    [{ ...OURS, transitions: undefined }, "transitions is missing; expected a list"],
    [{ ...OURS, transitions: "prose" }, 'transitions is "prose"; expected a list'],
    [{ ...OURS, transitions: { a: 1, b: "" } }, "transitions is an object; expected a list"],
    [{ ...OURS, transitions: [5] }, "transitions[0] is 5; expected an object"],
    [transition({ from: undefined }), inFrom],
    [transition({ from: "T9" }), inFrom],
    [transition({ from: [] }), inFrom],
    [transition({ from: ["T1_active", "T9"] }), inFrom],
    [transition({ to: "*" }), `transitions[0].to is "*"; expected ${known}`],
    [transition({ to: undefined }), `transitions[0].to is null; expected ${known}`],
    [transition({ when: "bored" }), `transitions[0].when is "bored"; expected ${anyCondition}`],
    [transition({ when: undefined }), `transitions[0].when is null; expected ${anyCondition}`],
    [
      transition({ count: undefined }),
      "transitions[0].count is missing; expected how many idle cycles",
    ],
    [
      transition({ count: 0 }),
      "transitions[0].count is 0; expected a whole number from 1 to 10000",
    ],
  ])("%j is refused in words", (document, problem) => {
    expect(parse(document)).toEqual({ ok: false, detail: `tiers.json: ${problem}` });
  });

  test("names every problem, a line each", () => {
    const { T2_idle: __, ...two } = threeTiers;
    expect(parse({ ...transition({ from: null }), tiers: { ...two, T2_idle: 5 } })).toEqual({
      ok: false,
      detail: [
        "tiers.json: tiers.T1_active.cadence_seconds is missing; expected a whole number of seconds, such as 90",
        "tiers.json: tiers.T2_idle is 5; expected an object",
        "tiers.json: tiers.T2_idle.cadence_seconds is missing; expected a whole number of seconds, such as 270",
        "tiers.json: transitions[0].from is null; expected a list",
        `tiers.json: ${inFrom}`,
      ].join("\n"),
    });
    expect(parse({ ...OURS, tiers: null })).toMatchObject({
      detail: expect.stringMatching(/^tiers\.json: tiers is null; expected an object\n/),
    });
  });

  test("has 64 transitions and no more, and those without a count have none", () => {
    const transitions = Array.from({ length: 65 }, () => OURS.transitions[0]);
    const full = parse({ ...OURS, transitions: transitions.slice(1) });
    expect(full.ok && full.tiers.transitions).toStrictEqual(
      transitions.slice(1).map(() => DEFAULT_HEARTBEAT_TIERS.transitions[0]),
    );
    expect(parse({ ...OURS, transitions: [...transitions.slice(1), 5] })).toEqual({
      ok: false,
      detail: "tiers.json: transitions has 65 entries; at most 64 are read",
    });
  });

  test("that is no JSON is refused", () => {
    expect(parseHeartbeatTiers(new Uint8Array(0))).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^tiers\.json: ./),
    });
  });
});

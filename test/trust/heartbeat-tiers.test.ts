import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { DEFAULT_HEARTBEAT_TIERS, parseHeartbeatTiers } from "../../src/trust/heartbeat-tiers.ts";

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
    const shipped = readFileSync(new URL("../../tiers.json", import.meta.url));
    expect(parseHeartbeatTiers(shipped)).toEqual({ ok: true, tiers: DEFAULT_HEARTBEAT_TIERS });
  });

  test("of the Python reference: its cadences, our transitions", () => {
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

  test.each([
    [cadence(0), "T2_idle.cadence_seconds is 0; expected a whole number from 1 to 3600"],
    [cadence(3_601), "T2_idle.cadence_seconds is 3601; expected"],
    [cadence(1.5), "T2_idle.cadence_seconds is 1.5; expected"],
    [cadence("90"), 'T2_idle.cadence_seconds is "90"; expected'],
    [{ ...OURS, tiers: threeTiers }, "tiers.T1_active.cadence_seconds is missing; expected"],
    [{ ...OURS, tiers: { ...TIERS, T4: {} } }, 'tiers: "T4" is no tier; expected T0_HEADS_DOWN'],
    [{ ...OURS, tiers: null }, "tiers is null; expected an object"],
    [transition({ from: null }), "transitions[0].from is null; expected a list"],
    [transition({ from: undefined }), "transitions[0].from names no tier"],
    [{ ...OURS, schema_version: "v2" }, 'schema_version is "v2"; expected "v1"'],
    [{ ...OURS, schema_version: undefined }, 'schema_version is null; expected "v1"'],
    [{ ...OURS, transitions: undefined }, "transitions is missing; expected a list"],
    [{ ...OURS, transitions: "prose" }, 'transitions is "prose"; expected a list'],
    [{ ...OURS, transitions: { a: 1 } }, "transitions is an object; expected a list"],
    [transition({ from: "T9" }), "transitions[0].from names no tier"],
    [transition({ from: [] }), "transitions[0].from names no tier"],
    [transition({ from: ["T1_active", "T9"] }), "transitions[0].from names no tier"],
    [transition({ to: "*" }), 'transitions[0].to is "*"; expected'],
    [transition({ when: "bored" }), 'transitions[0].when is "bored"; expected'],
    [transition({ count: undefined }), "transitions[0].count is missing; expected"],
    [transition({ count: 0 }), "transitions[0].count is 0; expected"],
  ])("%j is refused in words", (document, words) => {
    expect(parse(document)).toMatchObject({ ok: false, detail: expect.stringContaining(words) });
  });

  test("that is no JSON is refused", () => {
    expect(parseHeartbeatTiers(new Uint8Array(0))).toMatchObject({ ok: false });
  });
});

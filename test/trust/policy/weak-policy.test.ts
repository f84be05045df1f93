import { describe, expect, test } from "vitest";
import { DEFAULT_CONFIG, type WireConfig } from "../../../src/trust/policy/config.ts";
import { defaultPolicyText, saysDefaults } from "../../../src/trust/policy/default-policy.ts";
import { weaknesses } from "../../../src/trust/policy/weak-policy.ts";
import { DEFAULT_LIMITS } from "../../../src/wire/limits.ts";

const ROSTER = ["forge", "scribe", "quill"];

function found(change: Partial<WireConfig>): string[] {
  const config = { ...DEFAULT_CONFIG, ...change };
  return weaknesses(config, ROSTER, ["forge"]).map(({ kind, name, detail }) => {
    return `${kind} ${name}: ${detail}`;
  });
}

describe("in what a policy is weaker than the defaults", () => {
  test("the defaults are not", () => {
    expect(found({})).toEqual([]);
  });

  test("whose lines need no signature, one by one or all but ours", () => {
    const words = (name: string) =>
      `unsigned ${name}: lines of ${name} need no signature: anybody who can write in the folder can speak as ${name} until a key of it is pinned`;
    const signing = { enforceSigned: true, allowUnsignedFrom: ["quill", "vane", "forge"] };
    expect(found({ signing })).toEqual([words("quill"), words("vane")]);
    const open = { enforceSigned: false, allowUnsignedFrom: [] };
    expect(found({ signing: open })).toEqual([words("scribe"), words("quill")]);
  });

  test("limits that are raised; lower ones are not weaker", () => {
    const limits = {
      ...DEFAULT_LIMITS,
      max_refs: DEFAULT_LIMITS.max_refs + 1,
      max_clock_skew_seconds: DEFAULT_LIMITS.max_clock_skew_seconds - 1,
    };
    expect(found({ limits })).toEqual([
      `limit max_refs: limits.max_refs is ${limits.max_refs}; the default is ${DEFAULT_LIMITS.max_refs}`,
    ]);
  });

  test("domains of others", () => {
    const domains = new Map([
      ["ours", { owner: "forge", paths: ["src/**"] }],
      ["docs", { owner: "scribe", paths: ["docs/**", "*.md"] }],
      ["empty", { owner: "quill", paths: [] }],
    ]);
    expect(found({ domains })).toEqual([
      'domain docs: the domain "docs" ("docs/**", "*.md") belongs to scribe: decisions on it need scribe',
      'domain empty: the domain "empty" (no paths) belongs to quill: decisions on it need quill',
    ]);
  });
});

describe("the defaults in writing", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  test.each(["config", "tiers"] as const)(
    "say the defaults, and nothing else does: %s",
    (which) => {
      expect(saysDefaults(which, bytes(defaultPolicyText(which)))).toBe(true);
      expect(saysDefaults(which, bytes("no JSON"))).toBe(false);
      const other = which === "config" ? "tiers" : "config";
      const isSame = defaultPolicyText(other) === defaultPolicyText(which);
      expect(isSame).toBe(false);
    },
  );

  test("a file that says another thing does not say the defaults", () => {
    expect(saysDefaults("config", bytes('{"limits": {"max_refs": 1}}'))).toBe(false);
    expect(
      saysDefaults("config", bytes('{"domains": {"docs": {"owner": "a", "paths": []}}}')),
    ).toBe(false);
    const tiers = JSON.parse(defaultPolicyText("tiers")) as {
      tiers: Record<string, { cadence_seconds: number }>;
    };
    const [first] = Object.values(tiers.tiers);
    if (first !== undefined) first.cadence_seconds += 1;
    expect(saysDefaults("tiers", bytes(JSON.stringify(tiers)))).toBe(false);
    expect(defaultPolicyText("config")).toBe("{}\n");
    expect(defaultPolicyText("tiers").endsWith("\n")).toBe(true);
  });
});

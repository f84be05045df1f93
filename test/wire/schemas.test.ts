import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { SCHEMA_NAMES, check, type SchemaName } from "../../src/wire/schemas.ts";
import { vectorFile, vectorLines } from "./vector-files.ts";

const config = {
  wire_id: "7c3a91e2b4d05f16",
  protocol_version: "v3.1",
  layout: "pairwise",
  roster: ["forge", "scribe"],
  v3_signing: { enforce_signed: true, allow_unsigned_from: [] },
  domains: { training: { owner: "forge", paths: ["models/**"] } },
  limits: {
    max_message_body_kb: 64,
    max_clock_skew_seconds: 300,
    rate_limit_msg_per_min: 60,
    max_refs: 64,
  },
};
const cadences = {
  T0_HEADS_DOWN: { cadence_seconds: 30 },
  T1_active: { cadence_seconds: 90 },
  T2_idle: { cadence_seconds: 270 },
  T3_long_idle: { cadence_seconds: 1200 },
};
const transitions = [
  { from: "*", to: "T0_HEADS_DOWN", when: "conflict_or_multi_edit" },
  { from: "T1_active", to: "T2_idle", when: "idle_cycles", count: 3 },
  { from: ["T2_idle", "T3_long_idle"], to: "T1_active", when: "non_heartbeat_message" },
];
const key = { key_id: "alice:28bf6857", key: "fLrW21x02eJDGgk9cjpDzi/ln77xbhgDtYdbfqSKwg0=" };
const id = "ab".repeat(32);
const decision = {
  decision_id: "tiers-abababab",
  ratified_at: "2026-06-01T10:00:00Z",
  proposer: "forge",
  acked_by: ["forge", "scribe"],
  decision: "yes",
  canonical: true,
  refs: [],
  affected_domains: [],
  domain_owners: {},
  correlation_id: "c",
  proposal: ["alice", 1, id],
  acks: [["bob", 1, id]],
  close: ["alice", 2, id],
  supersedes: null,
  recorded_by: "forge",
  event_id: id,
  public_key_id: "forge:00000000",
  signature: "x",
};
const message = {
  timestamp: "2026-06-01T10:00:00Z",
  from: "a",
  type: "ship",
  subject: "s",
  body: 1,
  correlation_id: "c",
};

describe("what is accepted", () => {
  for (const [what, name, value] of [
    ["a whole configuration", "config", config],
    ["an empty one", "config", {}],
    [
      "the Python reference's",
      "config",
      { protocol_version: "v3.0", v3_signing: { enforce_signed: false }, more: 1 },
    ],
    ["a version that only drifts", "config", { protocol_version: "v9" }],
    ["our tiers", "tiers", { schema_version: "v1", tiers: cadences, transitions }],
    [
      "the Python reference's tiers",
      "tiers",
      { schema_version: "v1", tiers: cadences, transitions: { "T1 to T2": "after three idle" } },
    ],
    ["a trust store", "trust", vectorFile("trust.json")],
    ["a v3.0 trust file", "trust", { version: 1, agents: { a: { public_keys: [key] } } }],
    ["agents named by did", "trust", { agents: { "did:wire:a": {} } }],
    ["a decision", "decision", decision],
    ["a hand-written decision", "decision", { decision_id: "d", decision: "we agreed" }],
  ] as readonly [string, SchemaName, unknown][]) {
    it(what, () => {
      expect(check(name, value)).toEqual({ ok: true });
    });
  }
});

describe("what is refused, and how it is said", () => {
  const tiers = (changes: object): object => ({
    schema_version: "v1",
    tiers: cadences,
    transitions,
    ...changes,
  });
  const trust = (peer: object): object => ({ agents: { alice: peer } });
  for (const [name, value, detail] of [
    ["config", [], "the document is a list of 0; expected an object"],
    [
      "config",
      { roster: ["a", "b c"] },
      'roster[1] is "b c"; expected a handle, or did:wire:<handle>',
    ],
    [
      "config",
      { roster: [...Array(10).fill("a"), "b c"] },
      'roster[10] is "b c"; expected a handle, or did:wire:<handle>',
    ],
    ["config", { roster: "a" }, 'roster is "a"; expected a list'],
    ["config", { roster: {} }, "roster is an object; expected a list"],
    ["config", { roster: null }, "roster is null; expected a list"],
    [
      "config",
      { roster: Array(257).fill("a") },
      "roster is a list of 257; expected at most 256 entries",
    ],
    [
      "config",
      { wire_id: "../.." },
      'wire_id is "../.."; expected random, made by init. It names private folders',
    ],
    [
      "config",
      { limits: { max_refs: -1 } },
      "limits.max_refs is -1; expected an integer from 0 to 10000",
    ],
    [
      "config",
      { limits: { max_message_body_kb: "64" } },
      'limits.max_message_body_kb is "64"; expected an integer from 1 to 1024',
    ],
    ["config", { domains: { "a b": {} } }, 'domains["a b"].owner is missing'],
    ["config", { domains: { "a/b~c": {} } }, 'domains["a/b~c"].owner is missing'],
    ["config", { domains: { b1: {} } }, "domains.b1.owner is missing"],
    ["config", { domains: { "1b": {} } }, 'domains["1b"].owner is missing'],
    [
      "config",
      { domains: Object.fromEntries(Array.from({ length: 257 }, (_, i) => [i, { owner: "a" }])) },
      "domains is an object; expected at most 256 entries",
    ],
    [
      "config",
      { v3_signing: { enforce_signed: "no" } },
      'v3_signing.enforce_signed is "no"; expected true or false',
    ],
    ["tiers", {}, "schema_version is missing"],
    ["tiers", tiers({ schema_version: "v2" }), 'schema_version is "v2"; expected "v1"'],
    [
      "tiers",
      tiers({ tiers: { ...cadences, T1_active: {} } }),
      "tiers.T1_active.cadence_seconds is missing",
    ],
    [
      "tiers",
      tiers({ tiers: { ...cadences, T1_active: { cadence_seconds: 3601 } } }),
      "tiers.T1_active.cadence_seconds is 3601; expected an integer from 1 to 3600",
    ],
    [
      "tiers",
      tiers({ tiers: { ...cadences, T1_active: { cadence_seconds: 0 } } }),
      "tiers.T1_active.cadence_seconds is 0; expected an integer from 1 to 3600",
    ],
    [
      "tiers",
      tiers({ tiers: { ...cadences, T4: {} } }),
      'tiers."T4" is not a key that belongs here',
    ],
    ["tiers", tiers({ transitions: "prose" }), /^transitions is "prose"; expected a list of rules/],
    ["trust", {}, "agents is missing"],
    ["trust", { agents: {}, version: -1 }, "version is -1; expected an integer from 0"],
    [
      "trust",
      trust({ successful_reciprocations: -1 }),
      "agents.alice.successful_reciprocations is -1; expected an integer from 0",
    ],
    ["trust", { agents: { "a/b": {} } }, 'agents."a/b" is not a key that belongs here'],
    [
      "trust",
      trust({ public_keys: [{ ...key, key: "AAAA" }] }),
      /^agents.alice.public_keys\[0\].key is "AAAA"; expected the raw Ed25519 public key/,
    ],
    [
      "trust",
      trust({ public_keys: [{ key_id: "a:00000000" }] }),
      "agents.alice.public_keys[0].key is missing",
    ],
    ["decision", { decision: "x" }, "decision_id is missing"],
    ["decision", { ...decision, decision_id: "" }, 'decision_id is ""; expected at least 1'],
    [
      "decision",
      { ...decision, correlation_id: "x".repeat(257) },
      `correlation_id is "${"x".repeat(64)}…"; expected at most 256 characters`,
    ],
    [
      "decision",
      { ...decision, ratified_at: "now" },
      'ratified_at is "now"; expected ISO-8601 date and time with an offset or Z; seconds and ' +
        "fractions are optional. It must exist in the calendar, which a pattern cannot say",
    ],
    ["decision", { ...decision, proposal: "x" }, /^proposal is "x"; expected/],
    ["decision", { ...decision, supersedes: 1 }, "supersedes is 1; expected a string or null"],
    ["message", { ...message, type: undefined }, "type or kind is missing"],
    ["message", { ...message, type: "proposal" }, "ack_required is missing"],
    ["message", { ...message, to: ["a b"] }, /^to\[0\] is "a b"; expected .*pattern/],
  ] as readonly [SchemaName, unknown, string | RegExp][]) {
    it(`${name}: ${detail}`, () => {
      const checked = check(name, value);
      expect(checked.ok).toBe(false);
      if (checked.ok) return;
      if (typeof detail === "string") expect(checked.detail).toBe(detail);
      else expect(checked.detail).toMatch(detail);
    });
  }
});

/** Plans and reports keep the draft of the format: test/plans/plan/parse-plan.test.ts looks at them. */
const OF_THE_WIRE = SCHEMA_NAMES.filter((name) => !name.startsWith("agent-"));

describe("the published files", () => {
  it("are JSON Schema 2020-12 with title and description", () => {
    for (const name of OF_THE_WIRE) {
      const schema = vectorFile<Record<string, unknown>>(`../../schemas/${name}.json`);
      expect(schema["$schema"]).toBe("https://json-schema.org/draft/2020-12/schema");
      expect(schema["$id"]).toBe(`urn:deaddrop:schema:${name}`);
      expect(schema["title"]).toEqual(expect.any(String));
      expect(schema["description"]).toEqual(expect.any(String));
    }
  });

  it("take hostile input in bounded time", () => {
    const many = Array.from({ length: 20_000 }, (_, i) => ({ i }));
    const nasty = `${"a".repeat(100_000)}!`;
    expect(check("config", { roster: many }).ok).toBe(false);
    expect(check("config", { roster: [nasty], wire_id: nasty }).ok).toBe(false);
    expect(check("trust", { agents: { [nasty]: {} } }).ok).toBe(false);
    expect(check("message", { timestamp: "1".repeat(100_000) }).ok).toBe(false);
  });

  it("read every line of signed.jsonl as a message", () => {
    for (const { line } of vectorLines<{ line: string }>("signed.jsonl").slice(0, 50)) {
      expect(check("message", JSON.parse(line))).toEqual({ ok: true });
    }
  });
});

describe("the published schemas", () => {
  it.each(OF_THE_WIRE)("%s.json is a schema of the draft that it names", (name) => {
    const path = new URL(`../../schemas/${name}.json`, import.meta.url);
    const schema = JSON.parse(readFileSync(path, "utf8")) as object;
    const compiler = new Ajv2020();
    expect([compiler.validateSchema(schema), compiler.errors]).toEqual([true, null]);
    expect(schema).toMatchObject({ $schema: "https://json-schema.org/draft/2020-12/schema" });
  });
});

import { describe, expect, test } from "vitest";
import { check } from "../../../src/wire/schemas.ts";
import {
  DEFAULT_CONFIG,
  parseConfig,
  type WireConfig,
  mayBeUnsigned,
} from "../../../src/trust/policy/config.ts";

function parse(document: unknown): ReturnType<typeof parseConfig> {
  return parseConfig(new TextEncoder().encode(JSON.stringify(document)));
}

function config(document: unknown): WireConfig {
  const parsed = parse(document);
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.config;
}

const EXAMPLE = {
  wire_id: "7c3a91e2b4d05f16",
  protocol_version: "v3.1",
  roster: ["forge", "scribe"],
  unchained: ["scribe"],
  roster_epoch: 3,
  v3_signing: { enforce_signed: false, allow_unsigned_from: ["scribe"] },
  domains: {
    training: { owner: "forge", paths: ["models/**"] },
    prose: { owner: "scribe", paths: ["docs/**"] },
  },
  limits: {
    max_message_body_kb: 32,
    max_clock_skew_seconds: 60,
    rate_limit_msg_per_min: 10,
    max_refs: 8,
    answer_minutes: 0,
    proposal_hours: 720,
  },
};

describe("config.json", () => {
  test("is read as the spec prints it", () => {
    expect(config(EXAMPLE)).toEqual({
      wireId: "7c3a91e2b4d05f16",
      protocolVersion: "v3.1",
      roster: ["forge", "scribe"],
      unchained: ["scribe"],
      rosterEpoch: 3,
      signing: { enforceSigned: false, allowUnsignedFrom: ["scribe"] },
      domains: new Map([
        ["training", { owner: "forge", paths: ["models/**"] }],
        ["prose", { owner: "scribe", paths: ["docs/**"] }],
      ]),
      limits: {
        max_message_body_kb: 32,
        max_clock_skew_seconds: 60,
        rate_limit_msg_per_min: 10,
        max_refs: 8,
        ...{ answer_minutes: 0, proposal_hours: 720 },
      },
    });
  });

  test("may be empty: every key is optional", () => {
    expect(config({})).toEqual(DEFAULT_CONFIG);
    expect(DEFAULT_CONFIG.signing.enforceSigned).toBe(true);
  });

  test("of the reference implementation has a version and a signing policy", () => {
    const reference = { protocol_version: "v3.0", v3_signing: { enforce_signed: true } };
    expect(config(reference)).toEqual({ ...DEFAULT_CONFIG, protocolVersion: "v3.0" });
  });

  test("may name agents as did:wire:<handle>, and carry keys that we do not know", () => {
    const document = {
      roster: ["did:wire:forge", "scribe"],
      v3_signing: { allow_unsigned_from: ["did:wire:forge"] },
      ours: { unknown: true },
    };
    expect(config(document)).toMatchObject({
      roster: ["forge", "scribe"],
      signing: { enforceSigned: true, allowUnsignedFrom: ["forge"] },
    });
  });

  test("may give domains to agents whom it does not list", () => {
    const { roster, unchained: _unchained, ...unlisted } = EXAMPLE;
    expect(config(unlisted).domains.size).toBe(roster.length);
  });

  test.each(["v2.0", "v3.0", "v3.1"])("protocol %s is spoken", (protocol_version) => {
    expect(config({ protocol_version }).protocolVersion).toBe(protocol_version);
  });

  test.each(["v3.2", "v1", "3.1", 3, null, ""])("protocol %j is schema_drift", (version) => {
    expect(parse({ protocol_version: version })).toMatchObject({
      ok: false,
      reason: "schema_drift",
      detail: expect.stringMatching(/^config\.json: protocol_version is .*v2\.0, v3\.0, v3\.1$/),
    });
  });

  const limit = (name: string, from: number, to: number): string =>
    `limits.${name} is ${to + 1}; expected a whole number from ${from} to ${to}`;

  test.each([
    [
      { wire_id: "../x" },
      'wire_id is "../x"; expected letters, digits, ".", "_" and "-", at most 128',
    ],
    [{ wire_id: 5 }, "wire_id is 5; expected a string"],
    [{ roster: "forge" }, 'roster is "forge"; expected a list'],
    [
      { roster: ["forge", "con"] },
      'roster[1]: "con" is a reserved name on Windows; choose another handle',
    ],
    [
      { roster: Array.from({ length: 257 }, (_, at) => `a${at}`) },
      "roster: 257 agents; at most 256 share a wire",
    ],
    [{ roster: ["a", 5] }, "roster[1] is 5; expected a string"],
    [{ v3_signing: [] }, "v3_signing is a list; expected an object"],
    [
      { v3_signing: { enforce_signed: "no" } },
      'v3_signing.enforce_signed is "no"; expected true or false',
    ],
    [
      { v3_signing: { allow_unsigned_from: ["a b"] } },
      'v3_signing.allow_unsigned_from[0] is "a b"; expected a handle',
    ],
    [
      { v3_signing: { allow_unsigned_from: [5] } },
      "v3_signing.allow_unsigned_from[0] is 5; expected a string",
    ],
    [{ roster: ["a"], unchained: ["b"] }, 'unchained has "b", who is not in the roster'],
    [{ unchained: 5 }, "unchained is 5; expected a list"],
    [
      { roster_epoch: -1 },
      "roster_epoch is -1; expected a whole number from 0 to 9007199254740991",
    ],
    [{ domains: [] }, "domains is a list; expected an object"],
    [{ domains: { x: 5 } }, 'domains["x"] is 5; expected an object'],
    [{ roster: ["a"], domains: { x: {} } }, 'domains["x"].owner is missing; expected a handle'],
    [{ domains: { x: { owner: "-" } } }, 'domains["x"].owner is "-"; expected a handle'],
    [
      { domains: { x: { owner: 5 } } },
      'domains["x"].owner is 5; expected a string\nconfig.json: domains["x"].owner is missing; expected a handle',
    ],
    [
      { domains: { x: { owner: "a", paths: [1] } } },
      'domains["x"].paths[0] is 1; expected a string',
    ],
    [
      { domains: { x: { owner: "a", paths: Array.from({ length: 257 }, () => "a") } } },
      'domains["x"].paths has 257 patterns; at most 256',
    ],
    [
      { roster: ["a"], domains: { x: { owner: "b" } } },
      'domains["x"].owner is "b", who is not in the roster',
    ],
    [{ limits: [] }, "limits is a list; expected an object"],
    [
      { limits: { max_refs: -1 } },
      "limits.max_refs is -1; expected a whole number from 0 to 10000",
    ],
    [
      { limits: { max_refs: "8" } },
      'limits.max_refs is "8"; expected a whole number from 0 to 10000',
    ],
    [
      { limits: { max_refs: 1.5 } },
      "limits.max_refs is 1.5; expected a whole number from 0 to 10000",
    ],
    [{ limits: { max_refs: 10_001 } }, limit("max_refs", 0, 10_000)],
    [
      { limits: { answer_minutes: -1 } },
      "limits.answer_minutes is -1; expected a whole number from 0 to 1440",
    ],
    [{ limits: { answer_minutes: 1_441 } }, limit("answer_minutes", 0, 1_440)],
    [
      { limits: { proposal_hours: 0 } },
      "limits.proposal_hours is 0; expected a whole number from 1 to 720",
    ],
    [{ limits: { proposal_hours: 721 } }, limit("proposal_hours", 1, 720)],
    [{ limits: { max_message_body_kb: 1_025 } }, limit("max_message_body_kb", 1, 1_024)],
    [{ limits: { max_clock_skew_seconds: 86_401 } }, limit("max_clock_skew_seconds", 0, 86_400)],
    [{ limits: { rate_limit_msg_per_min: 60_001 } }, limit("rate_limit_msg_per_min", 1, 60_000)],
  ])("%j is refused in words", (document, problem) => {
    const detail = `config.json: ${problem}`;
    expect(parse(document)).toEqual({ ok: false, reason: "invalid", detail });
  });

  test.each([
    [{ roster: ["forge", "Forge"] }, "differs from"],
    [{ roster: ["a", "b_to_c", "a_to_b", "c"] }, "would share the file"],
  ])("%j is no roster", (document, words) => {
    const parsed = parse(document);
    expect(parsed).toMatchObject({ reason: "invalid", detail: expect.stringContaining(words) });
  });

  test("may be as large as its limits", () => {
    const handles = Array.from({ length: 256 }, (_, at) => `a${at}`);
    const paths = handles.map((handle) => `${handle}/**`);
    const named = handles.map((handle) => [handle, { owner: handle, paths }]);
    const { roster, domains } = config({ roster: handles, domains: Object.fromEntries(named) });
    expect(roster).toEqual(handles);
    expect([...domains]).toEqual(named);
  });

  test("has no more domains than are read", () => {
    const owned = (_: unknown, at: number): unknown => [`d${at}`, { owner: "a" }];
    const entries = [...Array.from({ length: 256 }, owned), ["last", 5]] as [string, unknown][];
    expect(parse({ domains: Object.fromEntries(entries) })).toEqual({
      ok: false,
      reason: "invalid",
      detail: "config.json: domains has 257 entries; at most 256 are read",
    });
  });

  test("may name a domain that has no paths yet", () => {
    const { domains } = config({ domains: { x: { owner: "did:wire:a" } } });
    expect(domains).toEqual(new Map([["x", { owner: "a", paths: [] }]]));
  });

  test("shows no more than 40 digits of a number", () => {
    const text = `{"limits":{"max_refs":${"9".repeat(60)}}}`;
    expect(parseConfig(new TextEncoder().encode(text))).toMatchObject({
      detail: expect.stringMatching(/^config\.json: limits\.max_refs is [0-9.e+]{1,40}; /),
    });
  });

  test("agrees with its published schema", () => {
    expect(check("config", EXAMPLE)).toEqual({ ok: true });
    expect(check("config", { limits: { max_refs: 10_001 } }).ok).toBe(false);
    expect(parse({ limits: { max_refs: 10_001 } }).ok).toBe(false);
    expect(check("config", { wire_id: "../x" }).ok).toBe(false);
  });

  test("names every problem", () => {
    const parsed = parse({ wire_id: 5, limits: { max_refs: -1 } });
    expect(parsed.ok ? [] : parsed.detail.split("\n")).toEqual([
      "config.json: wire_id is 5; expected a string",
      "config.json: limits.max_refs is -1; expected a whole number from 0 to 10000",
    ]);
  });

  test("that is no JSON object is refused", () => {
    for (const text of ["", "[]", "{", '{"wire_id":"a","wire_id":"a"}']) {
      expect(parseConfig(new TextEncoder().encode(text))).toMatchObject({
        ok: false,
        reason: "invalid",
        detail: expect.stringMatching(/^config\.json: ./),
      });
    }
  });
});

test.each([
  [true, [], false],
  [true, ["alice"], true],
  [true, ["bob"], false],
  [false, [], true],
  [false, ["bob"], true],
])("signing enforced %s, unsigned from %j: alice may write unsigned lines: %s", (on, from, may) => {
  expect(mayBeUnsigned({ enforceSigned: on, allowUnsignedFrom: from }, "alice")).toBe(may);
});

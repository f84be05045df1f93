import { describe, expect, test } from "vitest";
import { check } from "../../src/wire/schemas.ts";
import { DEFAULT_CONFIG, parseConfig, type WireConfig } from "../../src/trust/config.ts";

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
  layout: "outbox",
  roster: ["forge", "scribe"],
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
  },
};

describe("config.json", () => {
  test("is read as the spec prints it", () => {
    expect(config(EXAMPLE)).toEqual({
      wireId: "7c3a91e2b4d05f16",
      protocolVersion: "v3.1",
      layout: "outbox",
      roster: ["forge", "scribe"],
      signing: { enforceSigned: false, allowUnsignedFrom: ["scribe"] },
      domains: new Map([
        ["training", { owner: "forge", paths: ["models/**"] }],
        ["prose", { owner: "scribe", paths: ["docs/**"] }],
      ]),
      limits: {
        maxMessageBodyKb: 32,
        maxClockSkewSeconds: 60,
        rateLimitMsgPerMin: 10,
        maxRefs: 8,
      },
    });
  });

  test("may be empty: every key is optional", () => {
    expect(config({})).toEqual(DEFAULT_CONFIG);
    expect(DEFAULT_CONFIG.signing.enforceSigned).toBe(true);
  });

  test("of the Python reference has a version and a signing policy", () => {
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
    const { roster, ...unlisted } = EXAMPLE;
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

  test.each([
    [{ wire_id: "../x" }, 'wire_id is "../x"; expected letters'],
    [{ wire_id: 5 }, "wire_id is 5; expected a string"],
    [{ layout: "star" }, 'layout is "star"; expected "pairwise" or "outbox"'],
    [{ roster: "forge" }, 'roster is "forge"; expected a list'],
    [{ roster: ["forge", "con"] }, "is a reserved name on Windows"],
    [{ roster: ["forge", "Forge"] }, "differs from"],
    [{ roster: ["a", "b_to_c", "a_to_b", "c"] }, "would share the file"],
    [{ roster: ["a", 5] }, "roster[1] is 5; expected a string"],
    [{ v3_signing: [] }, "v3_signing is a list; expected an object"],
    [{ v3_signing: { enforce_signed: "no" } }, 'enforce_signed is "no"; expected true or false'],
    [{ v3_signing: { allow_unsigned_from: ["a b"] } }, 'allow_unsigned_from[0] is "a b"'],
    [{ domains: { x: { paths: [] } } }, 'domains["x"].owner is missing; expected a handle'],
    [{ domains: { x: { owner: "-" } } }, 'domains["x"].owner is "-"; expected a handle'],
    [{ domains: { x: { owner: "a", paths: [1] } } }, "paths[0] is 1; expected a string"],
    [{ roster: ["a"], domains: { x: { owner: "b" } } }, '"b", who is not in the roster'],
    [{ limits: { max_message_body_kb: 0 } }, "is 0; expected a whole number from 1 to 1024"],
    [{ limits: { max_refs: -1 } }, "limits.max_refs is -1; expected"],
    [{ limits: { max_refs: "8" } }, 'limits.max_refs is "8"; expected'],
    [{ limits: { rate_limit_msg_per_min: 1.5 } }, "rate_limit_msg_per_min is 1.5; expected"],
    [{ limits: { max_clock_skew_seconds: 86_401 } }, "max_clock_skew_seconds is 86401; expected"],
  ])("%j is refused in words", (document, words) => {
    const parsed = parse(document);
    expect(parsed).toMatchObject({ ok: false, reason: "invalid" });
    expect(parsed).toMatchObject({ detail: expect.stringContaining(words) });
    expect(parsed).toMatchObject({ detail: expect.stringMatching(/^config\.json: /) });
  });

  test("agrees with its published schema", () => {
    expect(check("config", EXAMPLE)).toEqual({ ok: true });
    expect(check("config", { limits: { max_refs: 10_001 } }).ok).toBe(false);
    expect(parse({ limits: { max_refs: 10_001 } }).ok).toBe(false);
    expect(check("config", { wire_id: "../x" }).ok).toBe(false);
  });

  test("names every problem", () => {
    const parsed = parse({ layout: "star", limits: { max_refs: -1 } });
    expect(parsed.ok ? "" : parsed.detail.split("\n")).toHaveLength(2);
  });

  test("that is no JSON object is refused", () => {
    for (const text of ["", "[]", "{", '{"layout":"outbox","layout":"outbox"}']) {
      expect(parseConfig(new TextEncoder().encode(text))).toMatchObject({ reason: "invalid" });
    }
  });
});

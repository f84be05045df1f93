import { describe, expect, test } from "vitest";
import { leftJson } from "../../../src/trust/policy/left-members.ts";
import { check } from "../../../src/wire/schemas.ts";
import {
  DEFAULT_CONFIG,
  parseConfig,
  type WireConfig,
  mayBeUnsigned,
} from "../../../src/trust/policy/config.ts";

const BACK = { logs: {}, at: "2026-05-02T12:00:00Z" };
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
    answer_minutes: 0,
    proposal_hours: 720,
  },
};

describe("config.json", () => {
  test("is read as the spec prints it", () => {
    expect(config(EXAMPLE)).toEqual({
      wireId: "7c3a91e2b4d05f16",
      protocolVersion: "v3.1",
      layout: "outbox",
      closedLogs: [],
      roster: ["forge", "scribe"],
      left: new Map(),
      membersChangedBy: undefined,
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
      answerTimes: { answerMinutes: 0, proposalHours: 720 },
    });
  });

  test("of a wire that has moved to outboxes names the closed logs", () => {
    const layout = { kind: "outbox", closed: ["forge_to_scribe", "scribe_to_forge"] };
    const read = config({ ...EXAMPLE, layout });
    expect([read.layout, read.closedLogs]).toEqual(["outbox", layout.closed]);
    expect(config({ ...EXAMPLE, layout: { kind: "outbox" } }).closedLogs).toEqual([]);
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

  const gone = {
    logs: { forge_to_scribe: { lines: 3, seq: 2, event_id: "ab" }, empty: { lines: 0 } },
    at: "2026-05-01T12:00:00Z",
    back: null,
  };

  test("says who left, and who came back", () => {
    const back = { logs: {}, at: "2026-05-02T12:00:00Z" };
    const document = {
      roster: ["forge", "scribe"],
      left: { forge: [{ ...gone, back }, gone], scribe: [{ logs: {}, at: null, back }] },
      members_changed_by: "abc",
    };
    const atMs = Date.UTC(2026, 4, 1, 12);
    const logs = new Map([
      ["forge_to_scribe", { lines: 3, seq: 2, eventId: "ab" }],
      ["empty", { lines: 0, seq: undefined, eventId: undefined }],
    ]);
    const again = { atMs: Date.UTC(2026, 4, 2, 12), logs: new Map() };
    const read = config(document);
    expect(read.left).toEqual(
      new Map([
        [
          "forge",
          [
            { atMs, logs, back: again },
            { atMs, logs, back: undefined },
          ],
        ],
        ["scribe", [{ atMs: undefined, logs: new Map(), back: again }]],
      ]),
    );
    expect(read.membersChangedBy).toBe("abc");
    expect(config({ ...document, left: { forge: [] } }).left).toEqual(new Map());
    expect(config({ ...document, left: leftJson(read.left) }).left).toEqual(read.left);
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

  const limit = (name: string, from: number, to: number): string =>
    `limits.${name} is ${to + 1}; expected a whole number from ${from} to ${to}`;

  test.each([
    [
      { wire_id: "../x" },
      'wire_id is "../x"; expected letters, digits, ".", "_" and "-", at most 128',
    ],
    [{ wire_id: 5 }, "wire_id is 5; expected a string"],
    [{ layout: "star" }, 'layout is "star"; expected "pairwise" or "outbox"'],
    [{ layout: 5 }, "layout is 5; expected a string"],
    [{ layout: { kind: "pairwise" } }, 'layout.kind is "pairwise"; expected "outbox"'],
    [{ layout: {} }, 'layout.kind is null; expected "outbox"'],
    [
      { roster: ["a", "b"], layout: { kind: "outbox", closed: ["a_to_c"] } },
      'layout.closed has "a_to_c", which is the log of no pair of the roster',
    ],
    [
      { roster: ["a", "b", "a_to_b"], layout: { kind: "outbox", closed: ["a_to_b"] } },
      'layout.closed has "a_to_b", which is a handle too: both would be one log',
    ],
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
    [{ left: [] }, "left is a list; expected an object"],
    [{ left: { x: [] } }, 'left["x"] is not in the roster; expected a handle of it'],
    [
      { roster: ["a"], left: { a: [{ logs: {}, at: 5, back: null }] } },
      'left["a"][0].at is 5; expected an ISO 8601 time',
    ],
    [
      { roster: ["a"], left: { a: [{ logs: {}, at: "now", back: null }] } },
      'left["a"][0].at is "now"; expected an ISO 8601 time',
    ],
    [
      { roster: ["a"], left: { a: [{ logs: { x: {} }, at: null, back: null }] } },
      'left["a"][0].logs["x"].lines is missing; expected a number of lines',
    ],
    [
      { roster: ["a"], left: { a: [gone, gone] } },
      'left["a"] has an entry after one without back; only the last may lack it',
    ],
    [{ roster: ["a"], left: { a: 5 } }, 'left["a"] is 5; expected a list'],
    [{ roster: ["a"], left: { a: [5] } }, 'left["a"][0] is 5; expected an object'],
    [
      { roster: ["a"], left: { a: [{ logs: {}, at: null, back: 5 }] } },
      'left["a"][0].back is 5; expected an object',
    ],
    [
      { roster: ["a"], left: { a: [{ logs: {}, at: null, back: { logs: {} } }] } },
      'left["a"][0].back.at is missing; expected an ISO 8601 time',
    ],
    [
      { roster: ["a"], left: { a: [{ logs: 5, at: null, back: null }] } },
      'left["a"][0].logs is 5; expected an object',
    ],
    [
      { roster: ["a"], left: { a: [{ logs: {}, at: null, back: { ...BACK, logs: 5 } }] } },
      'left["a"][0].back.logs is 5; expected an object',
    ],
    [
      { roster: ["a"], left: { a: [{ logs: { x: 5 }, at: null, back: null }] } },
      'left["a"][0].logs["x"] is 5; expected an object\nconfig.json: left["a"][0].logs["x"].lines is missing; expected a number of lines',
    ],
    [
      {
        roster: ["a"],
        left: { a: [{ logs: { x: { lines: 1, event_id: 5 } }, at: null, back: null }] },
      },
      'left["a"][0].logs["x"].event_id is 5; expected a string',
    ],
    [
      {
        roster: ["a"],
        left: { a: [{ logs: { x: { lines: 1, seq: -1 } }, at: null, back: null }] },
      },
      'left["a"][0].logs["x"].seq is -1; expected a whole number from 0 to 9007199254740991',
    ],
    [{ members_changed_by: 5 }, "members_changed_by is 5; expected a string"],
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

  test("an agent may leave 64 times, with as many logs as a wire has agents", () => {
    const absences = (count: number) =>
      parse({
        roster: ["a"],
        left: { a: Array.from({ length: count }, () => ({ ...gone, back: BACK })) },
      });
    expect(absences(64)).toMatchObject({ ok: true });
    expect(absences(65)).toMatchObject({
      detail: 'config.json: left["a"] has more than 64 entries',
    });
    const places = (count: number) => {
      const names = Array.from({ length: count }, (_, at) => [`x${at}`, { lines: 0 }]);
      const logs = Object.fromEntries(names) as object;
      return parse({ roster: ["a"], left: { a: [{ logs, at: null, back: null }] } });
    };
    expect(places(256)).toMatchObject({ ok: true });
    expect(places(257)).toMatchObject({
      detail: 'config.json: left["a"][0].logs has more than 256 logs',
    });
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
    const parsed = parse({ layout: "star", limits: { max_refs: -1 } });
    expect(parsed.ok ? [] : parsed.detail.split("\n")).toEqual([
      'config.json: layout is "star"; expected "pairwise" or "outbox"',
      "config.json: limits.max_refs is -1; expected a whole number from 0 to 10000",
    ]);
  });

  test("that is no JSON object is refused", () => {
    for (const text of ["", "[]", "{", '{"layout":"outbox","layout":"outbox"}']) {
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

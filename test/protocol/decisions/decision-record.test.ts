import { describe, expect, test } from "vitest";
import {
  contentDigest,
  decisionContent,
  decisionOf,
  fieldThatDiffers,
  readEntry,
  type DecisionContent,
  type EntryRecord,
  type Ratification,
} from "../../../src/protocol/decisions/record/decision-record.ts";
import { V31_OMIT, canonicalBytes, sha256Hex } from "../../../src/wire/canonical.ts";
import { fromPlain, type JsonObject } from "../../../src/wire/json/json.ts";
import { NOON, WireScript } from "../../support/scripts/wire-script.ts";

const CONTENT: DecisionContent = {
  decisionId: "v7-01234567",
  decision: "ship it",
  refs: ["docs/a.md"],
  affectedDomains: ["prose", "web"],
  domainOwners: [
    ["web", "bob"],
    ["prose", "ada"],
  ],
  supersedes: "v6-89abcdef",
};
const RATIFIED: Ratification = {
  proposalId: "p".repeat(64),
  correlationId: "2026-11-20T12:00:00.000000Z",
  proposer: "zoe",
  required: ["bob", "ada"],
  ackIds: ["ack of bob", "ack of ada"],
  by: "beat",
  at: "2026-11-20T12:00:02.000000Z",
};

function contentOf(saying: { subject?: string; body?: unknown }): DecisionContent {
  const script = new WireScript("pairwise", ["a", "b"]);
  const { message } = script.say("a_to_b", NOON, { type: "proposal", ...saying });
  return decisionContent(message, new Map());
}

describe("the id of a decision", () => {
  test.each([
    ["a name of its own", { decision_id: "V7.a-b_c" }, "V7.a-b_c"],
    ["a name of one character", { decision_id: "7" }, "7"],
    ["a name of 128 characters", { decision_id: "x".repeat(128) }, "x".repeat(128)],
    ["a longer one, cut", { decision_id: "x".repeat(129) }, "x".repeat(64)],
    ["one with a stranger at the end", { decision_id: "V7!" }, "v7"],
    ["one with a stranger at the start", { decision_id: "_V7" }, "v7"],
    ["nothing that can be read", { decision_id: "¿?" }, "decision"],
    ["the subject", {}, "a-1st-subject"],
  ])("%s", (_name, body, expected) => {
    const { decisionId } = contentOf({ subject: "(A 1st  subject!)", body });
    expect(decisionId).toMatch(/-[0-9a-f]{8}$/u);
    expect(decisionId.slice(0, -9)).toBe(expected);
  });

  test("a slug is cut before its ends are trimmed", () => {
    const { decisionId } = contentOf({ body: {}, subject: `${"x".repeat(63)} yes` });
    expect(decisionId.slice(0, -9)).toBe("x".repeat(63));
  });
});

describe("what a decision says", () => {
  test.each([16_383, 16_384])("%i bytes are kept whole", (length) => {
    const text = "x".repeat(length);
    expect(contentOf({ body: { decision: text } }).decision).toBe(text);
  });

  test("one byte more is cut", () => {
    const text = "x".repeat(16_385);
    const digest = sha256Hex(new TextEncoder().encode(text));
    expect(contentOf({ body: { decision: text } }).decision).toBe(
      `${"x".repeat(16_384)} [cut: 16385 bytes, sha256 ${digest}]`,
    );
  });

  test.each([
    ["x".repeat(256), "x".repeat(256)],
    ["x".repeat(257), null],
    [7, null],
  ])("it supersedes what it names, if that is short: %s", (supersedes, expected) => {
    expect(contentOf({ body: { supersedes } }).supersedes).toBe(expected);
  });
});

describe("the digest of a content", () => {
  test("is the same in any order of domains and owners", () => {
    const other: DecisionContent = {
      ...CONTENT,
      affectedDomains: ["web", "prose"],
      domainOwners: [
        ["prose", "ada"],
        ["web", "bob"],
      ],
    };
    expect(contentDigest(other)).toBe(contentDigest(CONTENT));
  });

  test.each<[string, Partial<DecisionContent>]>([
    ["decisionId", { decisionId: "v8-01234567" }],
    ["decision", { decision: "drop it" }],
    ["refs", { refs: [] }],
    ["affectedDomains", { affectedDomains: ["prose", "api"] }],
    [
      "an owner",
      {
        domainOwners: [
          ["web", "eve"],
          ["prose", "ada"],
        ],
      },
    ],
    [
      "an owned domain",
      {
        domainOwners: [
          ["api", "bob"],
          ["prose", "ada"],
        ],
      },
    ],
    ["supersedes", { supersedes: null }],
  ])("changes with %s", (_name, change) => {
    expect(contentDigest({ ...CONTENT, ...change })).not.toBe(contentDigest(CONTENT));
  });
});

describe("an entry", () => {
  const record: EntryRecord = decisionOf(CONTENT, RATIFIED, "ada");
  const differs = (change: object) =>
    fieldThatDiffers({ ...record, ...change }, contentDigest(CONTENT), RATIFIED);

  test("follows from its proposal, in whatever order it names the parties and their acks", () => {
    expect(differs({})).toBeUndefined();
    expect(differs({ acked_by: ["ada", "bob", "zoe"] })).toBeUndefined();
    expect(differs({ ack_ids: ["ack of ada", "ack of bob"] })).toBeUndefined();
    const sorted = { ...RATIFIED, ackIds: ["1", "2", "3"] };
    const given = { ...record, ack_ids: ["3", "1", "2"] };
    expect(fieldThatDiffers(given, contentDigest(CONTENT), sorted)).toBeUndefined();
  });

  test.each([
    ["ratified_at", { ratified_at: "2026-11-20T12:00:03.000000Z" }],
    ["proposer", { proposer: "ada" }],
    ["canonical", { canonical: undefined }],
    ["correlation_id", { correlation_id: "x" }],
    ["proposal_id", { proposal_id: "x" }],
    ["ratified_by", { ratified_by: "x" }],
    ["acked_by", { acked_by: undefined }],
    ["acked_by", { acked_by: [] }],
    ["acked_by", { acked_by: ["zoe", "bob"] }],
    ["acked_by", { acked_by: ["zoe", "bob", "eve"] }],
    ["acked_by", { acked_by: ["zoe", "bob", "ada", "eve"] }],
    ["ack_ids", { ack_ids: undefined }],
    ["ack_ids", { ack_ids: ["ack of bob", "ack of eve"] }],
    ["decision", { decision: "drop it" }],
    ["decision", { decision_id: undefined }],
    ["decision", { domain_owners: undefined }],
    ["decision", { supersedes: undefined }],
  ])("that is wrong in %s is told so: %j", (field, change) => {
    expect(differs(change)).toBe(field);
  });

  test("lacks what its proposal does not say either", () => {
    const nothing: DecisionContent = {
      decisionId: "",
      decision: "",
      refs: [],
      affectedDomains: [],
      domainOwners: [],
      supersedes: null,
    };
    const bare: EntryRecord = {
      ratified_at: RATIFIED.at,
      proposer: RATIFIED.proposer,
      canonical: true,
      correlation_id: RATIFIED.correlationId,
      proposal_id: RATIFIED.proposalId,
      ratified_by: RATIFIED.by,
      acked_by: ["zoe", "bob", "ada"],
      ack_ids: RATIFIED.ackIds,
    };
    expect(fieldThatDiffers(bare, contentDigest(nothing), RATIFIED)).toBeUndefined();
    expect(fieldThatDiffers(bare, contentDigest(CONTENT), RATIFIED)).toBe("decision");
  });

  const read = (fields: object) =>
    readEntry(fromPlain(fields) as JsonObject, { signedBy: "ada", valid: true });

  test("is read with all its fields", () => {
    const signed = { ...record, event_id: "id", public_key_id: "ada:0", signature: "s" };
    expect(read(signed)).toStrictEqual({
      id: sha256Hex(canonicalBytes(fromPlain(signed) as JsonObject, V31_OMIT)),
      record: signed,
      signedBy: "ada",
      signatureValid: true,
    });
  });

  test.each([
    ["nothing", {}, {}],
    ["a text that is none", { decision: 7, decision_id: "x" }, { decision_id: "x" }],
    ["lists that hold more than texts", { acked_by: ["a", 7], refs: "x" }, {}],
    ["canonical: false", { canonical: false }, {}],
    ["supersedes: null", { supersedes: null }, { supersedes: null }],
    ["supersedes: a text", { supersedes: "x" }, { supersedes: "x" }],
    ["owners that are no object", { domain_owners: ["a"] }, {}],
    ["one owner that is no text", { domain_owners: { web: "bob", prose: 7 } }, {}],
    ["no owners at all", { domain_owners: {} }, { domain_owners: {} }],
    ["owners", { domain_owners: { web: "bob" } }, { domain_owners: { web: "bob" } }],
  ])("keeps only what has the type that it should have: %s", (_name, fields, expected) => {
    expect(read(fields).record).toStrictEqual(expected);
  });
});

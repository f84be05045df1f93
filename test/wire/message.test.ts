import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromPlain, parseObject, toPlain, type JsonObject } from "../../src/wire/json/json.ts";
import { MESSAGE_TYPES, kindOf } from "../../src/wire/kinds.ts";
import { MAX_LINE_BYTES } from "../../src/wire/limits.ts";
import { schemaProblem } from "../../src/wire/message-schema.ts";
import { parseMessage, type Message } from "../../src/wire/message.ts";
import { check } from "../../src/wire/schemas.ts";
import {
  decodeKey,
  decodeSignature,
  parseKeyId,
  verifySignature,
} from "../../src/wire/signature.ts";
import { hex, utf8, vectorFile, vectorLines } from "./vector-files.ts";

const plain = {
  timestamp: "2026-06-01T10:00:00.000Z",
  from: "forge",
  type: "ship",
  subject: "model ready",
  body: "see refs",
  correlation_id: "2026-06-01T10:00:00.000Z",
};

const lineOf = (fields: object): Uint8Array => utf8(JSON.stringify(fields));

function messageOf(fields: object): Message {
  const parsed = parseMessage(lineOf(fields));
  if (!parsed.ok) throw new Error(`${parsed.reason}: ${parsed.detail}`);
  return parsed.message;
}

function refusalOf(fields: object): string {
  const parsed = parseMessage(lineOf(fields));
  return parsed.ok ? "read" : `${parsed.reason}: ${parsed.detail}`;
}

/** `plain` without some of its fields. */
function without(...names: string[]): object {
  return Object.fromEntries(Object.entries(plain).filter(([name]) => !names.includes(name)));
}

describe("a message", () => {
  it("has its defaults when a line says little", () => {
    expect(messageOf(plain)).toMatchObject({
      version: "v2.0",
      from: "forge",
      to: undefined,
      type: "ship",
      kind: undefined,
      refs: [],
      priority: "medium",
      ackRequired: false,
      timestampMs: Date.UTC(2026, 5, 1, 10),
      seq: undefined,
    });
  });

  it("has what the line says", () => {
    const message = messageOf({
      ...plain,
      from: "did:wire:forge",
      to: ["scribe", "*"],
      kind: 1200,
      refs: ["git:abc"],
      priority: "low",
      ack_required: true,
      wire: "7c3a",
      log: "forge_to_scribe",
      seq: 2,
      prev: "ab",
      unknown: { kept: 1 },
    });
    expect(message).toMatchObject({
      from: "forge",
      to: ["scribe", "*"],
      kind: 1200,
      refs: ["git:abc"],
      priority: "low",
      ackRequired: true,
      wire: "7c3a",
      log: "forge_to_scribe",
      seq: 2,
      prev: "ab",
    });
    expect(message.fields["unknown"]).toEqual({ kept: 1 });
    expect(Object.isFrozen(message)).toBe(true);
  });

  it("is a version by its fields", () => {
    const signed = { ...plain, public_key_id: "forge:00000000", signature: "x" };
    expect(messageOf(signed).version).toBe("v3.0");
    expect(messageOf({ ...signed, event_id: "x" }).version).toBe("v3.1");
    expect(messageOf({ ...plain, signature: "x" }).version).toBe("v2.0");
    expect(messageOf({ ...plain, public_key_id: "x" }).version).toBe("v2.0");
    expect(messageOf({ ...plain, event_id: "x" }).version).toBe("v2.0");
  });

  it("has an id that its signature and event id do not change", () => {
    const { id } = messageOf(plain);
    expect(messageOf({ ...plain, event_id: "x", public_key_id: "y", signature: "z" }).id).toBe(id);
    expect(messageOf({ ...plain, body: "other" }).id).not.toBe(id);
  });

  it("takes its type from its kind when it has no type", () => {
    for (const type of MESSAGE_TYPES) {
      const fields = {
        ...without("type"),
        kind: kindOf(type),
        ack_required: true,
        correlation_id: "t",
      };
      expect(messageOf(fields).type).toBe(type);
    }
    expect(messageOf({ ...without("type"), kind: 4242 }).type).toBe("kind:4242");
    expect(messageOf({ ...without("type"), kind: -1 }).type).toBe("kind:-1");
  });

  it("is of high priority when it is urgent", () => {
    expect(messageOf({ ...plain, subject: "urgent: disk", priority: "low" }).priority).toBe("high");
    expect(messageOf({ ...plain, subject: "not urgent:" }).priority).toBe("medium");
    expect(messageOf({ ...plain, priority: "normal" }).priority).toBe("medium");
    expect(messageOf({ ...plain, priority: "high" }).priority).toBe("high");
  });

  it("may have any body, and a subject and thread as long as Unicode counts", () => {
    for (const body of [null, false, 0, "", [], {}])
      expect(messageOf({ ...plain, body }).body).toEqual(body);
    expect(messageOf({ ...plain, subject: "😀".repeat(500) }).subject).toHaveLength(1_000);
    expect(messageOf({ ...plain, correlation_id: "😀".repeat(256) }).ackRequired).toBe(false);
    expect(messageOf({ ...plain, subject: "", to: [] }).to).toEqual([]);
    expect(messageOf({ ...plain, to: Array(1_024).fill("*") }).to).toHaveLength(1_024);
  });
});

describe("a line is refused", () => {
  it("as oversized, unread", () => {
    const line = new Uint8Array(MAX_LINE_BYTES + 1).fill(0x20);
    expect(parseMessage(line)).toEqual({
      ok: false,
      reason: "oversized",
      detail: "the line has 1048577 bytes; at most 1048576 are read",
    });
    line.set(lineOf(plain));
    expect(parseMessage(line)).toMatchObject({ ok: false, reason: "oversized" });
    expect(parseMessage(line.subarray(0, MAX_LINE_BYTES))).toMatchObject({ ok: true });
  });

  it("as malformed", () => {
    expect(parseMessage(utf8("{"))).toMatchObject({ ok: false, reason: "malformed" });
    expect(parseMessage(utf8("[]"))).toMatchObject({ ok: false, reason: "malformed" });
  });

  for (const [fields, refusal] of [
    [without("timestamp"), "schema: timestamp is missing"],
    [without("from"), "schema: from is missing"],
    [without("subject"), "schema: subject is missing"],
    [without("body"), "schema: body is missing"],
    [without("correlation_id"), "schema: correlation_id is missing"],
    [without("type"), "schema: type or kind is missing"],
    [{ ...plain, timestamp: "2026-02-30T00:00:00Z" }, /^schema: timestamp must be an ISO-8601/],
    [{ ...plain, timestamp: 1 }, /^schema: timestamp must be/],
    [{ ...plain, timestamp: [plain.timestamp] }, /^schema: timestamp must be/],
    [{ ...plain, from: "a/b" }, "schema: from must be a handle or did:wire:<handle>"],
    [{ ...plain, from: "did:web:forge" }, "schema: from must be a handle or did:wire:<handle>"],
    [{ ...plain, from: null }, "schema: from must be a handle or did:wire:<handle>"],
    [{ ...plain, to: "scribe" }, 'schema: to must be a list of handles or "*"'],
    [{ ...plain, to: ["scribe", "a b"] }, 'schema: to[1] must be a handle or "*"'],
    [{ ...plain, to: [1] }, 'schema: to[0] must be a handle or "*"'],
    [{ ...plain, to: Array(1_025).fill("*") }, "schema: to must name at most 1024 recipients"],
    [{ ...plain, type: "shout" }, /^schema: type "shout" is not one of heartbeat, decision/],
    [{ ...plain, type: "kind:7" }, /^schema: type "kind:7" is not one of/],
    [{ ...plain, type: "constructor" }, /^schema: type "constructor" is not one of/],
    [{ ...plain, type: null }, "schema: type must be a string"],
    [{ ...plain, kind: "1200" }, "schema: kind must be an integer"],
    [{ ...plain, kind: 1.5 }, "schema: kind must be an integer"],
    [{ ...plain, subject: 1 }, "schema: subject must be a string"],
    [{ ...plain, subject: "x".repeat(501) }, "schema: subject must be at most 500 characters long"],
    [
      { ...plain, subject: "😀".repeat(501) },
      "schema: subject must be at most 500 characters long",
    ],
    [
      { ...plain, subject: `${"😀".repeat(499)}xx` },
      "schema: subject must be at most 500 characters long",
    ],
    [{ ...plain, refs: "x" }, "schema: refs must be a list of strings"],
    [{ ...plain, refs: ["x", 1] }, "schema: refs[1] must be a string"],
    [{ ...plain, refs: [null] }, "schema: refs[0] must be a string"],
    [{ ...plain, priority: "urgent" }, "schema: priority must be low, medium, normal or high"],
    [{ ...plain, correlation_id: "" }, "schema: correlation_id must not be empty"],
    [{ ...plain, correlation_id: "x".repeat(257) }, /^schema: correlation_id must be at most 256/],
    [{ ...plain, ack_required: "true" }, "schema: ack_required must be true or false"],
    [{ ...plain, event_id: 1 }, "schema: event_id must be a string"],
    [{ ...plain, public_key_id: null }, "schema: public_key_id must be a string"],
    [{ ...plain, signature: [] }, "schema: signature must be a string"],
    [{ ...plain, wire: 7 }, "schema: wire must be a string"],
    [{ ...plain, log: {} }, "schema: log must be a string"],
    [{ ...plain, prev: 1 }, "schema: prev must be a string"],
    [{ ...plain, seq: 0 }, "schema: seq must be an integer ≥ 1"],
    [{ ...plain, seq: "1" }, "schema: seq must be an integer ≥ 1"],
    [{ ...plain, seq: 2 ** 60 }, "schema: seq must be an integer ≥ 1"],
    [{ ...plain, type: "ack" }, /^schema: correlation_id of an ack/],
    [{ ...without("type"), kind: 1500 }, /^schema: correlation_id of an ack/],
    [{ ...plain, type: "proposal" }, "schema: ack_required must be true for a proposal"],
    [{ ...plain, type: "proposal", ack_required: false }, /^schema: ack_required must be true/],
    [{ ...without("type"), kind: 1600 }, /^schema: ack_required must be true/],
    [{ ...plain, kind: 1100 }, "kind_mismatch: kind 1100 is claim, but type says ship (kind 1200)"],
    [{ ...plain, kind: 7 }, "kind_mismatch: kind 7 is kind:7, but type says ship (kind 1200)"],
    [{ ...plain, kind: 1100, seq: 0 }, "schema: seq must be an integer ≥ 1"],
  ] as const) {
    it(`${refusal}`.slice(0, 90), () => {
      expect(refusalOf(fields)).toMatch(refusal);
    });
  }

  it("when seq or kind is written with a point", () => {
    for (const [field, value] of [
      ["seq", "1.0"],
      ["kind", "1.2e3"],
    ]) {
      const line = JSON.stringify({ ...plain, [field!]: "X" }).replace('"X"', value!);
      expect(parseMessage(utf8(line))).toMatchObject({ ok: false, reason: "schema" });
    }
  });
});

describe("the published schema", () => {
  const values = {
    timestamp: ["2026-06-01T10:00Z", "2026-06-01T10:00:00.1+02:00", "2026-06-01", "", 1, null],
    from: ["forge", "did:wire:forge", "did:wire:", "-x", "a".repeat(128), "a".repeat(129), 1],
    to: [[], ["*"], ["a", "b"], ["a b"], "a", [1], ["did:wire:a"], ["**"]],
    type: ["ship", "ack", "proposal", "heartbeat", "nope", 1, null],
    kind: [1200, 1600, 1500, 7, -7, 1.5, "1200", null],
    subject: ["", "s", "😀".repeat(500), "😀".repeat(501), "x".repeat(501), 1],
    body: [null, {}, "x", [1.5]],
    refs: [[], ["a"], [1], "a", null],
    priority: ["low", "medium", "normal", "high", "urgent", 1],
    correlation_id: ["c", "", "x".repeat(256), "x".repeat(257), 1],
    ack_required: [true, false, 1, "true"],
    event_id: ["x", 1],
    public_key_id: ["x", null],
    signature: ["x", []],
    wire: ["x", 1],
    log: ["x", {}],
    seq: [1, 2 ** 53 - 1, 0, -1, 1.5, "1", null],
    prev: ["x", 1],
    extra: [1],
  };
  const mutation = fc
    .constantFrom(...Object.keys(values))
    .chain((field) =>
      fc.tuple(
        fc.constant(field),
        fc.constantFrom(undefined, ...values[field as keyof typeof values]),
      ),
    );

  it("says what the reader says", () => {
    let refused = 0;
    fc.assert(
      fc.property(fc.array(mutation, { maxLength: 4 }), (mutations) => {
        const fields = { ...plain, ...Object.fromEntries(mutations) };
        const object = fromPlain(fields) as JsonObject;
        const problem = schemaProblem(object);
        // What a schema cannot say.
        if (problem?.startsWith("correlation_id of an ack")) return;
        const verdict = check("message", toPlain(object));
        expect([problem, verdict.ok]).toEqual([
          verdict.ok ? undefined : expect.any(String),
          verdict.ok,
        ]);
        if (!verdict.ok) refused++;
      }),
      { numRuns: 3_000 },
    );
    expect(refused).toBeGreaterThan(500);
  });

  it("accepts every line of signed.jsonl that the reader accepts", () => {
    for (const { line } of vectorLines<{ line: string }>("signed.jsonl")) {
      const parsed = parseObject(utf8(line));
      if (parsed.ok) expect(check("message", toPlain(parsed.value))).toEqual({ ok: true });
    }
  });
});

interface SignedVector {
  name: string;
  line: string;
  verdict: "accept" | "refuse";
  reason?: string;
}

interface TrustVector {
  agents: Record<string, { public_keys: { key_id: string; key: string; active: boolean }[] }>;
}

describe("signed.jsonl", () => {
  const vectors = vectorLines<SignedVector>("signed.jsonl");
  const { agents } = vectorFile<TrustVector>("trust.json");
  const keys = Object.values(agents).flatMap(({ public_keys }) => public_keys);

  /** The checks of 2.4 that are ours, in order, with everything else left out. */
  function judge(line: string): string {
    const parsed = parseMessage(utf8(line));
    if (!parsed.ok) return parsed.reason;
    const { message } = parsed;
    const { publicKeyId, signature, version } = message;
    if (publicKeyId === undefined || signature === undefined) return "unsigned";
    if (version === "v3.1" && message.eventId !== message.id) return "event_id_mismatch";
    if (parseKeyId(publicKeyId)?.handle !== message.from) return "from_mismatch";
    const key = keys.find(({ key_id, active }) => active && key_id === publicKeyId);
    if (key === undefined) return "untrusted_key";
    const raw = decodeSignature(signature);
    const bytes = version === "v3.1" ? hex(message.id) : message.canonical;
    const valid = raw !== undefined && verifySignature(decodeKey(key.key)!, bytes, raw);
    return valid ? "accept" : "invalid_signature";
  }

  it("gets the verdicts of the independent implementation", () => {
    expect(vectors).toHaveLength(609);
    const wrong = vectors
      .map((vector) => ({ ...vector, got: judge(vector.line) }))
      .filter(({ got, verdict, reason }) => got !== (verdict === "accept" ? "accept" : reason));
    expect(wrong.map(({ name, got }) => `${name}: ${got}`)).toEqual([]);
  });
});

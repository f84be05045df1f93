import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  bodyBytes,
  checkDraft,
  composeLine,
  nextTimestamp,
  signFields,
  type Draft,
} from "../../src/wire/compose.ts";
import {
  fromPlain,
  parseObject,
  toPlain,
  type JsonObject,
  type JsonValue,
} from "../../src/wire/json/json.ts";
import { MESSAGE_TYPES, kindOf } from "../../src/wire/kinds.ts";
import { DEFAULT_LIMITS, MAX_LINE_BYTES } from "../../src/wire/limits.ts";
import { parseMessage } from "../../src/wire/message.ts";
import { check } from "../../src/wire/schemas.ts";
import {
  decodeSignature,
  makeSigner,
  publicKeyOf,
  verifySignature,
} from "../../src/wire/signature.ts";
import { hex, textOf, utf8 } from "./vector-files.ts";

const secret = new Uint8Array(32).fill(42);
const publicKey = publicKeyOf(secret);
const signer = makeSigner("forge", secret);
const timestamp = "2026-06-01T10:00:00.000000Z";
const place = { timestamp, wireId: "7c3a91e2b4d05f16", head: undefined };
const draft: Draft = { to: ["scribe"], type: "ship", subject: "model ready", body: "see refs" };

function problemOf(changes: Partial<Draft>, limits = DEFAULT_LIMITS): string {
  const checked = checkDraft({ ...draft, ...changes }, limits);
  return checked.ok ? "fine" : checked.detail;
}

describe("a composed line", () => {
  it("reads well, in one order, with type and kind", () => {
    const { line } = composeLine({ ...draft, refs: ["a.md"] }, place, signer);
    expect(textOf(line)).toMatch(
      new RegExp(
        '^{"timestamp":"2026-06-01T10:00:00.000000Z","from":"forge","to":\\["scribe"\\],"type":"ship","kind":1200,' +
          '"subject":"model ready","body":"see refs","refs":\\["a.md"\\],"priority":"medium",' +
          '"correlation_id":"2026-06-01T10:00:00.000000Z","ack_required":false,"wire":"7c3a91e2b4d05f16",' +
          '"seq":1,"event_id":"[0-9a-f]{64}","public_key_id":"forge:[0-9a-f]{8}",' +
          '"signature":"[A-Za-z0-9+/]{86}=="}$',
      ),
    );
  });

  it("names no wire where there is none, and follows the head where there is one", () => {
    const head = { seq: 6, id: "ab".repeat(32) };
    const { message } = composeLine(draft, { ...place, wireId: undefined, head }, signer);
    expect(message).toMatchObject({
      wire: undefined,
      seq: 7,
      prev: head.id,
    });
    expect("wire" in message.fields).toBe(false);
    expect(message).toMatchObject({ refs: [], priority: "medium", ackRequired: false });
    expect("prev" in composeLine(draft, place, signer).message.fields).toBe(false);
  });

  it("cannot be composed from what the reader would refuse", () => {
    const ack = { ...draft, type: "ack" };
    expect(() => composeLine(ack, place, signer)).toThrow("schema");
    expect(() => composeLine(draft, { ...place, timestamp: "now" }, signer)).toThrow("schema");
  });

  it("cannot be composed of what changes while it is signed", () => {
    let reads = 0;
    const body = {
      get reads() {
        return ++reads;
      },
    };
    expect(() => composeLine({ ...draft, body }, place, signer)).toThrow("reads back differently");
  });

  const draftArbitrary: fc.Arbitrary<Draft> = fc
    .record({
      type: fc.constantFrom(...MESSAGE_TYPES),
      to: fc.subarray(["scribe", "*", "x.y"], { minLength: 1 }),
      subject: fc.string({ unit: "binary", maxLength: 40 }).filter((text) => text.trim() !== ""),
      body: fc.jsonValue({ maxDepth: 4 }).map((body): JsonValue => fromPlain(body)),
      refs: fc.array(fc.string({ unit: "binary", maxLength: 9 }), { maxLength: 3 }),
      priority: fc.constantFrom("low" as const, "medium" as const, "high" as const),
      correlationId: fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }),
    })
    .map((each) => ({ ...each, ackRequired: each.type === "proposal" }));

  it("is read, chains, verifies and says what was meant", () => {
    fc.assert(
      fc.property(fc.array(draftArbitrary, { minLength: 1, maxLength: 4 }), (drafts) => {
        let head: { readonly seq: number; readonly id: string } | undefined;
        let last: string | undefined;
        for (const each of drafts) {
          expect(checkDraft(each, DEFAULT_LIMITS)).toEqual({ ok: true });
          last = nextTimestamp(Date.UTC(2026, 5, 1), 0, last);
          const at = { ...place, timestamp: last, head };
          const { line, id, message } = composeLine(each, at, signer);
          const parsed = parseMessage(line);
          expect(parsed).toEqual({ ok: true, message });
          expect(message).toMatchObject({ version: "v3.1", id, eventId: id, from: "forge" });
          expect(message).toMatchObject({ type: each.type, kind: kindOf(each.type), to: each.to });
          expect(message).toMatchObject({
            subject: each.subject,
            body: each.body,
            refs: each.refs,
          });
          const raw = decodeSignature(message.signature!)!;
          expect(verifySignature(publicKey, hex(id), raw)).toBe(true);
          expect(check("message", toPlain(message.fields))).toEqual({ ok: true });
          const seq = (head?.seq ?? 0) + 1;
          expect(message).toMatchObject({ seq, ...(head && { prev: head.id }) });
          head = { seq, id };
        }
      }),
      { numRuns: 60 },
    );
  });

  it("is forged by no single change of a field", () => {
    const { message, id } = composeLine({ ...draft, refs: ["a"] }, place, signer);
    for (const name of Object.keys(message.fields)) {
      if (["event_id", "public_key_id", "signature"].includes(name)) continue;
      const changed = { ...(toPlain(message.fields) as object), [name]: "changed" };
      const bytes = utf8(JSON.stringify(changed));
      const object = parseObject(bytes);
      expect(object.ok).toBe(true);
      const parsed = parseMessage(bytes);
      if (parsed.ok) expect(parsed.message.id).not.toBe(id);
    }
  });
});

describe("any object", () => {
  it("is signed as a message is, such as a decision", () => {
    const entry = { decision_id: "d-12345678", decision: "yes", canonical: true, supersedes: null };
    const { line, id } = signFields(fromPlain(entry) as JsonObject, signer);
    const parsed = parseObject(line);
    if (!parsed.ok) throw new Error(parsed.detail);
    expect(toPlain(parsed.value)).toMatchObject({
      ...entry,
      event_id: id,
      public_key_id: signer.keyId,
    });
    const signature = decodeSignature(parsed.value["signature"] as string)!;
    expect(verifySignature(publicKey, hex(id), signature)).toBe(true);
  });
});

describe("a draft is refused", () => {
  let deep: JsonValue = 1;
  for (let level = 0; level < 64; level++) deep = [deep];
  const big = "x".repeat(64 * 1_024 - 1);
  for (const [changes, problem] of [
    [{ to: [] }, "to names nobody; give a handle or *"],
    [{ to: ["a b"] }, 'to: "a b" is not a handle'],
    [{ to: Array<string>(1_025).fill("*") }, "to names more than 1024 recipients"],
    [{ type: "shout" }, /^type "shout" is not one of heartbeat, /],
    [{ subject: " \n " }, "the subject is empty"],
    [{ subject: "x".repeat(501) }, "the subject is longer than 500 characters"],
    [{ subject: "\ud800" }, "the text is not valid Unicode: it has a lone surrogate"],
    [{ refs: ["\udc00"] }, "the text is not valid Unicode: it has a lone surrogate"],
    [{ correlationId: "c\ud800" }, "the text is not valid Unicode: it has a lone surrogate"],
    [{ correlationId: "" }, "the correlation id is empty"],
    [{ correlationId: "x".repeat(257) }, "the correlation id is longer than 256 characters"],
    [{ type: "ack" }, "an ack answers a thread; name its correlation id"],
    [{ type: "proposal" }, "a proposal must require an ack"],
    [{ type: "proposal", ackRequired: false }, "a proposal must require an ack"],
    [{ refs: Array<string>(65).fill("r") }, "65 refs; at most 64"],
    [{ body: deep }, "the body is nested deeper than 63"],
    [{ body: [1, ["\ud800"]] }, "the text is not valid Unicode: it has a lone surrogate"],
    [{ body: { "\ud800": 1 } }, "the text is not valid Unicode: it has a lone surrogate"],
    [{ body: big }, "the body has 65537 bytes; at most 65536"],
    [{ body: "é".repeat(32 * 1_024) }, "the body has 65538 bytes; at most 65536"],
  ] as const) {
    it(`${problem}`, () => {
      expect(problemOf(changes)).toMatch(problem);
    });
  }

  it("when its line would be too long, whatever the limits say", () => {
    const limits = { ...DEFAULT_LIMITS, max_message_body_kb: 2_048 };
    expect(problemOf({ body: "x".repeat(MAX_LINE_BYTES) }, limits)).toMatch("longer than 1048576");
    const fits = { ...draft, body: "x".repeat(MAX_LINE_BYTES - 5_000), subject: "s".repeat(500) };
    expect(checkDraft(fits, limits)).toEqual({ ok: true });
    expect(composeLine(fits, place, signer).line.length).toBeLessThan(MAX_LINE_BYTES);
  });

  it("when body, subject, refs and recipients together leave no room for the rest", () => {
    const limits = { ...DEFAULT_LIMITS, max_message_body_kb: 2_048 };
    const besides = '"model ready"'.length + '[[],["scribe"]]'.length + 4_096;
    const body = "x".repeat(MAX_LINE_BYTES - besides - '""'.length);
    const tooLong = "the line would be longer than 1048576 bytes";
    expect(problemOf({ body }, limits)).toBe("fine");
    expect(problemOf({ body: `${body}x` }, limits)).toBe(tooLong);
    expect(problemOf({ body, subject: `${draft.subject}!` }, limits)).toBe(tooLong);
    expect(problemOf({ body, refs: ["r"] }, limits)).toBe(tooLong);
    expect(problemOf({ body, to: ["scribe", "*"] }, limits)).toBe(tooLong);
  });

  it("but not at its limits", () => {
    expect(problemOf({ body: big.slice(1) })).toBe("fine");
    expect(problemOf({ body: (deep as JsonValue[])[0]! })).toBe("fine");
    expect(problemOf({ subject: "😀".repeat(500), refs: Array<string>(64).fill("r") })).toBe(
      "fine",
    );
    expect(problemOf({ type: "ack", correlationId: "c" })).toBe("fine");
    expect(problemOf({ to: ["*"], correlationId: "x".repeat(256) })).toBe("fine");
    expect(problemOf({ to: Array<string>(1_024).fill("*") })).toBe("fine");
    expect(problemOf({}, { ...DEFAULT_LIMITS, max_refs: 0 })).toBe("fine");
    const deepest = { ...draft, body: (deep as JsonValue[])[0]! };
    expect(composeLine(deepest, place, signer).message.body).toEqual(deepest.body);
  });

  it("by the size of the canonical form", () => {
    expect(bodyBytes("é\n")).toBe(6);
    expect(bodyBytes(fromPlain({ b: 1.5, a: [1] }))).toBe('{"a":[1],"b":1.5}'.length);
  });
});

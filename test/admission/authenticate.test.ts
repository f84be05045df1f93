import { describe, expect, test } from "vitest";
import { sha256Hex } from "../../src/wire/canonical.ts";
import { fromPlain, type JsonObject } from "../../src/wire/json/json.ts";
import { authenticate, confirm, recall, signerOf } from "../../src/admission/authenticate.ts";
import { prepare } from "../../src/admission/prepare.ts";
import { isAuthentic, REFUSAL_REASONS } from "../../src/admission/checks.ts";
import type { AdmissionContext, LineSource } from "../../src/admission/context.ts";
import {
  alice,
  bob,
  carol,
  context,
  lineOf,
  note,
  peer,
  person,
  pinned,
  signV30,
  signV31,
  storeOf,
  unsignedContext,
  type Fields,
} from "../trust/people.ts";

const here: LineSource = { owner: "alice", log: "alice_to_bob" };
const nowhere: LineSource = { owner: undefined, log: undefined };

function outcome(fields: Fields, source = here, ctx: AdmissionContext = context()): string {
  const result = authenticate(lineOf(fields), source, ctx);
  return result.ok ? `ok ${result.message.version} ${result.message.from}` : result.reason;
}

const chained = note({ wire: "w1", log: "alice_to_bob", seq: 2, prev: "00".repeat(32) });

describe("what is believed", () => {
  test("a v3.1 line", () => {
    expect(outcome(signV31(note()))).toBe("ok v3.1 alice");
  });

  test("a v3.0 line", () => {
    expect(outcome(signV30(note()))).toBe("ok v3.0 alice");
  });

  test("a line from did:wire:alice", () => {
    expect(outcome(signV31(note({ from: "did:wire:alice" })))).toBe("ok v3.1 alice");
  });

  test("an unsigned line of somebody whom policy lets", () => {
    const ctx = unsignedContext();
    expect(outcome(note(), here, ctx)).toBe("ok v2.0 alice");
    expect(outcome(note({ from: "bob" }), nowhere, ctx)).toBe("unsigned");
  });

  test("an unsigned line of a stranger when nothing has to be signed", () => {
    const ctx = unsignedContext({ signing: { enforceSigned: false, allowUnsignedFrom: [] } });
    expect(outcome(note({ from: "mallory" }), nowhere, ctx)).toBe("ok v2.0 mallory");
  });

  test("the message carries the bytes that were verified, and cannot change", () => {
    const result = authenticate(lineOf(signV31(note())), here, context());
    if (!result.ok) throw new Error(result.detail);
    expect(sha256Hex(result.message.canonical)).toBe(result.message.id);
    expect(Object.isFrozen(result.message)).toBe(true);
  });
});

test("a line recalled from the journal is the message that was believed", () => {
  const line = lineOf(signV31(note()));
  const read = authenticate(line, here, context());
  if (!read.ok) throw new Error(read.detail);
  expect(recall(line, read.message.id)).toEqual(read.message);
  expect(recall(line, "00".repeat(32))).toBeUndefined();
  expect(recall(line.subarray(1), read.message.id)).toBeUndefined();
});

describe("refusals say in words", () => {
  const signed = signV31(note());
  const { signature, public_key_id, ...bare } = signed;
  const other = person("alice", " second");
  const keyless = context({ store: storeOf({ ...peer(alice), keys: [] }) });
  const ended = context({ store: storeOf({ ...peer(alice), keys: [pinned(alice, false)] }) });

  test.each<[string, Fields, string, AdmissionContext?]>([
    [
      "wrong_file",
      signV31(note({ from: "bob" }), bob),
      "from is bob, but this log is written by alice alone",
    ],
    [
      "wrong_file",
      signV31({ ...chained, log: "alice_to_carol" }),
      'the line was signed for the log "alice_to_carol", but is in alice_to_bob',
    ],
    ["unsigned", bare, "lines of alice have to be signed"],
    ["unsigned", { ...bare, public_key_id }, "public_key_id without signature"],
    ["unsigned", { ...bare, signature }, "signature without public_key_id"],
    [
      "event_id_mismatch",
      { ...signed, event_id: "00".repeat(32) },
      `event_id is "${"00".repeat(32)}", but the content hashes to ${String(signed["event_id"])}`,
    ],
    [
      "from_mismatch",
      { ...signed, public_key_id: "nothing" },
      'from is alice, but the key is "nothing"',
    ],
    ["untrusted_key", signed, "no key of alice is pinned", context({ store: storeOf() })],
    ["untrusted_key", signed, "no key of alice is pinned", keyless],
    [
      "untrusted_key",
      signV31(note(), other),
      `the key "${other.signer.keyId}" is not pinned for alice`,
    ],
    ["untrusted_key", signed, `${alice.signer.keyId} was deactivated`, ended],
    [
      "invalid_signature",
      { ...signed, signature: "garbage" },
      "signature is not strict base64 of 64 bytes",
    ],
    [
      "invalid_signature",
      { ...signed, signature: signV31(note({ body: "other" }))["signature"] },
      `the signature by "${alice.signer.keyId}" does not cover this content`,
    ],
  ])("%s", (reason, fields, detail, ctx = context()) => {
    const refusal = authenticate(lineOf(fields), here, ctx);
    // Another day, by other pins or another policy, it could be let in.
    const isOfThen = reason === "unsigned" || reason === "untrusted_key";
    const claimed = isOfThen ? { claimed: expect.objectContaining({ from: "alice" }) } : {};
    expect(refusal).toEqual({ ok: false, reason, detail, ...claimed });
  });
});

describe("refusals that prove nothing about anyone", () => {
  test("oversized: refused unread, one byte over", () => {
    const spaces = (length: number): Uint8Array => new Uint8Array(length).fill(0x20);
    expect(authenticate(spaces(1_048_577), here, context())).toMatchObject({ reason: "oversized" });
    expect(authenticate(spaces(1_048_576), here, context())).toMatchObject({ reason: "malformed" });
  });

  test("malformed", () => {
    const line = new TextEncoder().encode('{"from":"alice","from":"alice"}');
    expect(authenticate(line, here, context())).toMatchObject({ reason: "malformed" });
  });

  test("schema", () => {
    expect(outcome(signV31(note({ subject: 5 })))).toBe("schema");
  });

  test("kind_mismatch", () => {
    expect(outcome(signV31(note({ kind: 100 })))).toBe("kind_mismatch");
  });

  test("wrong_file: the author does not write this log", () => {
    expect(outcome(signV31(note({ from: "bob" }), bob))).toBe("wrong_file");
  });

  test("wrong_file: the line was signed for another log", () => {
    expect(outcome(signV31({ ...chained, log: "alice_to_carol" }))).toBe("wrong_file");
  });

  test("unsigned", () => {
    expect(outcome(note())).toBe("unsigned");
  });

  test("unsigned: only one of key id and signature, whatever policy admits", () => {
    const ctx = unsignedContext({
      signing: { enforceSigned: false, allowUnsignedFrom: ["alice"] },
    });
    const { signature, public_key_id, ...bare } = signV31(note());
    expect(outcome({ ...bare, signature }, here, ctx)).toBe("unsigned");
    expect(outcome({ ...bare, public_key_id }, here, ctx)).toBe("unsigned");
  });

  test("event_id_mismatch", () => {
    expect(outcome({ ...signV31(note()), event_id: "00".repeat(32) })).toBe("event_id_mismatch");
  });

  test("event_id_mismatch: on an unsigned line too", () => {
    const ctx = unsignedContext({ signing: { enforceSigned: false, allowUnsignedFrom: [] } });
    expect(outcome(note({ event_id: "00".repeat(32) }), here, ctx)).toBe("event_id_mismatch");
  });

  test("event_id_mismatch: upper-case hex is another spelling", () => {
    const signed = signV31(note());
    const event_id = String(signed["event_id"]).toUpperCase();
    expect(outcome({ ...signed, event_id })).toBe("event_id_mismatch");
  });

  test("from_mismatch: bob's key under alice's name", () => {
    expect(outcome(signV31(note(), bob))).toBe("from_mismatch");
    expect(outcome({ ...signV31(note()), public_key_id: "nothing" })).toBe("from_mismatch");
  });

  test("untrusted_key: an agent of whom nothing is pinned", () => {
    expect(outcome(signV31(note({ from: "carol" }), carol), nowhere)).toBe("untrusted_key");
  });

  test("untrusted_key: a key that is not pinned", () => {
    const other = person("alice", " second");
    expect(outcome(signV31(note(), other))).toBe("untrusted_key");
  });

  test("untrusted_key: an inactive key", () => {
    const store = storeOf({ ...peer(alice), keys: [pinned(alice, false)] });
    expect(outcome(signV31(note()), here, context({ store }))).toBe("untrusted_key");
  });

  test.each([
    ["garbage", "garbage"],
    ["no padding", (text: string) => text.replace(/=+$/, "")],
    ["white space", (text: string) => `${text}\n`],
    ["trailing bits", (text: string) => text.replace(/.==$/, "B==")],
    ["another signature", () => String(signV31(note({ body: "other" }))["signature"])],
  ])("invalid_signature: %s", (_, change) => {
    const signed = signV31(note());
    const text = String(signed["signature"]);
    const signature = typeof change === "string" ? change : change(text);
    expect(outcome({ ...signed, signature })).toBe("invalid_signature");
  });
});

describe("deactivated keys, when history is read again", () => {
  const end = { seq: 2, id: sha256Hex(new Uint8Array(0)) };
  const inTime = signV31(note({ log: "alice_to_bob", seq: 1 }));
  const late = signV31(note({ log: "alice_to_bob", seq: 3, prev: end.id }));

  function past(ends: [string, { seq?: number; id: string }][], passed = false): AdmissionContext {
    const key = { ...pinned(alice, false), ends: new Map(ends) };
    const store = storeOf({ ...peer(alice), keys: [key] });
    return context({ store, history: { passed: () => passed } });
  }

  test("are believed up to the line noted, and no further", () => {
    const ctx = past([["alice_to_bob", end]]);
    expect(outcome(inTime, here, ctx)).toBe("ok v3.1 alice");
    expect(outcome(late, here, ctx)).toBe("untrusted_key");
    const instead = signV31(note({ log: "alice_to_bob", seq: 2, prev: end.id }));
    expect(outcome(instead, here, ctx)).toBe("untrusted_key");
    const noted = past([["alice_to_bob", { seq: 2, id: String(instead["event_id"]) }]]);
    expect(outcome(instead, here, noted)).toBe("ok v3.1 alice");
  });

  test("are believed in no log without a note, and never live", () => {
    expect(outcome(inTime, here, past([]))).toBe("untrusted_key");
    expect(outcome(inTime, nowhere, past([["alice_to_bob", end]]))).toBe("untrusted_key");
    const { history: _, ...live } = past([["alice_to_bob", end]]);
    expect(outcome(inTime, here, live)).toBe("untrusted_key");
  });

  test("of a log that never chained are believed until the noted line has passed", () => {
    const id = end.id;
    expect(outcome(signV30(note()), here, past([["alice_to_bob", { id }]]))).toBe("ok v3.0 alice");
    const after = past([["alice_to_bob", { id }]], true);
    expect(outcome(signV30(note()), here, after)).toBe("untrusted_key");
  });

  test.each([
    ["a chained line in a log that had not chained", inTime, { id: end.id }],
    ["an unchained line in a log that chained", signV31(note()), end],
  ])("%s counts by whether the noted line has passed", (_, line, noted) => {
    const ends: [string, { seq?: number; id: string }][] = [["alice_to_bob", noted]];
    expect(outcome(line, here, past(ends))).toBe("ok v3.1 alice");
    expect(outcome(line, here, past(ends, true))).toBe("untrusted_key");
  });

  test("are asked for by their own id and in the line's own log", () => {
    const asked: string[][] = [];
    const ctx = past([["alice_to_bob", { id: end.id }]]);
    const history = { passed: (...about: string[]) => asked.push(about) > 0 };
    expect(outcome(signV30(note()), here, { ...ctx, history })).toBe("untrusted_key");
    expect(asked).toEqual([[alice.signer.keyId, "alice_to_bob"]]);
  });
});

describe("forgery", () => {
  const changes: Fields = {
    timestamp: "2026-06-01T12:00:01.000000Z",
    from: "bob",
    to: ["carol"],
    type: "warning",
    kind: 1300,
    subject: "Hello",
    body: "how are you?",
    refs: ["git:0"],
    priority: "high",
    correlation_id: "another thread",
    ack_required: true,
    event_id: "11".repeat(32),
    public_key_id: "bob:00000000",
    signature: signV31(note({ subject: "another" }))["signature"],
    wire: "w2",
    log: "alice_to_carol",
    seq: 3,
    prev: "11".repeat(32),
    unknown: 1,
  };

  test.each(Object.keys(changes))("%s changed alone is refused", (field) => {
    const changed = { [field]: changes[field] };
    expect(outcome({ ...signV31(chained), ...changed }, nowhere)).not.toMatch(/^ok/);
    if (field === "event_id") return;
    expect(outcome({ ...signV30(chained), ...changed }, nowhere)).not.toMatch(/^ok/);
  });

  test.each(Object.keys(signV31(chained)))("%s taken away alone is refused", (field) => {
    const without = (fields: Fields): Fields => ({ ...fields, [field]: undefined });
    expect(outcome(without(signV31(chained)), nowhere)).not.toMatch(/^ok/);
    if (field === "event_id") return;
    expect(outcome(without(signV30(chained)), nowhere)).not.toMatch(/^ok/);
  });

  test("a changed field with a recomputed event id has no signature", () => {
    const { event_id } = signV31(note({ body: "other" }), carol);
    const forged = { ...signV31(note()), body: "other", event_id };
    expect(outcome(forged)).toBe("invalid_signature");
  });

  test("a stripped signature is no v2.0 line", () => {
    const { signature: _, public_key_id: __, ...stripped } = signV31(note());
    expect(outcome(stripped)).toBe("unsigned");
  });

  test("v3.1 presented as v3.0", () => {
    const { event_id: _, ...presented } = signV31(note());
    expect(outcome(presented)).toBe("invalid_signature");
  });

  test("v3.0 presented as v3.1", () => {
    const { event_id } = signV31(note());
    expect(outcome({ ...signV30(note()), event_id })).toBe("invalid_signature");
  });

  test("a stripped chain", () => {
    const { wire: _, log: __, seq: ___, prev: ____, ...stripped } = signV31(chained);
    expect(outcome(stripped)).toBe("event_id_mismatch");
    const { event_id } = signV31(stripped, carol);
    expect(outcome({ ...stripped, event_id })).toBe("invalid_signature");
  });

  test("a line of another file", () => {
    expect(outcome(signV31(chained), { owner: "alice", log: "alice_to_carol" })).toBe("wrong_file");
  });
});

describe("prepare and confirm", () => {
  test("leave the signature to the caller", () => {
    const signed = signV31(note());
    const prepared = prepare(lineOf(signed), here, context());
    if (prepared.step !== "signature") throw new Error(prepared.step);
    expect(Buffer.from(prepared.bytes).toString("hex")).toBe(signed["event_id"]);
    expect(prepared.publicKey).toEqual(alice.key);
    expect(confirm(prepared, true)).toMatchObject({ ok: true, message: { from: "alice" } });
    expect(confirm(prepared, false)).toMatchObject({ ok: false, reason: "invalid_signature" });
  });

  test("have the canonical bytes of a v3.0 line signed", () => {
    const prepared = prepare(lineOf(signV30(note())), here, context());
    if (prepared.step !== "signature") throw new Error(prepared.step);
    expect(prepared.bytes).toEqual(prepared.message.canonical);
  });

  test("refuse before the signature what can be refused before", () => {
    const forged = { ...signV31(note(), bob), signature: "garbage" };
    expect(prepare(lineOf(forged), here, context())).toMatchObject({
      step: "refused",
      refusal: { reason: "from_mismatch" },
    });
  });
});

test("everything after invalid_signature is authentic", () => {
  const authentic = REFUSAL_REASONS.filter(isAuthentic);
  expect(authentic[0]).toBe("wrong_wire");
  expect(authentic).toHaveLength(10);
});

test("details carry no control characters of the line", () => {
  const hostile = { ...signV31(note()), event_id: "\u001b]8;;http://x\u0007\u202e" };
  const result = authenticate(lineOf(hostile), here, context());
  expect(result).toMatchObject({ ok: false, detail: expect.stringMatching(/^[ -~…]*$/) });
});

describe("who has signed an object that is no message", () => {
  const entry = signV31(note());
  const signer = (change: Fields, store = context().store) =>
    signerOf(fromPlain({ ...entry, ...change }) as JsonObject, store);

  test("is told by a key ever pinned", () => {
    expect(signer({})).toBe("alice");
    expect(signer({}, storeOf({ ...peer(alice), keys: [pinned(alice, false)] }))).toBe("alice");
    expect(signer({}, storeOf(peer(bob)))).toBeUndefined();
  });

  test.each<[string, Fields]>([
    ["another word in it", { subject: "another" }],
    ["another id", { event_id: "0".repeat(64) }],
    ["no id", { event_id: 7 }],
    ["no key", { public_key_id: 7 }],
    ["a key that is none", { public_key_id: "alice" }],
    ["no signature", { signature: 7 }],
    ["a signature that is none", { signature: "AAAA" }],
    ["a signature of something else", { signature: signV31(note({ body: 2 }))["signature"] }],
  ])("is nobody with %s", (_what, change) => {
    expect(signer(change)).toBeUndefined();
  });
});

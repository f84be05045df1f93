import { describe, expect, test } from "vitest";
import { authenticate, confirmInAudit } from "../../src/admission/authenticate.ts";
import type { NotedLine } from "../../src/admission/reading.ts";
import { parseMessage } from "../../src/wire/message.ts";
import {
  alice,
  context,
  lineOf,
  note,
  peer,
  signV31,
  storeOf,
  type Fields,
} from "../trust/people.ts";

const STRANGERS = context({ store: storeOf() });

function audited(
  fields: Fields,
  by: { readonly noted?: NotedLine; readonly takesClaims?: boolean } = {},
  ctx = context(),
) {
  const line = lineOf(fields);
  const confirmed = authenticate(line, { owner: "alice", log: "alice_to_bob" }, ctx);
  const { noted, takesClaims = false } = by;
  return confirmInAudit(line, confirmed, ctx, { noted, takesClaims });
}

function idOf(fields: Fields): string {
  const parsed = parseMessage(lineOf(fields));
  return parsed.ok ? parsed.message.id : "";
}

/** What the journal noted of that line, as far as it says. */
function notedOf(fields: Fields, change: Partial<NotedLine> = {}): NotedLine {
  const id = idOf(fields);
  const length = lineOf(fields).length;
  return {
    authentic: true,
    reason: undefined,
    isOf: (other) => other === id,
    fits: (bytes) => bytes.length === length,
    ...change,
  };
}

const signed = signV31(note({ log: "alice_to_bob", seq: 1 }));

describe("an audit with pins that are not our own", () => {
  test("takes an agent of whom no key is known for what it says", () => {
    expect(audited(signed, { takesClaims: true }, STRANGERS)).toMatchObject({
      ok: true,
      isUnproved: true,
      message: { id: idOf(signed) },
    });
  });

  test("and no other: with our own pins, of one with another key, or with a wrong signature", () => {
    expect(audited(signed, {}, STRANGERS)).toMatchObject({ ok: false, reason: "untrusted_key" });
    const other = { ...peer(alice), keys: [{ ...peer(alice).keys[0], keyId: "alice:00000000" }] };
    const ctx = context({ store: storeOf(other as ReturnType<typeof peer>) });
    expect(audited(signed, { takesClaims: true }, ctx)).toMatchObject({
      ok: false,
      reason: "untrusted_key",
    });
    const forged = { ...signed, subject: "another" };
    expect(audited(forged, { takesClaims: true })).toMatchObject({ ok: false });
    expect(audited(signed, { takesClaims: true })).not.toHaveProperty("isUnproved");
  });
});

describe("an audit with our journal", () => {
  test("takes a line that the journal noted as authentic, and only that one", () => {
    const noted = notedOf(signed);
    expect(audited(signed, { noted }, STRANGERS)).toMatchObject({
      ok: true,
      message: { id: idOf(signed) },
    });
    const another = signV31(note({ log: "alice_to_bob", seq: 2, body: "another" }));
    expect(audited(another, { noted }, STRANGERS)).toMatchObject({
      ok: false,
      reason: "untrusted_key",
    });
    expect(audited(signed, { noted })).toMatchObject({ ok: true });
  });

  test("refuses a line as it was refused then, where that depends on our pins of then", () => {
    const noted = notedOf(signed, { authentic: false, reason: "untrusted_key" });
    expect(audited(signed, { noted })).toMatchObject({
      ok: false,
      reason: "untrusted_key",
      refusedThen: { seq: 1 },
      claimed: { id: idOf(signed) },
    });
    // Of another length it is another line; and what no pin changes is judged again.
    expect(audited(signed, { noted: { ...noted, fits: () => false } })).toMatchObject({ ok: true });
    expect(audited(signed, { noted: { ...noted, reason: "malformed" } })).toMatchObject({
      ok: true,
    });
    expect(audited(signed, { noted: { ...noted, reason: undefined } })).toMatchObject({ ok: true });
  });

  test("of two reasons the one that is asked for first counts", () => {
    const noted = notedOf(signed, { authentic: false, reason: "unsigned" });
    expect(audited(signed, { noted }, STRANGERS)).toMatchObject({ ok: false });
    const same = notedOf(signed, { authentic: false, reason: "untrusted_key" });
    expect(audited(signed, { noted: same }, STRANGERS)).not.toHaveProperty("refusedThen");
    const later = notedOf(signed, { authentic: false, reason: "wrong_wire" });
    expect(audited(signed, { noted: later }, STRANGERS)).toMatchObject({ ok: false });
  });
});

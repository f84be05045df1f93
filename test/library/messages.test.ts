import { describe, expect, test } from "vitest";
import { signMessage, verifyMessage } from "../../src/library/messages.ts";
import { encodeBase64 } from "../../src/wire/signature.ts";
import { alice, lineOf, NOON_MS } from "../trust/people.ts";

const { line, eventId } = signMessage(
  { to: ["bob"], type: "feedback", subject: "hello", body: "how are you" },
  {
    handle: "alice",
    secret: alice.secret ?? new Uint8Array(),
    timestamp: new Date(NOON_MS).toISOString(),
  },
);

function trustFile(agent: object): Uint8Array {
  const key = { key_id: alice.signer.keyId, key: encodeBase64(alice.key), active: true };
  const agents = { alice: { ...agent, public_keys: [key] } };
  return lineOf({ schema_version: "v3.1", agents });
}

describe("verifyMessage", () => {
  test("gives the message of a line that is let in", () => {
    const verified = verifyMessage(line, trustFile({ tier: "ATTESTED" }));
    expect(verified).toMatchObject({ ok: true, message: { id: eventId, from: "alice" } });
  });

  test("asks every check that needs no log, clock or history, the tier's too", () => {
    expect(verifyMessage(line, trustFile({ tier: "UNTRUSTED" }))).toEqual({
      ok: false,
      reason: "tier_refused",
      detail: "alice is UNTRUSTED: feedback is not taken",
    });
    const changed = Buffer.from(Buffer.from(line).toString().replace("how are you", "who are you"));
    expect(verifyMessage(changed, trustFile({ tier: "ATTESTED" }))).toMatchObject({
      ok: false,
      reason: "event_id_mismatch",
    });
  });
});

import { describe, expect, test } from "vitest";
import { authenticate } from "../../src/admission/authenticate.ts";
import type { AdmissionContext } from "../../src/admission/context.ts";
import { TIERS } from "../../src/trust/tiers.ts";
import { parseTrustStore } from "../../src/trust/trust-file.ts";
import { kindOf, MESSAGE_TYPES } from "../../src/wire/kinds.ts";
import { encodeBase64 } from "../../src/wire/signature.ts";
import { admit, freshLog, LOG, short } from "./admission-scene.ts";
import {
  alice,
  context,
  lineOf,
  NOON_MS,
  note,
  signV30,
  signV31,
  type Fields,
} from "../trust/people.ts";

// Every tier × every kind, through the whole of admission: the store as it stands in its file, a
// line that is signed, and the verdict on it. The table is Spec 2.3 and 1.3 by hand: + is accepted,
// . is tier_refused, k is untrusted_key.

const TABLE = `
                          stranger none UNTRUSTED VERIFIED ATTESTED TRUSTED ADMIN NONE blocked
heartbeat                 k        +    +         +        +        +       .     .    .
agent_card                k        +    +         +        +        +       .     .    .
trust_tier_announcement   k        +    +         +        +        +       .     .    .
decision                  k        .    .         +        +        +       .     .    .
claim                     k        .    .         .        +        +       .     .    .
release                   k        .    .         +        +        +       .     .    .
ship                      k        .    .         +        +        +       .     .    .
warning                   k        .    .         +        +        +       .     .    .
request                   k        .    .         +        +        +       .     .    .
feedback                  k        .    .         +        +        +       .     .    .
incident                  k        .    .         +        +        +       .     .    .
ack                       k        .    .         +        +        +       .     .    .
proposal                  k        .    .         +        +        +       .     .    .
correction                k        .    .         +        +        +       .     .    .
shutdown                  k        .    .         +        +        +       .     .    .
kind:0                    k        .    .         +        +        +       .     .    .
kind:2                    k        .    .         +        +        +       .     .    .
kind:999                  k        .    .         +        +        +       .     .    .
kind:1999                 k        .    .         +        +        +       .     .    .
kind:9999                 k        .    .         +        +        +       .     .    .
kind:10002                k        .    .         +        +        +       .     .    .
kind:20001                k        .    .         +        +        +       .     .    .
kind:30000                k        .    .         +        +        +       .     .    .
kind:40000                k        .    .         +        +        +       .     .    .
`;

const VERDICTS: Readonly<Record<string, string>> = {
  "+": "accepted",
  ".": "tier_refused",
  k: "untrusted_key",
};

const [standings = [], ...rows] = TABLE.trim()
  .split("\n")
  .map((line) => line.trim().split(/ +/));
const cells = rows.flatMap(([type = "", ...marks]) =>
  standings.map((standing, at) => [standing, type, VERDICTS[marks[at] ?? ""] ?? "?"] as const),
);

/** What the private store says of alice in each column. */
function contextFor(standing: string): AdmissionContext {
  const key = { key_id: alice.signer.keyId, key: encodeBase64(alice.key), active: true };
  const blocked = { tier: "TRUSTED", blocked: true };
  const said = { stranger: undefined, none: {}, blocked }[standing] ?? { tier: standing };
  const agents = standing === "stranger" ? {} : { alice: { ...said, public_keys: [key] } };
  const text = JSON.stringify({ schema_version: "v3.1", version: 1, agents });
  const read = parseTrustStore(new TextEncoder().encode(text), 0);
  if (!read.ok) throw new Error(read.detail);
  return context({ store: read.store });
}

function verdictOf(fields: Fields, ctx: AdmissionContext): string {
  const result = authenticate(lineOf(fields), { owner: "alice", log: LOG }, ctx);
  if (!result.ok) return result.reason;
  return short(admit(result.message, freshLog(), ctx, NOON_MS));
}

/** A message of that type in each of the ways in which it can be said. Spec 1.2. */
function saidAs(type: string): Fields[] {
  const fields = note({ ack_required: true, correlation_id: "a thread" });
  if (type.startsWith("kind:"))
    return [{ ...fields, type: undefined, kind: Number(type.slice(5)) }];
  const kind = kindOf(type);
  return [
    { ...fields, type },
    { ...fields, type, kind },
    { ...fields, type: undefined, kind },
  ];
}

test("the table has every tier and every type there is", () => {
  expect(standings).toEqual(expect.arrayContaining([...TIERS]));
  const types = rows.map(([type = ""]) => type).filter((type) => !type.startsWith("kind:"));
  expect(types.toSorted()).toEqual([...MESSAGE_TYPES].toSorted());
  expect(cells.filter(([, , verdict]) => verdict === "?")).toEqual([]);
});

describe("every tier × every kind", () => {
  test.each(cells)("%s, %s: %s", (standing, type, verdict) => {
    const ctx = contextFor(standing);
    for (const said of saidAs(type)) {
      expect(verdictOf(signV31(said), ctx)).toBe(verdict);
      expect(verdictOf(signV30(said), ctx)).toBe(verdict);
    }
  });
});

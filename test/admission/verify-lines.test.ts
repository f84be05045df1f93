import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../src/wire/limits.ts";
import { encodeBase64 } from "../../src/wire/signature.ts";
import { DEFAULT_SIGNING } from "../../src/trust/policy/config.ts";
import { newPeer } from "../../src/trust/store.ts";
import { verifyContext, verifyLine } from "../../src/admission/verify-lines.ts";
import { alice, lineOf, note, signV30, signV31, type Fields } from "../trust/people.ts";

function trustFile(schema: Fields, agent: Fields): Uint8Array {
  const key = { key_id: alice.signer.keyId, key: encodeBase64(alice.key) };
  return lineOf({ ...schema, agents: { alice: { ...agent, public_keys: [key] }, "-": {} } });
}

const v30 = trustFile({}, {});
const untrusted = trustFile({ schema_version: "v3.1", version: 7 }, { tier: "UNTRUSTED" });

test.each([
  ["v3.0", v30, 0, "ATTESTED"],
  ["v3.1", untrusted, 7, "UNTRUSTED"],
] as const)("a %s trust file is read for the default policy", (_, bytes, version, tier) => {
  const keys = [{ keyId: alice.signer.keyId, key: alice.key, addedAt: "", active: true }];
  expect(verifyContext(bytes, "t.json")).toEqual({
    ok: true,
    ctx: {
      wireId: undefined,
      signing: DEFAULT_SIGNING,
      limits: DEFAULT_LIMITS,
      store: { version, peers: new Map([["alice", { ...newPeer("alice"), tier, keys }]]) },
      self: "",
    },
    problems: ['t.json: agents: "-" is neither a handle nor did:wire:<handle>'],
  });
});

test("a file that is no trust file is refused", () => {
  expect(verifyContext(lineOf({ schema_version: null }), "t.json")).toEqual({
    ok: false,
    detail: 't.json: schema_version is null; expected "v3.1" (or none, in a v3.0 file)',
  });
});

const signed = signV31(note({ type: "claim" }));

test.each([
  ["a v3.1 line", v30, signed, { ok: true, from: "alice", version: "v3.1" }],
  ["a v3.0 line", v30, signV30(note()), { ok: true, from: "alice", version: "v3.0" }],
  [
    "a line that is not authentic",
    v30,
    note(),
    { ok: false, reason: "unsigned", detail: "lines of alice have to be signed" },
  ],
  [
    "a line that its sender's tier does not let it write",
    untrusted,
    signed,
    {
      ok: false,
      reason: "tier_refused",
      detail: "alice is UNTRUSTED: claim is not taken",
    },
  ],
])("%s is judged", (_, file, line, verdict) => {
  const context = verifyContext(file, "t.json");
  if (!context.ok) throw new Error(context.detail);
  expect(verifyLine(lineOf(line), context.ctx)).toEqual(verdict);
});

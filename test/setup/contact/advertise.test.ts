import { describe, expect, it } from "vitest";
import { withAdvertisedKey } from "../../../src/setup/contact/advertise.ts";

const KEY = {
  handle: "forge",
  keyId: "forge:1a2b3c4d",
  key: Buffer.alloc(32, 7).toString("base64"),
  addedAt: "2026-06-01T10:00:00.000Z",
};

function added(text: string): { text: string; document: unknown } {
  const next = withAdvertisedKey(text, KEY);
  if (!next.ok) throw new Error(next.detail);
  return { text: next.text, document: JSON.parse(next.text) };
}

const ENTRY = { key_id: KEY.keyId, key: KEY.key, added_at: KEY.addedAt, active: true };

describe("advertising a key in the wire's trust.json", () => {
  it("begins a v3.1 file where there is none", () => {
    expect(added("").document).toEqual({
      schema_version: "v3.1",
      version: 1,
      agents: { forge: { tier: "UNTRUSTED", public_keys: [ENTRY] } },
    });
  });

  it("leaves everything that others wrote as it is, in either format", () => {
    const before = {
      version: 1,
      note: "kept",
      agents: {
        scribe: { public_keys: [{ key_id: "scribe:00000000", key: "x" }], extra: 1 },
        forge: { tier: "ATTESTED", mood: "fine", public_keys: [{ key_id: "forge:00000000" }] },
      },
    };
    expect(added(JSON.stringify(before)).document).toEqual({
      ...before,
      agents: {
        ...before.agents,
        forge: {
          tier: "ATTESTED",
          mood: "fine",
          public_keys: [{ key_id: "forge:00000000" }, ENTRY],
        },
      },
    });
  });

  it("changes nothing the second time", () => {
    const { text } = added("");
    expect(added(text).text).toBe(text);
  });

  it.each([
    ["[]", "not an object at the top"],
    ['{"agents":{},"agents":{}}', "duplicate key"],
    ['{"agents":[]}', "agents is not an object"],
    ['{"agents":{"forge":7}}', "agents.forge is not an agent with a list public_keys"],
    ['{"agents":{"forge":{"public_keys":{}}}}', "agents.forge is not an agent with a list"],
  ])("refuses to rewrite %s", (text, detail) => {
    const next = withAdvertisedKey(text, KEY);
    expect(next.ok ? "" : next.detail).toContain(detail);
  });

  it("does not take an agent named like a property of every object for one that is there", () => {
    const next = withAdvertisedKey('{"agents":{}}', { ...KEY, handle: "constructor" });
    expect(next.ok && JSON.parse(next.text).agents.constructor.public_keys).toEqual([ENTRY]);
  });
});

import { createPublicKey, verify } from "node:crypto";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { buildA2aCard } from "../../../src/trust/cards/a2a-card.ts";
import { verifyCard, type AgentCard } from "../../../src/trust/cards/card.ts";
import { encodeBase64, makeSigner } from "../../../src/wire/signature.ts";
import { cardOf, keyFrom } from "../../support/foreign-card.ts";

const signer = makeSigner("scribe", new Uint8Array(32).fill(9));
const { key, keyId } = keyFrom("scribe", 9);

function ownCard(change: Partial<AgentCard> = {}): AgentCard {
  const verdict = verifyCard(cardOf("scribe", 9), Date.UTC(2026, 5, 1));
  if (!verdict.ok) throw new Error(verdict.detail);
  return { ...verdict.card, ...change };
}

interface A2aCard {
  readonly [field: string]: unknown;
  readonly capabilities: { readonly extensions: readonly { readonly uri: string }[] };
  readonly skills: readonly { readonly id: string }[];
  readonly signatures: readonly { readonly protected: string; readonly signature: string }[];
}

function exported(change: Partial<AgentCard> = {}): A2aCard {
  const bytes = buildA2aCard(ownCard(change), "1.2.3", signer);
  return JSON.parse(Buffer.from(bytes).toString("utf8")) as A2aCard;
}

// What A2A's published definitions require of a card, written down from them by hand.
const text = { type: "string", minLength: 1 };
const texts = { type: "array", items: text };
const shape = (fields: Record<string, unknown>) => ({
  type: "object",
  required: Object.keys(fields),
  properties: fields,
});
const parts = {
  name: text,
  description: text,
  version: text,
  capabilities: {
    type: "object",
    properties: {
      streaming: { type: "boolean" },
      pushNotifications: { type: "boolean" },
      extensions: {
        type: "array",
        items: {
          type: "object",
          required: ["uri"],
          properties: { uri: text, description: text, required: { type: "boolean" } },
        },
      },
    },
  },
  defaultInputModes: texts,
  defaultOutputModes: texts,
  skills: {
    type: "array",
    items: shape({ id: text, name: text, description: text, tags: texts }),
  },
  signatures: { type: "array", items: shape({ protected: text, signature: text }) },
};
const V03 = shape({ ...parts, protocolVersion: text, url: text });
const V10 = shape({
  ...parts,
  supportedInterfaces: {
    type: "array",
    minItems: 1,
    items: shape({ url: text, protocolBinding: text, protocolVersion: text }),
  },
});

/** RFC 8785 by its own words, for strings, booleans, lists and objects. */
function jcs(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((each) => jcs(each)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${jcs(each)}`).join(",")}}`;
}

/** Which of the signatures hold for these fields, as any reader of JWS would check them. */
function valid(fields: object, card: A2aCard): boolean[] {
  const x = Buffer.from(key).toString("base64url");
  const jwk = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  const payload = Buffer.from(jcs(fields)).toString("base64url");
  return card.signatures.map((each) => {
    const input = Buffer.from(`${each.protected}.${payload}`);
    return verify(null, input, jwk, Buffer.from(each.signature, "base64url"));
  });
}

describe("an A2A card", () => {
  it.each([
    ["0.3", V03],
    ["1.0", V10],
  ])("has every field that %s requires", (_version, schema) => {
    const validate = new Ajv({ strict: false }).compile(schema);
    expect([validate(exported()), validate.errors]).toEqual([true, null]);
  });

  it("says who the agent is on its wire, in an extension", () => {
    const { capabilities, ...card } = exported({ url: "https://scribe.example/card.json" });
    expect(card).toMatchObject({ name: "scribe", url: "did:wire:scribe", version: "1.2.3" });
    expect(card["preferredTransport"]).toBe("urn:deaddrop:a2a:binding:wire");
    expect(capabilities.extensions).toMatchObject([
      {
        uri: "urn:deaddrop:a2a:wire",
        required: true,
        params: {
          did: "did:wire:scribe",
          key_id: keyId,
          ed25519_public_key: encodeBase64(key),
          agent_card_url: "https://scribe.example/card.json",
        },
      },
    ]);
  });

  it("names what the agent states that it can, once", () => {
    const { skills } = exported({ capabilities: ["review", "Gäste 🚀", "review"] });
    const ids = ["wire-messages", "capability:review", "capability:Gäste 🚀"];
    expect(skills.map(({ id }) => id)).toEqual(ids);
  });

  it("is signed as it stands, and as a reader of 1.0 keeps it", () => {
    const card = exported({ capabilities: ["Gäste 🚀 \u2028\u0007"] });
    const { signatures, ...whole } = card;
    const { protocolVersion: _v, url: _u, preferredTransport: _t, ...inV10 } = whole;
    expect([valid(whole, card), valid(inV10, card)]).toEqual([
      [true, false],
      [false, true],
    ]);
    expect(valid({ ...whole, name: "Evil" }, card)).toEqual([false, false]);
    for (const each of signatures) {
      const header = Buffer.from(each.protected, "base64url").toString("utf8");
      expect(JSON.parse(header)).toEqual({ alg: "EdDSA", typ: "JOSE", kid: keyId });
    }
  });

  it("is signed by nobody else", () => {
    const other = makeSigner("scribe", new Uint8Array(32).fill(8));
    expect(() => buildA2aCard(ownCard(), "1", other)).toThrow(TypeError);
  });
});

it("says what the agent is, what it can do and which key signs, and nothing that it cannot", () => {
  const card = exported({ name: "", url: "", capabilities: ["review", "review"] });
  expect(card).toMatchObject({
    protocolVersion: "0.3.0",
    name: "scribe",
    description: "The agent scribe on a deaddrop wire: signed messages in an append-only log.",
    defaultInputModes: ["application/json", "text/plain"],
    defaultOutputModes: ["application/json", "text/plain"],
    skills: [
      { id: "wire-messages", name: "Messages on a wire", tags: ["coordination", "messages"] },
      {
        id: "capability:review",
        name: "review",
        description: "Stated in the agent's own card: review",
        tags: ["capability"],
      },
    ],
  });
  expect(Object.keys(card.capabilities)).toEqual(["extensions"]);
  expect(card.capabilities.extensions[0]).toMatchObject({
    required: true,
    params: { did: "did:wire:scribe", key_id: keyId, ed25519_public_key: encodeBase64(key) },
  });
  expect(JSON.stringify(card)).not.toContain("agent_card_url");
  expect(exported({ name: "The scribe" })["name"]).toBe("The scribe");
  const header = Buffer.from(card.signatures[0]?.protected ?? "", "base64url").toString("utf8");
  expect(JSON.parse(header)).toEqual({ alg: "EdDSA", typ: "JOSE", kid: keyId });
  const other = makeSigner("scribe", new Uint8Array(32).fill(8));
  expect(() => buildA2aCard(ownCard(), "1.2.3", other)).toThrow(
    `${other.keyId} did not sign this card; ${keyId} did`,
  );
});

import { canonicalText } from "../../wire/canonical.ts";
import { didOf } from "../../wire/handle.ts";
import { fromPlain } from "../../wire/json/json.ts";
import { encodeBase64, type Signer } from "../../wire/signature.ts";
import { signingKey, type AgentCard } from "./card.ts";

/** Says in an A2A card who the agent is on its wire. */
const A2A_EXTENSION = "urn:deaddrop:a2a:wire";
/** How the agent is reached: by the files of its wire, and by no A2A endpoint. */
const A2A_BINDING = "urn:deaddrop:a2a:binding:wire";

/** Fields of A2A 0.3 that 1.0 no longer has: a reader of 1.0 drops them before it checks. */
const ONLY_IN_V03: ReadonlySet<string> = new Set(["protocolVersion", "url", "preferredTransport"]);

/**
 * An agent as an A2A AgentCard (0.3 and 1.0 in one), as the bytes of its file. Spec 2.2. It is
 * signed as A2A 8.4 says: a JWS (RFC 7515, EdDSA) over the card in canonical JSON (RFC 8785)
 * without `signatures`; once as it is, and once as a reader of 1.0 alone keeps it. Throws a
 * TypeError when the signer's key is not the one that our own card is signed with.
 *
 * @param version of this program
 */
export function buildA2aCard(card: AgentCard, version: string, signer: Signer): Uint8Array {
  if (signer.keyId !== card.signedBy) {
    throw new TypeError(`${signer.keyId} did not sign this card; ${card.signedBy} did`);
  }
  const fields = a2aFields(card, version);
  const kept = Object.entries(fields).filter(([name]) => !ONLY_IN_V03.has(name));
  const signatures = [fields, Object.fromEntries(kept)].map((each) => jwsOf(each, signer));
  return new TextEncoder().encode(`${JSON.stringify({ ...fields, signatures }, null, 2)}\n`);
}

type Fields = Readonly<Record<string, unknown>>;

function a2aFields(card: AgentCard, version: string): Fields {
  const did = didOf(card.handle);
  const modes = ["application/json", "text/plain"];
  return {
    protocolVersion: "0.3.0",
    name: card.name === "" ? card.handle : card.name,
    description: `The agent ${card.handle} on a deaddrop wire: signed messages in an append-only log.`,
    url: did,
    preferredTransport: A2A_BINDING,
    supportedInterfaces: [{ url: did, protocolBinding: A2A_BINDING, protocolVersion: "1.0" }],
    version,
    // No `streaming: false` and `pushNotifications: false`: absent means false, and A2A 8.4 says both that
    // explicit defaults stay in the signed bytes and that they are stripped.
    capabilities: { extensions: [extensionOf(card, did)] },
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: skillsOf(card),
  };
}

function extensionOf(card: AgentCard, did: string): Fields {
  const { keyId, key } = signingKey(card);
  const url = card.url === "" ? {} : { agent_card_url: card.url };
  return {
    uri: A2A_EXTENSION,
    description: "The agent's identity on its wire; the key signs this card and every message.",
    required: true,
    params: { did, key_id: keyId, ed25519_public_key: encodeBase64(key), ...url },
  };
}

function skillsOf({ capabilities }: AgentCard): Fields[] {
  const messages = {
    id: "wire-messages",
    name: "Messages on a wire",
    description: "Requests, proposals and decisions, incidents and receipts, each of them signed.",
    tags: ["coordination", "messages"],
  };
  const stated = [...new Set(capabilities)].map((name) => ({
    id: `capability:${name}`,
    name,
    description: `Stated in the agent's own card: ${name}`,
    tags: ["capability"],
  }));
  return [messages, ...stated];
}

/** All names of fields are ASCII and no number is a double: there our canonical form is RFC 8785's. */
function jwsOf(fields: Fields, signer: Signer): Fields {
  const header = JSON.stringify({ alg: "EdDSA", typ: "JOSE", kid: signer.keyId });
  const payload = canonicalText(fromPlain(fields));
  const input = `${base64Url(header)}.${base64Url(payload)}`;
  const signature = signer.sign(Buffer.from(input, "ascii"));
  return {
    protected: base64Url(header),
    signature: Buffer.from(signature).toString("base64url"),
  };
}

function base64Url(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}

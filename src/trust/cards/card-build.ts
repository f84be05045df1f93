import { canonicalBytes } from "../../wire/canonical.ts";
import { didOf } from "../../wire/handle.ts";
import { fromPlain, toPlain, type JsonObject } from "../../wire/json/json.ts";
import type { Limits } from "../../wire/limits.ts";
import { encodeBase64, type Signer } from "../../wire/signature.ts";
import { KEY_NAME, type CardKey } from "./card.ts";
import type { SasClaim } from "../pairing/pairing.ts";
import type { Tier } from "../tiers.ts";

/** What an agent says of itself in its card. */
export interface CardDraft {
  readonly handle: string;
  readonly name?: string;
  readonly host?: string;
  readonly url?: string;
  readonly keys: readonly CardKey[];
  readonly oldKeys?: readonly CardKey[];
  readonly capabilities?: readonly string[];
  readonly supportedKinds?: readonly number[];
  readonly tierOffered: Tier;
  readonly tierRequired: Tier;
  readonly policies: Pick<
    Limits,
    "max_message_body_kb" | "max_clock_skew_seconds" | "rate_limit_msg_per_min"
  >;
  readonly issuedAt: string;
  /** For the digits, by the peer that each is meant for. See docs/decisions/010. */
  readonly claims?: ReadonlyMap<string, SasClaim>;
}

/**
 * A signed card, as the bytes of its file. Spec 2.2. Throws a TypeError when the signer's key is not
 * among the card's own.
 */
export function buildCard(draft: CardDraft, signer: Signer): Uint8Array {
  if (!draft.keys.some(({ keyId: id }) => id === signer.keyId)) {
    throw new TypeError(`${signer.keyId} signs no card that does not show it`);
  }
  const unsigned = fromPlain({
    schema_version: "v3.1",
    did: didOf(draft.handle),
    name: draft.name ?? draft.handle,
    host: draft.host ?? "",
    agent_card_url: draft.url ?? "",
    verify_keys: plainKeys(draft.keys),
    old_verify_keys: plainKeys(draft.oldKeys ?? []),
    capabilities: draft.capabilities ?? [],
    supported_kinds: draft.supportedKinds ?? [],
    trust_tier_offered: draft.tierOffered,
    trust_tier_required_from_peers: draft.tierRequired,
    policies: draft.policies,
    issued_at: draft.issuedAt,
    ...plainClaims(draft.claims ?? new Map()),
  }) as JsonObject;
  const signature = encodeBase64(signer.sign(canonicalBytes(unsigned)));
  const text = JSON.stringify({ ...(toPlain(unsigned) as object), signature }, null, 2);
  return new TextEncoder().encode(`${text}\n`);
}

/** A single one is also where cards of two have it. */
function plainClaims(claims: ReadonlyMap<string, SasClaim>): Record<string, unknown> {
  const plain = [...claims].map(([handle, { commitment, seen, nonce }]) => ({
    handle,
    claim: { commitment, seen, nonce: nonce && encodeBase64(nonce) },
  }));
  const [first] = plain;
  if (first === undefined) return {};
  const { commitment, nonce } = first.claim;
  return {
    ...(plain.length > 1 ? {} : { sas_commitment: commitment, sas_nonce: nonce }),
    sas: Object.fromEntries(plain.map(({ handle, claim }) => [handle, claim])),
  };
}

function plainKeys(keys: readonly CardKey[]): Record<string, unknown> {
  return Object.fromEntries(
    keys.map(({ keyId: id, key, validFrom, validUntil }) => [
      KEY_NAME + id,
      {
        key: encodeBase64(key),
        valid_from: validFrom ?? null,
        valid_until: validUntil ?? null,
      },
    ]),
  );
}

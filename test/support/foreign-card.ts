import { buildCard, type CardDraft } from "../../src/trust/cards/card-build.ts";
import type { CardKey } from "../../src/trust/cards/card.ts";
import { makeSigner, publicKeyOf } from "../../src/wire/signature.ts";

/** The key that a test's `seed` stands for. */
export function keyFrom(handle: string, seed: number): CardKey {
  const secret = new Uint8Array(32).fill(seed);
  const { keyId } = makeSigner(handle, secret);
  return { keyId, key: publicKeyOf(secret), validFrom: undefined, validUntil: undefined };
}

/** Somebody whose keys come from `seed` says that it is that agent. */
export function cardOf(
  handle: string,
  seed: number,
  url = "",
  claims: CardDraft["claims"] = new Map(),
): Uint8Array {
  return buildCard(
    {
      handle,
      url,
      keys: [keyFrom(handle, seed)],
      tierOffered: "ATTESTED",
      tierRequired: "VERIFIED",
      policies: {
        max_message_body_kb: 64,
        max_clock_skew_seconds: 300,
        rate_limit_msg_per_min: 60,
      },
      issuedAt: "2026-05-05T15:00:00Z",
      claims,
    },
    makeSigner(handle, new Uint8Array(32).fill(seed)),
  );
}

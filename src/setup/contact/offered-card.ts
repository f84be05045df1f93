import { DeaddropError } from "../../api/errors.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { MAX_CARD_BYTES, signingKey, verifyCard } from "../../trust/cards/card.ts";
import { parseObject } from "../../wire/json/json.ts";
import { decodeKey } from "../../wire/signature.ts";
import { fetchCard, isUrl } from "./fetch-card.ts";
import { readOfferedKey, type OfferedKey } from "./offered-key.ts";

/** A key that somebody hands over, in a card or by itself; nothing is believed of it yet. */
export interface Offer extends OfferedKey {
  /** Undefined for a key by itself. */
  readonly card: { readonly url: string | undefined } | undefined;
}

/**
 * What an operator gives for a peer: a key in base64, a `<handle>.pub.json`, an agent card, or the
 * https URL of one. A card has to verify and to be about that peer. Spec 2.2. Throws a
 * DeaddropError that says what was expected.
 */
export async function readOffer(
  { disk, nowMs }: { readonly disk: Disk; readonly nowMs: number },
  handle: string,
  source: string,
): Promise<Offer> {
  if (isUrl(source)) return cardOffer(await fetchCard(source), handle, { source, nowMs });
  const bytes = decodeKey(source) === undefined ? cardFile(disk, source) : undefined;
  if (bytes === undefined) return { ...readOfferedKey(disk, handle, source), card: undefined };
  return cardOffer(bytes, handle, { source, nowMs });
}

/** The bytes of a file that is a card, or is meant to be one: a .pub.json has no did. */
function cardFile(disk: Disk, path: string): Uint8Array | undefined {
  const bytes = readWhole(disk, path, MAX_CARD_BYTES);
  if (bytes === undefined) return undefined;
  const parsed = parseObject(bytes);
  return parsed.ok && Object.hasOwn(parsed.value, "did") ? bytes : undefined;
}

function cardOffer(
  bytes: Uint8Array,
  handle: string,
  from: { readonly source: string; readonly nowMs: number },
): Offer {
  const { source, nowMs } = from;
  const verdict = verifyCard(bytes, nowMs);
  if (!verdict.ok) {
    throw new DeaddropError("refused", `${source}: ${verdict.detail}`, {
      hint: `nothing of it is believed; ask ${handle}'s operator for the card again`,
    });
  }
  const { card } = verdict;
  if (card.handle !== handle) {
    throw new DeaddropError("refused", `${source}: it is ${card.handle}'s card, not ${handle}'s`, {
      hint: "check whose card it is, and which handle was meant",
    });
  }
  const { keyId, key } = signingKey(card);
  const stated = card.url.startsWith("https://") ? card.url : undefined;
  return { handle, keyId, key, card: { url: isUrl(source) ? source : stated } };
}

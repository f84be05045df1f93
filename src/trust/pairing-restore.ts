import type { Pairings } from "./pairing-file.ts";
import { beginPairing, type Pairing } from "./pairing.ts";

/**
 * The pairings of a backup beside those here, which stand. A nonce that was still secret in the
 * backup may have been shown since, and whoever has seen it may have committed itself to fit: such a
 * pairing begins anew. Wrong digits that were counted stay counted. Spec 2.3.
 *
 * @param fresh 32 random bytes
 */
export function restoredPairings(
  here: Pairings,
  backup: Pairings,
  fresh: () => Uint8Array,
): Pairings {
  const pairings = new Map<string, Pairing>(here);
  for (const [handle, saved] of backup) {
    const { key, isShown, mismatches, restarts } = saved;
    const known = here.get(handle);
    if (known !== undefined) {
      pairings.set(handle, { ...known, mismatches: Math.max(known.mismatches, mismatches) });
      continue;
    }
    const again = { ...beginPairing(key, fresh(), mismatches), restarts };
    pairings.set(handle, isShown ? saved : again);
  }
  return pairings;
}

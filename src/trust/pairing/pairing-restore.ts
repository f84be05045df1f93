import type { Pairings } from "./pairing-file.ts";
import { beginAgain, type Pairing } from "./pairing.ts";

/**
 * The pairings of a backup beside those here. What was shown stays remembered: a nonce that either
 * of them has shown to a claim binds us to that claim. A nonce that was still secret in the backup
 * may have been shown since, and a peer that has seen it may have committed itself to fit: such a
 * pairing begins again. What was counted stays counted. Spec 2.3.
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
    const known = here.get(handle);
    const isBound = saved.isShown && known?.isShown !== true;
    const base = isBound ? saved : (known ?? beginAgain(saved, fresh()));
    pairings.set(handle, {
      ...base,
      mismatches: Math.max(saved.mismatches, known?.mismatches ?? 0),
      restarts: Math.max(saved.restarts, known?.restarts ?? 0),
    });
  }
  return pairings;
}

import { DeaddropError } from "../../api/errors.ts";

/** A daemon that ends, or starts again, meanwhile: so many failures in a row are none of that. */
const MAX_ROUNDS_FAILED = 20;
const AFTER_FAILED_ROUND_MS = 500;

/**
 * Repeats a round that failed because the daemon was silent or gone for a moment. Every round begins with
 * what is there, so nothing is lost by it. Other failures, and lasting ones, are thrown.
 */
export function makePatience(outside: { sleep(durationMs: number): Promise<void> }) {
  let failed = 0;
  return async function patiently<T>(round: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await round();
      failed = 0;
      return answer;
    } catch (error) {
      failed += 1;
      if (!mayPass(error) || failed > MAX_ROUNDS_FAILED) throw error;
      await outside.sleep(AFTER_FAILED_ROUND_MS);
      return undefined;
    }
  };
}

/** The daemon ended, or did not answer in time. */
function mayPass(error: unknown): boolean {
  return error instanceof DeaddropError && ["storage", "timeout"].includes(error.code);
}

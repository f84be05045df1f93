/** The handle of the member who means harm, in plays that have one. */
export const HOSTILE = "vane";

/** The handle of the member that is honest and does not chain, as the Python reference is. */
export const PLAIN = "python";

/**
 * Seeds up to these have been played since before there was something else to do, and stay as they
 * are.
 */
export const SEEDS_WITHOUT_HOSTS = 70_000;
export const SEEDS_WITHOUT_MEMBERS = 60_000;
export const SEEDS_WITHOUT_MOVES = 50_000;
export const SEEDS_WITHOUT_ARCHIVE = 40_000;
export const SEEDS_WITHOUT_CLAIMS = 30_000;
export const SEEDS_WITHOUT_REQUESTS = 20_000;
export const SEEDS_WITHOUT_LOGS_PUT_BACK = 10_000;

/** In these members come and go; all of them share one folder. */
export function haveMembersChange(seed: number): boolean {
  return seed > SEEDS_WITHOUT_MEMBERS && seed <= SEEDS_WITHOUT_HOSTS;
}

/** In these a pairwise wire may move to outboxes. */
export function mayMove(seed: number): boolean {
  return seed > SEEDS_WITHOUT_MOVES && seed <= SEEDS_WITHOUT_MEMBERS;
}

/** What the folds of threads and proposals have in common to stay within their limits. */

/** So many go at once: a map that is emptied from its front is slow to walk. */
export const EVICTION_BATCH = 256;
/** Lines that are dropped beyond the limit, so that the next ones find room. */
export const ROOM = 8_192;
/** Characters of a subject that are kept. */
export const MAX_KEPT_SUBJECT = 200;

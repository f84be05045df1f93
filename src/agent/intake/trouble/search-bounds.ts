/** How far from a line others of its log are searched for. */
export const SEARCH_BYTES = 64 * 1_048_576;
/** A search costs as much as the log is long: at most this share of our time. */
export const SHARE_OF_TIME = 1 / 10;

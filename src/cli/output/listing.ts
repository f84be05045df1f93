/** Rows that a list shows a person; a script gets all. */
export const SHOWN_TO_PEOPLE = 20;
/** How often `--follow` asks for news. */
export const FOLLOW_PAUSE_MS = 1_000;

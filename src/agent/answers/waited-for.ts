/** What an agent can wait for: anything unread, something urgent that is unread, an answer it owes. */
export const WAITED_FOR = ["any", "urgent", "owed"] as const;
export type WaitedFor = (typeof WAITED_FOR)[number];

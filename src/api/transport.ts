import type { GitShareView } from "../carriers/git/git-share.ts";

/** How a wire's transport does, as `transport status --json` and `status --json` show it. Spec 5.2. */
export type TransportView = GitShareView;

/** The transport of a daemon. */
export interface TransportControl {
  /** Null: the wire is shared by its folder alone. */
  view(): TransportView | null;
  /** Fetches as soon as possible. */
  fetchSoon(): void;
  /** The operator takes the remote's history as it is now. Spec 5.2, `history_rewritten`. */
  acceptHistory(): void;
  /**
   * Ends it while the operator changes the settings: nothing of the old remote is noted any more.
   * Without a `reopen` it begins again by itself.
   */
  close(): Promise<void>;
  /** Reads the settings again: the operator has changed them. @throws StorageError */
  reopen(): Promise<void>;
}

export const TRANSPORT_ACTS = ["fetch", "accept history", "close", "reopen"] as const;
export type TransportAct = (typeof TRANSPORT_ACTS)[number];

/** Does what is asked for, and says how the transport does. Null: the wire is shared by its folder alone. */
export async function actOn(
  transport: TransportControl | undefined,
  act: TransportAct | undefined,
): Promise<TransportView | null> {
  if (act === "accept history") transport?.acceptHistory();
  if (act === "fetch") transport?.fetchSoon();
  if (act === "close") await transport?.close();
  if (act === "reopen") await transport?.reopen();
  return transport?.view() ?? null;
}

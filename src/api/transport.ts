/** How a wire's transport does, as `transport status --json` and `status --json` show it. Spec 5.2. */
export interface TransportView {
  kind: "git";
  /** Without any secret. */
  remote: string;
  branch: string;
  /** This daemon writes the copies of this machine; otherwise another one does. */
  is_mover: boolean;
  /** When the last fetch began, and the last push ended, that worked; null: none since the start. */
  fetched_at: string | null;
  pushed_at: string | null;
  /** Files that are not pushed yet. */
  waiting: number;
  /**
   * Logs of ours of which nothing is pushed: the remote has lines of ours that they lack, or they wait
   * for their repair.
   */
  held_logs: string[];
  problem: { code: string; detail: string; hint: string; since: string } | null;
}

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
  /** Reads the settings again: the operator has changed them. Throws DeaddropError ("config"). */
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

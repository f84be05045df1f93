import type { AskPart } from "../../store/asks.ts";
import type { HeldLine, Store, StoreWriter } from "../../store/store.ts";
import type { Core } from "../core.ts";

/** What answers and duties know of the agent and its wire; it is read anew each time. */
export type Known = Pick<
  Core,
  | "store"
  | "history"
  | "place"
  | "world"
  | "members"
  | "roster"
  | "isLive"
  | "readiness"
  | "safeMode"
  | "transports"
  | "lastPass"
  | "situation"
  | "cadenceMs"
  | "knownMs"
  | "publishedMs"
>;

/** What a duty may do too. */
export type Ground = Known & Pick<Core, "say" | "tell" | "heart" | "endChainHere">;

/**
 * One thing that an agent keeps true besides its chain: a file for people, a record, what its operator is told.
 * Each is decided anew from the store; a process may die between any two steps. Spec 4.1.
 */
export interface Duty {
  /**
   * Within the transaction that takes a line in, in the order of `n`: changes derived tables, signs nothing. A line,
   * beats excepted, comes again when it is linked later, and when it is judged later.
   */
  take?(into: StoreWriter, line: HeldLine): void;
  /** Within a transaction, once a round and again while a duty signs: what is due. True: something was signed. */
  decide?(into: StoreWriter): boolean;
  /** After the commit, once a round: what files repeat. @throws StorageError, which stops no other duty */
  write?(): void;
  /** When it wants a round next: monotonic ms. */
  nextDueMs?(): number;
  close?(): void;
}

/** Within a transaction: parts of asks that have changed since the last call with that cursor, a name in `meta`. */
export function takeChangedAsks(
  store: Store,
  into: StoreWriter,
  cursor: string,
  limit: number,
): readonly AskPart[] {
  const changed = store.asks.changed({ after: Number(store.meta(cursor) ?? 0), limit });
  const last = changed.at(-1);
  if (last !== undefined) into.setMeta(cursor, String(last.changed));
  return changed;
}

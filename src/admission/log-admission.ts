import { emptyChain, type ChainHead, type ChainState } from "../wire/chain.ts";
import { judgeLine } from "../wire/chain-rules.ts";
import type { Message } from "../wire/message.ts";
import { ownLogs, type Layout, type Log } from "../wire/layout.ts";
import { SeenIds, UNKNOWN_BYTES, type SavedIds, type ShownRows } from "./rules/seen-ids.ts";
import type { Hold } from "../trust/store.ts";

/** The last line of a log that was held back because it is dated ahead of our clock. Spec 2.4. */
export interface AheadHold {
  readonly id: string;
  /** When it was first seen, by our wall clock. */
  readonly sinceMs: number;
}

/** How a log ends, on a wire that has moved to outboxes. Spec 1.6. */
interface Closing {
  /** The outbox in which its author goes on. */
  readonly into: string;
  /** The line that has closed it; undefined until that has come. */
  readonly by: ChainHead | undefined;
}

/** What admission remembers of one log. Owned by the loop, updated in place by `judge`. */
export interface LogAdmission {
  readonly name: string;
  /** Whom it addresses, and whom the other logs of the same author address. */
  readonly readers: { readonly own: string | undefined; readonly others: readonly string[] };
  /** Of a closed log; undefined of one that goes on. */
  closing: Closing | undefined;
  chain: ChainState;
  seen: SeenIds;
  /** Set by a fork; `acceptFromHere` ends it. */
  held: Hold | undefined;
  /** The operator has decided that the chain may begin above 1 without its archive. Spec 1.6. */
  mayBeginLate: boolean;
  /** The last line that was held back because it is dated ahead of our clock. Spec 2.4. */
  ahead: AheadHold | undefined;
}

/** Something that a chain showed and that the operator is told. Spec 1.6. */
export interface ChainEvent {
  readonly cause: "log_gap" | "log_forked" | "log_rewritten";
  readonly detail: string;
}

/**
 * The state of a log of which nothing has been read.
 *
 * @param salt of `SeenIds`: 32 random bits
 */
export function newLogAdmission(log: Log, layout: Layout, salt: number): LogAdmission {
  const others = ownLogs(layout, log.owner).filter((other) => other.name !== log.name);
  return {
    name: log.name,
    readers: { own: log.addressee, others: others.flatMap((other) => other.addressee ?? []) },
    closing: log.into === undefined ? undefined : { into: log.into, by: undefined },
    chain: emptyChain(),
    seen: new SeenIds(salt),
    held: undefined,
    mayBeginLate: false,
    ahead: undefined,
  };
}

/** What of a log's admission goes into the checkpoint: plain JSON. */
export interface SavedLogAdmission {
  readonly chain: ChainState;
  readonly seen: SavedIds;
  readonly held?: Hold;
  readonly mayBeginLate: boolean;
  readonly ahead?: AheadHold;
  readonly closing?: Closing;
}

/** @param ids "apart" where the caller writes the ids that are in memory piece by piece */
export function saveLogAdmission(
  log: LogAdmission,
  ids: "together" | "apart" = "together",
): SavedLogAdmission {
  const { chain, held, mayBeginLate, ahead, closing } = log;
  return {
    chain: { ...chain },
    seen: ids === "together" ? log.seen.save() : log.seen.saveApart(),
    mayBeginLate,
    ...(held === undefined ? {} : { held }),
    ...(ahead === undefined ? {} : { ahead }),
    ...(closing?.by === undefined ? {} : { closing }),
  };
}

/**
 * `fresh` with what was saved of it, or `undefined` when the ids in it are damaged.
 *
 * @param rows of its ids, see `SeenIds`
 */
export function restoreLogAdmission(
  fresh: LogAdmission,
  saved: SavedLogAdmission,
  rows?: ShownRows,
): LogAdmission | undefined {
  const seen = SeenIds.restore(saved.seen, fresh.seen.salt, rows);
  if (seen === undefined) return undefined;
  const { chain, held, mayBeginLate, ahead, closing = fresh.closing } = saved;
  // A checkpoint is JSON, which drops the fields that are undefined.
  const head = chain.head;
  return { ...fresh, chain: { head, gaps: chain.gaps }, seen, held, mayBeginLate, ahead, closing };
}

/**
 * The operator has decided: the chain goes on from the next line, whichever it is. Lines that it
 * has shown stay known, and so do `gone`: ids of lines that were taken in and that the log lacks
 * now. Spec 1.6.
 */
export function acceptFromHere(log: LogAdmission, gone: Iterable<string> = []): void {
  for (const id of gone) log.seen.add({ id }, UNKNOWN_BYTES);
  log.chain = emptyChain();
  log.held = undefined;
  log.mayBeginLate = true;
}

/** Whether a line is the next one of its log, as far as the log is chained. */
export function nothingIsMissingBefore(message: Message, { chain }: LogAdmission): boolean {
  const verdict = judgeLine(chain, message, false);
  if (verdict.outcome === "first") return verdict.startsAt === 1;
  return verdict.outcome === "next" || (verdict.outcome === "unchained" && !verdict.afterChained);
}

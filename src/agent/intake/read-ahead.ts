import { readNewLines, type Cursor, type TailRead } from "../../storage/files/tail.ts";
import type { Session } from "../session/session.ts";
import type { World } from "../session/world.ts";
import type { LineEndSearch } from "./trouble/oversized-line.ts";
import { prepareLines, signaturesOf, type PreparedLine } from "./prepare-lines.ts";
import type { LogIntake } from "../state/agent-state.ts";

/** What one turn of a log takes at most; the line that reaches the bytes is the last. */
interface Helping {
  readonly bytes: number;
  readonly lines: number;
}

/**
 * What was written before we looked: large helpings are faster. While one is made durable, those of
 * the other logs are checked on other threads, so it need not be larger.
 */
const BACKLOG: Helping = { bytes: 262_144, lines: 2_048 };
/** What is written while we run. Nothing interrupts a turn: a quiet peer may wait for one. */
const LIVE: Helping = { bytes: 16_384, lines: 64 };

/** Lines that have been read; their signatures may still be in the making. */
export interface Batch {
  readonly log: string;
  readonly isLive: boolean;
  /** Where the read began: a batch is of use only while the log's cursor is there. */
  readonly from: Cursor | undefined;
  readonly read: TailRead;
  readonly prepared: readonly PreparedLine[];
  readonly valid: Promise<readonly boolean[]>;
}

/** At most so many logs have a batch that is read ahead: what is in memory is bounded. */
const MAX_AHEAD = 16;

/**
 * Batches that are read and wait for their signatures or their turn, one of a log; the one search
 * for the end of a line.
 */
export interface Ahead {
  readonly batches: Map<string, Batch>;
  search?: LineEndSearch | undefined;
}

export function nothingAhead(): Ahead {
  return { batches: new Map() };
}

/** Reads what follows `from`, and starts what takes longest. `own`: a log of ours. */
export function beginBatch(
  { world, ctx, files }: Pick<Session, "world" | "ctx" | "files">,
  intake: LogIntake,
  at: { readonly path: string; readonly from: Cursor | undefined; readonly own: boolean },
): Batch {
  const { path, from, own } = at;
  const isLive = (from?.offset ?? 0) >= intake.past.unlimitedTo;
  const { bytes, lines } = isLive ? LIVE : BACKLOG;
  // Our own lines are in pending already: one sync for each send is enough. Spec 4.1, Append.
  const read = readNewLines(world.disk, path, from, bytes, { sync: !own, maxLines: lines });
  const prepared = prepareLines(read.lines, intake, ctx);
  const valid = verdicts(world, files.own.written, prepared);
  // A batch that is given up is awaited by no one.
  valid.catch(() => undefined);
  return { log: intake.log.name, isLive, from, read, prepared, valid };
}

/** The batch of that log, if one was begun and the log's cursor is still where it began. */
export function takeAhead({ batches }: Ahead, intake: LogIntake): Batch | undefined {
  const batch = batches.get(intake.log.name);
  batches.delete(intake.log.name);
  return batch?.from === intake.cursor ? batch : undefined;
}

/** Whether one more log may have a batch read ahead. */
export function mayReadAhead({ batches }: Ahead): boolean {
  return batches.size < MAX_AHEAD;
}

/** Keeps a batch until its log has its next turn. */
export function keepAhead({ batches }: Ahead, batch: Batch): void {
  batches.set(batch.log, batch);
}

/** Asks only for signatures that this process has not made itself. */
async function verdicts(
  world: World,
  written: Set<string>,
  prepared: readonly PreparedLine[],
): Promise<readonly boolean[]> {
  const signatures = signaturesOf(prepared);
  // Each id once: a second line that carries it is a copy, and is checked.
  const claimed = new Set<string>();
  const isOurs = signatures.map(({ message: { id } }) => {
    if (!written.has(id) || claimed.has(id)) return false;
    claimed.add(id);
    return true;
  });
  const valid = await world.verifyAll(signatures.filter((_, at) => isOurs[at] !== true));
  for (const id of claimed) written.delete(id);
  let next = 0;
  return isOurs.map((ours) => ours || valid[next++] === true);
}

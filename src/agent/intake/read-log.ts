import { join } from "node:path";
import { isFull, type RefusedLines } from "../../protocol/receipts/refused-lines.ts";
import { lookOf, StorageError } from "../../storage/disk/disk.ts";
import { cursorWithin, type Anomaly, type Cursor } from "../../storage/files/tail.ts";
import { unnamedRefusals } from "../session/environment.ts";
import { nowOf } from "../session/clock.ts";
import { intakeOf, type LogIntake } from "../state/agent-state.ts";
import { isStillTorn, observe, type Limit } from "../state/log-status.ts";
import { persist } from "./commit-batch.ts";
import { isOwn, type Session } from "../session/session.ts";
import { judgeLines } from "./judge-lines.ts";
import type { JudgedLine, Stop } from "./judged-line.ts";
import type { PreparedLine } from "./prepare-lines.ts";
import { beginBatch, keepAhead, mayReadAhead, takeAhead, type Batch } from "./read-ahead.ts";
import { chainIncident } from "./trouble/chain-incidents.ts";
import { foreignIncident, withForeign } from "./trouble/foreign-lines.ts";
import { isBehindClosing } from "./trouble/closed-logs.ts";
import { hasLinesBehind } from "./trouble/line-order.ts";
import { noteDisorder, ORDER_CHECK_MS } from "./trouble/log-waits.ts";
import { searchLineEnd } from "./trouble/oversized-line.ts";
import { RESTORE_CHECK_MS } from "./trouble/torn-line.ts";
import { searchBehindTear } from "./trouble/torn-line-search.ts";
import { moveCursor } from "../state/log-cursor.ts";

export interface Round {
  /** Lines that were taken in. */
  readonly lines: number;
  /** More waits in the log than this round took. */
  readonly more: boolean;
  readonly anomaly: Anomaly | undefined;
  /** The disk's trouble with this log alone: it could not be read or made durable, nothing is lost. */
  readonly trouble?: StorageError;
}

/** How long a log is not read while the end of a long line is searched for. */
const SEARCHING_MS = 5;
const NOTHING: Round = { lines: 0, more: false, anomaly: undefined };

/**
 * Takes in what is new in one log: read whole lines → authenticate → admit → make durable → fold.
 * Spec 4.1. The cursor moves only when log, journal, heads and inbox are synced. `isPatient`: the
 * caller comes again, so a long search may go on in the background.
 */
export async function takeIn(session: Session, name: string, isPatient = false): Promise<Round> {
  const { world, place, memory } = session;
  const intake = intakeOf(memory, name);
  const path = join(place.wire.folder, intake.log.path);
  const ahead = takeAhead(session.ahead, intake);
  if (isHeld(session, intake) || isBehindClosing(session, intake)) return NOTHING;
  if (ahead === undefined) {
    const search = await searchBehindTear(session, intake, path, isPatient);
    if (search === "more") return { ...NOTHING, more: true };
  }
  if (world.clock.monoMs() < intake.status.dueMs) return NOTHING;
  const refused = unnamedRefusals(memory, place.layout, place.handle, name);
  // Spec 3.2: not read before the next beat. To read is to check signatures, forged ones too.
  if (refused !== undefined && isFull(refused)) return NOTHING;
  const ready = await readTurn(session, intake, { path, ahead, isPatient });
  if (!("batch" in ready)) return ready;
  return takeBatch(session, intake, ready.batch, { path, look: ready.look, refused });
}

/** How one turn of a log begins. */
interface Turn {
  readonly path: string;
  readonly ahead: Batch | undefined;
  readonly isPatient: boolean;
}

/** Reads what the turn takes in, and changes nothing that is known of the log's lines. */
async function readTurn(
  session: Session,
  intake: LogIntake,
  turn: Turn,
): Promise<Round | { readonly batch: Batch; readonly look: string }> {
  try {
    return await readBatch(session, intake, turn);
  } catch (error) {
    if (!(error instanceof StorageError) || error.path !== turn.path) throw error;
    return { ...NOTHING, trouble: error };
  }
}

async function readBatch(
  session: Session,
  intake: LogIntake,
  { path, ahead, isPatient }: Turn,
): Promise<Round | { readonly batch: Batch; readonly look: string }> {
  // Of a batch that was read ahead we do not know how the file looked then.
  const look = ahead === undefined ? lookFirst(session, intake, path, isPatient) : "";
  if (look === undefined) return NOTHING;
  const own = isOwn(session, intake);
  const batch = ahead ?? beginBatch(session, intake, { path, from: intake.cursor, own });
  const { read } = batch;
  if (read.anomaly !== undefined) return { ...NOTHING, anomaly: read.anomaly };
  if (read.lines.length === 0) {
    moveCursor(intake, read.cursor, "nothing there");
    noteRead(intake, !read.more);
    return { ...NOTHING, more: read.more };
  }
  if (ahead === undefined && (await isLeftForLater(session, batch)))
    return { ...NOTHING, more: true };
  // The pool has work while what it has finished is made durable and folded.
  if (read.more && !batch.isLive && mayReadAhead(session.ahead)) {
    keepAhead(session.ahead, beginBatch(session, intake, { path, from: read.cursor, own }));
    // To read is half of a turn: other work of the process goes on before the other half.
    await session.world.clock.nextTurn();
  }
  return { batch, look };
}

/**
 * A hold is of a peer: a fork in one of its logs stops all of them. Spec 1.6. Our own are always
 * read: we have to know what others write there with our key.
 */
function isHeld(session: Pick<Session, "place" | "env">, intake: LogIntake): boolean {
  return !isOwn(session, intake) && session.env.reading.heldPeers.has(intake.log.owner);
}

/**
 * What the file looks like ("" where that is not needed later), or undefined when there is nothing
 * to read: it has not changed since it was found torn or out of order, or the end of a long line is
 * being searched for.
 */
function lookFirst(
  session: Pick<Session, "world" | "recorder" | "ahead">,
  intake: LogIntake,
  path: string,
  isPatient: boolean,
): string | undefined {
  const { disk, clock } = session.world;
  const { status } = intake;
  const look = status.kind === "torn" || status.kind === "behind" ? lookOf(disk, path) : "";
  if (isStillTorn(status, look, clock.monoMs())) {
    observe(intake, { saw: "no change", forMs: RESTORE_CHECK_MS }, clock.monoMs());
    return undefined;
  }
  if (status.kind === "behind" && status.why === "order" && status.look === look) {
    noteDisorder(session, intake, { saw: "no change", forMs: ORDER_CHECK_MS });
    return undefined;
  }
  if (isPatient && searchLineEnd(disk, path, intake, session.ahead)) {
    observe(intake, { saw: "long line", forMs: SEARCHING_MS }, clock.monoMs());
    return undefined;
  }
  return status.kind === "torn" ? look : "";
}

/** Whether other logs get a turn before this batch is made durable: it is live, and more follows it. */
async function isLeftForLater({ ahead }: Pick<Session, "ahead">, batch: Batch): Promise<boolean> {
  const isOneLeft = [...ahead.batches.values()].some(({ isLive }) => isLive);
  if (!batch.read.more || !batch.isLive || isOneLeft) return false;
  keepAhead(ahead, batch);
  await batch.valid;
  return true;
}

/** How the file was read, and the refusals that our next beat has to name. */
interface ReadAs {
  readonly path: string;
  readonly look: string;
  readonly refused: RefusedLines | undefined;
}

async function takeBatch(
  session: Session,
  intake: LogIntake,
  { from, read, prepared, valid }: Batch,
  { path, look, refused }: ReadAs,
): Promise<Round> {
  const { world } = session;
  const { judged, stop } = judge(session, intake, refused, prepared, await valid);
  persist(session, intake, judged, () => cursorBehind(session, path, { from, read, judged }, stop));
  noteForeign(session, intake, judged, read.more);
  if (stop === undefined) noteRead(intake, !read.more);
  else if (stop.cause === "torn") {
    const { at = 0, forMs } = stop;
    const { cursor: rest, more: isMore } = read;
    observe(intake, { saw: "tear", at, look, forMs, rest, isMore }, world.clock.monoMs());
  } else noteStop(session, intake, stop, path);
  // A search goes on at once.
  const isSearch = intake.status.kind === "torn" && intake.status.dueMs === 0;
  const more = read.more && (stop === undefined || isSearch);
  const anomaly = stop?.cause === "reordered" ? "rewritten" : undefined;
  return { lines: judged.length, more, anomaly };
}

function judge(
  session: Pick<Session, "world" | "place" | "memory" | "ctx">,
  intake: LogIntake,
  refused: RefusedLines | undefined,
  prepared: readonly PreparedLine[],
  valid: readonly boolean[],
) {
  const { world, memory, ctx, place } = session;
  const path = join(place.wire.folder, intake.log.path);
  const { order, awaited } = intake;
  return judgeLines(prepared, valid, {
    intake,
    ctx,
    now: nowOf(world.clock),
    own: isOwn(session, intake),
    allowance: isOwn(session, intake) ? undefined : memory.allowances.get(intake.log.owner),
    refused,
    takesAny: order.takesAny,
    order: {
      hasLinesBehind: (offset, range) =>
        !order.takesAny && hasLinesBehind(session, intake, offset, range),
      isOrdered: awaited.size > 0 && order.look === lookOf(world.disk, path),
    },
  });
}

/** Where reading goes on: behind all that was read, or behind the last line before a stop. */
function cursorBehind(
  { world }: Pick<Session, "world">,
  path: string,
  taken: Pick<Batch, "from" | "read"> & { readonly judged: readonly JudgedLine[] },
  stop: Stop | undefined,
): Cursor | undefined | "same" {
  const { from, read, judged } = taken;
  if (stop === undefined) return read.cursor;
  if (judged.length === 0) return "same";
  return cursorWithin(world.disk, path, from, read.lines.slice(0, judged.length));
}

/** Spec 2.4: what others have written into a log is told once an hour. */
function noteForeign(
  session: Pick<Session, "world" | "memory" | "recorder">,
  intake: LogIntake,
  judged: readonly JudgedLine[],
  isMore: boolean,
): void {
  const { world, memory } = session;
  intake.foreign = withForeign(intake.foreign, judged, world.clock.wallMs());
  const held = memory.state.logs.get(intake.log.name)?.foreign ?? 0;
  const incident = foreignIncident(intake.log, intake.foreign, held, !isMore);
  if (incident !== undefined) session.recorder.tell(incident);
}

/** Nothing stopped the reading. */
function noteRead(intake: LogIntake, isAll: boolean): void {
  observe(intake, { saw: "lines", isAll }, 0);
  if (!isAll) return;
  intake.order.takesAny = false;
  intake.order.claims = undefined;
}

function noteStop(
  session: Pick<Session, "world" | "recorder" | "memory">,
  intake: LogIntake,
  stop: Stop,
  path: string,
): void {
  const { clock, disk } = session.world;
  const { cause, detail, forMs } = stop;
  switch (cause) {
    case "order":
      noteDisorder(session, intake, {
        saw: "disorder",
        why: cause,
        detail,
        look: lookOf(disk, path),
        forMs,
      });
      return;
    case "reordered":
      // The comparison that follows says what the log is in, and since when.
      return;
    case "late":
    case "ahead":
    case "comparison":
    case "rate":
    case "storage":
      noteLimit(session, intake, { ...stop, cause });
      return;
    default:
      observe(intake, { saw: "stop", forMs }, clock.monoMs());
  }
}

function noteLimit(
  { world, recorder, memory }: Pick<Session, "world" | "recorder" | "memory">,
  intake: LogIntake,
  { cause, detail, forMs, id, events }: Stop & { readonly cause: Limit },
): void {
  const { log, admission } = intake;
  const { announcements } = memory.state;
  // From now on a line waits for our clock to be corrected, also after a restart. Spec 2.4.
  if (cause === "ahead" && id !== undefined && admission.ahead?.id !== id) {
    recorder.local({ kind: "held_back", log: log.name, id, at: world.clock.wallMs() });
  }
  // Its author is told once that it waits: by the announcement of its tier. Spec 2.3.
  if (cause === "comparison" && id !== undefined && !announcements.refused.has(log.owner)) {
    const at = world.clock.wallMs();
    recorder.local({ kind: "held_back", log: log.name, id, because: "comparison", at });
  }
  const wallMs = world.clock.wallMs();
  const waitedMs = cause === "ahead" ? wallMs - (admission.ahead?.sinceMs ?? wallMs) : 0;
  const before = intake.status;
  observe(intake, { saw: "limit", why: cause, detail, forMs, waitedMs }, world.clock.monoMs());
  if (before.kind !== "waiting" || before.why !== cause) {
    world.log.warn({ log: log.name, cause }, detail);
  }
  for (const event of events) recorder.tell(chainIncident(log, event, ""));
}

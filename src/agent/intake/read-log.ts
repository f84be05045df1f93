import { join } from "node:path";
import {
  noRefusedLines,
  isFull,
  type RefusedLines,
} from "../../protocol/receipts/refused-lines.ts";
import { lookOf } from "../../storage/disk/disk.ts";
import { cursorAt, type Anomaly, type Cursor } from "../../storage/files/tail.ts";
import { answerLog } from "../../wire/layout.ts";
import { beginBatch, takeAhead } from "./read-ahead.ts";
import { noteWait } from "./trouble/log-anomalies.ts";
import { identityTrouble } from "./trouble/log-holds.ts";
import { foreignIncident, withForeign } from "./trouble/foreign-lines.ts";
import { searchBehindHole, searchFrom } from "./trouble/torn-line-search.ts";
import { isLeftOpen, isStillOpen, leaveAlone, MENDING_MS } from "./trouble/torn-line.ts";
import { searchLineEnd } from "./trouble/oversized-line.ts";
import { standsBehind } from "./trouble/line-order.ts";
import { LOOK_AGAIN_MS, waitOf } from "./trouble/log-waits.ts";
import { judgeLines, type JudgedLine, type PreparedLine, type Stop } from "./judge-lines.ts";
import { intakeOf, type LogIntake } from "../state/agent-state.ts";
import { chainIncident } from "./trouble/chain-incidents.ts";
import { settle } from "./commit-batch.ts";
import { isOwn, type Taking } from "./intake-context.ts";

export interface Round {
  /** Lines that were taken in. */
  readonly lines: number;
  /** More waits in the log than this round took. */
  readonly more: boolean;
  readonly anomaly: Anomaly | undefined;
}

/** How long a log is left alone in which the end of a line is searched for. */
const SEARCHING_MS = 5;
const NOTHING: Round = { lines: 0, more: false, anomaly: undefined };

/**
 * Takes in what is new in one peer's log: read whole lines → authenticate → admit → make durable →
 * fold. Spec 4.1. The cursor moves only when log, journal, heads and inbox are synced. `isPatient`:
 * it comes again for what takes its time.
 */
export async function takeIn(taking: Taking, name: string, isPatient = false): Promise<Round> {
  const { world, place, memory } = taking;
  const intake = intakeOf(memory, name);
  const own = isOwn(taking, intake);
  const ahead = takeAhead(taking.ahead, intake);
  if (isHeld(taking, intake)) return NOTHING;
  const path = join(place.wire.folder, intake.log.path);
  if (ahead === undefined) {
    const search = await searchBehindHole(taking, intake, path, isPatient);
    if (search === "more") return { ...NOTHING, more: true };
    // It was left alone for the hole.
    if (search === "found") intake.notBeforeMs = 0;
  }
  if (world.clock.monoMs() < intake.notBeforeMs) return NOTHING;
  const refused = unnamedRefusals(taking, intake);
  if (refused !== undefined && isFull(refused)) {
    // Spec 3.2: not read before the next beat. To read is to check signatures, forged ones too.
    intake.caughtUp = false;
    intake.heldBack = true;
    return NOTHING;
  }
  // Of a batch that was read before, nobody knows how the file looked then.
  const isKnown = intake.hole !== undefined && ahead === undefined;
  const look = isKnown ? lookOf(world.disk, path) : "";
  if (look !== "" && isStillOpen(intake, look, world.clock.monoMs())) {
    intake.heldBack = isLeftOpen(intake, world.clock.monoMs());
    intake.notBeforeMs = world.clock.monoMs() + MENDING_MS;
    return NOTHING;
  }
  if (ahead === undefined && isStillOutOfOrder(taking, intake, path)) return NOTHING;
  if (isPatient && ahead === undefined && searchLineEnd(world.disk, path, intake, taking.ahead)) {
    intake.notBeforeMs = world.clock.monoMs() + SEARCHING_MS;
    return NOTHING;
  }
  const batch = ahead ?? beginBatch(taking, intake, { path, from: intake.cursor, own });
  const { read, prepared } = batch;
  if (read.anomaly !== undefined) return { ...NOTHING, anomaly: read.anomaly };
  memory.unreadable.delete(name);
  // What was cut or changed in our own log stands there again.
  if (isOwn(taking, intake) && memory.ownTrouble?.code === "log_damaged") {
    memory.ownTrouble = identityTrouble(memory);
  }
  if (read.lines.length === 0) {
    intake.cursor = read.cursor;
    intake.heldBack = false;
    noteCaughtUp(intake, !read.more);
    return { ...NOTHING, more: read.more };
  }
  if (read.more && batch.isLive && ahead === undefined && taking.ahead.batch === undefined) {
    // There is more where this comes from. Others have a turn before it is made durable.
    taking.ahead.batch = batch;
    await batch.valid;
    return { ...NOTHING, more: true };
  }
  // The pool has work while what it has finished is made durable and folded.
  if (read.more && !batch.isLive) {
    taking.ahead.batch ??= beginBatch(taking, intake, { path, from: read.cursor, own });
  }
  const { judged, stop } = judge(taking, intake, refused, prepared, await batch.valid);
  settle(taking, intake, judged);
  noteForeign(taking, intake, judged, read.more);
  moveCursor(taking, intake, path, read.cursor, judged.at(-1), stop);
  // A hole is its author's to mend, and most authors come back soon.
  intake.heldBack =
    stop !== undefined && (stop.cause !== "hole" || isLeftOpen(intake, world.clock.monoMs()));
  if (stop?.cause !== "hole") intake.hole = undefined;
  else if (look !== "") leaveAlone(intake, look, world.clock.monoMs());
  if (stop === undefined) noteCaughtUp(intake, !read.more);
  else noteStop(taking, intake, stop, path);
  // What goes on behind a hole is searched for in what was not read with it, and at once.
  const isSearch = stop?.cause === "hole" && searchFrom(intake, read.cursor) && read.more;
  if (isSearch) intake.notBeforeMs = 0;
  const more = read.more && (stop === undefined || isSearch);
  const isMoved = stop?.cause === "reordered";
  return { lines: judged.length, more, anomaly: isMoved ? "rewritten" : undefined };
}

/** Spec 2.4: what others have written into a log is told once an hour. */
function noteForeign(
  taking: Taking,
  intake: LogIntake,
  judged: readonly JudgedLine[],
  isMore: boolean,
): void {
  const { world, memory } = taking;
  intake.foreign = withForeign(intake.foreign, judged, world.clock.wallMs());
  const held = memory.state.logs.get(intake.log.name)?.foreign ?? 0;
  const incident = foreignIncident(intake.log, intake.foreign, held, !isMore);
  if (incident !== undefined) taking.tell(incident);
}

/**
 * A hold is of a peer: a fork in one of its logs stops all of them. Spec 1.6. Our own are always read:
 * what others write there with our key has to be known.
 */
function isHeld(taking: Taking, intake: LogIntake): boolean {
  return !isOwn(taking, intake) && taking.env.heldPeers.has(intake.log.owner);
}

/** The refusals that our next beat has to name; undefined when no beat of ours speaks of that log. */
function unnamedRefusals({ memory, env }: Taking, { log }: LogIntake): RefusedLines | undefined {
  if (answerLog(env.layout, log, env.self) === undefined) return undefined;
  return memory.state.receipts.taken.get(log.name)?.refused ?? noRefusedLines();
}

function judge(
  taking: Taking,
  intake: LogIntake,
  refused: RefusedLines | undefined,
  prepared: readonly PreparedLine[],
  valid: readonly boolean[],
) {
  const { world, memory, ctx, place } = taking;
  const path = join(place.wire.folder, intake.log.path);
  return judgeLines(prepared, valid, {
    intake,
    ctx,
    wallMs: world.clock.wallMs(),
    monoMs: world.clock.monoMs(),
    own: isOwn(taking, intake),
    allowance: isOwn(taking, intake) ? undefined : memory.allowances.get(intake.log.owner),
    refused,
    standsBehind: (offset, range) =>
      !intake.takesAnyOrder && standsBehind(taking, intake, offset, range),
    isOrdered: intake.awaited.size > 0 && intake.orderedLook === lookOf(world.disk, path),
  });
}

function moveCursor(
  { world }: Taking,
  intake: LogIntake,
  path: string,
  end: Cursor | undefined,
  last: JudgedLine | undefined,
  stop: Stop | undefined,
): void {
  if (stop === undefined) intake.cursor = end;
  else if (last !== undefined) {
    intake.cursor = cursorAt(world.disk, path, last.tail.end, last.tail.line);
  }
}

/** Nothing stopped the reading. */
function noteCaughtUp(intake: LogIntake, isAll: boolean): void {
  intake.caughtUp = isAll;
  intake.wait = undefined;
  if (!isAll) return;
  intake.takesAnyOrder = false;
  intake.claims = undefined;
}

/** Whether a log in which lines of the chain stood too early looks as it did then. Spec 1.6. */
function isStillOutOfOrder(taking: Taking, intake: LogIntake, path: string): boolean {
  const { disk, clock } = taking.world;
  const { wait } = intake;
  if (wait?.because !== "order" || wait.look !== lookOf(disk, path)) return false;
  noteWait(taking, intake, wait);
  intake.notBeforeMs = clock.monoMs() + LOOK_AGAIN_MS.order;
  return true;
}

function noteStop(taking: Taking, intake: LogIntake, stop: Stop, path: string): void {
  const { clock, disk, log } = taking.world;
  const { cause, detail, events, id } = stop;
  intake.caughtUp = false;
  intake.notBeforeMs = clock.monoMs() + stop.forMs;
  if (cause === "order") {
    noteWait(taking, intake, { because: cause, detail, look: lookOf(disk, path) });
    return;
  }
  if (cause === "held" || cause === "reordered") return;
  let sinceMs = clock.monoMs();
  if (cause === "ahead" && id !== undefined) {
    noteAhead(taking, intake, id);
    // It may wait since before our last start.
    sinceMs -= clock.wallMs() - (intake.admission.ahead?.sinceMs ?? clock.wallMs());
  }
  const isNew = intake.wait?.because !== cause;
  intake.wait = waitOf(intake, { because: cause, detail }, sinceMs);
  if (cause === "refusals" || cause === "hole") return;
  if (isNew) log.warn({ log: intake.log.name, cause }, detail);
  for (const event of events) taking.tell(chainIncident(intake.log, event, ""));
}

/** From now on a line waits for our clock to be corrected, also after a restart. Spec 2.4. */
function noteAhead({ local, world }: Taking, { log, admission }: LogIntake, id: string): void {
  if (admission.ahead?.id === id) return;
  local({ kind: "held_back", log: log.name, id, at: world.clock.wallMs() });
}

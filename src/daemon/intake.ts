import { join } from "node:path";
import { noRefusedLines, isFull, type RefusedLines } from "../protocol/refused-lines.ts";
import { lookOf } from "../storage/disk.ts";
import { cursorAt, type Anomaly, type Cursor } from "../storage/tail.ts";
import { answerLog } from "../wire/layout.ts";
import { beginBatch, takeAhead } from "./batch.ts";
import { stopWriting } from "./anomalies.ts";
import { holdRewritten, identityTrouble } from "./holds.ts";
import { foreignIncident, withForeign } from "./foreign-lines.ts";
import { searchBehindHole, searchFrom } from "./hole-search.ts";
import { isLeftOpen, isStillOpen, leaveAlone, MENDING_MS } from "./holes.ts";
import { searchLineEnd } from "./line-end.ts";
import { judgeLines, type JudgedLine, type PreparedLine, type Stop } from "./judging.ts";
import { intakeOf, type LogIntake } from "./memory.ts";
import { chainIncident } from "./reporting.ts";
import { settle } from "./settling.ts";
import { isOwn, type Taking } from "./taking.ts";

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
  if (isPatient && ahead === undefined && searchLineEnd(world.disk, path, intake, taking.ahead)) {
    intake.notBeforeMs = world.clock.monoMs() + SEARCHING_MS;
    return NOTHING;
  }
  const batch = ahead ?? beginBatch(taking, intake, { path, from: intake.cursor, own });
  const { read, prepared } = batch;
  if (read.anomaly !== undefined) return { ...NOTHING, anomaly: read.anomaly };
  intake.behindSinceMs = undefined;
  memory.unreadable.delete(name);
  // What was cut or changed in our own log stands there again.
  if (isOwn(taking, intake) && memory.ownTrouble?.code === "log_damaged") {
    memory.ownTrouble = identityTrouble(memory);
  }
  if (read.lines.length === 0) {
    intake.cursor = read.cursor;
    intake.caughtUp = !read.more;
    intake.heldBack = false;
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
  intake.caughtUp = !read.more && stop === undefined;
  // A hole is its author's to mend, and most authors come back soon.
  intake.heldBack =
    stop !== undefined && (stop.cause !== "hole" || isLeftOpen(intake, world.clock.monoMs()));
  if (stop?.cause !== "hole") intake.hole = undefined;
  else if (look !== "") leaveAlone(intake, look, world.clock.monoMs());
  if (stop !== undefined) noteStop(taking, intake, stop);
  // What goes on behind a hole is searched for in what was not read with it, and at once.
  const isSearch = stop?.cause === "hole" && searchFrom(intake, read.cursor) && read.more;
  if (isSearch) intake.notBeforeMs = 0;
  const more = read.more && (stop === undefined || isSearch);
  return { lines: judged.length, more, anomaly: undefined };
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
  const { world, memory, ctx } = taking;
  return judgeLines(prepared, valid, {
    intake,
    ctx,
    wallMs: world.clock.wallMs(),
    monoMs: world.clock.monoMs(),
    own: isOwn(taking, intake),
    allowance: isOwn(taking, intake) ? undefined : memory.allowances.get(intake.log.owner),
    refused,
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

function noteStop(taking: Taking, intake: LogIntake, stop: Stop): void {
  intake.notBeforeMs = taking.world.clock.monoMs() + stop.forMs;
  if (stop.cause === "refusals" || stop.cause === "hole") return;
  taking.world.log.warn({ log: intake.log.name, cause: stop.cause }, stop.detail);
  for (const event of stop.events) {
    // Our own we do not hold: it is read again until its lines are back.
    if (event.cause === "log_rewritten" && isOwn(taking, intake)) {
      stopWriting(taking, intake, "rewritten");
    } else if (event.cause === "log_rewritten") holdRewritten(taking, intake, event.detail);
    else taking.tell(chainIncident(intake.log, event, ""));
  }
}

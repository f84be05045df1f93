import { join } from "node:path";
import { hourlyKey } from "../../../protocol/notices.ts";
import { lookOf, openIfThere, StorageError, type Disk } from "../../../storage/disk/disk.ts";
import {
  compareHistory,
  type ComparedHistory,
  type FoundLine,
} from "../../../storage/files/history.ts";
import { DAMAGED_HINT } from "../../../storage/own-log/recovery-report.ts";
import { recoverOwnLogs } from "../../session/own-logs.ts";
import { cursorAt, type Anomaly, type Cursor } from "../../../storage/files/tail.ts";
import { authenticate } from "../../../admission/authenticate.ts";
import { isChained, isOfAnotherWire } from "../../../wire/chain.ts";
import { parseMessage } from "../../../wire/message.ts";
import type { Session } from "../../session/session.ts";
import { pastContextOf } from "../../session/environment.ts";
import { knownEntries } from "./evidence.ts";
import { holdRewritten } from "./log-holds.ts";
import { hasZeros } from "./torn-line.ts";
import { scanLog } from "../../state/log-reader.ts";
import { noteDisorder } from "./log-waits.ts";
import { unreadableIncident } from "./chain-incidents.ts";
import { observe } from "../../state/log-status.ts";
import { intakeOf, type LogIntake } from "../../state/agent-state.ts";
import { SHARE_OF_TIME } from "./search-bounds.ts";
import { moveCursor } from "../../state/log-cursor.ts";
import { noteRecount } from "./vanished-lines.ts";

/** How long a log is not read when it does not hold what it held; its author may be restoring it. */
const LOOK_AGAIN_MS = 1_000;
/** Copies of a known line that a comparison looks at: any program can make more. */
const MAX_COPIES = 3;

/**
 * A log no longer holds what was read of it. Spec 1.6: if it only lacks lines, or has them in
 * another order, it is behind, and we wait. If it has other lines in their place it was rewritten,
 * and its author is held.
 */
export function judgeAnomaly(session: Session, name: string, anomaly: Anomaly): void {
  const { world, memory, place } = session;
  const intake = intakeOf(memory, name);
  const beganMs = world.clock.monoMs();
  if (anomaly === "obstructed") {
    tellObstructed(session, intake);
    return;
  }
  const look = lookOf(world.disk, join(place.wire.folder, intake.log.path));
  const isOurs = intake.log.owner === place.handle;
  const { status } = intake;
  if (status.kind === "behind" && look === status.look) {
    noteDisorder(session, intake, { saw: "no change", forMs: LOOK_AGAIN_MS });
    return;
  }
  let compared = compareLog(session, name);
  if (isOurs && compared.verdict !== "same") {
    // Spec 1.6: what our private copy has is put back without anybody's help.
    const isLookedAt = recoverOwnLogs(session, "anyway");
    // Trouble with the disk says nothing of what the copy has: it is tried again when it is due.
    if (!isLookedAt || session.files.own.writer.stuck(name) !== undefined) {
      observe(intake, { saw: "stop", forMs: LOOK_AGAIN_MS }, world.clock.monoMs());
      return;
    }
    compared = compareLog(session, name);
  }
  const tookMs = world.clock.monoMs() - beganMs;
  const forMs = Math.max(LOOK_AGAIN_MS - tookMs, tookMs / SHARE_OF_TIME - tookMs);
  const monoMs = world.clock.monoMs();
  if (compared.verdict === "same") {
    noteRecount(session, intake, compared.inOrder);
    moveCursor(intake, cursorAfter(session, intake, compared.inOrder), "compared");
    intake.order.look = look;
    observe(intake, { saw: "order", forMs: tookMs < LOOK_AGAIN_MS ? 0 : forMs }, monoMs);
  } else if (isOurs) stopWriting(session, intake, anomaly, forMs);
  else if (compared.verdict === "rewritten") {
    observe(intake, { saw: "stop", forMs }, monoMs);
    holdRewritten(session, intake, whatIsMissing(intake, compared, anomaly));
  } else {
    const detail = waitDetail(intake, compared);
    noteDisorder(session, intake, { saw: "disorder", why: compared.verdict, detail, look, forMs });
  }
}

/** Any program that can write in the folder can do that: it says nothing of the log's author. */
function tellObstructed(
  session: Pick<Session, "world" | "place" | "recorder">,
  intake: LogIntake,
): void {
  const { world, place } = session;
  const { log } = intake;
  const path = join(place.wire.folder, log.path);
  const { detail, hint } = obstruction(world.disk, path);
  // If it is ours, nothing is written to this one alone: our other logs go on.
  const isOurs = log.owner === place.handle;
  const problem = isOurs ? new StorageError("not_a_file", path, detail, { hint }) : undefined;
  const seen = { saw: "obstruction", forMs: LOOK_AGAIN_MS, ...(problem && { problem }) } as const;
  observe(intake, seen, world.clock.monoMs());
  session.recorder.tell(unreadableIncident(session, log.name, detail));
}

function obstruction(disk: Disk, path: string): { readonly detail: string; readonly hint: string } {
  const segment = unreadableSegment(disk, path);
  if (segment !== undefined) {
    const { message, hint } = segment;
    return { detail: `${message}; we look again every second: ${hint}`, hint };
  }
  const isFile = disk.stat(path)?.kind === "file";
  const what = isFile ? "a file that is closed to us, or has several names" : "no plain file";
  const detail = `in its place is ${what}; we look again every second. See: ls -l ${path}`;
  return { detail, hint: `put the log itself back, readable to us: ls -l ${path}` };
}

/** The trouble with a part of the log that is in the archive, if it is that. */
function unreadableSegment(disk: Disk, path: string): StorageError | undefined {
  try {
    openIfThere(disk, path)?.close();
    return undefined;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return error.cause instanceof StorageError ? error.cause : undefined;
  }
}

/** The ids of a log's authentic lines in the order in which we received them. */
function* idsOf(session: Pick<Session, "memory" | "files">, name: string): Generator<string> {
  for (const { id } of knownEntries(session, name)) if (id !== undefined) yield id;
}

/** How a log as it is now relates to what our journal knows of it. Spec 1.6. */
export function compareLog(
  session: Pick<Session, "world" | "place" | "memory" | "ctx" | "files">,
  name: string,
): ComparedHistory {
  const known = [...idsOf(session, name)];
  const { found, holes } = findLines(session, intakeOf(session.memory, name), new Set(known));
  return compareHistory(known, found, holes);
}

/**
 * The lines that are there now, without foreign bytes. Of lines that we do not know the first is
 * enough, and of copies of one that we know a few: any program can make them.
 */
function findLines(
  session: Pick<Session, "world" | "place" | "ctx">,
  { log }: LogIntake,
  known: ReadonlySet<string>,
) {
  const { world, place } = session;
  const ctx = pastContextOf(session.ctx);
  const others = new Set<string>();
  const copies = new Map<string, number>();
  const found: FoundLine[] = [];
  const holes: number[] = [];
  const noteTorn = (): void => {
    if (holes.at(-1) !== found.length) holes.push(found.length);
  };
  const visit = (bytes: Uint8Array, line: number, end: number): "more" => {
    const parsed = parseMessage(bytes);
    if (!parsed.ok) {
      if (hasZeros(bytes)) noteTorn();
      return "more";
    }
    const { message } = parsed;
    const { id } = message;
    if (!known.has(id)) {
      if (others.has(id)) return "more";
      const read = authenticate(bytes, { owner: log.owner, log: log.name }, ctx);
      if (!read.ok || isOfAnotherWire(read.message, ctx.wireId)) return "more";
      others.add(id);
    } else {
      const count = copies.get(id) ?? 0;
      if (count > MAX_COPIES) return "more";
      copies.set(id, count + 1);
    }
    found.push({ id, seq: isChained(message) ? message.seq : undefined, end, line });
    return "more";
  };
  scanLog(world.disk, place, log.name, visit, noteTorn);
  return { found, holes };
}

/**
 * Behind the last line that we folded. Lines that a replay did not find, and those after them, are
 * not folded yet.
 */
function cursorAfter(
  { world, place, memory }: Pick<Session, "world" | "place" | "memory">,
  { log, awaited }: LogIntake,
  inOrder: readonly FoundLine[],
): Cursor | undefined {
  const { earlier = 0 } = memory.state.logs.get(log.name) ?? {};
  const path = join(place.wire.folder, log.path);
  if (world.disk.stat(path)?.kind !== "file") return undefined;
  const firstAwaited = inOrder.findIndex(({ id }) => awaited.has(id));
  const folded = firstAwaited < 0 ? inOrder : inOrder.slice(0, firstAwaited);
  const { end = 0, line = 0 } = folded.at(-1) ?? {};
  return cursorAt(world.disk, path, end, earlier + line);
}

function waitDetail({ log }: LogIntake, { verdict }: ComparedHistory): string {
  return verdict === "behind"
    ? `lines that we received from ${log.owner} are not in ${log.name} any more; we wait for them to be appended again`
    : `${log.name} holds what we received from ${log.owner} in another order; we wait for the order that it had`;
}

function whatIsMissing(
  { log }: LogIntake,
  { missing = "", other = "" }: ComparedHistory,
  anomaly: Anomaly,
): string {
  return `${log.name} lacks lines that we received from ${log.owner} (first ${missing}) and has others in their place (first ${other}; ${anomaly})`;
}

/** Our own log was cut or changed by another program: writing on would make two histories. */
function stopWriting(
  session: Pick<Session, "world" | "recorder">,
  intake: LogIntake,
  anomaly: Anomaly,
  forMs: number,
): void {
  const { world } = session;
  const { name, path } = intake.log;
  const problem = new StorageError(
    "log_damaged",
    path,
    `the log was changed by another program (${anomaly}); nothing is written to it`,
    { hint: DAMAGED_HINT },
  );
  observe(intake, { saw: "damage", problem, forMs }, world.clock.monoMs());
  session.recorder.tell({
    key: hourlyKey(`log_damaged:${name}`, world.clock.wallMs()),
    cause: "log_damaged",
    subject: `our own log ${name} was changed by another program`,
    detail: `what we wrote is no longer there (${anomaly}), and our own copy lacks it too; nothing is sent until it is put back: ${DAMAGED_HINT}`,
    concernsWire: false,
  });
}

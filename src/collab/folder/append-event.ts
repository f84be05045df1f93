import { join } from "node:path";
import { StorageError, type Disk, type DiskFile } from "../../storage/disk/disk.ts";
import {
  eventLine,
  replyProblem,
  unknownEvent,
  type CollabEvent,
} from "../documents/event-lines.ts";
import { instantMs } from "../documents/instant.ts";
import { isEventName, type Schema } from "../machine/event.ts";
import { applyEvent, publicState, refusals } from "../machine/machine.ts";
import { RoundRefused } from "../refused.ts";
import { documentReasons } from "../rules/document-reasons.ts";
import { brokenLog, type Round } from "../rules/round.ts";
import {
  completeProtocol,
  whileLocked,
  formatSeconds,
  writeProtocol,
} from "./complete-protocol.ts";
import { EVENTS_FILE, readRound, type ReadRound } from "./read-round.ts";

/** What a participant says next. */
export interface Wish {
  readonly from: string;
  readonly event: string;
  readonly summary: string;
  readonly doc?: string | undefined;
  readonly replyTo?: number | undefined;
  readonly role?: string | undefined;
  readonly sha256?: string | undefined;
}

const READ_AGAIN = "read again (deaddrop collab next), and append then";

/**
 * Appends an event when all rules allow it; event and `protocol.json` change together, under the lock
 * of the folder. Throws RoundRefused with every reason, and then the folder is as it was. Spec 6.3.
 *
 * A crash between the two leaves an event that the next command completes. The protocol's own scripts
 * take no lock: what they append meanwhile is noticed before our write, or told after it.
 */
export function appendEvent(
  disk: Disk,
  folder: string,
  wish: Wish,
  about: {
    readonly nowMs: number;
    readonly schema: Schema | undefined;
    /** An earlier event had no `protocol.json` yet. */
    completed(seq: number): void;
    /** The event is in the log, and `protocol.json` could not be written: the next command does it. */
    left(error: StorageError): void;
  },
): CollabEvent {
  return whileLocked(folder, () => {
    const completed = completeProtocol(disk, folder, about.schema);
    if (completed !== undefined) about.completed(completed);
    const read = readRound(disk, folder, about.schema);
    const event = eventOf(read, wish, about.nowMs);
    const reasons = appendRefusals(read.round, event);
    if (reasons.length > 0) throw new RoundRefused(reasons);
    const line = eventLine(event);
    const { isEnded } = read.round.events;
    writeEvent(disk, folder, read.eventBytes, Buffer.from(isEnded ? line : `\n${line}`, "utf8"));
    const { rules, replayed } = read.round;
    const state = publicState(applyEvent(rules, replayed.state, event));
    try {
      writeProtocol(disk, folder, read.protocolText, { ...state, updatedAt: event.at });
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      about.left(error);
    }
    return event;
  });
}

/** All reasons why an event may not follow. Spec 6.3. */
function appendRefusals(round: Round, event: CollabEvent): string[] {
  const broken = brokenLog(round);
  if (broken.length > 0) return broken;
  const { rules, replayed } = round;
  const reply = replyProblem(event.reply_to, event.seq);
  const reasons = new Set([
    ...(reply === undefined ? [] : [reply]),
    ...refusals(rules, replayed.state, event, replayed.state.seq + 1),
    ...documentReasons(round, event),
  ]);
  return [...reasons];
}

function eventOf({ round }: ReadRound, wish: Wish, nowMs: number): CollabEvent {
  const { schema } = round.protocol;
  const { from, event, doc, role, sha256, replyTo } = wish;
  const summary = wish.summary.trim();
  if (!isEventName(schema, event)) throw new RoundRefused([unknownEvent(event, schema)]);
  if (summary === "") throw new RoundRefused(["summary must not be empty"]);
  const last = round.events.events.at(-1);
  const seq = (last?.seq ?? 0) + 1;
  // Never earlier than the last event, also when the clock was set back. Whole seconds are written.
  const lastMs = instantMs(last?.at) ?? nowMs;
  const at = formatSeconds(Math.max(nowMs, Math.ceil(lastMs / 1_000) * 1_000));
  return { seq, from, event, at, summary, doc, reply_to: replyTo, role, sha256 };
}

function writeEvent(disk: Disk, folder: string, before: Uint8Array, line: Uint8Array): void {
  const file = disk.open(join(folder, EVENTS_FILE), "append", 0o644);
  try {
    const { size } = file.stat();
    if (size !== before.length || Buffer.compare(file.read(size, 0), before) !== 0) {
      throw new RoundRefused([`${EVENTS_FILE} has changed meanwhile: ${READ_AGAIN}`]);
    }
    appendWhole(file, line, before.length);
    file.datasync();
    const written = file.read(line.length, before.length);
    if (Buffer.compare(written, line) !== 0 || file.stat().size !== before.length + line.length) {
      throw new RoundRefused([
        `another program has appended to ${EVENTS_FILE} at the same moment, without a lock: ${READ_AGAIN}; deaddrop collab validate says what is there twice`,
      ]);
    }
  } finally {
    file.close();
  }
}

/** A full disk may take a part of the line: it is taken back, if nothing of others is behind it. */
function appendWhole(file: DiskFile, line: Uint8Array, offset: number): void {
  try {
    file.append(line);
  } catch (error) {
    const rest = file.read(line.length, offset);
    const isOurs = Buffer.compare(rest, line.subarray(0, rest.length)) === 0;
    if (isOurs && file.stat().size === offset + rest.length) file.truncate(offset);
    throw error;
  }
}

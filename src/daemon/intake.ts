import { join } from "node:path";
import { MAX_NAMED_REFUSALS } from "../protocol/heads.ts";
import { isForUs } from "../protocol/addressing.ts";
import { answerLog } from "../wire/layout.ts";
import type { CoreEvent, Env, LineEvent } from "../protocol/record.ts";
import type { AutomaticIncident } from "../protocol/effects.ts";
import { refusalKey } from "../protocol/notices.ts";
import { StorageError } from "../storage/disk.ts";
import {
  cursorAt,
  readNewLines,
  type Anomaly,
  type Cursor,
  type TailRead,
} from "../storage/tail.ts";
import type { AdmissionContext } from "../trust/admission.ts";
import type { Files, World } from "./edges.ts";
import type { JournalEntry, LineEntry } from "./entries.ts";
import {
  judgeLines,
  prepareLines,
  provesSomething,
  signaturesOf,
  type JudgedLine,
  type PreparedLine,
  type Stop,
} from "./judging.ts";
import { intakeOf, type LogIntake, type Memory } from "./memory.ts";
import type { Place } from "./place.ts";

/** Bytes of one log that one round takes at most, so that no peer keeps the others waiting. */
const BYTES_PER_ROUND = 1_048_576;

export interface Taking {
  readonly world: World;
  readonly files: Files;
  readonly place: Place;
  readonly memory: Memory;
  readonly ctx: AdmissionContext;
  readonly env: Env;
  /** Appends to the private journal; "later": with the next batch that has to be synced. */
  note(entries: readonly JournalEntry[], when: "now" | "later"): void;
  /** Whether a chained line with our signature is one that we wrote. Spec 1.6. */
  wroteOurselves(log: string, seq: number, id: string): boolean;
  /** Lines that this process has just written itself: their signatures are known to be ours. */
  readonly written: Set<string>;
  /** The one batch, of whatever log, whose signatures are checked while others are taken in. */
  readonly ahead: { batch?: Batch | undefined };
  /** Folds an event that is durable. */
  fold(event: CoreEvent): void;
  /** Something for our own operator. */
  tell(incident: AutomaticIncident): void;
}

/** Lines that have been read; their signatures may still be in the making. */
export interface Batch {
  readonly log: string;
  /** Where the read began: a batch is of use only while the log stands there. */
  readonly from: Cursor | undefined;
  readonly read: TailRead;
  readonly prepared: readonly PreparedLine[];
  readonly valid: Promise<readonly boolean[]>;
}

export interface Round {
  /** Lines that were taken in. */
  readonly lines: number;
  /** More waits in the log than this round took. */
  readonly more: boolean;
  readonly anomaly: Anomaly | undefined;
}

const NOTHING: Round = { lines: 0, more: false, anomaly: undefined };

/**
 * Takes in what is new in one peer's log: read whole lines → authenticate → admit → make durable →
 * fold. Spec 4.1. The cursor moves only when log, journal, heads and inbox are synced.
 */
export async function takeIn(taking: Taking, name: string): Promise<Round> {
  const { world, place, memory } = taking;
  const intake = intakeOf(memory, name);
  const ahead = takeAhead(taking, intake);
  if (world.clock.monoMs() < intake.notBeforeMs || isHeld(taking, intake)) return NOTHING;
  const path = join(place.wire.folder, intake.log.path);
  const batch = ahead ?? begin(taking, intake, path, intake.cursor);
  const { read, prepared } = batch;
  if (read.anomaly !== undefined) return { ...NOTHING, anomaly: read.anomaly };
  intake.behindSinceMs = undefined;
  // What was cut or changed in our own log stands there again.
  if (isOwn(taking, intake) && memory.ownTrouble?.code === "log_damaged") {
    memory.ownTrouble = undefined;
  }
  if (read.lines.length === 0) {
    intake.cursor = read.cursor;
    intake.caughtUp = !read.more;
    return { ...NOTHING, more: read.more };
  }
  // The pool has work while what it has finished is made durable and folded.
  if (read.more) taking.ahead.batch ??= begin(taking, intake, path, read.cursor);
  const { judged, stop } = judge(taking, intake, prepared, await batch.valid);
  settle(taking, intake, judged);
  moveCursor(taking, intake, path, read.cursor, judged.at(-1), stop);
  intake.caughtUp = !read.more && stop === undefined;
  if (stop !== undefined) noteStop(taking, intake, stop);
  return { lines: judged.length, more: read.more && stop === undefined, anomaly: undefined };
}

/** The batch of that log, if one was begun and the log still stands where it began. */
function takeAhead({ ahead }: Taking, intake: LogIntake): Batch | undefined {
  const { batch } = ahead;
  if (batch?.log !== intake.log.name) return undefined;
  ahead.batch = undefined;
  return batch.from === intake.cursor ? batch : undefined;
}

/** Reads, and starts what takes longest. */
function begin(taking: Taking, intake: LogIntake, path: string, from: Cursor | undefined): Batch {
  // What we wrote ourselves is promised in pending already: one sync a send. Spec 4.1, Append.
  const sync = !isOwn(taking, intake);
  const read = readNewLines(taking.world.disk, path, from, BYTES_PER_ROUND, { sync });
  const prepared = prepareLines(read.lines, intake, taking.ctx);
  const valid = verdicts(taking, prepared);
  // Nobody waits for a batch that is given up.
  valid.catch(() => undefined);
  return { log: intake.log.name, from, read, prepared, valid };
}

/** Asks only for signatures that this process has not made itself. */
async function verdicts(
  { world, written }: Taking,
  prepared: readonly PreparedLine[],
): Promise<readonly boolean[]> {
  const signatures = signaturesOf(prepared);
  const foreign = signatures.filter(({ message }) => !written.has(message.id));
  if (foreign.length === signatures.length) return world.verifyAll(foreign);
  const valid = await world.verifyAll(foreign);
  let next = 0;
  return signatures.map(({ message }) => written.delete(message.id) || valid[next++] === true);
}

/** A hold is of the author: a fork in one of its logs stops all of them. Spec 1.6. */
function isHeld({ env }: Taking, intake: LogIntake): boolean {
  return env.heldPeers.has(intake.log.owner);
}

function judge(
  taking: Taking,
  intake: LogIntake,
  prepared: readonly PreparedLine[],
  valid: readonly boolean[],
) {
  const { world, memory, env, ctx } = taking;
  const { log } = intake;
  const named = answerLog(env.layout, log, env.self) !== undefined;
  const waiting = memory.state.receipts.taken.get(log.name)?.refused.length ?? 0;
  return judgeLines(prepared, valid, {
    intake,
    ctx,
    wallMs: world.clock.wallMs(),
    monoMs: world.clock.monoMs(),
    own: isOwn(taking, intake),
    allowance: isOwn(taking, intake) ? undefined : memory.allowances.get(log.owner),
    refusalRoom: named ? MAX_NAMED_REFUSALS - waiting : Infinity,
  });
}

/** Makes verdicts durable, in the order that a crash anywhere can be mended from, and folds them. */
function settle(taking: Taking, intake: LogIntake, judged: readonly JudgedLine[]): void {
  if (judged.length === 0) return;
  const { files, memory } = taking;
  const events = judged.map((line) => eventOf(taking, intake, line));
  const routed = judged.map((line, at) => isRouted(taking, line, events[at] as CoreEvent));
  const bytes = judged.flatMap(({ tail }, at) =>
    routed[at] === true && tail.kind === "line" ? [tail.bytes] : [],
  );
  const offsets = files.inbox.place(bytes);
  const entries = judged.map((line, at) =>
    entryOf(taking, intake, line, routed[at] === true ? offsets.shift() : undefined),
  );
  quarantine(taking, intake, judged);
  taking.note(entries, isOwn(taking, intake) ? "later" : "now");
  if (!isOwn(taking, intake)) saveHead(taking, intake);
  files.inbox.append(bytes);
  memory.inboxEnd = files.inbox.end;
  memory.inboxFrom = memory.journalEnd;
  for (const [at, line] of judged.entries()) {
    if (line.message !== undefined) intake.awaited.delete(line.message.id);
    taking.fold(events[at] as CoreEvent);
  }
  for (const line of judged) {
    if (isOwn(taking, intake)) watchIdentity(taking, intake, line);
    else report(taking, intake, line);
  }
}

/**
 * A line that carries our signature and that we did not write, or one that forks our log, means
 * that our key is used elsewhere: we stop sending. Spec 1.6.
 */
function watchIdentity(taking: Taking, intake: LogIntake, { message, reason }: JudgedLine): void {
  const { memory } = taking;
  const { name, path } = intake.log;
  if (message?.seq === undefined || message.version === "v2.0" || reason === "replayed") return;
  if (reason !== "log_forked" && taking.wroteOurselves(name, message.seq, message.id)) return;
  const detail = `${name}: line ${message.seq} (${message.id}) carries our signature, and we did not write it`;
  memory.ownTrouble = new StorageError("identity_in_use", path, detail, {
    hint: "our key is used elsewhere: stop the other copy, or revoke the key (deaddrop trust revoke)",
  });
  taking.tell({
    key: `identity_in_use:${name}:${message.id}`,
    cause: "identity_in_use",
    subject: "our key is used elsewhere",
    detail: `${detail}; nothing more is sent`,
    concernsWire: true,
  });
}

function isOwn({ place }: Taking, intake: LogIntake): boolean {
  return intake.log.owner === place.handle;
}

/** Remembered heads never go back: history that is read again does not undo what was seen. */
function saveHead({ files }: Taking, intake: LogIntake): void {
  const { name } = intake.log;
  const { head } = intake.admission.chain;
  if (head === undefined || head.seq <= (files.heads.peer(name)?.seq ?? 0)) return;
  files.heads.save({ peers: new Map([[name, { seq: head.seq, id: head.id }]]) });
}

/** The event of a judged line, as the fold takes it. */
function eventOf(taking: Taking, intake: LogIntake, line: JudgedLine): CoreEvent {
  const { tail, at, message, reason } = line;
  const place = { log: intake.log.name, line: tail.line, at };
  if (message === undefined || tail.kind !== "line") {
    return reason === undefined
      ? { kind: "skipped", ...place }
      : { kind: "refused", ...place, reason };
  }
  return {
    kind: "line",
    ...place,
    live: line.live,
    own: isOwn(taking, intake),
    message,
    // Few lines are looked at as they stand: they are decoded when somebody asks.
    get raw() {
      return textOf(tail.bytes);
    },
    refused: reason,
    afterGap: line.afterGap,
  };
}

function textOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString("utf8");
}

/** Spec 2.4: accepted lines addressed to us; heartbeats only when asked for. */
function isRouted(taking: Taking, line: JudgedLine, event: CoreEvent): event is LineEvent {
  if (line.verdict !== "accepted" || event.kind !== "line") return false;
  if (event.own || !isForUs(event, taking.env)) return false;
  if (taking.memory.intakes.get(event.log)?.awaited.has(event.message.id) === true) return false;
  if (!line.live && isInInbox(taking, event.message.id)) return false;
  return event.message.type !== "heartbeat" || taking.place.settings.includeHeartbeats;
}

/** Spec 2.4: after a lost journal, history goes to the inbox only if it is absent there. */
function isInInbox({ memory }: Taking, id: string): boolean {
  return memory.inInbox?.has(id) ?? false;
}

function entryOf(
  taking: Taking,
  intake: LogIntake,
  line: JudgedLine,
  inbox: number | undefined,
): LineEntry {
  const { tail } = line;
  return {
    k: "line",
    at: line.at,
    log: intake.log.name,
    line: tail.line,
    start: tail.start,
    end: tail.end,
    verdict: line.verdict,
    ...(line.message === undefined ? {} : { id: line.message.id }),
    ...(line.reason === undefined ? {} : { reason: line.reason }),
    ...(line.live ? {} : { old: true as const }),
    ...(isOwn(taking, intake) ? { own: true as const } : {}),
    ...(line.afterGap ? { gap: true as const } : {}),
    ...(inbox === undefined ? {} : { inbox }),
  };
}

function quarantine(taking: Taking, intake: LogIntake, judged: readonly JudgedLine[]): void {
  const refused = judged.filter((line) => line.reason !== undefined);
  if (refused.length === 0) return;
  taking.files.quarantine.add(
    refused.map(({ at, tail, reason, detail }) => ({
      at: new Date(at).toISOString(),
      file: intake.log.path,
      offset: tail.start,
      reason: reason as string,
      detail,
      line: tail.kind === "line" ? tail.bytes : new Uint8Array(0),
    })),
  );
}

/** Spec 2.4: an authentic line that is refused is told, once per peer, reason and hour. */
function report(taking: Taking, intake: LogIntake, line: JudgedLine): void {
  const peer = intake.log.owner;
  for (const { cause, detail } of line.events) {
    taking.tell({
      key: `${cause}:${detail}`,
      cause,
      peer,
      subject: `${cause} in ${intake.log.name}`,
      detail,
      concernsWire: true,
    });
  }
  if (!line.live || line.reason === undefined || !provesSomething(line)) return;
  if (line.events.length > 0) return;
  taking.tell({
    key: refusalKey(peer, line.reason, line.at),
    cause: line.reason,
    peer,
    subject: `a line of ${peer} was refused: ${line.reason}`,
    detail: `${intake.log.name} line ${line.tail.line}: ${line.detail}`,
    concernsWire: false,
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
  const peer = intake.log.owner;
  if (stop.cause === "refusals") return;
  taking.world.log.warn({ log: intake.log.name, cause: stop.cause }, stop.detail);
  for (const { cause, detail } of stop.events) {
    const subject = `${cause} in ${intake.log.name}`;
    taking.tell({ key: `${cause}:${detail}`, cause, peer, subject, detail, concernsWire: true });
  }
}

import { lineEvent } from "../../protocol/line-event.ts";
import { mayBeRestored } from "../../protocol/logs/logs.ts";
import type { CoreEvent, RewoundEvent } from "../../protocol/events.ts";
import { isMail, isWantedBeat } from "../../protocol/routing.ts";
import type { AutomaticIncident } from "../../protocol/effects.ts";
import type { Cursor } from "../../storage/files/tail.ts";
import { threadDigits } from "../state/indexed-journal.ts";
import type { JournalEntry, LineEntry, LocalEntry } from "../state/journal-entries.ts";
import { keepFork } from "./trouble/evidence.ts";
import { runsOf, type JudgedRun } from "../state/line-runs.ts";
import type { JudgedLine } from "./judged-line.ts";
import type { LogIntake, Memory } from "../state/agent-state.ts";
import { watchIdentity } from "./trouble/foreign-signature.ts";
import { incidentsOf } from "./trouble/chain-incidents.ts";
import { isOwn, type Session } from "../session/session.ts";
import { moveCursor } from "../state/log-cursor.ts";

/** All that follows from one line, or from one run of lines that prove nothing. */
interface Outcome {
  readonly line: JudgedLine;
  readonly event: CoreEvent;
  /** What the journal notes. */
  readonly entry: LineEntry;
  /** What the inbox gets. */
  readonly mail: Uint8Array | undefined;
  readonly incidents: readonly AutomaticIncident[];
}

/**
 * Makes verdicts durable and folds them. Each step is done, and synced where it says so, before the
 * next: a crash between any two of them repeats work and never loses or doubles a line. Spec 4.1.
 *
 * 1. The log itself was synced as it was read (`beginBatch`).
 * 2. The quarantine gets what is refused, the evidence folder both lines of a fork.
 * 3. The journal gets every verdict with its receipt time, and the notices that follow (synced).
 * 4. The remembered head of the log moves: heads.json is written when it is quiet, since until then the
 *    journal has it.
 * 5. The inbox gets what is mail to us (synced).
 * 6. The events are folded.
 * 7. The cursor moves.
 *
 * Our own lines were promised before they were written, and lines that prove nothing are read again
 * when their note is lost: their entries wait for the next journal sync, and no head follows.
 *
 * @param cursorBehind where reading goes on: "same" when nothing was taken in
 */
export function persist(
  session: Session,
  intake: LogIntake,
  judged: readonly JudgedLine[],
  cursorBehind: () => Cursor | undefined | "same",
): void {
  const { files, memory } = session;
  const rewound = rewoundBefore(session, intake, judged);
  quarantine(session, intake, judged);
  const outcomes = outcomesOf(session, intake, judged);
  const entries: JournalEntry[] = [
    ...rewound.map((event): LocalEntry => ({ k: "local", event })),
    ...outcomes.map(({ entry }) => entry),
  ];
  if (isOwn(session, intake) || (rewound.length === 0 && judged.every(provesNothing))) {
    session.recorder.note(entries, "later");
  } else {
    session.recorder.noteAndTell(
      entries,
      outcomes.flatMap(({ incidents }) => incidents),
    );
    seeHead(session, intake);
  }
  files.inbox.append(outcomes.flatMap(({ mail }) => mail ?? []));
  memory.inbox = { ...memory.inbox, end: files.inbox.end, from: memory.journalEnd };
  for (const event of rewound) session.recorder.fold(event);
  for (const { line, event } of outcomes) {
    forget(session, intake, line);
    session.recorder.fold(event);
  }
  const cursor = cursorBehind();
  if (cursor !== "same") moveCursor(intake, cursor, "persisted");
  if (isOwn(session, intake)) for (const line of judged) watchIdentity(session, intake, line);
}

function provesNothing({ verdict }: JudgedLine): boolean {
  return verdict === "unauthentic" || verdict === "blank";
}

/** One for each line, in order; runs of lines that prove nothing are one. */
function outcomesOf(
  session: Pick<Session, "world" | "place" | "memory" | "env" | "files">,
  intake: LogIntake,
  judged: readonly JudgedLine[],
): readonly Outcome[] {
  const { memory, files } = session;
  let inboxEnd = files.inbox.end;
  return runsOf(judged).map((run): Outcome => {
    const { line } = run;
    const event = eventOf(session, intake, run);
    const mail = mailOf(session, line, event);
    const inbox = mail === undefined ? deliveredAt(memory, intake, line) : inboxEnd;
    if (mail !== undefined) inboxEnd += mail.length + 1;
    const entry = entryOf(session, intake, run, inbox);
    const incidents = isOwn(session, intake) ? [] : peerIncidents(session, intake, line);
    return { line, event, entry, mail, incidents };
  });
}

/** What a peer's line gives cause to tell. The evidence of a fork is on disk before it is told. */
function peerIncidents(
  session: Pick<Session, "world" | "place" | "files">,
  intake: LogIntake,
  line: JudgedLine,
): AutomaticIncident[] {
  const evidence = line.reason === "log_forked" && keepFork(session, intake, line);
  return incidentsOf(intake, line, evidence);
}

/** The line is back: it is no longer awaited. */
function forget(
  { memory }: Pick<Session, "memory">,
  intake: LogIntake,
  { message }: JudgedLine,
): void {
  if (message === undefined) return;
  intake.awaited.delete(message.id);
  memory.inbox.unnoted?.delete(message.id);
}

/**
 * When a line that we have counted already is read again, its author has restored it. Lines before
 * it may be read again too, and are the same.
 */
function rewoundBefore(
  { memory }: Pick<Session, "memory">,
  { log }: LogIntake,
  judged: readonly JudgedLine[],
): RewoundEvent[] {
  const isRestored = ({ tail }: JudgedLine) =>
    mayBeRestored(memory.state.logs, log.name, tail.line);
  const first = judged.find(isRestored);
  return first === undefined
    ? []
    : [{ kind: "rewound", log: log.name, line: first.tail.line - 1, at: first.at }];
}

/** Remembered heads never go back: history that is read again does not undo what was seen. */
export function seeHead({ files }: Pick<Session, "files">, intake: LogIntake): void {
  const { name } = intake.log;
  const { head } = intake.admission.chain;
  if (head === undefined || head.seq <= (files.heads.peer(name)?.seq ?? 0)) return;
  files.heads.see(name, { seq: head.seq, id: head.id });
}

/** The event of a judged line, as the fold takes it. */
function eventOf(
  session: Pick<Session, "place">,
  intake: LogIntake,
  { line, run }: JudgedRun,
): CoreEvent {
  const { tail, message } = line;
  const { name: log } = intake.log;
  const read = message === undefined ? undefined : intake.awaited.get(message.id)?.read;
  const place = { log, line: tail.line, own: isOwn(session, intake), read, ...countOf(run) };
  const bytes = tail.kind === "line" ? tail.bytes : undefined;
  return lineEvent(place, line, bytes);
}

function countOf(run: JudgedRun["run"]): Pick<LineEntry, "first" | "count"> {
  return run === undefined ? {} : { first: run.first.tail.line, count: run.count };
}

/**
 * The bytes for the inbox, once for each message to us; heartbeats only if the operator wants them
 * there. Spec 2.4.
 */
function mailOf(
  session: Pick<Session, "place" | "memory" | "env">,
  line: JudgedLine,
  event: CoreEvent,
): Uint8Array | undefined {
  const { tail } = line;
  if (line.verdict !== "accepted" || event.kind !== "line" || tail.kind !== "line") {
    return undefined;
  }
  const { env, place, memory } = session;
  const { id } = event.message;
  const awaited = memory.intakes.get(event.log)?.awaited.get(id);
  if (awaited !== undefined && awaited.instead === undefined) return undefined;
  if (memory.inbox.unnoted?.has(id) === true) return undefined;
  const isWanted =
    isMail(event, env) || (place.settings.includeHeartbeats && isWantedBeat(event, env));
  return isWanted ? tail.bytes : undefined;
}

/** The offset in the inbox of a line that our journal, or its log, had lost. Spec 2.4. */
function deliveredAt(
  { inbox }: Memory,
  { awaited }: LogIntake,
  { message, verdict }: JudgedLine,
): number | undefined {
  if (message === undefined || verdict !== "accepted") return undefined;
  return awaited.get(message.id)?.inbox ?? inbox.unnoted?.get(message.id);
}

function entryOf(
  session: Pick<Session, "place">,
  intake: LogIntake,
  { line, run }: JudgedRun,
  inbox: number | undefined,
): LineEntry {
  const { tail } = line;
  const awaited = line.message === undefined ? undefined : intake.awaited.get(line.message.id);
  const instead = inbox === undefined ? undefined : awaited?.instead;
  return {
    k: "line",
    at: line.at,
    log: intake.log.name,
    line: tail.line,
    ...countOf(run),
    start: run?.first.tail.start ?? tail.start,
    end: tail.end,
    verdict: line.verdict,
    ...idOf(line),
    ...threadOf(line),
    ...(line.reason === undefined || run?.isMixed === true ? {} : { reason: line.reason }),
    ...(line.live ? {} : { old: true as const }),
    ...(isOwn(session, intake) ? { own: true as const } : {}),
    ...(line.afterGap ? { gap: true as const } : {}),
    ...(inbox === undefined ? {} : { inbox }),
    ...(instead === undefined ? {} : { instead }),
  };
}

function idOf({ message, duplicateOf }: JudgedLine): Pick<LineEntry, "id"> {
  const id = message?.id ?? duplicateOf;
  return id === undefined ? {} : { id };
}

function threadOf({ message }: JudgedLine): Pick<LineEntry, "thread" | "beat"> {
  if (message === undefined) return {};
  return message.type === "heartbeat"
    ? { beat: true }
    : { thread: threadDigits(message.correlationId) };
}

function quarantine(
  session: Pick<Session, "files">,
  intake: LogIntake,
  judged: readonly JudgedLine[],
): void {
  const refused = judged.filter((line) => line.reason !== undefined);
  if (refused.length === 0) return;
  session.files.quarantine.add(
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

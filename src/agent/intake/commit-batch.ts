import { lineEvent } from "../../protocol/line-event.ts";
import { mayBeMended } from "../../protocol/logs/logs.ts";
import type { CoreEvent, LineEvent, RewoundEvent } from "../../protocol/events.ts";
import { isMail, isWantedBeat } from "../../protocol/routing.ts";
import type { LineEntry, LocalEntry } from "../state/journal-entries.ts";
import { keepFork } from "./trouble/evidence.ts";
import { runsOf, type JudgedRun } from "../state/line-runs.ts";
import type { JudgedLine } from "./judge-lines.ts";
import type { LogIntake, Memory } from "../state/agent-state.ts";
import { watchIdentity } from "./trouble/foreign-signature.ts";
import { incidentsOf } from "./trouble/chain-incidents.ts";
import { isOwn, type Taking } from "./intake-context.ts";

/** Makes verdicts durable, in the order that a crash anywhere can be mended from, and folds them. */
export function settle(taking: Taking, intake: LogIntake, judged: readonly JudgedLine[]): void {
  if (judged.length === 0) return;
  const { files, memory } = taking;
  const rewound = rewoundBefore(taking, intake, judged);
  const runs = runsOf(judged);
  const events = runs.map((run) => eventOf(taking, intake, run));
  const routed = runs.map(({ line }, at) => isRouted(taking, line, events[at] as CoreEvent));
  const bytes = runs.flatMap(({ line: { tail } }, at) =>
    routed[at] === true && tail.kind === "line" ? [tail.bytes] : [],
  );
  const offsets = files.inbox.place(bytes);
  const lines = runs.map((run, at) => {
    const inbox = routed[at] === true ? offsets.shift() : deliveredAt(memory, intake, run.line);
    return entryOf(taking, intake, run, inbox);
  });
  const entries = [...rewound.map((event): LocalEntry => ({ k: "local", event })), ...lines];
  quarantine(taking, intake, judged);
  // Nothing follows from lines that prove nothing; they are read again when their note is lost.
  const isPassed = judged.every(({ verdict }) => verdict === "unauthentic" || verdict === "blank");
  if (isOwn(taking, intake) || (isPassed && rewound.length === 0)) taking.note(entries, "later");
  else {
    const incidents = judged.flatMap((line) =>
      incidentsOf(intake, line, line.reason === "log_forked" && keepFork(taking, intake, line)),
    );
    taking.noteAndTell(entries, incidents);
    saveHead(taking, intake);
  }
  files.inbox.append(bytes);
  memory.inboxEnd = files.inbox.end;
  memory.inboxFrom = memory.journalEnd;
  for (const event of rewound) taking.fold(event);
  for (const [at, { line }] of runs.entries()) {
    if (line.message !== undefined) {
      intake.awaited.delete(line.message.id);
      memory.inInbox?.delete(line.message.id);
    }
    taking.fold(events[at] as CoreEvent);
  }
  if (isOwn(taking, intake)) for (const line of judged) watchIdentity(taking, intake, line);
}

/**
 * Lines that we have counted already are read again: what stood there has been mended. Those before
 * it may be read again, too, and are the same.
 */
function rewoundBefore(
  { memory }: Taking,
  { log }: LogIntake,
  judged: readonly JudgedLine[],
): RewoundEvent[] {
  const isMended = ({ tail }: JudgedLine) => mayBeMended(memory.state.logs, log.name, tail.line);
  const first = judged.find(isMended);
  return first === undefined
    ? []
    : [{ kind: "rewound", log: log.name, line: first.tail.line - 1, at: first.at }];
}

/** Remembered heads never go back: history that is read again does not undo what was seen. */
function saveHead({ files }: Taking, intake: LogIntake): void {
  const { name } = intake.log;
  const { head } = intake.admission.chain;
  if (head === undefined || head.seq <= (files.heads.peer(name)?.seq ?? 0)) return;
  files.heads.save({ peers: new Map([[name, { seq: head.seq, id: head.id }]]) });
}

/** The event of a judged line, as the fold takes it. */
function eventOf(taking: Taking, intake: LogIntake, { line, run }: JudgedRun): CoreEvent {
  const { tail, message } = line;
  const { name: log } = intake.log;
  const isRead = message !== undefined && intake.awaited.get(message.id)?.isRead === true;
  const place = { log, line: tail.line, own: isOwn(taking, intake), ...placeOf(run) };
  const bytes = tail.kind === "line" ? tail.bytes : undefined;
  return lineEvent(isRead ? { ...place, isRead } : place, line, bytes);
}

function placeOf(run: JudgedRun["run"]): Pick<LineEntry, "first" | "count"> {
  return run === undefined ? {} : { first: run.first.tail.line, count: run.count };
}

/** Spec 2.4: what is a message to us, once; heartbeats only when asked for. */
function isRouted(taking: Taking, line: JudgedLine, event: CoreEvent): event is LineEvent {
  if (line.verdict !== "accepted" || event.kind !== "line") return false;
  const awaited = taking.memory.intakes.get(event.log)?.awaited.get(event.message.id);
  if (awaited !== undefined && awaited.instead === undefined) return false;
  if (taking.memory.inInbox?.has(event.message.id) === true) return false;
  const { env, place } = taking;
  return isMail(event, env) || (place.settings.includeHeartbeats && isWantedBeat(event, env));
}

/** Where a line stands in the inbox that our journal, or its log, had lost. Spec 2.4. */
function deliveredAt(
  { inInbox }: Memory,
  { awaited }: LogIntake,
  { message, verdict }: JudgedLine,
): number | undefined {
  if (message === undefined || verdict !== "accepted") return undefined;
  return awaited.get(message.id)?.inbox ?? inInbox?.get(message.id);
}

function entryOf(
  taking: Taking,
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
    ...placeOf(run),
    start: run?.first.tail.start ?? tail.start,
    end: tail.end,
    verdict: line.verdict,
    ...idOf(line),
    ...(line.reason === undefined || run?.isMixed === true ? {} : { reason: line.reason }),
    ...(line.live ? {} : { old: true as const }),
    ...(isOwn(taking, intake) ? { own: true as const } : {}),
    ...(line.afterGap ? { gap: true as const } : {}),
    ...(inbox === undefined ? {} : { inbox }),
    ...(instead === undefined ? {} : { instead }),
  };
}

function idOf({ message, duplicateOf }: JudgedLine): Pick<LineEntry, "id"> {
  const id = message?.id ?? duplicateOf;
  return id === undefined ? {} : { id };
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

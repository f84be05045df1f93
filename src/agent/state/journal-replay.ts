import { join } from "node:path";
import { lineEvent } from "../../protocol/line-event.ts";
import { mayBeRestored } from "../../protocol/logs/logs.ts";
import type { CoreEvent } from "../../protocol/events.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { Journal } from "../../storage/files/journal.ts";
import { cursorAt } from "../../storage/files/tail.ts";
import { recall } from "../../admission/authenticate.ts";
import type { RecalledMessage } from "../../admission/admitted-message.ts";
import { judge } from "../../admission/judge.ts";
import { isChained } from "../../wire/chain.ts";
import { isAfterLast } from "../../wire/roster/members.ts";
import { contextOf } from "../session/environment.ts";
import type { JournalEntry, LineEntry } from "./journal-entries.ts";
import { openLineReader, type LineReader } from "./log-reader.ts";
import { awaitedBefore } from "../intake/trouble/closed-logs.ts";
import { takeLocal } from "../intake/trouble/log-holds.ts";
import type { LogIntake, Memory } from "./agent-state.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import { moveCursor } from "./log-cursor.ts";

/** What a replay reads, and what it calls with each event. */
export interface Replay {
  readonly disk: Disk;
  readonly place: AgentConfig;
  readonly memory: Memory;
  fold(event: CoreEvent): void;
  /** Whether the log holds all that the journal knows of it, in whatever order. Spec 1.6. */
  holdsAll(log: string): boolean;
}

/** How far one replay has come. */
interface Progress {
  readonly source: LineReader;
  /** Where each log has been replayed to: the last line whose bytes are still in the log. */
  readonly reached: Map<string, LineEntry>;
  /** Logs that lack lines of the journal: what follows in them is awaited. */
  readonly broken: Set<string>;
  /** Logs whose lines are at other places now: each is read where it is. */
  readonly moved: Set<string>;
  /** Logs of which the operator has let pass what was dated ahead, and no line is noted since. */
  readonly passing: Set<string>;
}

/**
 * Folds what the journal holds beyond `memory.journalEnd`, in its order, with the receipt times and
 * verdicts that it noted: replay equals live. Spec 2.4. Signatures are not checked again.
 */
export function replayJournal(replay: Replay, journal: Journal<JournalEntry>): void {
  const { memory, place, disk } = replay;
  const progress: Progress = {
    source: openLineReader(disk, place),
    reached: new Map(),
    broken: new Set(),
    moved: new Set(),
    passing: new Set(),
  };
  try {
    for (const { entry, end } of journal.read(memory.journalEnd)) {
      replayEntry(replay, progress, entry);
      memory.journalEnd = end;
    }
  } finally {
    progress.source.close();
  }
  for (const [name, { end, line }] of progress.reached) {
    const intake = memory.intakes.get(name);
    if (intake === undefined) continue;
    const cursor = cursorAt(disk, join(place.wire.folder, intake.log.path), end, line);
    // The bytes before that place are not the ones that were read: the next look compares the log.
    const isMoved = progress.moved.has(name);
    moveCursor(intake, isMoved ? { ...cursor, prefixHash: "" } : cursor, "replayed");
  }
}

function replayEntry(replay: Replay, progress: Progress, entry: JournalEntry): void {
  const { reached, broken, moved } = progress;
  switch (entry.k) {
    case "local": {
      const { event } = entry;
      takeLocal(replay.memory, event);
      replay.fold(event);
      // What follows in the journal is about the lines that replaced the earlier ones.
      for (const { log, lines, keepsChain } of event.kind === "reset" ? event.logs : []) {
        if (keepsChain === true) progress.passing.add(log);
        if (lines === undefined) continue;
        broken.delete(log);
        moved.delete(log);
        reached.delete(log);
      }
      return;
    }
    case "began": {
      const intake = replay.memory.intakes.get(entry.log);
      if (intake !== undefined) intake.past.historyTo = entry.size;
      return;
    }
    case "line": {
      const intake = replay.memory.intakes.get(entry.log);
      // A log that the accepted configuration no longer has.
      if (intake === undefined) return;
      // It was read to its end then; lines that came later are dated by themselves.
      if (progress.passing.delete(entry.log)) intake.order.takesAny = false;
      // An outbox whose closed log lacks lines is folded when those are back.
      const isBroken = broken.has(entry.log) || awaitedBefore(replay.memory, intake).length > 0;
      const event = isBroken ? undefined : eventOf(replay, progress, intake, entry);
      if (event === "read again") return;
      if (event !== undefined) {
        foldRestored(replay, entry);
        replay.fold(event);
        // The checkpoint may be of a time at which the log lacked it.
        if (event.kind === "line") intake.awaited.delete(event.message.id);
        // A line that proved nothing may have been torn, and restored since: it is read again.
        if (event.kind === "line") reached.set(entry.log, entry);
        return;
      }
      // The log lacks it now. What the journal noted of it counts when it comes back. Spec 1.6.
      broken.add(entry.log);
      if (entry.reason === "log_forked") {
        const detail = `${entry.log}: the line ${entry.id ?? ""} forked it, and the log lacks it now`;
        intake.admission.held = { cause: "log_forked", detail, sinceMs: entry.at };
      }
      // Of one that was noted twice, the first may be folded already, or be awaited.
      const { id } = entry;
      if (id === undefined || entry.verdict === "duplicate") return;
      if (countsNoMore(replay, entry, intake.log.owner)) return;
      // Its place is not noted: a log that lacks lines costs the memory for all of its ids.
      intake.admission.seen.unsettle();
      if (intake.admission.seen.has({ id })) return;
      const known = intake.awaited.get(id);
      intake.awaited.set(id, known === undefined ? entry : { ...known, ...inboxOf(entry) });
    }
  }
}

function inboxOf({ inbox }: LineEntry): Pick<LineEntry, "inbox"> {
  return inbox === undefined ? {} : { inbox };
}

/**
 * At that line there was a torn line before, which its author has restored. When it was read, the
 * torn line may have been forgotten already, so that nothing says so in the journal.
 */
function foldRestored({ memory, fold }: Replay, { log, line, first = line, at }: LineEntry): void {
  if (mayBeRestored(memory.state.logs, log, first)) {
    fold({ kind: "rewound", log, line: first - 1, at });
  }
}

/**
 * Undefined when the log lacks the line now. A line that was refused before our operator knew of its
 * author's return is read again: what was noted of it then no longer counts. Spec 1.1.
 */
function eventOf(
  replay: Replay,
  progress: Progress,
  intake: LogIntake,
  entry: LineEntry,
): CoreEvent | "read again" | undefined {
  const { log, line, at, verdict, reason, first, count } = entry;
  const live = entry.old !== true;
  const taken = { verdict, at, live, message: undefined, reason, afterGap: entry.gap === true };
  if (verdict !== "accepted" && verdict !== "refused") {
    return lineEvent({ log, line, own: false, first, count }, taken, undefined);
  }
  const noted = notedLine(replay, progress, entry);
  if (noted === undefined) return undefined;
  const { bytes, message } = noted;
  if (countsNoMore(replay, entry, message.from, message)) return "read again";
  const reading = { mode: "recall", receivedAtMs: at, line, noted: { reason } } as const;
  judge({ ok: true, message }, intake.admission, contextOf(replay.place), reading);
  intake.past.lastAt = at;
  const own = intake.log.owner === message.from && entry.own === true;
  // As it was folded then: it may have been read while the log lacked it.
  const read = intake.awaited.get(message.id)?.read;
  return lineEvent({ log, line, own, read }, { ...taken, message }, bytes);
}

/**
 * Whether a line was refused before our operator knew of its author's return.
 *
 * @param message undefined where the log lacks it now: then its place in the log decides
 */
function countsNoMore(
  { place }: Replay,
  { log, line, reason }: LineEntry,
  author: string,
  message?: RecalledMessage,
): boolean {
  if (reason !== "left_member") return false;
  const seq = message !== undefined && isChained(message) ? message.seq : undefined;
  return !isAfterLast(place.layout.left, author, log, { line, seq });
}

/**
 * The line of an entry, from its place, or from anywhere while the log shows it at another. In a log
 * of ours a power cut may have taken lines that nobody had read, and what others wrote in their place
 * comes before them now: they are read again, since peers count them where they are.
 */
function notedLine(
  { holdsAll }: Replay,
  { source, moved }: Progress,
  { log, start, end, own, id = "" }: LineEntry,
): { readonly bytes: Uint8Array; readonly message: RecalledMessage } | undefined {
  const noted = (bytes: Uint8Array | undefined) => {
    const message = bytes === undefined ? undefined : recall(bytes, id);
    return bytes === undefined || message === undefined ? undefined : { bytes, message };
  };
  const there = noted(source.at(log, start, end));
  if (there !== undefined) return there;
  if (!moved.has(log) && !holdsAll(log)) return undefined;
  const elsewhere = source.anywhere(log, end - start, id);
  if (own === true && (elsewhere?.start ?? 0) > start) return undefined;
  moved.add(log);
  return noted(elsewhere?.bytes);
}

import { Buffer } from "node:buffer";
import { join } from "node:path";
import { mayBeMended } from "../protocol/logs.ts";
import type { CoreEvent } from "../protocol/record.ts";
import type { Disk } from "../storage/disk.ts";
import type { Journal } from "../storage/journal.ts";
import { cursorAt } from "../storage/tail.ts";
import { recallVerified } from "../trust/admission.ts";
import { admit } from "../trust/log-admission.ts";
import { contextOf } from "./contexts.ts";
import type { JournalEntry, LineEntry } from "./entries.ts";
import { openLineSource, type LineSource } from "./line-source.ts";
import { takeLocal } from "./holds.ts";
import type { LogIntake, Memory } from "./memory.ts";
import type { Place } from "./place.ts";

/** Where a replay reads, and whom it tells. */
export interface Replay {
  readonly disk: Disk;
  readonly place: Place;
  readonly memory: Memory;
  fold(event: CoreEvent): void;
}

/** Where each log has been replayed to: the end of the last line whose bytes still stand there. */
type Reached = Map<string, LineEntry>;

/**
 * Folds what the journal holds beyond `memory.journalEnd`, in its order, with the receipt times and
 * verdicts that it noted: replay equals live. Spec 2.4. Signatures are not checked again.
 */
export function replayJournal(replay: Replay, journal: Journal<JournalEntry>): void {
  const { memory, place, disk } = replay;
  const source = openLineSource(disk, place);
  const reached: Reached = new Map();
  const broken = new Set<string>();
  try {
    for (const { entry, end } of journal.read(memory.journalEnd)) {
      replayEntry(replay, source, entry, reached, broken);
      memory.journalEnd = end;
    }
  } finally {
    source.close();
  }
  for (const [name, { end, line }] of reached) {
    const intake = memory.intakes.get(name);
    if (intake === undefined) continue;
    intake.cursor = cursorAt(disk, join(place.wire.folder, intake.log.path), end, line);
  }
}

function replayEntry(
  replay: Replay,
  source: LineSource,
  entry: JournalEntry,
  reached: Reached,
  broken: Set<string>,
): void {
  switch (entry.k) {
    case "local": {
      const { event } = entry;
      takeLocal(replay.memory, event);
      replay.fold(event);
      // What follows in the journal is of what was put in the place of the lines before.
      for (const { log, lines } of event.kind === "reset" ? event.logs : []) {
        if (lines === undefined) continue;
        broken.delete(log);
        reached.delete(log);
      }
      return;
    }
    case "began": {
      const intake = replay.memory.intakes.get(entry.log);
      if (intake !== undefined) intake.historyTo = entry.size;
      return;
    }
    case "line": {
      const intake = replay.memory.intakes.get(entry.log);
      // A log that the accepted configuration no longer has.
      if (intake === undefined) return;
      const event = broken.has(entry.log) ? undefined : lineEvent(replay, source, intake, entry);
      if (event !== undefined) {
        foldMended(replay, entry);
        replay.fold(event);
        // The checkpoint may be of a time at which the log lacked it.
        if (event.kind === "line") intake.awaited.delete(event.message.id);
        // What proves nothing may have been mended since: it is read again.
        if (event.kind === "line") reached.set(entry.log, entry);
        return;
      }
      // The log lacks it now. What was said of it holds when it comes back. Spec 1.6.
      broken.add(entry.log);
      if (entry.reason === "log_forked") {
        const detail = `${entry.log}: the line ${entry.id ?? ""} forked it, and the log lacks it now`;
        intake.admission.held = { cause: "log_forked", detail, sinceMs: entry.at };
      }
      // Of one that was noted twice, the first may be folded already, or be awaited.
      const { id } = entry;
      if (id === undefined || entry.verdict === "duplicate") return;
      if (intake.admission.seen.has(id)) return;
      const known = intake.awaited.get(id);
      intake.awaited.set(id, known === undefined ? entry : { ...known, ...placeOf(entry) });
    }
  }
}

function placeOf({ inbox }: LineEntry): Pick<LineEntry, "inbox"> {
  return inbox === undefined ? {} : { inbox };
}

/**
 * What stood at that line before was no line of its author's. Who saw this live may not have held
 * that line any more, so that nothing was noted of it.
 */
function foldMended({ memory, fold }: Replay, { log, line, at }: LineEntry): void {
  if (mayBeMended(memory.state.logs, log, line)) fold({ kind: "rewound", log, line: line - 1, at });
}

function lineEvent(
  { place }: Replay,
  source: LineSource,
  intake: LogIntake,
  entry: LineEntry,
): CoreEvent | undefined {
  const { log, line, at, verdict, reason } = entry;
  const where = { log, line, at };
  if (verdict === "blank" || verdict === "duplicate") return { kind: "skipped", ...where };
  if (verdict === "unauthentic") {
    return { kind: "refused", ...where, reason: reason ?? "malformed" };
  }
  const bytes = source.at(log, entry.start, entry.end);
  const message = bytes === undefined ? undefined : recallVerified(bytes);
  if (bytes === undefined || message === undefined || message.id !== entry.id) return undefined;
  admit(message, intake.admission, contextOf(place), at, {
    mode: "journal",
    line,
    noted: { reason },
  });
  intake.lastAt = at;
  return {
    kind: "line",
    ...where,
    live: entry.old !== true,
    own: intake.log.owner === message.from && entry.own === true,
    message,
    raw: Buffer.from(bytes).toString("utf8"),
    refused: reason,
    afterGap: entry.gap === true,
  };
}

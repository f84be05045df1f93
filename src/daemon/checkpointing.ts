import { readSnapshot, writeSnapshot } from "../protocol/snapshot.ts";
import { loadCheckpoint, saveCheckpoint } from "../storage/checkpoint.ts";
import { prefixHash, readNewLines, type Cursor } from "../storage/tail.ts";
import { openIfThere, type Disk } from "../storage/disk.ts";
import {
  restoreLogAdmission,
  saveLogAdmission,
  type SavedLogAdmission,
} from "../trust/log-admission.ts";
import type { LineEntry } from "./entries.ts";
import { emptyMemory, type Memory } from "./memory.ts";
import type { Place } from "./place.ts";

const VERSION = 3;

/** What of the memory is kept; all of it follows from journal and logs as well. Spec 4.1. */
interface SavedMemory {
  readonly version: number;
  /** The logs and the configuration that it was folded under: another one needs another fold. */
  readonly folded: string;
  readonly intakes: readonly SavedIntake[];
  readonly decisions?: Cursor | undefined;
  readonly lastTimestamp?: string | undefined;
  readonly journalEnd: number;
  /** Tells whether the journal is still the one that this was folded from. */
  readonly journalHash: string;
  readonly inboxEnd: number;
  readonly inboxFrom: number;
}

interface SavedIntake {
  readonly name: string;
  readonly cursor?: Cursor | undefined;
  readonly admission: SavedLogAdmission;
  readonly historyTo?: number | undefined;
  readonly lastAt: number;
  readonly awaited: readonly LineEntry[];
}

/** Atomically replaces the checkpoint; the journal must be flushed before. */
export function saveMemory(disk: Disk, place: Place, memory: Memory): void {
  const saved: SavedMemory = {
    version: VERSION,
    folded: foldedUnder(place),
    intakes: [...memory.intakes.values()].map((intake) => ({
      name: intake.log.name,
      cursor: intake.cursor,
      admission: saveLogAdmission(intake.admission),
      historyTo: intake.historyTo,
      lastAt: intake.lastAt,
      awaited: [...intake.awaited.values()],
    })),
    decisions: memory.decisions,
    lastTimestamp: memory.lastTimestamp,
    journalEnd: memory.journalEnd,
    journalHash: journalHash(disk, place, memory.journalEnd) ?? "",
    // What stands in the inbox and in no journal has to be found again.
    inboxEnd: memory.inInbox === undefined ? memory.inboxEnd : 0,
    inboxFrom: memory.inInbox === undefined ? memory.inboxFrom : 0,
  };
  const text = writeSnapshot(memory.state);
  saveCheckpoint(disk, place.paths.checkpoint, { state: saved, text });
}

/**
 * The memory of the last checkpoint, or an empty one when there is none that fits: the journal is
 * then replayed from its beginning. One of a journal that was lost or cut since fits no more.
 */
export function loadMemory(disk: Disk, place: Place, monoMs: number): Memory {
  const empty = emptyMemory(place, monoMs);
  const checkpoint = loadCheckpoint(disk, place.paths.checkpoint);
  const saved = checkpoint?.state as SavedMemory | undefined;
  if (saved?.version !== VERSION || saved.folded !== foldedUnder(place)) return empty;
  if (saved.journalHash !== journalHash(disk, place, saved.journalEnd)) return empty;
  if (!stillRecorded(disk, place, saved.decisions)) return { ...empty, decisions: saved.decisions };
  const state = readSnapshot(checkpoint?.text ?? "");
  if (state === undefined) return empty;
  for (const each of saved.intakes) {
    const intake = empty.intakes.get(each.name);
    const admission =
      intake === undefined ? undefined : restoreLogAdmission(intake.admission, each.admission);
    if (intake === undefined || admission === undefined) return emptyMemory(place, monoMs);
    intake.cursor = each.cursor;
    intake.admission = admission;
    intake.historyTo = each.historyTo;
    intake.lastAt = each.lastAt;
    for (const entry of each.awaited)
      if (entry.id !== undefined) intake.awaited.set(entry.id, entry);
  }
  return {
    ...empty,
    state,
    decisions: saved.decisions,
    lastTimestamp: saved.lastTimestamp,
    journalEnd: saved.journalEnd,
    inboxEnd: saved.inboxEnd,
    inboxFrom: saved.inboxFrom,
  };
}

/** Of the journal's last bytes before an offset; undefined when it does not reach there. */
function journalHash(disk: Disk, place: Place, end: number): string | undefined {
  const file = openIfThere(disk, place.paths.journal);
  if (file === undefined) return undefined;
  try {
    return file.stat().size < end ? undefined : prefixHash(file, end);
  } finally {
    file.close();
  }
}

/**
 * Whether the decisions that the checkpoint knows to be recorded still stand in their file: a power
 * cut can take back one whose sync had failed. It is then folded anew, and recorded again.
 */
function stillRecorded(disk: Disk, place: Place, cursor: Cursor | undefined): boolean {
  if (cursor === undefined) return true;
  const { anomaly } = readNewLines(disk, place.wire.decisions, cursor, 1);
  return anomaly === undefined || anomaly === "obstructed";
}

function foldedUnder(place: Place): string {
  const { layout, config, cadences, handle } = place;
  const domains = [...config.domains];
  return JSON.stringify([handle, layout.kind, layout.roster, config.wireId, domains, cadences]);
}

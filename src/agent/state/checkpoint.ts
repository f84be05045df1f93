import { readSnapshot, writeSnapshot } from "../../protocol/snapshot.ts";
import { join } from "node:path";
import { loadCheckpoint, saveCheckpoint } from "../../storage/files/checkpoint.ts";
import { newShownRows, openShownRows } from "../../storage/files/shown-rows.ts";
import { prefixHash, readNewLines, type Cursor } from "../../storage/files/tail.ts";
import { openIfThere, type Disk } from "../../storage/disk/disk.ts";
import {
  restoreLogAdmission,
  saveLogAdmission,
  type SavedLogAdmission,
} from "../../admission/log-admission.ts";
import type { Indexed } from "./indexed-journal.ts";
import type { LineEntry } from "./journal-entries.ts";
import { emptyMemory, type KnownTimes, type Memory } from "./agent-state.ts";
import { leftJson } from "../../trust/policy/left-members.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import type { Clock } from "../session/clock.ts";
import { moveCursor } from "./log-cursor.ts";

const VERSION = 12;
/** Journal entries on one line. */
const ENTRIES_A_LINE = 256;
/** A checkpoint of a long history costs more to write than what has come since costs to replay. */
const SMALL_BYTES = 1_048_576;
const SHARE_TO_REPLAY = 1 / 8;
/** Between what is kept of the memory and the state, which is lines of its own. */
const STATE_FOLLOWS = "";

/** What is kept of the memory; all of it follows from journal and logs as well. Spec 4.1. */
interface SavedMemory {
  readonly version: number;
  /** The logs and the configuration that it was folded under: another one needs another fold. */
  readonly folded: string;
  readonly intakes: readonly SavedIntake[];
  readonly decisions?: Cursor | undefined;
  readonly lastTimestamp?: string | undefined;
  readonly journalEnd: number;
  readonly indexed: Indexed;
  /** Tells whether the journal is still the one that this was folded from. */
  readonly journalHash: string;
  readonly inboxEnd: number;
  readonly inboxFrom: number;
  readonly notices: Memory["inbox"]["notices"];
  readonly inUse?: Memory["inUse"];
  readonly latestMs: number;
  readonly setBacks: KnownTimes["setBacks"];
}

interface SavedIntake {
  readonly name: string;
  readonly cursor?: Cursor | undefined;
  readonly admission: SavedLogAdmission;
  readonly historyTo?: number | undefined;
  readonly lastAt: number;
  /** The operator's decision lasts until the log is read, across restarts. */
  readonly takesAnyOrder?: boolean;
}

/** What may be much is on lines of its own after that: ids of a log in memory, or lines that it lacks. */
interface SavedPart {
  readonly log: string;
  readonly lately?: string;
  readonly awaited?: readonly LineEntry[];
}

/** Whether the journal has grown by so much that another checkpoint pays when it is quiet, or we stop. */
export function isWorthSaving(disk: Disk, path: string, grown: number): boolean {
  const { size } = disk.stat(path) ?? { size: 0 };
  return grown > 0 && (size <= SMALL_BYTES || grown >= size * SHARE_TO_REPLAY);
}

/**
 * Atomically replaces the checkpoint, in many steps; the journal must be flushed before, and nothing may
 * change in the memory until it has been written.
 */
export async function saveMemory(
  { disk, clock }: { readonly disk: Disk; readonly clock: Pick<Clock, "nextTurn"> },
  place: AgentConfig,
  memory: Memory,
): Promise<void> {
  for (const { log, admission } of memory.intakes.values()) {
    admission.seen.settle(newShownRows(disk, shownPath(place, log.name)));
    await clock.nextTurn();
  }
  const saved: SavedMemory = {
    version: VERSION,
    folded: foldedUnder(place),
    intakes: [...memory.intakes.values()].map((intake) => ({
      name: intake.log.name,
      cursor: intake.cursor,
      admission: saveLogAdmission(intake.admission, "apart"),
      historyTo: intake.past.historyTo,
      lastAt: intake.past.lastAt,
      takesAnyOrder: intake.order.takesAny,
    })),
    decisions: memory.decisions,
    lastTimestamp: memory.times.lastSent,
    journalEnd: memory.journalEnd,
    indexed: memory.indexed,
    journalHash: journalHash(disk, place, memory.journalEnd) ?? "",
    // What is in the inbox and in no journal has to be found again.
    inboxEnd: memory.inbox.unnoted === undefined ? memory.inbox.end : 0,
    inboxFrom: memory.inbox.unnoted === undefined ? memory.inbox.from : 0,
    notices: memory.inbox.notices,
    inUse: memory.inUse,
    latestMs: memory.times.latestMs,
    setBacks: memory.times.setBacks,
  };
  await saveCheckpoint(disk, place.paths.checkpoint, linesOf(saved, memory), clock.nextTurn);
}

/** Line by line, so that a long history is not in memory a second time while it is written. */
function* linesOf(saved: SavedMemory, memory: Memory): Generator<string> {
  yield JSON.stringify(saved);
  for (const { log, admission, awaited } of memory.intakes.values()) {
    const part = (of: Omit<SavedPart, "log">) => JSON.stringify({ log: log.name, ...of });
    for (const lately of admission.seen.pieces()) yield part({ lately });
    let entries: LineEntry[] = [];
    for (const entry of awaited.values()) {
      entries.push(entry);
      if (entries.length < ENTRIES_A_LINE) continue;
      yield part({ awaited: entries });
      entries = [];
    }
    if (entries.length > 0) yield part({ awaited: entries });
  }
  yield STATE_FOLLOWS;
  yield* writeSnapshot(memory.state);
}

/**
 * The memory of the last checkpoint, or an empty one when there is none that fits: the journal is
 * then replayed from its beginning. A checkpoint does not fit when its journal was lost or cut
 * since.
 */
export function loadMemory(disk: Disk, place: AgentConfig, monoMs: number): Memory {
  const loaded = loadCheckpoint(disk, place.paths.checkpoint, (lines) =>
    memoryFrom(lines, disk, place, monoMs),
  );
  return loaded ?? emptyMemory(place, monoMs);
}

function memoryFrom(
  all: Iterable<string>,
  disk: Disk,
  place: AgentConfig,
  monoMs: number,
): Memory | undefined {
  const empty = emptyMemory(place, monoMs);
  const lines = all[Symbol.iterator]();
  const saved = JSON.parse(textOf(lines.next()) ?? "null") as SavedMemory | null;
  if (saved?.version !== VERSION || saved.folded !== foldedUnder(place)) return undefined;
  if (saved.journalHash !== journalHash(disk, place, saved.journalEnd)) return undefined;
  if (!stillRecorded(disk, place, saved.decisions)) return { ...empty, decisions: saved.decisions };
  const parts = partsFrom(lines);
  for (const each of saved.intakes) {
    const intake = empty.intakes.get(each.name);
    if (intake === undefined) return undefined;
    const { lately, awaited } = parts.get(each.name) ?? { lately: [], awaited: [] };
    const seen = { ...each.admission.seen, lately: lately.join("") };
    const rows = savedRows(disk, shownPath(place, each.name), seen);
    const admission = restoreLogAdmission(intake.admission, { ...each.admission, seen }, rows);
    if (admission === undefined) return undefined;
    moveCursor(intake, each.cursor, "restored");
    intake.admission = admission;
    intake.past.historyTo = each.historyTo;
    intake.past.lastAt = each.lastAt;
    intake.order.takesAny = each.takesAnyOrder === true;
    for (const entry of awaited) if (entry.id !== undefined) intake.awaited.set(entry.id, entry);
  }
  const state = readSnapshot({ [Symbol.iterator]: () => lines });
  if (state === undefined) return undefined;
  return {
    ...empty,
    state,
    decisions: saved.decisions,
    journalEnd: saved.journalEnd,
    indexed: saved.indexed,
    inbox: {
      unnoted: undefined,
      end: saved.inboxEnd,
      from: saved.inboxFrom,
      notices: saved.notices,
    },
    inUse: saved.inUse,
    times: {
      latestMs: saved.latestMs,
      setBacks: saved.setBacks,
      lastSent: saved.lastTimestamp,
    },
  };
}

/** The lines that a log has shown, as far as they are kept out of memory. */
function savedRows(disk: Disk, path: string, { runs, mark }: SavedLogAdmission["seen"]) {
  const rows = runs.reduce((sum, { count }) => sum + count, 0);
  return rows === 0 ? undefined : openShownRows(disk, path, { mark, rows });
}

function shownPath({ paths }: AgentConfig, log: string): string {
  return join(paths.shownRows, `${log}.rows`);
}

/** The lines of the logs, up to where the state begins. */
function partsFrom(lines: Iterator<string>) {
  const parts = new Map<string, { readonly lately: string[]; readonly awaited: LineEntry[] }>();
  for (let line = textOf(lines.next()); line !== undefined && line !== STATE_FOLLOWS;) {
    const { log, lately, awaited = [] } = JSON.parse(line) as SavedPart;
    const part = parts.get(log) ?? { lately: [], awaited: [] };
    parts.set(log, part);
    if (lately !== undefined) part.lately.push(lately);
    part.awaited.push(...awaited);
    line = textOf(lines.next());
  }
  return parts;
}

function textOf(step: IteratorResult<string>): string | undefined {
  return step.done === true ? undefined : step.value;
}

/** Of the journal's last bytes before an offset; undefined when it does not reach there. */
function journalHash(disk: Disk, place: AgentConfig, end: number): string | undefined {
  const file = openIfThere(disk, place.paths.journal);
  if (file === undefined) return undefined;
  try {
    return file.stat().size < end ? undefined : prefixHash(file, end);
  } finally {
    file.close();
  }
}

/**
 * Whether the decisions that the checkpoint counts as recorded are still in their file: a power cut
 * can remove one whose sync had failed. The journal is then replayed, and the decision recorded
 * again.
 */
function stillRecorded(disk: Disk, place: AgentConfig, cursor: Cursor | undefined): boolean {
  if (cursor === undefined) return true;
  const { anomaly } = readNewLines(disk, place.wire.decisions, cursor, 1);
  return anomaly === undefined || anomaly === "obstructed";
}

/**
 * What of the configuration the fold depends on, as one text: what was folded under another one is
 * folded again. Spec 1.1.
 */
export function foldedUnder({ layout, config, cadences, handle }: AgentConfig): string {
  const members = [layout.kind, layout.roster, [...layout.logs.keys()], leftJson(layout.left)];
  return JSON.stringify([handle, members, config.wireId, [...config.domains], cadences]);
}

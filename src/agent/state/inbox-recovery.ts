import type { Disk } from "../../storage/disk/disk.ts";
import { CHUNK_BYTES, LineSplitter } from "../../storage/disk/line-splitter.ts";
import { parseMessage } from "../../wire/message.ts";
import type { Files } from "../session/world.ts";
import type { LineEntry } from "./journal-entries.ts";
import { openLineReader } from "./log-reader.ts";
import type { Memory } from "./agent-state.ts";
import type { AgentConfig } from "../config/agent-config.ts";

type Routed = LineEntry & { readonly inbox: number };

interface Recovery {
  readonly disk: Disk;
  readonly place: AgentConfig;
  readonly memory: Memory;
  readonly files: Files;
}

/**
 * Makes the inbox hold what the journal says was routed, each line once. Spec 4.1, Delivery. What
 * is there and in no journal (the journal, or its tail, was lost) stays, and is not routed again.
 *
 * @returns false when a line that is folded is neither in the inbox nor in its log: with an empty memory
 * it is awaited, and delivered when it comes back. The checkpoint is gone then.
 */
export function restoreInbox({ disk, place, memory, files }: Recovery): boolean {
  const source = openLineReader(disk, place);
  // Without a checkpoint nothing says that the journal is the one that the inbox was written by.
  const isUnknown = memory.inbox.end === 0;
  let voided: ReadonlySet<number> = new Set();
  const routed = (from: number): Iterable<Routed> => {
    const isKnown = from >= memory.inbox.end;
    voided = voidedIn(files, isKnown ? memory.inbox.from : 0);
    return isKnown
      ? routedFrom(files, from, memory.inbox.from)
      : inOrder(() => routedFrom(files, from, 0));
  };
  try {
    const { unnamed, lost } = files.inbox.recover(memory.inbox.end, routed, (entry) => {
      if (voided.has(entry.inbox)) return undefined;
      const { log, start, end, id = "" } = entry;
      const line = source.at(log, start, end);
      // The log may have other bytes there by now, which were never verified.
      if (line !== undefined && idOf(line) === id) return line;
      // While a sync program writes the log, its lines may be in another order. Spec 1.6.
      const found = source.anywhere(log, end - start, id)?.bytes;
      // Before the inbox is written: a start after a crash must not take it for restored.
      if (found === undefined && !isAwaited(memory, entry)) disk.remove(place.paths.checkpoint);
      return found;
    });
    const unnoted = new Map(isUnknown ? unnamedRotated(files) : []);
    for (const { from, to } of unnamed) {
      for (const [id, at] of idsIn(files, from, to)) unnoted.set(id, at);
    }
    memory.inbox.unnoted = unnoted.size === 0 ? undefined : unnoted;
    const isComplete = isUnknown || lost.every((entry) => isAwaited(memory, entry));
    for (const entry of lost) deliverAgain(memory, entry);
    memory.inbox.end = files.inbox.end;
    memory.inbox.from = files.journal.end;
    return isComplete;
  } finally {
    source.close();
  }
}

function isAwaited({ intakes }: Memory, { log, id = "", inbox }: Routed): boolean {
  return intakes.get(log)?.awaited.get(id)?.inbox === inbox;
}

/**
 * Its log lacks it too, and blanks are in its place in the inbox: if it comes back, it is routed
 * once more.
 */
function deliverAgain({ intakes }: Memory, { log, id, inbox }: Routed): void {
  const awaited = intakes.get(log)?.awaited;
  const line = id === undefined ? undefined : awaited?.get(id);
  if (id === undefined || line?.inbox !== inbox) return;
  const { inbox: lostAt, ...rest } = line;
  awaited?.set(id, { ...rest, instead: lostAt });
}

/** Places in the inbox whose lines were lost, and routed once more when they came back. */
function voidedIn({ journal }: Files, start: number): ReadonlySet<number> {
  const voided = new Set<number>();
  for (const { entry } of journal.read(start)) {
    if (entry.k === "line" && entry.instead !== undefined) voided.add(entry.instead);
  }
  return voided;
}

/** The journal's lines from `start` on that were routed to `from` or after it. */
function* routedFrom(files: Files, from: number, start: number): Generator<Routed> {
  for (const { entry } of files.journal.read(start)) {
    if (entry.k !== "line" || entry.inbox === undefined || entry.inbox < from) continue;
    yield { ...entry, inbox: entry.inbox };
  }
}

/**
 * Lines that were delivered before the journal was lost are noted again, in the order of their
 * logs.
 */
function inOrder(routed: () => Iterable<Routed>): Iterable<Routed> {
  let last = -1;
  for (const { inbox } of routed()) {
    if (inbox < last) return [...routed()].toSorted((a, b) => a.inbox - b.inbox);
    last = inbox;
  }
  return routed();
}

/** Messages in rotated files that the journal does not name, because it was lost or its tail. */
function* unnamedRotated(files: Files): Generator<[string, number]> {
  if (files.inbox.base === 0) return;
  const named = new Set<number>();
  for (const { inbox } of routedFrom(files, 0, 0)) named.add(inbox);
  for (const { at, bytes } of files.inbox.rotated()) {
    const id = named.has(at) ? undefined : idOf(bytes);
    if (id !== undefined) yield [id, at];
  }
}

/** The messages between two offsets of the inbox, by id, with the offset of each. */
function* idsIn(files: Files, from: number, to: number): Generator<[string, number]> {
  const splitter = new LineSplitter(from);
  while (splitter.position < to) {
    const length = Math.min(CHUNK_BYTES, to - splitter.position);
    const chunk = files.inbox.read(splitter.position, length);
    if (chunk === undefined || chunk.length === 0) return;
    for (const { bytes, start } of splitter.feed(chunk)) {
      const id = bytes === undefined ? undefined : idOf(bytes);
      if (id !== undefined) yield [id, start];
    }
  }
}

function idOf(line: Uint8Array): string | undefined {
  const parsed = parseMessage(line);
  return parsed.ok ? parsed.message.id : undefined;
}

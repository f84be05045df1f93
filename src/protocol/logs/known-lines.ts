import { IdColumn } from "./id-column.ts";

/** A message that an ack may name. */
export interface KnownLine {
  readonly line: number;
  /** The key of its thread, if it is a proposal. */
  readonly proposalIn: string | undefined;
}

/**
 * The messages of all remembered threads, by log and id. Spec 3.4 asks of an ack whether what it
 * names is a proposal, also when that belongs to another thread.
 */
export interface KnownLines {
  /** Proposals, acks and corrections: an index over the lines of the threads. */
  readonly deciding: Map<string, Map<string, KnownLine>>;
  /** Messages that decide nothing: up to 131,072 of them. */
  readonly plain: Map<string, PlainLines>;
  /** The numbers of the remembered threads: an index. */
  readonly threads: Set<number>;
  /** The highest number that a thread has had. */
  lastThread: number;
}

/** Messages of one log: their ids, their lines and the numbers of their threads, in columns. */
export interface PlainLines {
  ids: IdColumn;
  lines: number[];
  threads: number[];
  /** So many are of threads that are not remembered any more. */
  forgotten: number;
}

/** Where a larger part of the messages is of forgotten threads, these are taken out. */
const FORGOTTEN_PART = 1 / 4;

export function noKnownLines(): KnownLines {
  return { deciding: new Map(), plain: new Map(), threads: new Set(), lastThread: 0 };
}

export function knownLine(names: KnownLines, log: string, id: string): KnownLine | undefined {
  const deciding = names.deciding.get(log)?.get(id);
  if (deciding !== undefined) return deciding;
  const plain = names.plain.get(log);
  const place = plain?.ids
    .placesOf(id)
    .findLast((each) => names.threads.has(plain.threads[each] ?? 0));
  const line = place === undefined ? undefined : plain?.lines[place];
  return line === undefined ? undefined : { line, proposalIn: undefined };
}

export function kindOf({ proposalIn }: KnownLine): "proposal" | "other" {
  return proposalIn === undefined ? "other" : "proposal";
}

/** Numbers a new thread. */
export function numberThread(names: KnownLines): number {
  names.lastThread += 1;
  names.threads.add(names.lastThread);
  return names.lastThread;
}

/** Learns a line that decides something. */
export function learnDeciding(
  { deciding }: Pick<KnownLines, "deciding">,
  log: string,
  id: string,
  line: KnownLine,
): void {
  const lines = deciding.get(log) ?? new Map<string, KnownLine>();
  deciding.set(log, lines);
  lines.set(id, line);
}

/** Learns a message of a thread that decides nothing. */
export function learnPlain(
  names: KnownLines,
  log: string,
  { id, line, thread }: { readonly id: string; readonly line: number; readonly thread: number },
): void {
  const plain = names.plain.get(log) ?? {
    ids: new IdColumn(),
    lines: [],
    threads: [],
    forgotten: 0,
  };
  names.plain.set(log, plain);
  plain.ids.push(id);
  plain.lines.push(line);
  plain.threads.push(thread);
}

/** Forgets a line that decides something, together with its thread. */
export function forgetDeciding(names: KnownLines, log: string, id: string): void {
  names.deciding.get(log)?.delete(id);
}

/** Forgets the messages of a thread that decide nothing: so many of each log. */
export function forgetPlain(
  names: KnownLines,
  thread: number,
  counts: ReadonlyMap<string, number>,
): void {
  names.threads.delete(thread);
  for (const [log, count] of counts) {
    const plain = names.plain.get(log);
    if (plain === undefined) continue;
    plain.forgotten += count;
    if (plain.forgotten > FORGOTTEN_PART * plain.lines.length) takeOut(names, plain);
  }
}

/** Takes out what is of forgotten threads. */
function takeOut({ threads }: KnownLines, plain: PlainLines): void {
  const kept = plain.threads.map((thread) => threads.has(thread));
  plain.ids = plain.ids.filter((place) => kept[place] === true);
  plain.lines = plain.lines.filter((_line, place) => kept[place]);
  plain.threads = plain.threads.filter((_thread, place) => kept[place]);
  plain.forgotten = 0;
}

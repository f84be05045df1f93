import { createHash } from "node:crypto";
import type { DiskFile } from "../../storage/disk/disk.ts";
import {
  chunksOf,
  endsLine,
  joinLines,
  LINE_END,
  LineSplitter,
  NEWLINE,
  wholeLines,
} from "../../storage/disk/line-splitter.ts";
import { MAX_LINE_BYTES } from "../../wire/limits.ts";

/** Decides how much of what is missing here is taken. It counts what it lets pass. */
export interface Gate {
  /** Whether all of these lines pass unseen. */
  passAll(bytes: number, lines: number): boolean;
  pass(line: Uint8Array): boolean;
  /** Nothing more will pass: the rest need not be compared. */
  readonly isClosed: boolean;
}

/** What a remote log has that the local copy lacks. */
export interface Lacking {
  /** Whether the remote begins with all that the copy holds, or the copy with all of the remote. */
  readonly isSuffix: boolean;
  /** Lines with CR LF at the end were found and taken without the CR. */
  readonly isConverted: boolean;
  readonly lines: number;
  /** The gate has kept something out. */
  readonly isCut: boolean;
}

/** More of what is lacking than this is written before more is read. */
const MAX_BEHIND_BYTES = 1_048_576;
/** More of the copy than this is not read in one turn of the event loop. */
const AT_ONCE_BYTES = 1_048_576;
const CR = 0x0d;
const NOTHING = new Uint8Array(0);

/**
 * Compares a log in the remote with the local one while its bytes come, and hands on the lines that are
 * missing here: whole lines, in the order of the remote. Spec 5.
 *
 * As a rule ours is the beginning of theirs, and the rest is missing. Where the two differ, lines are
 * compared one by one from there on, and those that are nowhere in ours are missing: admission then sees
 * both sides of a fork, as if a peer had written them here.
 */
export class LogComparison {
  /** Undefined while there is no copy. */
  readonly #local: DiskFile | undefined;
  readonly #size: number;
  readonly #found: (bytes: Uint8Array) => void;
  readonly #gate: Gate;
  /** The lines of the copy from where the two part, if they are known. */
  readonly #known: Set<string> | undefined;
  /** Where the two part, while these lines are too many to read at once. */
  needsLinesFrom: number | undefined;
  #at = 0;
  #lineStart = 0;
  /** The bytes behind the local end, up to the last newline so far not handed on. */
  #rest: Uint8Array[] = [];
  #restBytes = 0;
  #apart: Apart | undefined;
  #isSuffix = true;
  #isConverted = false;
  #isCut = false;
  #lines = 0;

  /**
   * `found` is called with whole lines; in the first call they may end a line that ours lacks the end of.
   * Where `needsLinesFrom` is set after the last chunk, nothing was found: the comparison has to be done
   * again with `known`, the hashes of the copy's lines from there on.
   */
  constructor(
    local: DiskFile | undefined,
    found: (bytes: Uint8Array) => void,
    gate = OPEN,
    known?: Set<string>,
  ) {
    this.#local = local;
    this.#known = known;
    this.#size = local?.stat().size ?? 0;
    this.#found = found;
    this.#gate = gate;
  }

  feed(chunk: Uint8Array): void {
    if (this.needsLinesFrom !== undefined) return;
    if (this.#isOver()) {
      this.#isCut = true;
      return;
    }
    if (this.#apart !== undefined) {
      this.#takeApart(chunk);
      return;
    }
    const same = Math.min(chunk.length, this.#size - this.#at);
    if (same > 0) {
      const ours = this.#read(same, this.#at);
      const theirs = chunk.subarray(0, same);
      if (Buffer.compare(ours, theirs) !== 0) {
        this.#part(chunk, firstDifference(ours, theirs));
        return;
      }
      this.#noteLines(theirs);
      this.#at += same;
    }
    if (same < chunk.length) this.#keep(chunk.subarray(same));
  }

  end(): Lacking {
    this.#handOn();
    return {
      isSuffix: this.#isSuffix,
      isConverted: this.#isConverted,
      lines: this.#lines,
      isCut: this.#isCut,
    };
  }

  /** Copies of one line pass nothing, and cost as much to compare as lines that are missing. */
  #isOver(): boolean {
    return this.#gate.isClosed || (this.#apart?.spare ?? 0) < 0;
  }

  #read(length: number, position: number): Uint8Array {
    if (this.#local === undefined || length <= 0) return NOTHING;
    return this.#local.read(length, position);
  }

  #linesFrom(from: number): Set<string> {
    const known = new Set<string>();
    if (this.#local === undefined) return known;
    for (const { bytes } of wholeLines(this.#local, from, this.#size)) {
      if (bytes !== undefined) known.add(hashOf(bytes));
    }
    return known;
  }

  /** Whether a newline ends the copy, with all that was handed on so far. */
  #isEnded(): boolean {
    return this.#lines > 0 || this.#local === undefined || endsLine(this.#local, this.#size);
  }

  #noteLines(bytes: Uint8Array): void {
    const last = bytes.lastIndexOf(NEWLINE);
    if (last >= 0) this.#lineStart = this.#at + last + 1;
  }

  #keep(bytes: Uint8Array): void {
    this.#rest.push(bytes);
    this.#restBytes += bytes.length;
    if (this.#restBytes >= MAX_BEHIND_BYTES) this.#handOn();
  }

  /** All whole lines that are kept; what no newline has ended yet stays. */
  #handOn(): void {
    if (this.#apart !== undefined || this.#restBytes === 0) return;
    const bytes = Buffer.concat(this.#rest);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    this.#rest = end < bytes.length ? [bytes.subarray(end)] : [];
    this.#restBytes = bytes.length - end;
    if (end === 0) {
      if (bytes.length > MAX_LINE_BYTES) this.#passOver(bytes);
      return;
    }
    const lines = countLines(bytes.subarray(0, end));
    if (!this.#gate.passAll(end, lines)) {
      this.#passOver(bytes);
      return;
    }
    this.#lines += lines;
    this.#found(bytes.subarray(0, end));
  }

  /**
   * A line that is longer than lines may be is not copied, nor what the gate keeps out: what is left is
   * compared line by line.
   */
  #passOver(bytes: Uint8Array): void {
    this.#isSuffix = false;
    this.#rest = [];
    this.#restBytes = 0;
    this.#apart = newApart(new Set(), this.#isEnded());
    this.#takeApart(bytes);
  }

  /** From the beginning of the line in which the two differ, lines are compared. */
  #part(chunk: Uint8Array, difference: number): void {
    this.#noteLines(chunk.subarray(0, difference));
    if (this.#known === undefined && this.#size - this.#lineStart > AT_ONCE_BYTES) {
      this.needsLinesFrom = this.#lineStart;
      return;
    }
    const from = Math.max(0, this.#lineStart - this.#at);
    this.#apart = newApart(this.#known ?? this.#linesFrom(this.#lineStart), this.#isEnded());
    if (this.#local !== undefined) {
      for (const begun of chunksOf(this.#local, this.#lineStart, this.#at)) this.#takeApart(begun);
    }
    this.#takeApart(chunk.subarray(from));
  }

  #takeApart(chunk: Uint8Array): void {
    const apart = this.#apart;
    if (apart === undefined) return;
    const { known, splitter } = apart;
    const missing: Uint8Array[] = [];
    for (const { bytes } of splitter.feed(chunk)) {
      if (bytes === undefined) continue;
      if (this.#isOver()) {
        this.#isCut = true;
        break;
      }
      apart.spare -= 1;
      const line = this.#plain(bytes);
      const hash = hashOf(line);
      if (known.has(hash)) continue;
      if (!this.#gate.pass(line)) {
        this.#isCut = true;
        continue;
      }
      known.add(hash);
      // The splitter may give a view of a chunk that is used again.
      missing.push(Buffer.from(line));
    }
    if (missing.length > 0) this.#addMissing(missing);
  }

  #addMissing(missing: readonly Uint8Array[]): void {
    this.#isSuffix = false;
    this.#lines += missing.length;
    if (this.#apart?.isEnded === false) {
      this.#apart.isEnded = true;
      this.#found(LINE_END);
    }
    this.#found(joinLines(missing));
  }

  /** Git may have converted line ends on its way; no line of a log ends with CR by itself. */
  #plain(line: Uint8Array): Uint8Array {
    if (line.at(-1) !== CR) return line;
    this.#isConverted = true;
    return line.subarray(0, -1);
  }
}

interface Apart {
  /** The local lines from where the two part, by their hashes. */
  readonly known: Set<string>;
  readonly splitter: LineSplitter;
  /** Whether a newline ends the local file. */
  isEnded: boolean;
  /** How many more lines of the remote are compared. */
  spare: number;
}

/** Lines of the remote that are compared one by one, beyond as many as the copy has. */
const MAX_LINES_APART = 1_000_000;

function newApart(known: Set<string>, isEnded: boolean): Apart {
  return {
    ...{ known, isEnded },
    splitter: new LineSplitter(0),
    spare: known.size + MAX_LINES_APART,
  };
}

const OPEN: Gate = { passAll: () => true, pass: () => true, isClosed: false };

/** The hashes of the lines of a file from there on, of at most MAX_LINES_APART. */
export async function hashesFrom(file: DiskFile, from: number): Promise<Set<string>> {
  const known = new Set<string>();
  for await (const lines of linesInTurns(file, from)) {
    for (const line of lines) if (known.size < MAX_LINES_APART) known.add(hashOf(line));
  }
  return known;
}

/** So much of a file is read in one turn. */
const TURN_BYTES = 65_536;

/**
 * The whole lines of a file from there on, those over the line limit left out. Between two pieces other
 * work of the process goes on: a file may hold gigabytes.
 */
export async function* linesInTurns(file: DiskFile, from: number): AsyncGenerator<Uint8Array[]> {
  const splitter = new LineSplitter(from);
  for (const chunk of chunksOf(file, from, file.stat().size, TURN_BYTES)) {
    yield [...splitter.feed(chunk)].flatMap(({ bytes }) => bytes ?? []);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What tells two lines apart. */
export function hashOf(line: Uint8Array): string {
  return createHash("sha256").update(line).digest("base64");
}

function firstDifference(a: Uint8Array, b: Uint8Array): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}

function countLines(bytes: Uint8Array): number {
  let lines = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) lines += 1;
  return lines;
}

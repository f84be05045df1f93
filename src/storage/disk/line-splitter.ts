import { MAX_LINE_BYTES } from "../../wire/limits.ts";
import type { DiskFile } from "./disk.ts";

/** A line that a newline ends, without it; `bytes` is undefined for one over the limit. */
export interface WholeLine {
  readonly bytes: Uint8Array | undefined;
  readonly start: number;
  /** Just after its newline. */
  readonly end: number;
}

/** The byte that ends a line, and the same as bytes to write. */
export const NEWLINE = 0x0a;
export const LINE_END = Uint8Array.of(NEWLINE);
const CHUNK_BYTES = 256 * 1024;
const NOTHING = new Uint8Array(0);

/** Cuts chunks that follow each other into lines; never keeps more than one longest line. */
export class LineSplitter {
  /** Where the line begins that no newline has ended yet. */
  start: number;
  /** Where the next chunk belongs. */
  position: number;
  #pieces: Uint8Array[] = [];
  readonly #maxBytes: number;

  /** `scanned`: bytes after `start` that an earlier splitter saw hold no newline. */
  constructor(start: number, scanned = 0, maxBytes = MAX_LINE_BYTES) {
    this.start = start;
    this.position = start + scanned;
    this.#maxBytes = maxBytes;
  }

  /** The begun line is longer than a line may be: only its newline is of interest. */
  get oversized(): boolean {
    return this.position - this.start > this.#maxBytes;
  }

  *feed(chunk: Uint8Array): Generator<WholeLine> {
    const base = this.position;
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      const end = base + at + 1;
      const tooLong = end - 1 - this.start > this.#maxBytes;
      const bytes = tooLong ? undefined : this.#join(chunk.subarray(from, at));
      const line = { bytes, start: this.start, end };
      this.#pieces = [];
      this.start = end;
      this.position = end;
      from = at + 1;
      yield line;
    }
    this.position = base + chunk.length;
    if (this.oversized) this.#pieces = [];
    else if (from < chunk.length) this.#pieces.push(chunk.subarray(from));
  }

  #join(last: Uint8Array): Uint8Array {
    if (this.#pieces.length === 0) return last;
    return Buffer.concat([...this.#pieces, last]);
  }
}

/** Reads a range of a file in chunks of bounded size. */
export function* chunksOf(
  file: DiskFile,
  from: number,
  to: number,
  chunkBytes = CHUNK_BYTES,
): Generator<Uint8Array> {
  for (let at = from; at < to;) {
    const chunk = file.read(Math.min(chunkBytes, to - at), at);
    if (chunk.length === 0) return;
    yield chunk;
    at += chunk.length;
  }
}

/**
 * The whole lines of a file between two offsets, streamed. Returns where the unterminated rest
 * begins (`to` when there is none).
 */
export function* wholeLines(
  file: DiskFile,
  from: number,
  to: number,
): Generator<WholeLine, number> {
  const splitter = new LineSplitter(from);
  for (const chunk of chunksOf(file, from, to)) yield* splitter.feed(chunk);
  return splitter.start;
}

/** Nothing but white space. Spec 1.2: blank lines are skipped. */
export function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

/** The bytes before `end`, at most `length` of them. */
export function bytesBefore(file: DiskFile, end: number, length: number): Uint8Array {
  const start = Math.max(0, end - length);
  return end === 0 ? NOTHING : file.read(end - start, start);
}

/** True when an append would begin on a fresh line. */
export function endsLine(file: DiskFile, size: number): boolean {
  return size === 0 || bytesBefore(file, size, 1)[0] === NEWLINE;
}

/** Lines with their newlines, as one piece of bytes. */
export function joinLines(lines: readonly Uint8Array[]): Buffer {
  return Buffer.concat(lines.flatMap((line) => [line, LINE_END]));
}

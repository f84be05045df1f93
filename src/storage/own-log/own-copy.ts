import type { ChainHead } from "../../wire/chain.ts";
import { dirname } from "node:path";
import { openIfThere, type Disk, type DiskFile } from "../disk/disk.ts";
import { joinLines, wholeLines, type WholeLine } from "../disk/line-splitter.ts";
import type { HeadsStore } from "./heads.ts";
import type { OwnLineCheck } from "./own-log-pieces.ts";
import type { OwnLog } from "./own-log-repair.ts";
import type { OwnLine } from "./pending.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../disk/file-modes.ts";

/**
 * The private copy of one of our logs: our chained lines, byte for byte and without a gap, as far as
 * they are durable in the log. Together with pending it holds all that we have written, so a log that
 * is put back as it was earlier gets again what it lacks. Spec 1.6.
 *
 * A line is in it, and heads.json says that it is durable, before it leaves pending. So what a crash left
 * in doubt here is in pending, too.
 */
export interface OwnCopy {
  /** Its last line; undefined when there is none. */
  last(): ChainHead | undefined;
  /** Its lines, in order. */
  lines(): Generator<OwnLine>;
  /**
   * Adds lines that are durable in the log, and syncs them: those after its last one. `before` are
   * lines that the log has before them, for a copy that begins, or has missed some.
   */
  add(lines: readonly OwnLine[], before: () => readonly OwnLine[]): void;
  /** Other lines in the place of all. */
  replace(lines: readonly OwnLine[]): void;
}

interface CopyPlace {
  readonly disk: Disk;
  readonly path: string;
  readonly log: string;
  readonly check: OwnLineCheck;
}

/** The last line is mostly found in so much of the end. */
const END_BYTES = 64 * 1024;
const MORE_TIMES = 8;

/**
 * `unsure`: the first line that is in pending alone. From that one on nothing in the copy is known to be
 * durable, and it is written again.
 */
function openOwnCopy(place: CopyPlace, unsure: OwnLine | undefined): OwnCopy {
  return new CopyFile(place, unsure?.seq ?? Infinity);
}

interface CopiedLine extends OwnLine {
  /** The offset behind it. */
  readonly end: number;
}

class CopyFile implements OwnCopy {
  readonly #place: CopyPlace;
  readonly #unsureSeq: number;
  /** "unread" before the file was looked at. */
  #last: CopiedLine | undefined | "unread" = "unread";

  constructor(place: CopyPlace, unsureSeq: number) {
    this.#place = place;
    this.#unsureSeq = unsureSeq;
  }

  last(): ChainHead | undefined {
    const last = this.#known();
    return last === undefined ? undefined : { seq: last.seq, id: last.id };
  }

  *lines(): Generator<OwnLine> {
    const { disk, path } = this.#place;
    const end = this.#known()?.end ?? 0;
    const file = end === 0 ? undefined : openIfThere(disk, path);
    try {
      for (const each of file === undefined ? [] : wholeLines(file, 0, end)) {
        const line = this.#lineOf(each);
        if (line !== undefined) yield line;
      }
    } finally {
      file?.close();
    }
  }

  add(added: readonly OwnLine[], before: () => readonly OwnLine[]): void {
    const last = this.#known();
    const fresh = added.filter(({ seq }) => seq > (last?.seq ?? 0));
    const [first] = fresh;
    if (first === undefined) return;
    this.#last = "unread";
    if (last !== undefined && first.seq === last.seq + 1) this.#append(fresh, last.end);
    else this.#addBehindGap([...before(), ...fresh], last);
  }

  /** Takes over from the log what the copy lacks. Without its last line among that, it is replaced. */
  #addBehindGap(lines: readonly OwnLine[], last: CopiedLine | undefined): void {
    const at = lines.findIndex(({ id }) => id === last?.id);
    if (last === undefined || at < 0) this.replace(lines);
    else this.#append(lines.slice(at + 1), last.end);
  }

  replace(all: readonly OwnLine[]): void {
    const { disk, path } = this.#place;
    const bytes = joinLines(all.map(({ line }) => line));
    this.#last = "unread";
    disk.makeFolder(dirname(path), PRIVATE_FOLDER);
    disk.replace(path, bytes, PRIVATE_FILE);
    this.#setLast(all, bytes.length);
  }

  #append(fresh: readonly OwnLine[], from: number): void {
    const { disk, path } = this.#place;
    const bytes = joinLines(fresh.map(({ line }) => line));
    const file = disk.open(path, "append", PRIVATE_FILE);
    try {
      if (file.stat().size > from) file.truncate(from);
      file.append(bytes);
      file.datasync();
    } finally {
      file.close();
    }
    this.#setLast(fresh, from + bytes.length);
  }

  #setLast(lines: readonly OwnLine[], end: number): void {
    const last = lines.at(-1);
    this.#last = last === undefined ? undefined : { ...last, end };
  }

  #known(): CopiedLine | undefined {
    if (this.#last === "unread") this.#last = this.#find();
    return this.#last;
  }

  /** From the end backwards: what is in doubt is there, and what is before it is not looked at. */
  #find(): CopiedLine | undefined {
    const file = openIfThere(this.#place.disk, this.#place.path);
    if (file === undefined) return undefined;
    try {
      const { size } = file.stat();
      for (let length = END_BYTES; ; length *= MORE_TIMES) {
        const all = [...linesFrom(file, Math.max(0, size - length))];
        for (const each of all.toReversed()) {
          const line = this.#lineOf(each);
          if (line !== undefined && line.seq < this.#unsureSeq) return line;
        }
        if (length >= size) return undefined;
      }
    } finally {
      file.close();
    }
  }

  #lineOf({ bytes, end }: WholeLine): CopiedLine | undefined {
    const { log, check } = this.#place;
    const head = bytes === undefined ? undefined : check(bytes);
    if (bytes === undefined || head === undefined) return undefined;
    return { log, ...head, line: Buffer.from(bytes), end };
  }
}

/** Whole lines; one that begins before `from` is left out. */
function* linesFrom(file: DiskFile, from: number) {
  let isFirst = from > 0;
  for (const line of wholeLines(file, from, file.stat().size)) {
    if (!isFirst) yield line;
    isFirst = false;
  }
}

/** Of a log that was there before its copy: so much of its end is taken over. */
const TAKEN_OVER_BYTES = 4 * 1024 * 1024;

/** The lines of ours that a log has right before `seq`, without a gap, as far as its end tells. */
function linesBefore(
  disk: Disk,
  { name, path }: { readonly name: string; readonly path: string },
  seq: number,
  check: OwnLineCheck,
): readonly OwnLine[] {
  const file = openIfThere(disk, path);
  if (file === undefined) return [];
  try {
    const found: OwnLine[] = [];
    const { size } = file.stat();
    for (const { bytes } of [
      ...linesFrom(file, Math.max(0, size - TAKEN_OVER_BYTES)),
    ].toReversed()) {
      const head = bytes === undefined ? undefined : check(bytes);
      if (bytes === undefined || head === undefined) continue;
      if (head.seq === seq - 1 - found.length) {
        found.push({ log: name, ...head, line: Buffer.from(bytes) });
      }
    }
    return found.toReversed();
  } finally {
    file.close();
  }
}

interface CopyOptions {
  readonly disk: Disk;
  readonly heads: HeadsStore;
  copyPath(log: string): string;
  readonly ownLine: (log: string, line: Uint8Array) => ChainHead | undefined;
}

/** The private copies of all logs of an identity. Spec 1.6. */
export class OwnCopies {
  readonly #options: CopyOptions;
  readonly #open = new Map<string, OwnCopy>();

  constructor(options: CopyOptions) {
    this.#options = options;
  }

  /** `pending`: what is promised now. */
  of({ name }: OwnLog, pending: readonly OwnLine[]): OwnCopy {
    const { disk, copyPath, heads } = this.#options;
    // What heads.json calls durable was in the copy before that: a crash came before pending forgot it.
    const durable = heads.own(name)?.seq ?? 0;
    const unsure = linesOf(name, pending).find(({ seq }) => seq > durable);
    const place = { disk, path: copyPath(name), log: name, check: this.#check(name) };
    const copy = this.#open.get(name) ?? openOwnCopy(place, unsure);
    this.#open.set(name, copy);
    return copy;
  }

  /** What is durable in a log now is kept here too, before pending forgets it. */
  keep(log: OwnLog, pending: readonly OwnLine[]): void {
    const lines = linesOf(log.name, pending);
    const [first] = lines;
    if (first === undefined) return;
    const before = (): readonly OwnLine[] =>
      linesBefore(this.#options.disk, log, first.seq, this.#check(log.name));
    this.of(log, pending).add(lines, before);
  }

  /** The lines of ours that are in the log itself. */
  *inLog({ name, path }: OwnLog): Generator<OwnLine> {
    const check = this.#check(name);
    const file = openIfThere(this.#options.disk, path);
    try {
      for (const { bytes } of file === undefined ? [] : wholeLines(file, 0, file.stat().size)) {
        const head = bytes === undefined ? undefined : check(bytes);
        if (bytes !== undefined && head !== undefined) {
          yield { log: name, ...head, line: Buffer.from(bytes) };
        }
      }
    } finally {
      file?.close();
    }
  }

  /** What is on disk may be another now. */
  forget(): void {
    this.#open.clear();
  }

  #check(log: string): (line: Uint8Array) => ChainHead | undefined {
    return (line) => this.#options.ownLine(log, line);
  }
}

function linesOf(log: string, lines: readonly OwnLine[]): readonly OwnLine[] {
  return lines.filter((own) => own.log === log && own.foreign !== true);
}

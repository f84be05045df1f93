import type { DiskFile } from "../disk/disk.ts";
import { endsLine, isBlank, joinLines, wholeLines, NEWLINE } from "../disk/line-splitter.ts";
import { writeAgain } from "../disk/rewrite.ts";
import { MAX_LINE_BYTES } from "../../wire/limits.ts";

/** What `recover` did to an inbox. */
export interface InboxRepair<Entry = unknown> {
  /** Lines that were missing and are there now. */
  readonly restored: number;
  /** Lines that the journal names and no log has any more: blanks are in their place. */
  readonly lost: readonly Entry[];
  readonly cutBytes: number;
  /** Whole lines that the journal does not name, by logical offset: they stay. */
  readonly unnamed: readonly { readonly from: number; readonly to: number }[];
}

/** Where a line is in its log, newline included, and in the inbox. */
export interface RoutedLine {
  readonly start: number;
  readonly end: number;
  /** Logical offset. */
  readonly inbox: number;
}

/** The file to be repaired. */
export interface BrokenInbox {
  readonly file: DiskFile;
  /** The logical offset of its first byte. */
  readonly base: number;
  /** Puts another file in its place, with its bytes before `end`, which is not a logical offset. */
  renew(end: number): DiskFile;
}

const BATCH_BYTES = 1024 * 1024;

/**
 * Walks the journal's routed lines beside the file. The first one that the file does not hold byte
 * for byte ends what is intact: the file is cut there, and everything from there on is written
 * again. Idempotent, so a crash in here costs only another run.
 *
 * @param from the logical offset to begin at
 */
export function restoreLines<Entry extends RoutedLine>(
  broken: BrokenInbox,
  from: number,
  expected: Iterable<Entry>,
  bytesOf: (entry: Entry) => Uint8Array | undefined,
): InboxRepair<Entry> {
  const { base } = broken;
  const before = broken.file.stat().size;
  const inbox = new InboxWriter(broken, from - base);
  const lost: Entry[] = [];
  for (const entry of expected) {
    const at = entry.inbox - base;
    // An entry noted twice (a batch that came back after a failed sync), or rotated away.
    if (at < inbox.position) continue;
    inbox.reach(at);
    const line = bytesOf(entry);
    if (line !== undefined) inbox.put(joinLines([line]));
    else if (!inbox.keepUnknown()) {
      // Its place is never another line's: a journal that names both would restore only one.
      inbox.reach(at + entry.end - entry.start);
      lost.push(entry);
    }
  }
  const cutBytes = inbox.finish(before);
  const unnamed = inbox.unnamed.map((each) => ({ from: base + each.from, to: base + each.to }));
  return { restored: inbox.restored, lost, cutBytes, unnamed };
}

class InboxWriter {
  /** Up to here the file is, or will be, as it must be. */
  position: number;
  restored = 0;
  readonly unnamed: { from: number; to: number }[] = [];
  readonly #renew: BrokenInbox["renew"];
  readonly #from: number;
  #file: DiskFile;
  #intact = true;
  #cutAt: number | undefined;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;

  constructor({ file, renew }: BrokenInbox, position: number) {
    this.#file = file;
    this.#renew = renew;
    this.#from = position;
    this.position = position;
  }

  /** Lines before the next entry that the journal does not name: kept, or blanks of that length. */
  reach(at: number): void {
    if (at === this.position) return;
    const { size } = this.#file.stat();
    if (this.#intact && size >= at && endsLine(this.#file, at)) {
      this.unnamed.push({ from: this.position, to: at });
      this.position = at;
      return;
    }
    const blank = Buffer.alloc(at - this.position, " ");
    blank[blank.length - 1] = NEWLINE;
    this.#write(blank);
  }

  put(bytes: Uint8Array): void {
    if (this.#intact) {
      const there = this.#file.read(bytes.length, this.position);
      if (Buffer.from(bytes).equals(there)) {
        this.position += bytes.length;
        return;
      }
      // A program that follows the file has read past these blanks: it sees only another file.
      if (isBlankLine(there)) this.#file = this.#renew(this.position);
    }
    this.#write(bytes);
    this.restored += 1;
  }

  /** A line that cannot be compared any more stays when it is whole. */
  keepUnknown(): boolean {
    if (!this.#intact) return false;
    const bytes = this.#file.read(MAX_LINE_BYTES + 1, this.position);
    const end = bytes.indexOf(NEWLINE);
    const line = bytes.subarray(0, end);
    if (end < 0 || line.includes(0) || isBlank(line)) return false;
    this.position += end + 1;
    return true;
  }

  /** Writes what waits, cuts a torn end, syncs. Returns how many bytes were cut. */
  finish(sizeBefore: number): number {
    this.#flush();
    const cutAt = this.#cutAt ?? this.#cutTornEnd();
    const { size } = this.#file.stat();
    if (size > this.position) this.unnamed.push({ from: this.position, to: size });
    // Also what is intact: after a kill or a failed sync it may never have been made durable.
    writeAgain(this.#file, this.#from, this.#cutAt ?? size);
    this.#file.datasync();
    return cutAt === undefined ? 0 : Math.max(0, sizeBefore - cutAt);
  }

  #write(bytes: Uint8Array): void {
    if (this.#intact) {
      this.#intact = false;
      this.#cutAt = this.position;
      this.#file.truncate(this.position);
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.position += bytes.length;
    if (this.#waitingBytes >= BATCH_BYTES) this.#flush();
  }

  #flush(): void {
    if (this.#waiting.length === 0) return;
    this.#file.append(Buffer.concat(this.#waiting));
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  /** Whole lines beyond the journal (it was lost) stay; a hole or an unterminated end goes. */
  #cutTornEnd(): number | undefined {
    const { size } = this.#file.stat();
    const lines = wholeLines(this.#file, this.position, size);
    for (let step = lines.next(); ; step = lines.next()) {
      const torn = step.done === true || (step.value.bytes?.includes(0) ?? true);
      if (!torn) continue;
      const cutAt = step.done === true ? step.value : step.value.start;
      if (cutAt === size) return undefined;
      this.#file.truncate(cutAt);
      return cutAt;
    }
  }
}

function isBlankLine(bytes: Uint8Array): boolean {
  return bytes.at(-1) === NEWLINE && isBlank(bytes.subarray(0, -1));
}

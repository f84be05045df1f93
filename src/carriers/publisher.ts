import {
  lookOf,
  openLocked,
  openUnlessObstructed,
  StorageError,
  type Disk,
} from "../storage/disk/disk.ts";
import { endsLine, joinLines, LINE_END } from "../storage/disk/line-splitter.ts";
import { parseObject } from "../wire/json/json.ts";
import { carrierLines } from "./packed.ts";

/** A line of our chain, as it was signed. */
export interface OwnLine {
  /** 0 for a line that is in no chain of ours. */
  readonly seq: number;
  readonly bytes: Uint8Array;
}

/** Our chain, as the store has it. */
export interface OwnChain {
  /** Number of the last line that is committed. */
  readonly last: number;
  /** Changes whenever lines of the chain were taken in from carriers, where they are already. Absent: never. */
  readonly adopted?: number;
  /** Lines behind a number, in order. */
  after(seq: number, limit: number): readonly OwnLine[];
  /** Lines of the last minutes that are in no chain of ours, behind a number of their own. Absent: none. */
  extras?(after: number): readonly ExtraLine[];
}

/** A beat of ours in no chain, or a copy of a line that another agent lacks. */
export interface ExtraLine {
  /** Counts such lines. */
  readonly e: number;
  readonly bytes: Uint8Array;
}

/** Files of ours in one place of the wire, which together hold our chain, or those lines that belong there. */
export interface Carrier {
  /** The one that is written, and all others that may hold lines: archived parts, files of an earlier roster. */
  readonly path: string;
  readonly others: readonly string[];
  readonly mode: number;
  /** Without it every line belongs there. */
  readonly takes?: (line: OwnLine) => boolean;
}

/** How far a carrier holds our chain, while its files look so; plain JSON. It only saves work. */
export interface Published {
  readonly through: number;
  /** The last of the lines that are in no chain of ours. */
  readonly extras: number;
  readonly adopted?: number;
  /** What each file looked like. */
  readonly files: Readonly<Record<string, string>>;
}

/** Of one append. */
const MOST_LINES = 1_000;
const MOST_BYTES = 1024 * 1024;

/**
 * Appends to a carrier what it lacks of our chain, in order, and syncs it. Never cuts, never rewrites. A
 * failure leaves a part of it there: the next call appends the rest. Spec 4.7.
 *
 * @param before is told the number of the last line of each append first: its mark is on disk then
 * @throws StorageError
 */
export function publish(
  disk: Disk,
  carrier: Carrier,
  chain: OwnChain,
  known: Published | undefined,
  before: (last: OwnLine) => void,
): Published {
  const files = [carrier.path, ...carrier.others];
  // A file that disappeared took its lines with it.
  const isKnown =
    known !== undefined &&
    known.adopted === chain.adopted &&
    files.length === Object.keys(known.files).length &&
    files.every((path) => lookOf(disk, path) === known.files[path]);
  const held = isKnown ? undefined : linesHeld(disk, files, chain);
  const takes = (line: OwnLine): boolean =>
    held?.has(line.seq) !== true && (carrier.takes?.(line) ?? true);
  let through = isKnown ? known.through : 0;
  while (through < chain.last) {
    const page = chain.after(through, MOST_LINES);
    const end = page.at(-1);
    if (end === undefined) break;
    for (const lines of appends(page.filter(takes))) append(disk, carrier, lines, before);
    through = end.seq;
  }
  // One that is appended twice is a copy, and harms nothing.
  const extras = chain.extras?.(known?.extras ?? 0) ?? [];
  const taken = extras.filter((line) => carrier.takes?.({ seq: 0, bytes: line.bytes }) ?? true);
  if (taken.length > 0)
    appendLines(
      disk,
      carrier.path,
      carrier.mode,
      taken.map(({ bytes }) => bytes),
    );
  const looks = files.map((path) => [path, lookOf(disk, path)] as const);
  const last = extras.at(-1)?.e ?? known?.extras ?? 0;
  const { adopted } = chain;
  return {
    ...{ through, extras: last, files: Object.fromEntries(looks) },
    ...(adopted === undefined ? {} : { adopted }),
  };
}

/** Which lines of our chain are in these files, byte for byte. */
function linesHeld(disk: Disk, files: readonly string[], chain: OwnChain): Numbers {
  const held = new Numbers(chain.last);
  for (const path of files) {
    // The part may have been compressed since the archive was listed.
    const file = openUnlessObstructed(disk, path) ?? openUnlessObstructed(disk, `${path}.gz`);
    if (file === undefined || file === "obstructed") continue;
    try {
      for (const { bytes } of carrierLines(file)) {
        const seq = bytes === undefined ? undefined : numberOf(bytes);
        if (bytes === undefined || seq === undefined || seq > chain.last || held.has(seq)) continue;
        const [own] = chain.after(seq - 1, 1);
        if (own?.seq === seq && Buffer.compare(own.bytes, bytes) === 0) held.add(seq);
      }
    } finally {
      file.close();
    }
  }
  return held;
}

function numberOf(line: Uint8Array): number | undefined {
  const parsed = parseObject(line);
  const seq = parsed.ok ? parsed.value["seq"] : undefined;
  return typeof seq === "number" && Number.isSafeInteger(seq) && seq >= 1 ? seq : undefined;
}

/** Numbers from 1, a bit each. */
class Numbers {
  readonly #bits: Uint8Array;

  constructor(largest: number) {
    this.#bits = new Uint8Array((largest >> 3) + 1);
  }

  has(number: number): boolean {
    return (((this.#bits[number >> 3] ?? 0) >> (number & 7)) & 1) === 1;
  }

  add(number: number): void {
    this.#bits[number >> 3] = (this.#bits[number >> 3] ?? 0) | (1 << (number & 7));
  }
}

/** Lines in portions that are appended at once. */
function* appends(lines: readonly OwnLine[]): Generator<readonly OwnLine[]> {
  let portion: OwnLine[] = [];
  let bytes = 0;
  for (const line of lines) {
    portion.push(line);
    bytes += line.bytes.length;
    if (bytes < MOST_BYTES) continue;
    yield portion;
    portion = [];
    bytes = 0;
  }
  if (portion.length > 0) yield portion;
}

function append(
  disk: Disk,
  { path, mode }: Carrier,
  lines: readonly OwnLine[],
  before: (last: OwnLine) => void,
): void {
  const last = lines.at(-1);
  if (last === undefined) return;
  before(last);
  const bytes = lines.map((line) => line.bytes);
  appendLines(disk, path, mode, bytes);
}

/**
 * Appends lines under the lock of the file, and syncs them; an unterminated last line is ended first.
 *
 * @throws StorageError
 */
export function appendLines(
  disk: Disk,
  path: string,
  mode: number,
  lines: readonly Uint8Array[],
): void {
  // The lock is held by whoever archives the file, too: what has lost its name meanwhile is not written.
  const file = openLocked(disk, path, { mode });
  if (file === undefined) {
    throw new StorageError(
      "locked",
      path,
      "another program keeps it locked, or has just moved it",
      {
        hint: "it is retried automatically; if this lasts, find the holder with: lslocks",
      },
    );
  }
  try {
    const bytes = joinLines(lines);
    const isWhole = endsLine(file, file.stat().size);
    file.append(isWhole ? bytes : Buffer.concat([LINE_END, bytes]));
    file.datasync();
  } finally {
    file.close();
  }
}

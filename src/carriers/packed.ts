import { gzipSync, inflateRawSync } from "node:zlib";
import type { DiskFile } from "../storage/disk/disk.ts";
import {
  chunksOf,
  LINE_END,
  LineSplitter,
  NEWLINE,
  wholeLines,
  type WholeLine,
} from "../storage/disk/line-splitter.ts";

/** Content of each gzip member that we write. */
const MEMBER_BYTES = 1024 * 1024;
/** A member has to be inflated as a whole: one of more content is not read. */
const MAX_MEMBER_BYTES = 256 * 1024 * 1024;
/** So much has each but the last one: to inflate one costs much more than its bytes. */
const MIN_MEMBER_BYTES = 512;
/** Compressed bytes that are read at first; a member of ours fits in. */
const WINDOW_BYTES = MEMBER_BYTES + 64 * 1024;
const WINDOW_GROWTH = 8;
const INFLATE_CHUNK_BYTES = 256 * 1024;
const HEADER_BYTES = 10;
const TRAILER_BYTES = 8;
/** Bits of the header's flags. */
const [HAS_CHECKSUM, HAS_EXTRA, HAS_NAME, HAS_COMMENT] = [2, 4, 8, 16];

/** One gzip member of a compressed file. */
export interface Member {
  /** Where it begins in the file, and just after it. */
  readonly at: number;
  readonly end: number;
  readonly content: Uint8Array;
}

/** The last member is kept while it is read in portions. It has 1 MiB, unless others have compressed the part. */
let kept: { readonly key: string; readonly member: Member } | undefined;

export function isPacked(path: string): boolean {
  return path.endsWith(".gz");
}

/** The compressed form of a file, member by member. An unterminated last line is ended. Spec 1.10. */
export function* pack(file: DiskFile): Generator<Uint8Array> {
  const { size } = file.stat();
  let at = 0;
  // Room for the newline of the last line.
  for (const chunk of chunksOf(file, 0, size, MEMBER_BYTES - 1)) {
    at += chunk.length;
    const isEnded = at < size || chunk.at(-1) === NEWLINE;
    yield gzipSync(isEnded ? chunk : Buffer.concat([chunk, LINE_END]));
  }
}

/**
 * The members of a gzip file from an offset on at which one begins. Returns why it cannot be read further;
 * undefined at its end.
 */
export function* unpack(file: DiskFile, from: number): Generator<Member, string | undefined> {
  const { dev, ino, size, mtimeMs } = file.stat();
  /** What was read of the file, and from where on. */
  let [bytes, base] = [Buffer.alloc(0), from];
  for (let at = from; at < size;) {
    const key = `${dev} ${ino} ${size} ${mtimeMs} ${at}`;
    let member = kept?.key === key ? kept.member : readMember(bytes, base, at);
    for (let length = WINDOW_BYTES; member === CUT_SHORT && base + bytes.length < size;) {
      [bytes, base] = [Buffer.from(file.read(Math.min(length, size - at), at)), at];
      if (bytes.length === 0) break;
      member = readMember(bytes, base, at);
      length *= WINDOW_GROWTH;
    }
    if (typeof member === "string") return member;
    kept = { key, member };
    yield member;
    if (kept.key === key) kept = undefined;
    const isSmall = member.content.length < MIN_MEMBER_BYTES;
    if (isSmall && member.end < size) return "it was compressed in too small pieces";
    at = member.end;
  }
  return undefined;
}

/** The whole lines of a carrier, compressed or not. What cannot be read has none. */
export function* carrierLines(file: DiskFile): Generator<WholeLine> {
  if (!isPacked(file.path)) {
    yield* wholeLines(file, 0, file.stat().size);
    return;
  }
  const splitter = new LineSplitter(0);
  for (const { content } of unpack(file, 0)) yield* splitter.feed(content);
}

const CUT_SHORT = "its end is missing";

/** The member at an offset of the file, of which a part was read; or why there is none. */
function readMember(read: Buffer, base: number, at: number): Member | string {
  const bytes = read.subarray(at - base);
  if (bytes.length < HEADER_BYTES) return CUT_SHORT;
  const begin = dataStart(bytes);
  if (begin === undefined) return "it is no gzip file";
  const inflated = inflate(bytes.subarray(begin));
  if (typeof inflated === "string") return inflated;
  const length = begin + inflated.consumed + TRAILER_BYTES;
  if (length > bytes.length) return CUT_SHORT;
  return { at, end: at + length, content: inflated.content };
}

function inflate(
  bytes: Uint8Array,
): { readonly content: Uint8Array; readonly consumed: number } | string {
  try {
    const options = { maxOutputLength: MAX_MEMBER_BYTES, chunkSize: INFLATE_CHUNK_BYTES };
    // With `info` it says how much of its input was the stream, which the declared types leave out.
    const { buffer, engine } = inflateRawSync(bytes, { ...options, info: true }) as unknown as {
      readonly buffer: Uint8Array;
      readonly engine: { readonly bytesWritten: number };
    };
    return { content: buffer, consumed: engine.bytesWritten };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "Z_BUF_ERROR") return CUT_SHORT;
    if (code === "Z_DATA_ERROR") return "it is damaged";
    if (code === "ERR_BUFFER_TOO_LARGE")
      return `it was compressed in one piece from more than ${MAX_MEMBER_BYTES} bytes`;
    throw error;
  }
}

/** Where the compressed data of a member begin, which may have a name and more in its header (RFC 1952). */
function dataStart(bytes: Buffer): number | undefined {
  const flags = bytes[3];
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes[2] !== 8 || flags === undefined)
    return undefined;
  let at = HEADER_BYTES;
  if ((flags & HAS_EXTRA) !== 0) {
    if (bytes.length < at + 2) return undefined;
    at += 2 + bytes.readUInt16LE(at);
  }
  for (const flag of [HAS_NAME, HAS_COMMENT]) {
    if ((flags & flag) === 0) continue;
    const end = bytes.indexOf(0, at);
    if (end < 0) return undefined;
    at = end + 1;
  }
  if ((flags & HAS_CHECKSUM) !== 0) at += 2;
  return at;
}

import { Buffer } from "node:buffer";
import { gunzipSync, gzipSync } from "node:zlib";
import { StorageError, type Disk, type DiskFile } from "../disk/disk.ts";
import { chunksOf, endsLine, LINE_END } from "../disk/line-splitter.ts";

/**
 * A compressed segment: one gzip file that any tool can read, made of members of 1 MiB of content
 * each. Each member says in its extra field how long it is, so a reader finds any byte by inflating one
 * member. A file that another program has compressed is one member, and is inflated whole. Spec 3.10.
 */
export interface PackedSegment {
  /** Bytes of its content. */
  readonly size: number;
  /** Keeps the file open, and the member that it has inflated last, until it is closed. */
  open(): PackedReader;
}

export interface PackedReader {
  /** Up to `length` bytes of the content; fewer only where it ends. */
  read(length: number, position: number): Uint8Array;
  close(): void;
}

const BLOCK_BYTES = 1024 * 1024;
const HEADER_BYTES = 10;
/** XLEN, the name of the field, its length, its value. */
const EXTRA_BYTES = 2 + 2 + 2 + 4;
const TRAILER_BYTES = 8;
const HAS_EXTRA = 4;
const FIELD = Buffer.from("DD", "latin1");
/** Of a segment that was compressed as one piece. */
const MAX_FOREIGN_BYTES = 256 * 1024 * 1024;

interface Member {
  readonly at: number;
  readonly length: number;
  /** Where its content begins, and how long that is. */
  readonly start: number;
  readonly size: number;
}

/** The pieces of the compressed form of a segment, in order. A torn last line is ended with a newline. */
export function* packed(file: DiskFile): Generator<Uint8Array> {
  const { size } = file.stat();
  const isEnded = endsLine(file, size);
  for (const chunk of chunksOf(file, 0, size, BLOCK_BYTES)) yield member(chunk);
  if (!isEnded) yield member(LINE_END);
}

function member(content: Uint8Array): Uint8Array {
  const plain = gzipSync(content);
  const length = plain.length + EXTRA_BYTES;
  const header = Buffer.from(plain.subarray(0, HEADER_BYTES));
  header[3] = HAS_EXTRA;
  const extra = Buffer.alloc(EXTRA_BYTES);
  extra.writeUInt16LE(EXTRA_BYTES - 2, 0);
  FIELD.copy(extra, 2);
  extra.writeUInt16LE(4, 4);
  extra.writeUInt32LE(length, 6);
  return Buffer.concat([header, extra, plain.subarray(HEADER_BYTES)]);
}

/**
 * Reads the frame of a compressed segment, not its content. Throws "corrupt" when it is no gzip file
 * that this can be.
 */
export function openPacked(disk: Disk, path: string): PackedSegment {
  const file = disk.open(path, "read");
  try {
    const { size } = file.stat();
    const members = lengthAt(file, 0) === undefined ? [soleMember(file)] : allMembers(file);
    const last = members.at(-1);
    if (last === undefined || last.at + last.length !== size) throw notWhole(path);
    return {
      size: last.start + last.size,
      open: () => new MemberReader(disk.open(path, "read"), members),
    };
  } finally {
    file.close();
  }
}

class MemberReader implements PackedReader {
  readonly #file: DiskFile;
  readonly #members: readonly Member[];
  /** Neighbours are mostly read one after the other. */
  #last: { readonly member: Member; readonly content: Uint8Array } | undefined;

  constructor(file: DiskFile, members: readonly Member[]) {
    this.#file = file;
    this.#members = members;
  }

  read(length: number, position: number): Uint8Array {
    const end = position + length;
    const pieces: Uint8Array[] = [];
    for (const member of this.#members) {
      if (member.start >= end) break;
      const from = Math.max(position, member.start);
      if (from >= member.start + member.size) continue;
      pieces.push(this.#contentOf(member).subarray(from - member.start, end - member.start));
    }
    const [first] = pieces;
    return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
  }

  close(): void {
    this.#last = undefined;
    this.#file.close();
  }

  #contentOf(member: Member): Uint8Array {
    if (this.#last?.member === member) return this.#last.content;
    const bytes = this.#file.read(member.length, member.at);
    const content = inflate(this.#file.path, bytes, member.size);
    this.#last = { member, content };
    return content;
  }
}

function allMembers(file: DiskFile): Member[] {
  const { size } = file.stat();
  const members: Member[] = [];
  let start = 0;
  for (let at = 0; at < size;) {
    const length = lengthAt(file, at);
    const isInside = length !== undefined && length > 0 && at + length <= size;
    const content = isInside ? contentSize(file, at + length) : 0;
    // Only the last two may be shorter than a block: so nobody can make a small file seem endless.
    const isFull = members.slice(-2, -1).every((member) => member.size === BLOCK_BYTES);
    if (!isInside || content === 0 || content > BLOCK_BYTES || !isFull) throw notWhole(file.path);
    members.push({ at, length, start, size: content });
    start += content;
    at += length;
  }
  return members;
}

/** What a member at that offset says of its length; undefined when it is none of ours. */
function lengthAt(file: DiskFile, at: number): number | undefined {
  const head = Buffer.from(file.read(HEADER_BYTES + EXTRA_BYTES, at));
  if (head.length < HEADER_BYTES + EXTRA_BYTES) return undefined;
  const isGzip = head[0] === 0x1f && head[1] === 0x8b && head[2] === 8 && head[3] === HAS_EXTRA;
  const isOurs =
    isGzip &&
    head.readUInt16LE(HEADER_BYTES) === EXTRA_BYTES - 2 &&
    head.subarray(HEADER_BYTES + 2, HEADER_BYTES + 4).equals(FIELD) &&
    head.readUInt16LE(HEADER_BYTES + 4) === 4;
  return isOurs ? head.readUInt32LE(HEADER_BYTES + 6) : undefined;
}

function soleMember(file: DiskFile): Member {
  const { size } = file.stat();
  const [first, second] = file.read(2, 0);
  const content = contentSize(file, size);
  if (first !== 0x1f || second !== 0x8b) throw notWhole(file.path);
  if (content > MAX_FOREIGN_BYTES) {
    throw new StorageError("corrupt", file.path, "was compressed as one piece, and is too large", {
      hint: "decompress it (gunzip), and compress it again: deaddrop archive --compress",
    });
  }
  return { at: 0, length: size, start: 0, size: content };
}

/** The content's length, as the trailer says that ends at `end`. */
function contentSize(file: DiskFile, end: number): number {
  if (end < HEADER_BYTES + TRAILER_BYTES) throw notWhole(file.path);
  return Buffer.from(file.read(4, end - 4)).readUInt32LE(0);
}

function inflate(path: string, bytes: Uint8Array, size: number): Uint8Array {
  let content: Uint8Array;
  try {
    content = gunzipSync(bytes, { maxOutputLength: Math.max(1, size) });
  } catch (cause) {
    throw notWhole(path, cause);
  }
  if (content.length !== size) throw notWhole(path);
  return content;
}

function notWhole(path: string, cause?: unknown): StorageError {
  return new StorageError("corrupt", path, "is not a gzip file that can be read whole", {
    hint: "restore the segment from a backup, or from a peer's copy of the wire",
    ...(cause === undefined ? {} : { cause }),
  });
}

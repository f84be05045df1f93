import { createHash } from "node:crypto";
import type { ChainHead } from "../../wire/chain.ts";
import { readWhole, type Disk } from "../disk/disk.ts";
import { joinLines } from "../disk/line-splitter.ts";
import { PRIVATE_FILE } from "../disk/file-modes.ts";

/** A signed line for one of our own logs. */
export interface OwnLine {
  /** The log's name. */
  readonly log: string;
  readonly seq: number;
  readonly id: string;
  /** Without its newline. */
  readonly line: Uint8Array;
  /**
   * Another program's, as it was behind damage of ours: it is put back behind our lines. It has
   * the `seq` of the last one of ours beside it, and no `id`.
   */
  readonly foreign?: true;
}

/** pending.jsonl: what was promised and may not be durable in its log yet. Spec 4.1, Append. */
export interface Pending {
  /** In the order in which they were promised. */
  readonly lines: readonly OwnLine[];
  readonly bytes: number;
  /** Durable as a whole when it returns; after a failure none of it will be sent, as far as the disk obeys. */
  add(group: readonly OwnLine[]): void;
  /** Forgets all lines but these. */
  keep(lines: readonly OwnLine[]): void;
  close(): void;
}

// One record for a group, so that a torn write loses the group as a whole:
// {"sha256":"<64 hex>","lines":[{"log","seq","id","line","foreign"?}]}, the sum over the text of the array.
const HEAD = /^\{"sha256":"([0-9a-f]{64})","lines":/;
const HEAD_LENGTH = '{"sha256":"'.length + 64 + '","lines":'.length;

/**
 * Opens pending.jsonl. What it holds is written and synced again: an earlier sync may have failed,
 * and a repeated one would say nothing about that data. A torn record was never promised.
 */
export function openPending(disk: Disk, path: string): Pending {
  let lines = readRecords(readWhole(disk, path));
  if (lines.length > 0) disk.replace(path, recordBytes(lines), PRIVATE_FILE);
  let file = disk.open(path, "append", PRIVATE_FILE);
  if (lines.length === 0) file.truncate(0);
  let bytes = file.stat().size;

  return {
    get lines() {
      return lines;
    },
    get bytes() {
      return bytes;
    },
    add(group) {
      const record = recordBytes(group);
      try {
        file.append(record);
        file.datasync();
      } catch (error) {
        file.truncate(bytes);
        throw error;
      }
      bytes += record.length;
      lines = [...lines, ...group];
    },
    keep(kept) {
      if (kept.length > 0 && kept.length === lines.length) return;
      if (kept.length > 0) {
        disk.replace(path, recordBytes(kept), PRIVATE_FILE);
        file.close();
        file = disk.open(path, "append", PRIVATE_FILE);
      } else {
        // Not synced: lines that come back are at or below the heads that were saved before.
        file.truncate(0);
      }
      bytes = file.stat().size;
      lines = kept;
    },
    close: () => file.close(),
  };
}

function recordBytes(group: readonly OwnLine[]): Uint8Array {
  const entries = group.map((own) => ({
    log: own.log,
    seq: own.seq,
    id: own.id,
    line: Buffer.from(own.line).toString("utf8"),
    ...(own.foreign === true ? { foreign: own.foreign } : {}),
  }));
  const text = JSON.stringify(entries);
  return joinLines([Buffer.from(`{"sha256":"${sum(text)}","lines":${text}}`, "utf8")]);
}

function sum(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

function readRecords(bytes: Uint8Array | undefined): readonly OwnLine[] {
  const lines: OwnLine[] = [];
  const texts = Buffer.from(bytes ?? [])
    .toString("utf8")
    .split("\n");
  for (const text of texts.slice(0, -1)) {
    const group = readRecord(text);
    // Records are synced one by one: what follows a torn one was never promised either.
    if (group === undefined) break;
    lines.push(...group);
  }
  return lines;
}

function readRecord(record: string): readonly OwnLine[] | undefined {
  const expected = HEAD.exec(record)?.[1];
  const text = record.slice(HEAD_LENGTH, -1);
  if (expected === undefined || sum(text) !== expected) return undefined;
  const entries = JSON.parse(text) as (Omit<OwnLine, "line"> & { line: string })[];
  return entries.map((entry) => ({ ...entry, line: Buffer.from(entry.line, "utf8") }));
}

/** A group's lines for each log, in order. */
export function byLog(lines: readonly OwnLine[]): ReadonlyMap<string, readonly OwnLine[]> {
  const groups = new Map<string, OwnLine[]>();
  for (const own of lines) {
    const group = groups.get(own.log);
    if (group === undefined) groups.set(own.log, [own]);
    else group.push(own);
  }
  return groups;
}

/** Our own bug otherwise: lines that would break the chain, or be two. */
export function assertFollows(head: ChainHead | undefined, group: readonly OwnLine[]): void {
  let seq = head?.seq ?? 0;
  for (const own of group) {
    seq += 1;
    if (own.seq !== seq) throw new Error(`${own.log}: seq ${own.seq} does not follow ${seq - 1}`);
    if (own.line.includes(0x0a)) throw new Error(`${own.log}: a line with a newline inside`);
  }
}

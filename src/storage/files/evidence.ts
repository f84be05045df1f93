import { join } from "node:path";
import { parseObject } from "../../wire/json/json.ts";
import { readWhole, type Disk } from "../disk/disk.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../disk/file-modes.ts";
import { NEWLINE } from "../disk/line-splitter.ts";

/** What is kept of one incident: for people, and to be shown to others. */
export interface Evidence {
  readonly peer: string;
  readonly log: string;
  /** Digits that tell it from others of the same log: a `seq`, or a time. */
  readonly mark: string;
  /** The same incident has the same matter, also when it is found again after a crash. */
  readonly matter: string;
  /** What the first line of the file says besides. */
  readonly about: object;
  readonly lines: readonly object[];
}

/** The peer can cause as many incidents as it likes: beyond, the first ones stay. @internal */
export const MAX_EVIDENCE_FILES = 16;
/** Of one file; two of the longest lines fit, and what JSON makes of them. @internal */
export const MAX_EVIDENCE_BYTES = 8 * 1024 * 1024;

/**
 * Keeps evidence in a file of its own, durably, and returns the file's name; undefined when there
 * is no more room for that log. What is there is never overwritten.
 */
export function keepEvidence(disk: Disk, folder: string, evidence: Evidence): string | undefined {
  const { peer, log, mark, matter, about, lines } = evidence;
  const names = evidenceFor(disk, folder, peer, log);
  const known = names.find((name) => matterOf(disk, join(folder, name)) === matter);
  if (known !== undefined) return known;
  if (names.length >= MAX_EVIDENCE_FILES) return undefined;
  disk.makeFolder(folder, PRIVATE_FOLDER);
  const name = freeName(names, `${peer}-${log}-${mark}`);
  const texts = [{ matter, peer, log, ...about }, ...lines].map((each) => JSON.stringify(each));
  disk.replace(join(folder, name), Buffer.from(withinBound(texts), "utf8"), PRIVATE_FILE);
  return name;
}

/** The names of the files that are there about one log of a peer, sorted. */
export function evidenceFor(disk: Disk, folder: string, peer: string, log: string): string[] {
  const prefix = `${peer}-${log}-`;
  return disk
    .list(folder)
    .filter(
      (name) => name.startsWith(prefix) && /^\d[\dTZ.]*\.jsonl$/.test(name.slice(prefix.length)),
    );
}

function freeName(names: readonly string[], base: string): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? `${base}.jsonl` : `${base}.${number}.jsonl`;
    if (!names.includes(name)) return name;
  }
}

function withinBound(texts: readonly string[]): string {
  let bytes = 0;
  const kept = texts.filter((text) => (bytes += Buffer.byteLength(text) + 1) <= MAX_EVIDENCE_BYTES);
  return kept.map((text) => `${text}\n`).join("");
}

function matterOf(disk: Disk, path: string): string | undefined {
  const bytes = readWhole(disk, path, 2 * MAX_EVIDENCE_BYTES) ?? new Uint8Array(0);
  const end = bytes.indexOf(NEWLINE);
  // One that somebody has edited is none of ours.
  const head = parseObject(end === -1 ? bytes : bytes.subarray(0, end));
  const matter = head.ok ? head.value["matter"] : undefined;
  return typeof matter === "string" ? matter : undefined;
}

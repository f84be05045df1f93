import { quote } from "../../wire/quote.ts";
import type { Log } from "../../wire/layout.ts";
import type { TransportTrouble } from "../port.ts";
import { wholeLines } from "../../storage/disk/line-splitter.ts";
import { linesOf } from "./bring-shared.ts";
import { LogComparison, type Lacking } from "./log-copy.ts";
import { openCopy, openWhole, type LocalFolder } from "./local-folder.ts";
import { readParts, type RemoteFiles } from "./remote-files.ts";

/** What became of one log. */
export interface BroughtLog {
  /** Lines that were appended here. */
  readonly lines: number;
  readonly troubles: readonly TransportTrouble[];
}

/**
 * Appends to the local copy of a peer's log what the remote has and it lacks, durably. The copy is
 * written by nobody else, and nothing in it is ever changed. Spec 5. Throws StorageError.
 */
export async function bringLog(
  folder: LocalFolder,
  remote: RemoteFiles,
  { path }: Log,
  parts: readonly string[],
): Promise<BroughtLog> {
  const copy = openCopy(folder, path);
  try {
    const lacking = await compare(folder, remote, { path, parts }, (bytes) => copy.append(bytes));
    if (lacking.lines > 0) copy.datasync();
    return { lines: lacking.lines, troubles: converted(path, lacking) };
  } finally {
    copy.close();
  }
}

/**
 * The lines that the remote has in a log of ours and that we lack: ours is what we wrote, so they are
 * not taken in. Spec 5.2. A line that ours holds anywhere is a copy, which anybody can make, and is left
 * out. The first `maxBytes` of the others are returned.
 */
export async function foreignLines(
  folder: LocalFolder,
  remote: RemoteFiles,
  { path }: Log,
  parts: readonly string[],
  maxBytes: number,
): Promise<readonly Uint8Array[]> {
  const found: Uint8Array[] = [];
  let bytes = 0;
  await compare(folder, remote, { path, parts }, (lines) => {
    bytes += lines.length;
    if (bytes <= maxBytes) found.push(lines);
  });
  return found.length === 0 ? [] : withoutCopies(folder, path, Buffer.concat(found));
}

function withoutCopies(folder: LocalFolder, path: string, lines: Buffer): Uint8Array[] {
  const found = new Map([...linesOf(lines)].map((line) => [keyOf(line), line]));
  const local = openWhole(folder, path);
  try {
    if (local === undefined) return [...found.values()];
    for (const { bytes } of wholeLines(local, 0, local.stat().size)) {
      if (bytes !== undefined) found.delete(keyOf(bytes));
    }
  } finally {
    local?.close();
  }
  return [...found.values()];
}

function keyOf(line: Uint8Array): string {
  return Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString("latin1");
}

async function compare(
  folder: LocalFolder,
  remote: RemoteFiles,
  { path, parts }: { readonly path: string; readonly parts: readonly string[] },
  found: (bytes: Uint8Array) => void,
): Promise<Lacking> {
  const local = openWhole(folder, path);
  try {
    const comparison = new LogComparison(local, found);
    await readParts(remote, parts, (chunk) => comparison.feed(chunk));
    return comparison.end();
  } finally {
    local?.close();
  }
}

function converted(path: string, { isConverted }: Lacking): readonly TransportTrouble[] {
  if (!isConverted) return [];
  return [
    {
      cause: "wire_tampered",
      where: quote(path),
      detail:
        "some program has converted its line ends to CR LF; its lines were taken without the CR. " +
        "In a clone that people use: git config core.autocrlf false",
    },
  ];
}

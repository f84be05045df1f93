import { quote } from "../../wire/quote.ts";
import type { Log } from "../../wire/layout.ts";
import type { TransportTrouble } from "../port.ts";
import { linesOf } from "./bring-shared.ts";
import { cutDetail, limitedGate } from "./growth.ts";
import { hashesFrom, linesInTurns, LogComparison, type Gate, type Lacking } from "./log-copy.ts";
import { openCopy, openWhole, type LocalFolder } from "./local-folder.ts";
import { readParts, type RemoteFiles } from "./remote-files.ts";

/** Lines of a log of ours that are kept when they are not ours. */
const FOREIGN_KEPT = { bytes: 8 * 1_048_576, lines: 65_536 };

/** What became of one log. */
export interface BroughtLog {
  /** Lines that were appended here. */
  readonly lines: number;
  /** The gate has kept lines out. */
  readonly isCut: boolean;
  readonly troubles: readonly TransportTrouble[];
}

/**
 * Appends to the local copy of a peer's log what the remote has and it lacks, durably. The copy is
 * written by nobody else, and nothing in it is ever changed. Spec 5. Throws StorageError.
 */
export async function bringLog(
  folder: LocalFolder,
  remote: RemoteFiles,
  { path, owner }: Log,
  parts: readonly string[],
  gate: Gate,
): Promise<BroughtLog> {
  const copy = openCopy(folder, path);
  try {
    const append = (bytes: Uint8Array): void => copy.append(bytes);
    const lacking = await compare(folder, remote, { path, parts }, append, gate);
    const { lines, isCut } = lacking;
    if (lines > 0) copy.datasync();
    const cut = isCut ? [tampered(path, cutDetail(owner))] : [];
    return { lines, isCut, troubles: [...converted(path, lacking), ...cut] };
  } finally {
    copy.close();
  }
}

/**
 * The lines that the remote has in a log of ours and that we lack: ours is what we wrote, so they are
 * not taken in. Spec 5.2. A line that ours holds anywhere is a copy, which anybody can make, and is left
 * out. So many of the others as are kept are returned.
 */
export async function foreignLines(
  folder: LocalFolder,
  remote: RemoteFiles,
  { path }: Log,
  parts: readonly string[],
): Promise<readonly Uint8Array[]> {
  const found: Uint8Array[] = [];
  const gate = limitedGate(FOREIGN_KEPT);
  await compare(folder, remote, { path, parts }, (lines) => found.push(lines), gate);
  return found.length === 0 ? [] : withoutCopies(folder, path, Buffer.concat(found));
}

async function withoutCopies(
  folder: LocalFolder,
  path: string,
  lines: Buffer,
): Promise<Uint8Array[]> {
  const found = new Map([...linesOf(lines)].map((line) => [keyOf(line), line]));
  const local = openWhole(folder, path);
  try {
    if (local === undefined) return [...found.values()];
    for await (const lines of linesInTurns(local, 0)) {
      for (const line of lines) found.delete(keyOf(line));
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
  gate: Gate,
): Promise<Lacking> {
  const local = openWhole(folder, path);
  try {
    const compared = async (known?: Set<string>): Promise<LogComparison> => {
      const comparison = new LogComparison(local, found, gate, known);
      await readParts(remote, parts, (chunk) => comparison.feed(chunk));
      return comparison;
    };
    const comparison = await compared();
    const { needsLinesFrom: from } = comparison;
    if (from === undefined || local === undefined) return comparison.end();
    return (await compared(await hashesFrom(local, from))).end();
  } finally {
    local?.close();
  }
}

function converted(path: string, { isConverted }: Lacking): readonly TransportTrouble[] {
  if (!isConverted) return [];
  return [
    tampered(
      path,
      "some program has converted its line ends to CR LF; its lines were taken without the CR. " +
        "In a clone that people use: git config core.autocrlf false",
    ),
  ];
}

function tampered(path: string, detail: string): TransportTrouble {
  return { cause: "wire_tampered", where: quote(path), detail };
}

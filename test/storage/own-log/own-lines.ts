import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Disk } from "../../../src/storage/disk/disk.ts";
import { openHeads } from "../../../src/storage/own-log/heads.ts";
import {
  openLogWriter,
  type LogWriter,
  type OwnLine,
} from "../../../src/storage/own-log/log-writer.ts";
import type { OwnLog } from "../../../src/storage/own-log/own-log-repair.ts";
import { openQuarantine } from "../../../src/storage/files/quarantine.ts";
import type { ChainHead } from "../../../src/wire/chain.ts";

// Stand-ins for signed lines: storage only asks whether a line is ours, and where in the chain.

function sum(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A line of `log`; the same arguments give the same bytes. */
export function ownLine(log: string, seq: number, content = "hello"): OwnLine {
  const stamp = String(seq).padStart(6, "0");
  const unsigned = `{"timestamp":"2026-05-05T15:00:00.${stamp}Z","from":"forge","log":"${log}","seq":${seq},"body":${JSON.stringify(content)}`;
  const id = sum(unsigned);
  const line = `${unsigned},"event_id":"${id}","signature":"${sum(id)}"}`;
  return { log, seq, id, line: Buffer.from(line) };
}

/** What `ownLine` made, and only that, is ours. */
export function checkOwnLine(log: string, line: Uint8Array): ChainHead | undefined {
  const text = Buffer.from(line).toString("utf8");
  const match = /^(.*),"event_id":"([0-9a-f]{64})","signature":"([0-9a-f]{64})"\}$/s.exec(text);
  if (match?.[1] === undefined || match[2] !== sum(match[1]) || match[3] !== sum(match[2])) {
    return undefined;
  }
  const value = JSON.parse(text) as { log: string; seq: number };
  return value.log === log ? { seq: value.seq, id: match[2] } : undefined;
}

export interface WriterPlace {
  readonly wire: string;
  readonly state: string;
}

function logOf(place: WriterPlace, name: string): OwnLog {
  return { name, path: join(place.wire, `${name}.jsonl`), mode: 0o600 };
}

/** Opens everything that a process which writes needs, and recovers. */
export function startWriter(
  disk: Disk,
  place: WriterPlace,
  names: readonly string[] = ["forge_to_scribe"],
): LogWriter {
  disk.makeFolder(place.wire, 0o700);
  disk.makeFolder(place.state, 0o700);
  return openLogWriter({
    disk,
    logs: names.map((name) => logOf(place, name)),
    pendingPath: join(place.state, "pending.jsonl"),
    copyPath: (log) => join(place.state, "own", `${log}.jsonl`),
    heads: openHeads(disk, join(place.state, "heads.json")),
    quarantine: openQuarantine(disk, join(place.state, "quarantine.jsonl")),
    ownLine: checkOwnLine,
    at: () => "2026-05-05T15:00:00.000000Z",
  });
}

import { basename } from "node:path";
import { gunzipSync } from "node:zlib";
import { DeaddropError } from "../../api/errors.ts";
import { NEWLINE } from "../../storage/disk/line-splitter.ts";
import type { PartNames } from "../../carriers/archive.ts";
import type { Blob } from "./changes.ts";

/** An archived segment is read up to this size. */
const MAX_INFLATED_BYTES = 1_024 * 1_048_576;
/** After every archived segment, whose years have four digits. */
const LIVE = [99_999, 0] as const;

/** What a file of the wire is a part of. */
interface LogPart {
  /** Path of the live file, in the wire's folder. */
  readonly log: string;
  /** Year and number of a segment. Spec 1.10. */
  readonly order: readonly [number, number];
}

/** A log as git has it: archived segments, then the live file. */
export type StoredLog = readonly { readonly path: string; readonly id: string }[];

/** Which log a file is a part of; undefined for a file that is no log. Spec 3.6. */
export function logPartOf(names: PartNames, pathInWire: string): LogPart | undefined {
  if (/^(?:outbox\/)?[^/]+\.jsonl$/.test(pathInWire)) return { log: pathInWire, order: LIVE };
  const part = /^archive\/(20[0-9]{2})\/([^/]+)$/.exec(pathInWire);
  const [, year = "", entry = ""] = part ?? [];
  const log = names.liveOf(entry);
  if (log === undefined) return undefined;
  const stem = basename(log, ".jsonl");
  const [, number = "1"] = /^\.([1-9][0-9]{0,8})\./.exec(entry.slice(stem.length)) ?? [];
  return { log, order: [Number(year), Number(number)] };
}

/** The logs among the files of a wire, by the path of their live file. */
export function logsAmong(
  names: PartNames,
  files: Iterable<readonly [path: string, blob: Blob]>,
): ReadonlyMap<string, StoredLog> {
  const parts = new Map<string, { path: string; id: string; order: LogPart["order"] }[]>();
  for (const [path, { mode, id }] of files) {
    const part = logPartOf(names, path);
    // A link in the place of a log holds no line.
    if (part === undefined || !mode.startsWith("100")) continue;
    parts.set(part.log, [...(parts.get(part.log) ?? []), { path, id, order: part.order }]);
  }
  return new Map(
    [...parts].map(([log, all]) => {
      const sorted = all.toSorted((a, b) => a.order[0] - b.order[0] || a.order[1] - b.order[1]);
      // While a segment is being compressed both forms are there: the plain one is complete.
      const plain = new Set(sorted.map(({ path }) => path));
      const isPacked = (path: string) => path.endsWith(".gz") && plain.has(path.slice(0, -3));
      return [log, sorted.filter(({ path }) => !isPacked(path))];
    }),
  );
}

/** All whole lines of a log. What no newline ends is not a line yet. */
export function linesIn(log: StoredLog, contents: ReadonlyMap<string, Buffer>): Buffer {
  return Buffer.concat(
    log.map(({ path, id }) => {
      const stored = contents.get(id);
      if (stored === undefined) throw new Error(`${path}: its content was not read`);
      const bytes = path.endsWith(".gz") ? inflated(path, stored) : stored;
      return bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1);
    }),
  );
}

function inflated(path: string, packed: Buffer): Buffer {
  try {
    return gunzipSync(packed, { maxOutputLength: MAX_INFLATED_BYTES });
  } catch (cause) {
    throw new DeaddropError("refused", `${path} is not a gzip file that can be read whole`, {
      hint: "restore the segment from a backup, or from a peer's copy of the wire",
      cause,
    });
  }
}

import type { Layout } from "../wire/layout.ts";
import { quote } from "../wire/quote.ts";
import { isYear } from "./archive/segments.ts";
import { StorageError, type Disk } from "./disk/disk.ts";
import { wirePaths } from "./paths.ts";
import type { UnownedLogs } from "./unowned-text.ts";

const MAX_NAMED = 20;
/** Files of the wire that every agent writes: no logs. */
const SHARED = new Set(["decisions", "incident_log"]);

/**
 * Logs in a wire that belong to no handle of its roster, or to another layout: they are not read, and
 * what was said in them counts for nothing. Spec 1.1 (`unowned_log`). Names are compared with those
 * that the roster forms, and never split.
 */
export function unownedLogs(disk: Disk, wireDir: string, layout: Layout): UnownedLogs {
  const paths = wirePaths(wireDir);
  const known = new Set([...layout.logs.values()].map(({ path }) => path));
  const years = entries(disk, paths.archive).filter((name) => /^[0-9]{4}$/.test(name));
  const found = [
    ...entries(disk, wireDir).filter((name) => /._to_.+\.jsonl$/s.test(name)),
    ...entries(disk, paths.outbox)
      .filter((name) => name.endsWith(".jsonl"))
      .map((name) => `outbox/${name}`),
  ].filter((path) => !known.has(path));
  const archived = years.flatMap((year) =>
    entries(disk, `${paths.archive}/${year}`)
      .filter((name) => !isYear(year) || !isKnownSegment(name, layout))
      .map((name) => `archive/${year}/${name}`),
  );
  const unread = [...found, ...archived].filter((path) => mayHoldLines(disk, `${wireDir}/${path}`));
  const names = unread.slice(0, MAX_NAMED).map((path) => (isPlain(path) ? path : quote(path)));
  return { names, count: unread.length };
}

/** Of a folder that is missing, or closed to us, or none: nothing. */
function entries(disk: Disk, folder: string): readonly string[] {
  try {
    return disk.stat(folder)?.kind === "folder" ? disk.list(folder) : [];
  } catch (error) {
    if (error instanceof StorageError) return [];
    throw error;
  }
}

/** A name can be read as a first segment, and as a later one of a log with a shorter name. */
function isKnownSegment(name: string, { logs }: Layout): boolean {
  const stem = /^(.+)\.jsonl(?:\.gz)?$/s.exec(name)?.[1];
  if (stem === undefined) return true;
  const earlier = stem.replace(/\.[1-9][0-9]{0,8}$/, "");
  return [stem, earlier].some((log) => logs.has(log) || SHARED.has(log));
}

/** An empty file hides nothing; what is no file may. */
function mayHoldLines(disk: Disk, path: string): boolean {
  const stat = disk.stat(path);
  return stat !== undefined && stat.kind !== "folder" && (stat.kind !== "file" || stat.size > 0);
}

function isPlain(path: string): boolean {
  return /^[\w./-]+$/.test(path);
}

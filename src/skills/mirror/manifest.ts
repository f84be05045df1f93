import { nameProblem } from "../format/skill.ts";
import { isRecord } from "../../wire/json/json-value.ts";

export const MODES = ["copy", "symlink"] as const;
export type MirrorMode = (typeof MODES)[number];

/** What we wrote into a mirror, by skill. It is kept in the mirror, so that it goes where that goes. */
export interface Manifest {
  readonly mode: MirrorMode;
  /** Of each skill its files with their SHA-256; "link" for one that is a link. */
  readonly skills: ReadonlyMap<string, ReadonlyMap<string, string> | "link">;
}

/** The name of the manifest's file; no tool takes it for a skill. */
export const MANIFEST_FILE = ".deaddrop-skills.json";
const MANIFEST_VERSION = 1;

/**
 * Reads a manifest; undefined for what we cannot have written. It may come with a strange repository, and
 * says what may be removed: names that lead out of the mirror make all of it void.
 */
export function readManifest(text: string): Manifest | undefined {
  const data = parsed(text);
  if (!isRecord(data) || data["version"] !== MANIFEST_VERSION) return undefined;
  const { mode, skills } = data;
  if (!MODES.some((known) => known === mode) || !isRecord(skills)) return undefined;
  const read = new Map<string, ReadonlyMap<string, string> | "link">();
  for (const [name, value] of Object.entries(skills)) {
    const files = value === "link" ? value : filesOf(value);
    if (nameProblem(name) !== undefined || files === undefined) return undefined;
    read.set(name, files);
  }
  return { mode: mode as MirrorMode, skills: read };
}

function filesOf(value: unknown): ReadonlyMap<string, string> | undefined {
  if (!isRecord(value)) return undefined;
  const files = new Map<string, string>();
  for (const [path, sha256] of Object.entries(value)) {
    if (!isInside(path) || typeof sha256 !== "string") return undefined;
    files.set(path, sha256);
  }
  return files;
}

/** Whether a path with `/` names something in a folder, spelled in the one way that we write. */
function isInside(path: string): boolean {
  return path !== "" && path.split("/").every((part) => !["", ".", ".."].includes(part));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // damaged, or in the middle of a merge: what is in the mirror counts as not ours
  }
}

/** In one order, so that the same content is the same bytes. */
export function manifestText({ mode, skills }: Manifest): string {
  const entries = [...skills]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, files]) => [
      name,
      files === "link"
        ? files
        : Object.fromEntries([...files].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    ]);
  const data = { version: MANIFEST_VERSION, mode, skills: Object.fromEntries(entries) as unknown };
  return `${JSON.stringify(data, null, 2)}\n`;
}

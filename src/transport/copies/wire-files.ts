import { isYear, numberOf } from "../../storage/archive/segments.ts";
import { makeLayout, type Layout, type Log } from "../../wire/layout.ts";

/**
 * What a path of a wire is, as far as a transport goes. Spec 5.2.
 *
 * - `log`: of one author; `segment` when it is an archived part, in the order `order`.
 * - `shared`: lines of all agents, a union.
 * - `document`: replaced as a whole; `owner`: the agent that alone writes it, if there is one.
 * - `other`: of the repository or of one machine, not of the wire; it is left alone.
 */
export type WireFile =
  | { readonly is: "log"; readonly log: Log; readonly segment?: PartPlace }
  | { readonly is: "shared"; readonly name: SharedName; readonly segment?: PartPlace }
  | { readonly is: "document"; readonly owner: string | undefined }
  | { readonly is: "other" };

export type SharedName = "decisions" | "incident_log";

/** Where an archived part belongs among those of its file: by year, then by number. */
export interface PartPlace {
  readonly year: number;
  readonly number: number;
}

/** The files that every agent writes, by their paths. */
export const SHARED_FILES: readonly SharedName[] = ["decisions", "incident_log"];
const DOCUMENTS = new Set(["config.json", "tiers.json", "PROTOCOL.md", "trust.json"]);
/**
 * What people and hosts keep in a repository. SAFE_MODE is a view for people that each daemon derives
 * and takes down by itself.
 */
const OTHERS =
  /^(?:SAFE_MODE|\.gitattributes|\.gitignore|\.github\/.+|(?:README|LICENSE|CHANGELOG)[^/]*)$/;
/** Archived parts of a wire that is shared are not packed. */
const PART = /^archive\/([^/]+)\/([^/]+)\.jsonl$/;

/** What paths are, on the wire of that layout. */
export interface WireFiles {
  readonly layout: Layout;
  /** Undefined: no path that a wire has. */
  of(path: string): WireFile | undefined;
  /** Every path but those in the archive. */
  readonly paths: readonly string[];
}

/** Names are formed from the roster and compared; a path is never followed. */
export function wireFiles(
  kind: Layout["kind"],
  roster: readonly string[],
  closed: readonly string[] = [],
): WireFiles {
  const layout = makeLayout(kind, roster, undefined, closed);
  const known = new Map<string, WireFile>();
  for (const log of layout.logs.values()) known.set(log.path, { is: "log", log });
  for (const name of SHARED_FILES) known.set(`${name}.jsonl`, { is: "shared", name });
  for (const path of DOCUMENTS) known.set(path, { is: "document", owner: undefined });
  for (const owner of roster) {
    known.set(`trust/${owner}.card.json`, { is: "document", owner });
    known.set(`${owner}_state.json`, { is: "document", owner });
  }
  return {
    layout,
    paths: [...known.keys()],
    of: (path) => known.get(path) ?? (OTHERS.test(path) ? { is: "other" } : partOf(path, layout)),
  };
}

/** A handle may end in a number: the longest name of a log that fits is meant. */
function partOf(path: string, layout: Layout): WireFile | undefined {
  const [, year = "", stem = ""] = PART.exec(path) ?? [];
  if (!isYear(year)) return undefined;
  for (const name of [stem, stem.replace(/\.\d+$/, "")]) {
    const file = fileNamed(name, layout);
    const number = numberOf(`${stem}.jsonl`, name);
    if (file !== undefined && number !== undefined) {
      return { ...file, segment: { year: Number(year), number } };
    }
  }
  return undefined;
}

function fileNamed(
  name: string,
  { logs }: Layout,
): (WireFile & { is: "log" | "shared" }) | undefined {
  const log = logs.get(name);
  if (log !== undefined) return { is: "log", log };
  const shared = SHARED_FILES.find((each) => each === name);
  return shared && { is: "shared", name: shared };
}

/** The archived parts of a file first, in their order, then the live one. */
export function inOrder(
  parts: readonly { readonly path: string; readonly segment: PartPlace | undefined }[],
): string[] {
  const rank = ({ segment }: { readonly segment: PartPlace | undefined }): number =>
    segment === undefined ? Infinity : segment.year * 1e9 + segment.number;
  return parts.toSorted((a, b) => rank(a) - rank(b)).map(({ path }) => path);
}

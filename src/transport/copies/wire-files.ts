import { makeLayout, type Layout, type Log } from "../../wire/layout.ts";

/**
 * What a path of a wire is, as far as a transport goes. Spec 5.2.
 *
 * - `log`: of one author; `segment` when it is an archived part, in the order `order`.
 * - `shared`: lines of all agents, a union.
 * - `document`: replaced as a whole; `owner`: the agent that alone writes it, if there is one.
 * - `other`: of the repository, not of the wire; it is left alone.
 */
export type WireFile =
  | { readonly is: "log"; readonly log: Log; readonly segment?: SegmentPlace }
  | { readonly is: "shared"; readonly name: SharedName; readonly segment?: SegmentPlace }
  | { readonly is: "document"; readonly owner: string | undefined }
  | { readonly is: "other" };

export type SharedName = "decisions" | "incident_log";

/** Where an archived part belongs among those of its file: by year, then by number. */
export interface SegmentPlace {
  readonly year: number;
  readonly number: number;
}

/** The files that every agent writes, by their paths. */
export const SHARED_FILES: readonly SharedName[] = ["decisions", "incident_log"];
const DOCUMENTS = new Set(["config.json", "tiers.json", "PROTOCOL.md", "trust.json", "SAFE_MODE"]);
/** What people and hosts keep in a repository. */
const OTHERS = /^(?:\.gitattributes|\.gitignore|\.github\/.+|(?:README|LICENSE|CHANGELOG)[^/]*)$/;
const SEGMENT = /^archive\/(\d{4})\/(.+?)(?:\.([1-9]\d{0,8}))?\.jsonl$/;

/** What paths are, on the wire of that layout. */
export interface WireFiles {
  readonly layout: Layout;
  /** Undefined: no path that a wire has. */
  of(path: string): WireFile | undefined;
  /** Every path but those in the archive. */
  readonly paths: readonly string[];
}

/** Names are formed from the roster and compared; a path is never followed. */
export function wireFiles(kind: Layout["kind"], roster: readonly string[]): WireFiles {
  const layout = makeLayout(kind, roster);
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
    of: (path) =>
      known.get(path) ??
      (OTHERS.test(path)
        ? { is: "other" }
        : SEGMENT.test(path)
          ? segmentOf(path, layout)
          : undefined),
  };
}

/** A handle may end in a number: the longest name of a log that fits is meant. */
function segmentOf(path: string, layout: Layout): WireFile | undefined {
  const [, year = "", stem = "", number] = SEGMENT.exec(path) ?? [];
  const whole = number === undefined ? stem : `${stem}.${number}`;
  const first = fileNamed(whole, layout);
  if (first !== undefined) return { ...first, segment: { year: Number(year), number: 1 } };
  const later = number === undefined ? undefined : fileNamed(stem, layout);
  return later && { ...later, segment: { year: Number(year), number: Number(number) } };
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
  parts: readonly { readonly path: string; readonly segment: SegmentPlace | undefined }[],
): string[] {
  const rank = ({ segment }: { readonly segment: SegmentPlace | undefined }): number =>
    segment === undefined ? Infinity : segment.year * 1e9 + segment.number;
  return parts.toSorted((a, b) => rank(a) - rank(b)).map(({ path }) => path);
}

import { quote } from "../../wire/quote.ts";
import type { TransportTrouble } from "../carrier.ts";
import type { Tree } from "./repository.ts";
import { MAX_BYTES, type WirePath, type WirePaths } from "./wire-paths.ts";

/** What of a commit is taken. */
export interface CheckedTree {
  /** The files that the mirror is to hold: ids by paths. */
  readonly files: ReadonlyMap<string, string>;
  /** Known paths that are not taken: their older version is in `files`, if there was one. */
  readonly refused: ReadonlySet<string>;
  readonly hasAttributes: boolean;
  readonly troubles: readonly TransportTrouble[];
  /** Owners some of whose carriers could not be taken. */
  readonly incomplete: ReadonlySet<string>;
}

const MAX_NAMED = 8;

/**
 * Takes the regular files at paths of the wire that are not too large; names all else. In the place of what is not
 * taken stays what was taken before. Spec 5.2.
 */
export function checkTree(
  tree: Tree,
  paths: WirePaths,
  taken: ReadonlyMap<string, { readonly id: string }>,
): CheckedTree {
  const files = new Map<string, string>();
  const refused = new Set<string>();
  const troubles: TransportTrouble[] = [];
  const incomplete = new Set<string>();
  const unknown: string[] = [];
  const refuse = (path: string, file: WirePath | undefined, problem: string): void => {
    if (file?.is === "other") return;
    if (troubles.length < MAX_NAMED) troubles.push(tampered(quote(path.slice(0, 100)), problem));
    const before = taken.get(path);
    if (file !== undefined) refused.add(path);
    if (file !== undefined && before !== undefined) files.set(path, before.id);
    if (file?.is === "carrier" && file.owner !== undefined) incomplete.add(file.owner);
    // Nobody's files can be there.
    if (/^(?:outbox|archive(?:\/20[0-9]{2})?)$/.test(path))
      for (const each of paths.layout.handles) incomplete.add(each);
  };
  for (const { path, id, bytes } of tree.files) {
    const file = paths.get(path);
    if (file === undefined) unknown.push(path);
    else if (bytes > MAX_BYTES[file.is])
      refuse(path, file, `is larger than ${MAX_BYTES[file.is] / 1_048_576} MiB`);
    else if (file.is !== "other") files.set(path, id);
  }
  for (const [path, what] of tree.odd) refuse(path, paths.get(path), `is ${what}`);
  if (unknown.length > 0) {
    const named = unknown.slice(0, MAX_NAMED).map((path) => quote(path.slice(0, 100)));
    const more = unknown.length > MAX_NAMED ? ` and ${unknown.length - MAX_NAMED} more` : "";
    troubles.push(tampered(named.join(", ") + more, "is no path of a wire"));
  }
  if (!tree.isWhole)
    troubles.push(
      tampered("the repository", "has far more files than a wire; others were not looked at"),
    );
  const hasAttributes = tree.files.some(({ path }) => path === ".gitattributes");
  return { files, refused, hasAttributes, troubles, incomplete };
}

function tampered(where: string, problem: string): TransportTrouble {
  return { cause: "wire_tampered", where, detail: `${where} ${problem}; it was not taken` };
}

import type { SkillFile } from "../format/skill.ts";
import type { Manifest } from "./manifest.ts";
import type {
  Drift,
  LibraryFiles,
  Mirror,
  MirrorAction,
  MirrorEntry,
  MirrorPlan,
  MirrorWish,
  TreeEntry,
} from "./mirror.ts";

/** What one skill of a mirror comes to. */
interface SkillPlan {
  readonly drift: readonly Drift[];
  readonly actions: readonly MirrorAction[];
  /** For the manifest; undefined: nothing of ours is there. */
  readonly files: ReadonlyMap<string, string> | "link" | undefined;
}

type SkillFiles = ReadonlyMap<string, SkillFile>;
type Tree = ReadonlyMap<string, TreeEntry>;

/** One skill in a mirror. */
interface Place {
  readonly skill: string;
  /** What the manifest says that we wrote. */
  readonly known: ReadonlyMap<string, string> | "link" | undefined;
  readonly wish: MirrorWish;
}

/**
 * How a mirror differs from the library, and what makes it equal. Nothing that somebody else has written is
 * given up unless `force`; what is no skill of ours is not looked at. Spec 7.1.
 */
export function planMirror(library: LibraryFiles, mirror: Mirror, wish: MirrorWish): MirrorPlan {
  const known: Manifest["skills"] = mirror.manifest?.skills ?? new Map<string, never>();
  const plans = new Map<string, SkillPlan>();
  for (const [skill, files] of library) {
    const at: Place = { skill, known: known.get(skill), wish };
    const entry = mirror.entries.get(skill);
    if (isLinkToEqual(files, entry)) continue;
    plans.set(
      skill,
      wish.mode === "copy" ? planCopy(at, files, entry) : planLink(at, files, entry),
    );
  }
  for (const [skill, files] of known) {
    if (library.has(skill)) continue;
    const isKept = wish.keepsExtra || wish.held.has(skill);
    const at: Place = { skill, known: files, wish };
    plans.set(
      skill,
      isKept ? { drift: [], actions: [], files } : planRemoval(at, mirror.entries.get(skill)),
    );
  }
  const skills = [...plans].flatMap(([skill, { files }]) =>
    files === undefined ? [] : [[skill, files] as const],
  );
  const all = [...plans.values()];
  return {
    drift: all.flatMap(({ drift }) => drift),
    actions: all.flatMap(({ actions }) => actions),
    manifest: { mode: wish.mode, skills: new Map(skills) },
  };
}

/** A skill that differs as a whole: these actions make it equal, unless somebody's work would be lost. */
function settle(
  difference: Drift,
  actions: readonly MirrorAction[],
  files: SkillPlan["files"],
  keptFiles?: SkillPlan["files"],
): SkillPlan {
  return difference.isKept
    ? { drift: [difference], actions: [], files: keptFiles }
    : { drift: [difference], actions, files };
}

function planCopy(at: Place, files: SkillFiles, entry?: MirrorEntry): SkillPlan {
  const { skill, known, wish } = at;
  const writes = [...files.keys()].map((path) => ({ do: "write" as const, skill, path }));
  const anew: MirrorAction[] = [{ do: "clear", skill }, ...writes];
  const shas = new Map([...files].map(([path, { sha256 }]) => [path, sha256]));
  if (entry === undefined) return settle(drift(skill, null, "missing"), writes, shas);
  if (entry.kind !== "folder") {
    const isOurs = entry.kind === "link" && (entry.leads !== "elsewhere" || known === "link");
    return settle(drift(skill, null, kindOf(entry), !(isOurs || wish.force)), anew, shas);
  }
  // We did not write it, and it is not what a sync that was cut short leaves behind.
  const isForeign =
    known === undefined && [...entry.tree].some(([path, each]) => !isSame(each, files.get(path)));
  return isForeign && !wish.sharesFolders
    ? settle(drift(skill, null, "foreign", !wish.force), anew, shas)
    : planFolder(at, files, entry.tree);
}

function kindOf(entry: MirrorEntry): Drift["kind"] {
  if (entry.kind !== "link") return "foreign";
  return ({ home: "form", elsewhere: "link", nowhere: "broken_link" } as const)[entry.leads];
}

/** Somebody's link to a folder of the project that holds what the library holds. */
function isLinkToEqual(files: SkillFiles, entry?: MirrorEntry): boolean {
  if (entry?.kind !== "link" || entry.tree?.size !== files.size) return false;
  return [...entry.tree].every(([path, each]) => isSame(each, files.get(path)));
}

function isSame(entry: TreeEntry, file: SkillFile | undefined): boolean {
  return entry.kind === "file" && entry.sha256 === file?.sha256;
}

function planFolder(at: Place, files: SkillFiles, tree: Tree): SkillPlan {
  const known = knownFiles(at);
  const found: Drift[] = [];
  const actions: MirrorAction[] = [];
  const next = new Map<string, string>();
  const { skill, wish } = at;
  const obstructed = new Set<string>();
  for (const [path, file] of files) {
    const above = obstacleAbove(path, tree);
    if (above === undefined) {
      const one = planFile(at, path, file, tree.get(path));
      if (one !== undefined) {
        found.push(one.drift);
        if (!one.drift.isKept) actions.push(one.action);
      }
      const sha256 = one?.drift.isKept === true ? known.get(path) : file.sha256;
      if (sha256 !== undefined) next.set(path, sha256);
      continue;
    }
    // A write would go through the link to somewhere else.
    const isKept = !(wish.force || isBroken(tree.get(above)));
    if (!obstructed.has(above)) {
      obstructed.add(above);
      found.push(drift(skill, above, isBroken(tree.get(above)) ? "broken_link" : "link", isKept));
      if (!isKept) actions.push({ do: "remove", skill, path: above });
    }
    if (isKept) continue;
    actions.push({ do: "write", skill, path });
    next.set(path, file.sha256);
  }
  for (const [path, entry] of tree) {
    if (files.has(path) || obstructed.has(path) || wish.keepsExtra) continue;
    const written = known.get(path);
    const isOurs = entry.kind === "file" && entry.sha256 === written;
    const isKept = !(isOurs || wish.force || isBroken(entry));
    found.push(drift(skill, path, isBroken(entry) ? "broken_link" : "extra", isKept));
    if (!isKept) actions.push({ do: "remove", skill, path });
    else if (written !== undefined) next.set(path, written);
  }
  return { drift: found, actions, files: next };
}

/** Undefined: it is equal. */
function planFile(
  at: Place,
  path: string,
  file: SkillFile,
  entry: TreeEntry | undefined,
): { readonly drift: Drift; readonly action: MirrorAction } | undefined {
  const { skill, wish } = at;
  const write = { do: "write" as const, skill, path };
  if (entry === undefined) return { drift: drift(skill, path, "missing"), action: write };
  if (entry.kind === "file" && entry.sha256 === file.sha256) {
    if (entry.isExecutable === file.isExecutable) return undefined;
    const action = { do: "mode" as const, skill, path, to: file.isExecutable };
    return { drift: drift(skill, path, "mode"), action };
  }
  if (entry.kind === "link") {
    const difference = entry.isBroken
      ? drift(skill, path, "broken_link")
      : drift(skill, path, "link", !wish.force);
    return { drift: difference, action: write };
  }
  const isOurs = entry.kind === "file" && entry.sha256 === knownFiles(at).get(path);
  const difference = isOurs
    ? drift(skill, path, "outdated")
    : drift(skill, path, "edited", !wish.force);
  return { drift: difference, action: write };
}

/** A skill as one link to the library. */
function planLink(at: Place, files: SkillFiles, entry?: MirrorEntry): SkillPlan {
  const { skill, known, wish } = at;
  const link = { do: "link" as const, skill };
  if (entry === undefined) return settle(drift(skill, null, "missing"), [link], "link");
  if (entry.kind === "link" && entry.leads === "home") {
    return { drift: [], actions: [], files: "link" };
  }
  const isLost = entry.kind !== "link" || (entry.leads === "elsewhere" && known !== "link");
  const difference =
    entry.kind === "folder"
      ? copyDrift(at, files, entry.tree)
      : drift(skill, null, kindOf(entry), isLost && !wish.force);
  return settle(difference, [{ do: "clear", skill }, link], "link", known);
}

/** A copy may go when nothing in it is anybody else's. */
function copyDrift(at: Place, files: SkillFiles, tree: Tree): Drift {
  const { skill, wish } = at;
  const known = knownFiles(at);
  const edited = [...tree].find(
    ([path, each]) =>
      !isSame(each, files.get(path)) && !(each.kind === "file" && each.sha256 === known.get(path)),
  );
  if (edited === undefined) return drift(skill, null, "form");
  if (at.known === undefined) return drift(skill, null, "foreign", !wish.force);
  return drift(skill, edited[0], "edited", !wish.force);
}

/** A skill that we wrote and the library no longer has. */
function planRemoval(at: Place, entry: MirrorEntry | undefined): SkillPlan {
  const { skill, wish } = at;
  if (entry === undefined) return { drift: [], actions: [], files: undefined };
  if (entry.kind === "folder") return planFolder(at, new Map(), entry.tree);
  const isOurs = entry.kind === "link" && (at.known === "link" || entry.leads === "nowhere");
  const difference = drift(skill, null, "extra", !(isOurs || wish.force));
  return settle(difference, [{ do: "clear", skill }], undefined);
}

function knownFiles({ known }: Place): ReadonlyMap<string, string> {
  return known === undefined || known === "link" ? new Map() : known;
}

/** The first ancestor of a path that is not a directory. */
function obstacleAbove(path: string, tree: Tree): string | undefined {
  const parts = path.split("/");
  return parts
    .slice(0, -1)
    .map((_part, at) => parts.slice(0, at + 1).join("/"))
    .find((folder) => tree.has(folder));
}

function isBroken(entry: TreeEntry | undefined): boolean {
  return entry?.kind === "link" && entry.isBroken;
}

function drift(
  skill: string,
  path: string | null,
  kind: Drift["kind"],
  isKept: boolean = false,
): Drift {
  return { skill, path, kind, isKept };
}

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

/**
 * How a mirror differs from the library, and what makes it equal. Nothing that somebody else has written is
 * given up unless `force`; what is no skill of ours is not looked at. Spec 7.1.
 */
export function planMirror(library: LibraryFiles, mirror: Mirror, wish: MirrorWish): MirrorPlan {
  const known = mirror.manifest?.skills ?? new Map<string, never>();
  const plans = new Map<string, SkillPlan>();
  for (const [skill, files] of library) {
    const at: Place = { skill, known: known.get(skill), wish };
    const entry = mirror.entries.get(skill);
    if (isLinkToEqual(files, entry)) {
      plans.set(skill, { drift: [], actions: [], files: undefined });
    } else {
      plans.set(skill, wish.mode === "copy" ? copied(at, files, entry) : linked(at, files, entry));
    }
  }
  for (const [skill, files] of known) {
    if (library.has(skill)) continue;
    const at: Place = { skill, known: files, wish };
    const isKept = wish.keepsExtra || wish.held.has(skill);
    plans.set(skill, isKept ? kept(at) : dropped(at, mirror.entries.get(skill)));
  }
  const skills = new Map<string, ReadonlyMap<string, string> | "link">();
  for (const [skill, { files }] of plans) if (files !== undefined) skills.set(skill, files);
  const manifest: Manifest = { mode: wish.mode, skills };
  const all = [...plans.values()];
  return {
    drift: all.flatMap(({ drift }) => drift),
    actions: all.flatMap(({ actions }) => actions),
    manifest,
  };
}

interface Place {
  readonly skill: string;
  readonly known: ReadonlyMap<string, string> | "link" | undefined;
  readonly wish: MirrorWish;
}

function kept({ known }: Place): SkillPlan {
  return { drift: [], actions: [], files: known };
}

function copied(at: Place, files: ReadonlyMap<string, SkillFile>, entry?: MirrorEntry): SkillPlan {
  const { skill, wish } = at;
  const writes = [...files.keys()].map((path) => ({ do: "write" as const, skill, path }));
  const shas = new Map([...files].map(([path, { sha256 }]) => [path, sha256]));
  if (entry === undefined) {
    return { drift: [drift(skill, null, "missing")], actions: writes, files: shas };
  }
  if (entry.kind !== "folder") {
    const isOurs = entry.kind === "link" && (entry.leads !== "elsewhere" || at.known === "link");
    const found = drift(skill, null, kindOf(entry), !(isOurs || wish.force));
    if (found.isKept) return { drift: [found], actions: [], files: undefined };
    return { drift: [found], actions: [{ do: "clear", skill }, ...writes], files: shas };
  }
  const { tree } = entry;
  if (!wish.sharesFolders && isForeign(at, files, tree)) {
    const found = drift(skill, null, "foreign", !wish.force);
    if (found.isKept) return { drift: [found], actions: [], files: undefined };
    return { drift: [found], actions: [{ do: "clear", skill }, ...writes], files: shas };
  }
  return folderPlan(at, files, tree);
}

function kindOf(entry: MirrorEntry): "form" | "link" | "broken_link" | "foreign" {
  if (entry.kind !== "link") return "foreign";
  return { home: "form", elsewhere: "link", nowhere: "broken_link" }[entry.leads] as
    "form" | "link" | "broken_link";
}

/** We did not write it, and it is not what a sync that was cut short leaves behind. */
function isForeign(
  { known }: Place,
  files: ReadonlyMap<string, SkillFile>,
  tree: ReadonlyMap<string, TreeEntry>,
): boolean {
  return known === undefined && [...tree].some(([path, each]) => !isSame(each, files.get(path)));
}

/** Somebody's link to a folder of the project that holds what the library holds. */
function isLinkToEqual(files: ReadonlyMap<string, SkillFile>, entry?: MirrorEntry): boolean {
  if (entry?.kind !== "link" || entry.tree?.size !== files.size) return false;
  return [...entry.tree].every(([path, each]) => isSame(each, files.get(path)));
}

function isSame(entry: TreeEntry, file: SkillFile | undefined): boolean {
  return entry.kind === "file" && entry.sha256 === file?.sha256;
}

function folderPlan(
  at: Place,
  files: ReadonlyMap<string, SkillFile>,
  tree: ReadonlyMap<string, TreeEntry>,
): SkillPlan {
  const known = knownFiles(at);
  const found: Drift[] = [];
  const actions: MirrorAction[] = [];
  const next = new Map<string, string>();
  const { skill, wish } = at;
  const obstructed = new Set<string>();
  for (const [path, file] of files) {
    const above = linkAbove(path, tree);
    if (above === undefined) {
      const one = filePlan(at, path, file, tree.get(path));
      found.push(...one.drift);
      actions.push(...one.actions);
      const sha256 = one.isKept ? known.get(path) : file.sha256;
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
    const isOurs = entry.kind === "file" && entry.sha256 === known.get(path);
    const isKept = !(isOurs || wish.force || isBroken(entry));
    found.push(drift(skill, path, isBroken(entry) ? "broken_link" : "extra", isKept));
    if (!isKept) actions.push({ do: "remove", skill, path });
    else if (known.has(path)) next.set(path, known.get(path) ?? "");
  }
  return { drift: found, actions, files: next };
}

function filePlan(
  at: Place,
  path: string,
  file: SkillFile,
  entry: TreeEntry | undefined,
): { readonly drift: Drift[]; readonly actions: MirrorAction[]; readonly isKept: boolean } {
  const { skill, wish } = at;
  const write = { do: "write" as const, skill, path };
  if (entry === undefined) {
    return { drift: [drift(skill, path, "missing")], actions: [write], isKept: false };
  }
  if (isSame(entry, file)) {
    const isRight = entry.kind === "file" && entry.isExecutable === file.isExecutable;
    if (isRight) return { drift: [], actions: [], isKept: false };
    const set = { do: "mode" as const, skill, path, to: file.isExecutable };
    return { drift: [drift(skill, path, "mode")], actions: [set], isKept: false };
  }
  const kind =
    entry.kind === "link"
      ? entry.isBroken
        ? "broken_link"
        : "link"
      : entry.kind === "file" && entry.sha256 === knownFiles(at).get(path)
        ? "outdated"
        : "edited";
  const isKept = !(kind === "outdated" || kind === "broken_link" || wish.force);
  return { drift: [drift(skill, path, kind, isKept)], actions: isKept ? [] : [write], isKept };
}

/** A skill as one link to the library. */
function linked(at: Place, files: ReadonlyMap<string, SkillFile>, entry?: MirrorEntry): SkillPlan {
  const { skill, wish } = at;
  if (entry === undefined) {
    const found = [drift(skill, null, "missing")];
    return { drift: found, actions: [{ do: "link", skill }], files: "link" };
  }
  if (entry.kind === "link" && entry.leads === "home") {
    return { drift: [], actions: [], files: "link" };
  }
  const isLost = entry.kind !== "link" || (entry.leads === "elsewhere" && at.known !== "link");
  const found =
    entry.kind === "folder"
      ? copyDrift(at, files, entry.tree)
      : drift(skill, null, kindOf(entry), isLost && !wish.force);
  if (found.isKept) return { drift: [found], actions: [], files: at.known };
  return {
    drift: [found],
    actions: [
      { do: "clear", skill },
      { do: "link", skill },
    ],
    files: "link",
  };
}

/** A copy may go when nothing in it is anybody else's. */
function copyDrift(
  at: Place,
  files: ReadonlyMap<string, SkillFile>,
  tree: ReadonlyMap<string, TreeEntry>,
): Drift {
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
function dropped(at: Place, entry: MirrorEntry | undefined): SkillPlan {
  const { skill, wish } = at;
  if (entry === undefined) return { drift: [], actions: [], files: undefined };
  if (entry.kind === "folder") return folderPlan(at, new Map(), entry.tree);
  const isOurs = entry.kind === "link" && (at.known === "link" || entry.leads === "nowhere");
  const found = drift(skill, null, "extra", !(isOurs || wish.force));
  if (found.isKept) return { drift: [found], actions: [], files: undefined };
  return { drift: [found], actions: [{ do: "clear", skill }], files: undefined };
}

function knownFiles({ known }: Place): ReadonlyMap<string, string> {
  return known === undefined || known === "link" ? new Map() : known;
}

/** What is no folder on the way to a file. */
function linkAbove(path: string, tree: ReadonlyMap<string, TreeEntry>): string | undefined {
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

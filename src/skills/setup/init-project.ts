import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { joiningChanges, writeChange, type FileChange } from "../../agents/integrate/integrate.ts";
import { realFile } from "../../setup/project-files.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { SkillFile } from "../format/skill.ts";
import { mirrorPlace, readMirror, writeMirror } from "../library/mirror-folder.ts";
import { LIBRARY_FOLDER, libraryFiles, readLibrary } from "../library/read-library.ts";
import { readTree } from "../library/read-tree.ts";
import { underLock } from "../library/sync.ts";
import type { Drift, LibraryFiles, MirrorPlan } from "../mirror/mirror.ts";
import { planMirror } from "../mirror/plan-mirror.ts";
import { toolFiles, type ToolFileWish } from "./tool-files.ts";

/** What the package brings. */
export interface Shipped {
  /** The folders of the skills. */
  readonly skills: string;
  /** policies, examples and benchmarks. */
  readonly agent: string;
  /** The published schemas, by their names under agent/schemas. */
  readonly schemas: ReadonlyMap<string, string>;
}

/** What became of one path. */
export interface InitStep {
  readonly path: string;
  readonly what: "made" | "changed" | "there" | "kept";
}

const PARTS = ["policies", "examples", "benchmarks"];
const NO_SKILLS: ReadonlySet<string> = new Set();

/**
 * The layout with our skills, and what each tool needs to find them. What a user wrote is kept; what we wrote
 * before and nobody changed is brought up to date. Spec 7.1.
 */
export function initProject(
  disk: Disk,
  project: string,
  shipped: Shipped,
  wish: ToolFileWish,
): InitStep[] {
  // Refused before anything is made.
  joiningChanges({ disk, root: project }, toolFiles(disk, project, wish));
  const library = join(project, LIBRARY_FOLDER);
  mirrorPlace(project, shipped.skills, LIBRARY_FOLDER);
  for (const path of layoutTexts(project, shipped).keys()) realFile(disk, project, path);
  disk.makeFolder(library, 0o755);
  return underLock(library, () => {
    // Another process may have written meanwhile.
    const changes = joiningChanges({ disk, root: project }, toolFiles(disk, project, wish));
    const steps = [
      ...copied(project, shipped.skills, {
        folder: LIBRARY_FOLDER,
        files: libraryFiles(readLibrary(shipped.skills)),
        sharesFolders: false,
      }),
      ...copied(project, shipped.agent, {
        folder: "agent",
        files: partsOf(shipped.agent),
        sharesFolders: true,
      }),
      ...layoutFiles(disk, project, shipped),
    ];
    const files = toolFiles(disk, project, wish).map(({ path }) => path);
    for (const change of changes) writeChange({ disk, root: project }, change);
    return [...steps, ...files.map((path) => stepOf(path, changes))];
  });
}

function stepOf(path: string, changes: readonly FileChange[]): InitStep {
  const change = changes.find((each) => each.path === path);
  if (change === undefined) return { path, what: "there" };
  return { path, what: change.before === undefined ? "made" : "changed" };
}

interface Copied {
  readonly folder: string;
  readonly files: LibraryFiles;
  readonly sharesFolders: boolean;
}

/** Folders that the package has, into a folder of the project that a user may have filled already. */
function copied(
  project: string,
  source: string,
  { folder, files, sharesFolders }: Copied,
): InitStep[] {
  const place = mirrorPlace(project, source, folder);
  if (place === "library") return [];
  const keeps = { force: false, keepsExtra: true, sharesFolders };
  const wish = { mode: "copy", ...keeps, held: NO_SKILLS } as const;
  const plan = planMirror(files, readMirror(place), wish);
  writeMirror(place, plan);
  return [...files].flatMap(([name, each]) =>
    [...each.keys()].map((path) => ({
      path: join(place.folder, name, path),
      what: outcomeOf(plan, name, path),
    })),
  );
}

function outcomeOf({ drift }: MirrorPlan, skill: string, path: string): InitStep["what"] {
  const of = (each: Drift): boolean =>
    each.skill === skill && (each.path === null || each.path === path || isBelow(path, each.path));
  const found = drift.find(of);
  if (found === undefined) return "there";
  if (found.isKept) return "kept";
  return found.kind === "missing" ? "made" : "changed";
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}

function partsOf(agent: string): LibraryFiles {
  return new Map(
    PARTS.map((part) => {
      const files = new Map<string, SkillFile>();
      for (const [path, entry] of readTree(join(agent, part)).entries) {
        if (entry.kind === "file") files.set(path, entry);
      }
      return [part, files] as const;
    }),
  );
}

/** The schemas under the names of the layout, and what keeps results out of git; by path. */
function layoutTexts(project: string, shipped: Shipped): Map<string, string> {
  const texts = new Map([...shipped.schemas].map(([name, text]) => [`schemas/${name}`, text]));
  texts.set("artifacts/.gitignore", "# What runs produce.\n*\n!.gitignore\n");
  return new Map([...texts].map(([name, text]) => [join(project, "agent", name), text]));
}

function layoutFiles(disk: Disk, project: string, shipped: Shipped): InitStep[] {
  return [...layoutTexts(project, shipped)].map(([path, text]) => {
    if (existsSync(path)) return { path, what: "there" };
    disk.makeFolder(dirname(path), 0o755);
    disk.replace(path, Buffer.from(text), 0o644);
    return { path, what: "made" };
  });
}

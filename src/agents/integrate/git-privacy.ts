import { basename, join, relative, sep } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { gitIn } from "../../setup/guard/git.ts";
import {
  withManagedBlock,
  withoutManagedBlock,
  type ManagedBlock,
} from "../../setup/managed-block.ts";
import { realFile, realPathOf, textOf } from "../../setup/project-files.ts";
import { gitFolderOf } from "../../setup/wire/git-exclude.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { FileEdit } from "./file-edit.ts";
import type { Joining } from "./integration.ts";
import type { Written } from "./record.ts";

/** Files of the project's people, in which our part names no agent. */
const INSTRUCTIONS: ReadonlySet<string> = new Set(["AGENTS.md", "CLAUDE.md", "GEMINI.md"]);

/** What joining writes, so that git hands none of it to others. */
export interface PrivateEdits {
  readonly edits: readonly FileEdit[];
  /** What is left alone, in words for the person. */
  readonly left: readonly string[];
}

/**
 * The edits for files of this person in a project. In a git work tree they are listed in
 * `.git/info/exclude`, which is never committed; instructions that are there already are left alone;
 * and settings that git tracks are refused. Throws DeaddropError ("refused"). Spec 8.3.
 *
 * @param isTemporary they are taken out again when this run ends
 */
export function privateEdits(
  disk: Disk,
  at: Joining,
  edits: readonly FileEdit[],
  { files }: Written,
  isTemporary: boolean,
): PrivateEdits {
  const exclude = excludeFile(at);
  if (exclude === undefined || at.scope !== "local") {
    return { edits: [...edits, ...excludeEdits(disk, at, edits)], left: [] };
  }
  const tracked = trackedIn(at, edits);
  const left: string[] = [];
  const kept = edits.filter((edit) => {
    const text = textOf(disk, realFile(disk, at.project, edit.path));
    const isKept = text === undefined || files[edit.path] !== undefined || isTemporary;
    if (isKept || edit.put(text) === text) return true;
    if (INSTRUCTIONS.has(basename(edit.path))) {
      left.push(
        `${basename(edit.path)} is shared with others and was left alone; --scope project adds a few lines for agents`,
      );
      return false;
    }
    if (tracked.has(edit.path)) throw refuseTracked(at, edit.path);
    return true;
  });
  const hidden = kept.filter(({ path }) => !tracked.has(path));
  return { edits: [...kept, excludeEdit(at, exclude, hidden)], left };
}

/** The file of the repository that lists what git ignores in this clone alone. */
export function excludeFile({ project }: Joining): string | undefined {
  const gitFolder = gitFolderOf(project);
  return gitFolder === undefined ? undefined : join(gitFolder, "info", "exclude");
}

/** The edit that takes the list out, or what is shared from now on; none where there is no list. */
export function excludeEdits(disk: Disk, at: Joining, edits: readonly FileEdit[]): FileEdit[] {
  const path = at.scope === "user" ? undefined : excludeFile(at);
  if (
    path === undefined ||
    textOf(disk, realPathOf(disk, path))?.includes(blockOf(at, []).begin) !== true
  )
    return [];
  return [excludeEdit(at, path, edits)];
}

/** What is listed of one project; the work trees of a repository share the file. */
function excludeEdit(at: Joining, path: string, edits: readonly FileEdit[]): FileEdit {
  const patterns = edits.map((edit) => `/${relative(at.project, edit.path).split(sep).join("/")}`);
  const { begin, end } = blockOf(at, []);
  return {
    path,
    isShared: true,
    put: (text = "") => {
      const [, rest = ""] = text.split(`${begin}\n`);
      const listed = rest === "" ? [] : (rest.split(`\n${end}`)[0] ?? "").split("\n");
      const lines =
        at.scope === "local"
          ? [...new Set([...listed, ...patterns])]
          : listed.filter((line) => !patterns.includes(line));
      const block = blockOf(at, lines);
      return lines.length === 0
        ? (withoutManagedBlock(block, text) ?? "")
        : withManagedBlock(block, text, path);
    },
    take: (text) => withoutManagedBlock(blockOf(at, []), text),
  };
}

function blockOf({ project }: Joining, lines: readonly string[]): ManagedBlock {
  const begin = `# deaddrop:begin ${project}`;
  return { begins: begin, begin, end: `# deaddrop:end ${project}`, text: lines.join("\n") };
}

/** None where git cannot say, such as in an empty repository. */
function trackedIn({ project, env }: Joining, edits: readonly FileEdit[]): ReadonlySet<string> {
  try {
    const paths = edits.map(({ path }) => relative(project, path));
    const said = gitIn(project, env)(["ls-files", "-z", "--", ...paths]).toString("utf8");
    return new Set(said.split("\0").map((path) => join(project, path)));
  } catch (error) {
    if (error instanceof DeaddropError) return new Set();
    throw error;
  }
}

function refuseTracked({ tool, handle, project }: Joining, path: string): DeaddropError {
  const name = relative(project, path);
  return new DeaddropError(
    "refused",
    `git tracks ${name}, so others would get an entry that speaks as ${handle}; nothing was changed`,
    {
      hint: `write it into your own files: deaddrop integrate ${tool} --scope user; or into the project's, to be committed: --scope project`,
    },
  );
}

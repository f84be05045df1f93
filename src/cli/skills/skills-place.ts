import { existsSync, accessSync, constants } from "node:fs";
import { dirname, join, delimiter } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { isError, problemText } from "../../plans/plan/problem.ts";
import { judgeSkill } from "../../skills/format/judge-skill.ts";
import { nameProblem, type JudgedSkill, type Skill } from "../../skills/format/skill.ts";
import { LIBRARY_FOLDER, readSkillFolder } from "../../skills/library/read-library.ts";
import { libraryOf, type LibraryPlace } from "../../skills/library/sync.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { quote } from "../../wire/quote.ts";
import type { Cli } from "../context.ts";
import { rows, wrongUsage } from "../plans/plan-place.ts";

export const NAMED = { "<name>": "of a skill" } as const;

/** The nearest folder upward that has a library, else the top of the work tree, else this folder. */
export function projectAt(cwd: string): string {
  return above(cwd, LIBRARY_FOLDER) ?? above(cwd, ".git") ?? cwd;
}

function above(cwd: string, name: string): string | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (existsSync(join(folder, name))) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

export function libraryPlace(cli: Cli, project: string = projectAt(cli.cwd)): LibraryPlace {
  return { disk: nodeDisk(), project, versionOf: programsHere(cli.env) };
}

/** A name that may be used as a path. Throws DeaddropError ("usage"). */
export function skillName(name: string): string {
  const wrong = nameProblem(name);
  if (wrong !== undefined) throw wrongUsage(wrong, "1 to 64 of a-z and 0-9, with single hyphens");
  return name;
}

/** A skill of the library that can be used. Throws DeaddropError. */
export function skillAt(
  cli: Cli,
  name: string,
): { readonly library: string; readonly judged: JudgedSkill; readonly skill: Skill } {
  const library = libraryOf(projectAt(cli.cwd));
  if (!existsSync(join(library, skillName(name)))) {
    throw new DeaddropError("unknown_id", `there is no skill ${quote(name)} in ${library}`, {
      hint: "deaddrop skills list",
    });
  }
  const judged = judgeSkill(readSkillFolder(library, name));
  if (judged.skill !== undefined) return { library, judged, skill: judged.skill };
  throw new DeaddropError("config", rows(problemRows(judged)), {
    hint: "correct it, and run this again; nothing was changed",
  });
}

/** What is wrong with a skill, one row each: `plan/SKILL.md:3:1: error: …`. */
export function problemRows({ folder, problems }: JudgedSkill): string[] {
  return problems.map((each) => problemText(`${folder.name}/SKILL.md`, each));
}

export function errorRows(judged: JudgedSkill): string[] {
  return problemRows({ ...judged, problems: judged.problems.filter(isError) });
}

/** The version of a program of PATH: undefined, there is none; "", it was not asked. Nothing is run. */
function programsHere(env: NodeJS.ProcessEnv): (program: string) => string | undefined {
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return (program) => {
    if (program === "node") return process.versions.node;
    return folders.some((folder) => isExecutable(join(folder, program))) ? "" : undefined;
  };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // whatever the reason is, it cannot be run from here
  }
}

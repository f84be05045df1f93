import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { SKILL_FILE, type JudgedSkill, type Skill } from "../../skills/format/skill.ts";
import { bytesOf } from "../../skills/library/read-library.ts";
import { libraryOf, underLock } from "../../skills/library/sync.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { define } from "../command.ts";
import { emit } from "../output/output.ts";
import { requireYes, rows, wrongUsage } from "../plans/plan-place.ts";
import { skillIn } from "./look.ts";
import { errorRows, projectAt } from "./skills-place.ts";

/** `deaddrop skills import <folder>`: shows what a foreign skill grants, asks, and copies it. Spec 7.1. */
export const importSkill = define({
  about: "take in a skill of others, once you have seen what it grants",
  args: { "<folder>": "of the skill, on this machine" },
  options: { "--yes": "ask nobody" },
  async run(cli, flags, { folder: given }) {
    const judged = skillIn(cli, given);
    const { folder, skill } = judged;
    if (skill === undefined) {
      throw new DeaddropError("config", rows(errorRows(judged)), { hint: "nothing was taken in" });
    }
    const library = libraryOf(projectAt(cli.cwd));
    const target = join(library, skill.name);
    const taken = wrongUsage(
      `${target} is there already`,
      "remove it first, or rename the other one",
    );
    if (existsSync(target)) throw taken;
    cli.stderr.write(`${rows(grantRows(judged, skill))}\n`);
    await requireYes(cli, flags, "Take it in?", {
      denied: "not confirmed; nothing was changed",
      unasked: "a skill of others is taken in when a person has said so; nothing was changed",
      hint: "read its SKILL.md, then say yes on a terminal, or give --yes",
    });
    const path = resolve(cli.cwd, given);
    const source = path.endsWith(`/${SKILL_FILE}`) ? dirname(path) : path;
    underLock(library, () => {
      if (existsSync(target)) throw taken;
      const disk = nodeDisk();
      // A folder without SKILL.md is no skill: it comes last, should this process die.
      const names = [...folder.files].toSorted(([a], [b]) => last(a) - last(b));
      for (const [name, { isExecutable }] of names) {
        const to = join(target, name);
        disk.makeFolder(dirname(to), 0o755);
        disk.replace(to, bytesOf(source, join(source, name)), isExecutable ? 0o755 : 0o644);
      }
    });
    const data = { name: skill.name, path: target, allowed_tools: skill.allowedTools };
    emit(cli, flags, data, () => rows([`took in ${target}`, "next: deaddrop skills sync"]));
  },
});

function last(name: string): number {
  return name === SKILL_FILE ? 1 : 0;
}

/** What an agent, and its tool, would be allowed or led to by this skill. */
function grantRows({ folder, problems }: JudgedSkill, skill: Skill): string[] {
  const programs = [...folder.files]
    .filter(([path, file]) => file.isExecutable || path.startsWith("scripts/"))
    .map(([path]) => path);
  const tools = skill.allowedTools.join(" ");
  return [
    `${skill.name}: ${skill.description}`,
    tools === "" ? "grants no permissions" : `grants, without asking: ${tools}`,
    programs.length === 0 ? "has no scripts" : `has scripts: ${programs.join(", ")}`,
    `has ${folder.files.size === 1 ? "1 file" : `${folder.files.size} files`}; its text is read by agents as instructions`,
    ...problems.map(({ level, text }) => `${level}: ${text}`),
  ];
}

import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { sanitise } from "../../framing/sanitise.ts";
import { isError } from "../../plans/plan/problem.ts";
import { judgeSkill } from "../../skills/format/judge-skill.ts";
import { listingProblem, xmlListing, type Listed } from "../../skills/format/listing.ts";
import { SKILL_FILE, type JudgedSkill } from "../../skills/format/skill.ts";
import { LIBRARY_FOLDER, readLibrary, readSkillFolder } from "../../skills/library/read-library.ts";
import { libraryOf } from "../../skills/library/sync.ts";
import { define } from "../command.ts";
import type { Cli } from "../context.ts";
import { emit, table, writeExact } from "../output/output.ts";
import { rows, wrongUsage } from "../plans/plan-place.ts";
import { errorRows, problemRows, projectAt, skillAt, NAMED } from "./skills-place.ts";

const LIST_FORMATS = ["text", "xml", "json"] as const;

/** `deaddrop skills list`: the skills that can be used; of the others it is said why not. Spec 7.1. */
export const list = define({
  about: "the skills there are; as xml, the block that tools show a model",
  options: {
    "--format <format>": { about: "how", choices: LIST_FORMATS },
    "--no-location": "without where they are",
  },
  run(cli, flags) {
    const library = libraryOf(projectAt(cli.cwd));
    const skills = readLibrary(library);
    for (const row of skills.filter(({ skill }) => skill === undefined).flatMap(errorRows)) {
      cli.stderr.write(`${sanitise(row)}\n`);
    }
    const listed = listedIn(library, skills, flags.location !== false);
    if (flags.format === "xml" && flags.json !== true) {
      writeExact(cli.stdout, `${xmlListing(listed)}\n`);
      return;
    }
    const json = flags.json === true || flags.format === "json";
    emit(cli, { json }, listed, (paint) =>
      table(
        listed.map(({ name, description }) => [{ text: name }, { text: description }]),
        paint,
        cli.stdout.columns,
      ),
    );
  },
});

function listedIn(library: string, skills: readonly JudgedSkill[], isLocated: boolean): Listed[] {
  return skills.flatMap(({ skill }) => {
    if (skill === undefined) return [];
    const { name, description } = skill;
    return [
      { name, description, location: isLocated ? join(library, name, SKILL_FILE) : undefined },
    ];
  });
}

/** `deaddrop skills validate`: exit code 1 when a skill cannot be used. Spec 7.1. */
export const validate = define({
  about: "everything that is wrong with skills, by the open format",
  args: { "[folder...]": "of a skill (else the whole library)" },
  run(cli, flags, { folder: named }) {
    const skills =
      named.length > 0
        ? named.map((path) => skillIn(cli, path))
        : readLibrary(libraryOf(projectAt(cli.cwd)));
    const together = named.length > 0 ? undefined : listingProblem(listedIn("", skills, false));
    const isValid = skills.every(({ skill }) => skill !== undefined);
    cli.exitCode = isValid ? 0 : 1;
    const data = {
      valid: isValid,
      skills: skills.map(({ folder, skill, problems }) => ({
        ...{ name: folder.name, valid: skill !== undefined, problems },
      })),
      warnings: together === undefined ? [] : [together],
    };
    emit(cli, flags, data, () => {
      const wrong = skills.filter(({ problems }) => problems.some(isError)).length;
      const count = `${skills.length} skill${skills.length === 1 ? "" : "s"}`;
      return rows([
        ...skills.flatMap(problemRows),
        ...data.warnings.map((text) => `warning: ${text}`),
        isValid ? `valid: ${count}` : `not valid: ${wrong} of ${count}`,
      ]);
    });
  },
});

/** A folder of a skill, or its SKILL.md, anywhere. Links of one that is not in our library end in it. */
export function skillIn(cli: Cli, path: string): JudgedSkill {
  const given = resolve(cli.cwd, path);
  const folder = basename(given) === SKILL_FILE ? dirname(given) : given;
  if (!existsSync(folder))
    throw wrongUsage(`${folder}: no such folder`, "name the folder of a skill");
  const library = dirname(folder);
  const isOurs = library === join(projectAt(cli.cwd), LIBRARY_FOLDER);
  return judgeSkill(readSkillFolder(library, basename(folder), isOurs ? library : folder));
}

/** `deaddrop skills show <name>`. */
export const show = define({
  about: "all of a skill",
  args: NAMED,
  run(cli, flags, { name }) {
    const { library, judged, skill } = skillAt(cli, name);
    const files = [...judged.folder.files.keys()].toSorted();
    const data = {
      ...{ name: skill.name, description: skill.description, license: skill.license ?? null },
      ...{ compatibility: skill.compatibility ?? null, version: skill.version ?? null },
      ...{ metadata: Object.fromEntries(skill.metadata), allowed_tools: skill.allowedTools },
      ...{ location: join(library, name, SKILL_FILE), files, body: skill.body },
    };
    emit(cli, flags, data, () =>
      rows([
        `${skill.name} ${skill.version ?? "without a version"}: ${data.location}`,
        skill.description,
        ...(skill.compatibility === undefined ? [] : [skill.compatibility]),
        ...(skill.allowedTools.length === 0 ? [] : [`grants: ${skill.allowedTools.join(" ")}`]),
        `files: ${files.join(", ")}`,
        "",
        skill.body.trim(),
      ]),
    );
  },
});

/** `deaddrop skills prompt <name>`: the skill as a prompt, for tools that have no skills. Spec 7.1. */
export const prompt = define({
  about: "a skill as a prompt, for tools that have no skills",
  args: NAMED,
  run(cli, flags, { name }) {
    const { library, judged, skill } = skillAt(cli, name);
    const folder = join(library, name);
    const others = [...judged.folder.files.keys()].filter((path) => path !== SKILL_FILE).toSorted();
    const head = [
      `Follow this skill, ${skill.name}: ${skill.description.replaceAll(/\s+/gu, " ")}`,
      ...(others.length === 0 ? [] : [`Its files are in ${folder}: ${others.join(", ")}`]),
    ];
    const text = [...head, "", skill.body.trim()].join("\n");
    emit(cli, flags, { name, prompt: text }, () => rows([text]));
  },
});

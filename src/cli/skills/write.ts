import { existsSync } from "node:fs";
import { join } from "node:path";
import { textOf } from "../../setup/project-files.ts";
import { judgeSkill } from "../../skills/format/judge-skill.ts";
import { SKILL_FILE } from "../../skills/format/skill.ts";
import {
  BUMPS,
  bumped,
  isVersion,
  newSkillText,
  withChange,
  withVersion,
} from "../../skills/format/write-skill.ts";
import { libraryOf, underLock } from "../../skills/library/sync.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { quote } from "../../wire/quote.ts";
import { define } from "../command.ts";
import { emit } from "../output/output.ts";
import { rows, wrongUsage } from "../plans/plan-place.ts";
import { problemRows, projectAt, skillAt, skillName, NAMED } from "./skills-place.ts";

const [NEW_FILE, NEW_FOLDER] = [0o644, 0o755];

/** `deaddrop skills new <name>`: a skill to be written. Spec 7.1. */
export const create = define({
  about: "a skill to be written",
  args: { "<name>": "a-z, 0-9 and single hyphens" },
  options: { "--description <text>": "what it does, and when it is to be used" },
  run(cli, flags, { name: given }) {
    const name = skillName(given);
    const library = libraryOf(projectAt(cli.cwd));
    const folder = join(library, name);
    const description =
      flags.description ?? `Say what ${name} does, and when an agent is to use it.`;
    const markdown = newSkillText(name, description);
    const judged = judgeSkill({
      ...{ name, markdown, refused: [] },
      files: new Map([[SKILL_FILE, { sha256: "", isExecutable: false }]]),
    });
    if (judged.skill === undefined) {
      throw wrongUsage(rows(problemRows(judged)), "give another --description");
    }
    const path = join(folder, SKILL_FILE);
    underLock(library, () => {
      if (existsSync(folder)) throw wrongUsage(`${folder} is there already`, "choose another name");
      const disk = nodeDisk();
      disk.makeFolder(folder, NEW_FOLDER);
      disk.replace(path, Buffer.from(markdown), NEW_FILE);
    });
    emit(cli, flags, { name, path }, () =>
      rows([`made ${path}`, "write it, then: deaddrop skills validate, and deaddrop skills sync"]),
    );
  },
});

/** `deaddrop skills bump <name> <part>`: the next version, with a line in the skill's CHANGELOG.md. */
export const bump = define({
  about: "the next version of a skill, with a line in its CHANGELOG.md",
  args: { ...NAMED, "<part>": { about: "of its version", choices: BUMPS } },
  options: { "--note <text>": "what is new" },
  run(cli, flags, { name, part }) {
    const date = new Date(cli.clock.nowMs()).toISOString().slice(0, 10);
    const note = flags.note ?? `a ${part} change`;
    const disk = nodeDisk();
    const data = underLock(libraryOf(projectAt(cli.cwd)), () => {
      const { library, judged, skill } = skillAt(cli, name);
      if (skill.version !== undefined && !isVersion(skill.version)) {
        throw wrongUsage(
          `the version of ${name}, ${quote(skill.version)}, is not a semantic version`,
          `write one such as "1.0.0" into ${join(library, name, SKILL_FILE)}`,
        );
      }
      const version = bumped(skill.version ?? "0.0.0", part);
      const changelog = join(library, name, "CHANGELOG.md");
      const changes = withChange(textOf(disk, changelog), { version, date, note });
      const markdown = withVersion(judged.folder.markdown ?? "", version);
      disk.replace(changelog, Buffer.from(changes), disk.stat(changelog)?.mode ?? NEW_FILE);
      const path = join(library, name, SKILL_FILE);
      disk.replace(path, Buffer.from(markdown), disk.stat(path)?.mode ?? NEW_FILE);
      return { name, before: skill.version ?? null, version, note };
    });
    const { version, before } = data;
    emit(cli, flags, data, () =>
      rows([`${name} is ${version} now (was ${before ?? "without a version"}): ${note}`]),
    );
  },
});

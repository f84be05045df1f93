import { Command, InvalidArgumentError, Option } from "commander";
import { BUMPS, type Bump } from "../../../skills/format/version.ts";
import { MODES } from "../../../skills/mirror/manifest.ts";
import { SKILL_TOOLS } from "../../../skills/mirror/tools.ts";
import type { Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { list, LIST_FORMATS, prompt, show, validate, type ListFlags } from "../../skills/look.ts";
import { hooks, type HooksFlags } from "../../skills/hooks.ts";
import { importSkill, type ImportFlags } from "../../skills/import.ts";
import { init, type InitFlags } from "../../skills/init.ts";
import type { SkillFlags } from "../../skills/skills-place.ts";
import { sync, type SyncFlags } from "../../skills/sync.ts";
import { bump, create, type BumpFlags, type NewFlags } from "../../skills/write.ts";

const NAME = "<name>";

/** `deaddrop skills`: one library of skills for every tool. Spec 7.1. */
export function command(cli: Cli): Command {
  const skills = new Command("skills").description(
    "Skills: what an agent reads when it is to do something in a certain way. They are written once, in\n" +
      "agent/skills, and repeated where each tool looks for them. Nothing here needs a wire or a network.",
  );
  addMirrors(cli, skills);
  addLooking(cli, skills);
  addWriting(cli, skills);
  addHooks(cli, skills);
  return skills.addHelpText(
    "after",
    example(
      "deaddrop skills init",
      "deaddrop skills sync --check",
      'deaddrop skills bump review minor --note "Ask for a test first"',
    ),
  );
}

function addMirrors(cli: Cli, skills: Command): void {
  skills
    .command("init")
    .description("the layout, the skills that come with deaddrop, and the small files of each tool")
    .option("--folder <folder>", "of the project (default: its top)")
    .addOption(toolOption("besides .claude/skills and .agents/skills, the folder of this tool"))
    .option("--old-gemini", "turn skills on for a Gemini CLI that has them off")
    .option("--cursor-hooks", "have Cursor check the mirrors at the end of a turn")
    .action((_own: unknown, self: Command) => init(cli, self.optsWithGlobals<InitFlags>()));
  skills
    .command("sync")
    .description("make the folders in which tools look equal to the library")
    .addOption(toolOption("only the folder of this tool (repeatable)"))
    .addOption(new Option("--mode <mode>", "files, or links to the library").choices([...MODES]))
    .option("--check", "change nothing; exit code 1 and what differs, for CI")
    .option("--adopt", "bring home what was edited there")
    .option("--force", "give up what was edited there")
    .option("--strict", "leave out skills whose compatibility is not met here")
    .option("--watch", "go on with each change of the library")
    .action((_own: unknown, self: Command) => sync(cli, self.optsWithGlobals<SyncFlags>()));
}

function addLooking(cli: Cli, skills: Command): void {
  skills
    .command("validate")
    .description("everything that is wrong with skills, by the open format")
    .argument("[folder...]", "of a skill (else the whole library)")
    .action((folders: string[], _own: unknown, self: Command) =>
      validate(cli, self.optsWithGlobals<SkillFlags>(), folders),
    );
  skills
    .command("list")
    .description("the skills there are; as xml, the block that tools show a model")
    .addOption(new Option("--format <format>", "how").choices([...LIST_FORMATS]))
    .option("--no-location", "without where they are")
    .action((_own: unknown, self: Command) => list(cli, self.optsWithGlobals<ListFlags>()));
  skills
    .command("show")
    .description("all of a skill")
    .argument(NAME, "of a skill")
    .action((name: string, _own: unknown, self: Command) =>
      show(cli, self.optsWithGlobals<SkillFlags>(), name),
    );
  skills
    .command("prompt")
    .description("a skill as a prompt, for tools that have no skills")
    .argument(NAME, "of a skill")
    .action((name: string, _own: unknown, self: Command) =>
      prompt(cli, self.optsWithGlobals<SkillFlags>(), name),
    );
}

function addWriting(cli: Cli, skills: Command): void {
  skills
    .command("import")
    .description("take in a skill of others, once you have seen what it grants")
    .argument("<folder>", "of the skill, on this machine")
    .option("--yes", "ask nobody")
    .action((folder: string, _own: unknown, self: Command) =>
      importSkill(cli, self.optsWithGlobals<ImportFlags>(), folder),
    );
  skills
    .command("new")
    .description("a skill to be written")
    .argument(NAME, "a-z, 0-9 and single hyphens")
    .option("--description <text>", "what it does, and when it is to be used")
    .action((name: string, _own: unknown, self: Command) =>
      create(cli, self.optsWithGlobals<NewFlags>(), name),
    );
  skills
    .command("bump")
    .description("the next version of a skill, with a line in its CHANGELOG.md")
    .argument(NAME, "of a skill")
    .addArgument(skills.createArgument("<part>", "of its version").choices([...BUMPS]))
    .option("--note <text>", "what is new")
    .action((name: string, part: Bump, _own: unknown, self: Command) =>
      bump(cli, self.optsWithGlobals<BumpFlags>(), name, part),
    );
}

function addHooks(cli: Cli, skills: Command): void {
  skills
    .command("hooks")
    .description("have git check skills and mirrors")
    .command("install")
    .description("a hook that checks before each commit; your own hooks run first")
    .option("--remove", "take it out, and put back what was there")
    .option("--shared", "also where core.hooksPath is outside of this repository")
    .action((_own: unknown, self: Command) => hooks(cli, self.optsWithGlobals<HooksFlags>()));
}

function toolOption(about: string): Option {
  return new Option("--tool <tool>", about)
    .choices([...SKILL_TOOLS])
    .argParser((value: string, before: string[] | undefined) => [...(before ?? []), oneOf(value)]);
}

function oneOf(value: string): string {
  if (SKILL_TOOLS.some((tool) => tool === value)) return value;
  throw new InvalidArgumentError(`Choose one of ${SKILL_TOOLS.join(", ")}.`);
}

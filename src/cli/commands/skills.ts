import { BUMPS } from "../../skills/format/write-skill.ts";
import { MODES } from "../../skills/mirror/manifest.ts";
import { SKILL_TOOLS } from "../../skills/mirror/tools.ts";
import { count, define, repeatable } from "../command.ts";
import { benchSkills } from "../skills/bench.ts";
import { hooks } from "../skills/hooks.ts";
import { importSkill } from "../skills/import.ts";
import { init } from "../skills/init.ts";
import { list, LIST_FORMATS, prompt, show, validate } from "../skills/look.ts";
import { sync } from "../skills/sync.ts";
import { bump, create } from "../skills/write.ts";

const NAMED = { "<name>": "of a skill" } as const;

/** One library of skills for every tool. Spec 7.1. */
export const skills = define({
  about:
    "Skills: what an agent reads when it is to do something in a certain way. They are written once, in " +
    "agent/skills, and repeated where each tool looks for them. Nothing here needs a wire or a network.",
  examples: [
    "deaddrop skills init",
    "deaddrop skills sync --check",
    'deaddrop skills bump review minor --note "Ask for a test first"',
  ],
  commands: {
    init: define({
      about: "the layout, the skills that come with deaddrop, and the small files of each tool",
      options: {
        "--folder <folder>": "of the project (default: its top)",
        "--tool <tool>": {
          about: "besides .claude/skills and .agents/skills, the folder of this tool",
          choices: SKILL_TOOLS,
          repeatable: true,
        },
        "--old-gemini": "turn skills on for a Gemini CLI that has them off",
        "--cursor-hooks": "have Cursor check the mirrors at the end of a turn",
      },
      run: init,
    }),
    sync: define({
      about: "make the folders in which tools look equal to the library",
      options: {
        "--tool <tool>": {
          about: "only the folder of this tool (repeatable)",
          choices: SKILL_TOOLS,
          repeatable: true,
        },
        "--mode <mode>": { about: "files, or links to the library", choices: MODES },
        "--check": "change nothing; exit code 1 and what differs, for CI",
        "--adopt": "bring home what was edited there",
        "--force": "give up what was edited there",
        "--strict": "leave out skills whose compatibility is not met here",
        "--watch": "go on with each change of the library",
      },
      run: sync,
    }),
    validate: define({
      about: "everything that is wrong with skills, by the open format",
      args: { "[folder...]": "of a skill (else the whole library)" },
      run: (cli, flags, { folder: folders }) => validate(cli, flags, folders),
    }),
    list: define({
      about: "the skills there are; as xml, the block that tools show a model",
      options: {
        "--format <format>": { about: "how", choices: LIST_FORMATS },
        "--no-location": "without where they are",
      },
      run: list,
    }),
    show: define({
      about: "all of a skill",
      args: NAMED,
      run: (cli, flags, { name }) => show(cli, flags, name),
    }),
    prompt: define({
      about: "a skill as a prompt, for tools that have no skills",
      args: NAMED,
      run: (cli, flags, { name }) => prompt(cli, flags, name),
    }),
    import: define({
      about: "take in a skill of others, once you have seen what it grants",
      args: { "<folder>": "of the skill, on this machine" },
      options: { "--yes": "ask nobody" },
      run: (cli, flags, { folder }) => importSkill(cli, flags, folder),
    }),
    new: define({
      about: "a skill to be written",
      args: { "<name>": "a-z, 0-9 and single hyphens" },
      options: { "--description <text>": "what it does, and when it is to be used" },
      run: (cli, flags, { name }) => create(cli, flags, name),
    }),
    bump: define({
      about: "the next version of a skill, with a line in its CHANGELOG.md",
      args: { ...NAMED, "<part>": { about: "of its version", choices: BUMPS } },
      options: { "--note <text>": "what is new" },
      run: (cli, flags, { name, part }) => bump(cli, flags, name, part),
    }),
    hooks: define({
      about: "have git check skills and mirrors",
      commands: {
        install: define({
          about: "a hook that checks before each commit; your own hooks run first",
          options: {
            "--remove": "take it out, and put back what was there",
            "--shared": "also where core.hooksPath is outside of this repository",
          },
          run: hooks,
        }),
      },
    }),
  },
});

/** How alike plans and reports of tools are. Spec 7.6. */
export const bench = define({
  about: "Measure what tools make of the skills.",
  examples: ["deaddrop bench skills", 'deaddrop bench skills --exec "claude=claude -p"'],
  commands: {
    skills: define({
      about: "give the tasks of agent/benchmarks to tools, and score the shape of their answers",
      options: {
        "--exec <program>": repeatable(
          "a tool, as name=program; none: recorded answers (repeatable)",
        ),
        "--runs <number>": { about: "of each task (default 3)", parse: count },
        "--timeout <seconds>": { about: "of each run (default 600)", parse: count },
        "--tasks <folder>": "other tasks",
      },
      run: benchSkills,
    }),
  },
});

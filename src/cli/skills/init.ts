import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { syncSkills } from "../../skills/library/sync.ts";
import { SKILL_TOOLS, mirrorOf, USUAL_MIRRORS } from "../../skills/mirror/tools.ts";
import { initProject, type InitStep } from "../../skills/setup/init-project.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { define } from "../command.ts";
import { emit } from "../output/output.ts";
import { rows, wrongUsage } from "../plans/plan-place.ts";
import { schemaPath, shippedFolders } from "../../setup/program.ts";
import { libraryPlace, projectAt } from "./skills-place.ts";
import { mirrorRows, mirrorView, syncExitCode } from "./sync.ts";

const SCHEMAS = { "plan-schema.json": "agent-plan", "report-schema.json": "agent-report" };

/** `deaddrop skills init`: the layout, the skills, and what tools need to find them. Spec 7.1. */
export const init = define({
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
  run(cli, flags) {
    const disk = nodeDisk();
    const project =
      flags.folder === undefined ? projectAt(cli.cwd) : resolve(cli.cwd, flags.folder);
    if (disk.stat(project)?.kind !== "folder") {
      throw wrongUsage(`${project}: no such folder`, "make it first");
    }
    const schemas = new Map(
      Object.entries(SCHEMAS).map(([name, ours]) => [name, readFileSync(schemaPath(ours), "utf8")]),
    );
    const shipped = { ...shippedFolders(), schemas };
    const wish = { oldGemini: flags.oldGemini === true, cursorHooks: flags.cursorHooks === true };
    const steps = initProject(disk, project, shipped, wish);
    const mirrors = [...new Set([...USUAL_MIRRORS, ...(flags.tool ?? []).map(mirrorOf)])];
    const asIs = { mode: undefined, check: false, force: false, adopt: false, strict: false };
    const report = syncSkills(libraryPlace(cli, project), { mirrors, ...asIs });
    cli.exitCode = syncExitCode(report, false);
    const data = {
      project,
      files: steps.map(({ path, what }) => ({ path, what })),
      mirrors: report.mirrors.map((each) => mirrorView(each, false)),
    };
    emit(cli, flags, data, () =>
      rows([
        ...steps.map(({ path, what }) => `${WORDS[what]} ${relative(project, path)}`),
        ...report.mirrors.flatMap((each) => mirrorRows(each, report, false)),
        "deaddrop skills list shows the skills; agent/policies/WORKFLOW.md says how they go together",
      ]),
    );
  },
});

const WORDS: Readonly<Record<InitStep["what"], string>> = {
  made: "made   ",
  changed: "changed",
  there: "there  ",
  kept: "kept   ",
};

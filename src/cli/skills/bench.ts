import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { splitWords } from "../../plans/work/step-commands.ts";
import {
  benchTool,
  readTasks,
  type BenchTool,
  type ToolScore,
} from "../../skills/bench/run-bench.ts";
import { judgeSkill } from "../../skills/format/judge-skill.ts";
import { LIBRARY_FOLDER, readSkillFolder } from "../../skills/library/read-library.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { repeatable, count, define } from "../command.ts";
import { emit, table } from "../output/output.ts";
import { rows, wrongUsage, untilStopped } from "../plans/plan-place.ts";
import { shippedFolders } from "../../setup/program.ts";
import { projectAt } from "./skills-place.ts";

const USUAL_RUNS = 3;
const USUAL_SECONDS = 600;
const BENCHMARKS = "agent/benchmarks";
const SCRIPTED =
  "No model was asked: the answers are recorded ones. The scores say that tasks and checks fit together, and nothing of a tool.";
const OF_SHAPE =
  "Scores are of shape alone: which steps, owners, files and results there are. Whether the words are good, a person says.";

/** `deaddrop skills bench`: plans and reports of tools, compared with what is expected. Spec 7.6. */
export const benchSkills = define({
  about: "give the tasks of agent/benchmarks to tools, and score the shape of their answers",
  options: {
    "--exec <program>": repeatable("a tool, as name=program; none: recorded answers (repeatable)"),
    "--runs <number>": { about: "of each task (default 3)", parse: count },
    "--timeout <seconds>": { about: "of each run (default 600)", parse: count },
    "--tasks <folder>": "other tasks",
  },
  async run(cli, flags) {
    const project = projectAt(cli.cwd);
    const own = join(project, BENCHMARKS);
    const shipped = join(shippedFolders().agent, "benchmarks");
    const folder =
      flags.tasks === undefined ? (existsSync(own) ? own : shipped) : resolve(cli.cwd, flags.tasks);
    const tasks = readTasks(nodeDisk(), folder);
    const timeoutMs = (flags.timeout ?? USUAL_SECONDS) * 1_000;
    const place = { cwd: cli.cwd, env: cli.env, timeoutMs };
    const tools: BenchTool[] = (flags.exec ?? []).map((given) => {
      const { name, command } = toolOf(given);
      return { name, adapter: { ...place, command }, isScripted: false };
    });
    if (tools.length === 0) {
      // Ours, whatever the project has under that name: a project's own program is run only when it is named.
      const command = [process.execPath, join(shipped, "scripted-adapter.js"), folder];
      tools.push({ name: "scripted", adapter: { ...place, command }, isScripted: true });
    }
    const scores = await untilStopped(async (signal) => {
      const { nowMs } = cli.clock;
      const runs = flags.runs ?? (flags.exec === undefined ? 1 : USUAL_RUNS);
      const skillText = (name: string) => textOf(project, name);
      const done: ToolScore[] = [];
      for (const tool of tools) {
        done.push(await benchTool(tool, tasks, { runs, skillText, nowMs, signal }));
      }
      return done;
    });
    const note = flags.exec === undefined ? SCRIPTED : OF_SHAPE;
    emit(cli, flags, { tasks: folder, note, tools: scores }, (paint) =>
      [
        rows([`tasks: ${folder}`]),
        table(scores.flatMap(cellsOf), paint, cli.stdout.columns),
        rows([...scores.flatMap(missingRows), note]),
      ].join("\n"),
    );
  },
});

/** `name=program arguments`; without a name, that of the program. */
function toolOf(given: string): { name: string; command: readonly string[] } {
  const [, name, rest = given] = /^([a-z0-9-]+)=(.+)$/su.exec(given) ?? [];
  const split = splitWords(rest);
  if (!split.ok) throw wrongUsage(`--exec: ${split.detail}`, "give the program with its arguments");
  return { name: name ?? basename(split.words[0] ?? ""), command: split.words };
}

/** Of a skill that can be used. */
function textOf(project: string, name: string): string | undefined {
  const library = join(project, LIBRARY_FOLDER);
  if (!existsSync(join(library, name))) return undefined;
  return judgeSkill(readSkillFolder(library, name)).skill?.body;
}

function cellsOf({ tool, shape, consistency, tasks }: ToolScore) {
  const row = (name: string, of: number, same: number | null) => [
    { text: tool },
    { text: name },
    { text: `shape ${percent(of)}` },
    { text: `consistency ${same === null ? "-" : percent(same)}` },
  ];
  return [
    ...tasks.map((each) => row(each.task, each.shape, each.consistency)),
    row("all", shape, consistency),
  ];
}

function missingRows({ tool, tasks }: ToolScore): string[] {
  return tasks.flatMap(({ task, runs, missing }) =>
    missing.map((each) => `${tool} ${task}: lacks ${each.what} (${each.runs} of ${runs} runs)`),
  );
}

function percent(part: number): string {
  return `${Math.round(part * 100)} %`;
}

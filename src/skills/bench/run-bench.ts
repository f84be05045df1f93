import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { runProgram } from "../../plans/work/adapter.ts";
import type { Adapter } from "../../plans/work/work-step.ts";
import { calling } from "../../storage/disk/errno.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { scoreTask, scoreTool, type ToolScore } from "./score.ts";
import { judgeAnswer, noAnswer, type Judged } from "./shape.ts";
import { parseTask, type BenchTask } from "./task.ts";

/** A tool that answers. */
export interface BenchTool {
  readonly name: string;
  readonly adapter: Omit<Adapter, "allowCommands">;
  /** Its answers are recorded ones. */
  readonly isScripted: boolean;
}

export interface BenchOptions {
  readonly runs: number;
  /** The text of a skill of the library; undefined: the tool has it, or nobody. */
  skillText(name: string): string | undefined;
  nowMs(): number;
  readonly signal: AbortSignal;
}

const MAX_TASKS = 200;
const MAX_TASK_BYTES = 65_536;
const ABOUT = {
  plan: "Write the plan that the task asks for, as the skill says. Change no file. Print it as your last output, as YAML in a fenced block.",
  report:
    "Write the report that the task asks for, as the skill says. Change no file. Print it as your last output: one JSON object with step_id, outcome, details, artifacts, error unless it is a success, and timestamp.",
};

/** The tasks of a folder, in the order of their names. Throws DeaddropError where one is none. Spec 7.6. */
export function readTasks(disk: Disk, folder: string): BenchTask[] {
  const names = existsSync(folder)
    ? calling(folder, "listing", () => readdirSync(folder)).filter((name) => name.endsWith(".json"))
    : [];
  if (names.length === 0) {
    throw new DeaddropError("config", `${folder}: there are no tasks`, {
      hint: "deaddrop skills init brings some",
    });
  }
  return names
    .toSorted()
    .slice(0, MAX_TASKS)
    .map((name) => {
      const path = join(folder, name);
      const read = parseTask(readWhole(disk, path, MAX_TASK_BYTES) ?? new Uint8Array());
      const isNamed = read.ok && `${read.task.name}.json` === name;
      if (read.ok && isNamed) return read.task;
      const why = read.ok
        ? `it is named ${read.task.name}, and has to be under that name`
        : read.detail;
      throw new DeaddropError("config", `${path}: no task: ${why}`, {
        hint: "correct or remove it",
      });
    });
}

/** Asks a tool for all tasks, one after the other, and scores its answers. Spec 7.6. */
export async function benchTool(
  tool: BenchTool,
  tasks: readonly BenchTask[],
  options: BenchOptions,
): Promise<ToolScore> {
  const scores = [];
  for (const task of tasks) {
    const answers: Judged[] = [];
    for (let run = 0; run < options.runs && !options.signal.aborted; run += 1) {
      answers.push(await ask(tool, task, options));
    }
    const { name, expect } = task;
    scores.push(scoreTask({ name, kind: expect.kind }, answers, tool.isScripted));
  }
  return scoreTool(tool.name, !tool.isScripted, scores);
}

async function ask(
  { adapter }: BenchTool,
  task: BenchTask,
  { skillText, nowMs, signal }: BenchOptions,
): Promise<Judged> {
  const { name, skill, task: words, facts, expect } = task;
  const asked = {
    ...{ about: ABOUT[expect.kind], name, skill, skill_text: skillText(skill) ?? null },
    ...{ task: words, facts },
  };
  const end = await runProgram({ ...adapter, input: `${JSON.stringify(asked)}\n`, signal });
  const { how, detail, stdout } = end;
  return how === "done" ? judgeAnswer(task, stdout, nowMs()) : noAnswer(`${how}: ${detail}`);
}

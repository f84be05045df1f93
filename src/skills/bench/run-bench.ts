import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { runProgram } from "../../daemon/run-program.ts";
import type { Adapter } from "../../plans/work/work-step.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { calling } from "../../storage/disk/errno.ts";
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

/** What the runs of one task come to. */
export interface TaskScore {
  readonly task: string;
  readonly kind: "plan" | "report";
  readonly runs: number;
  /** 0 to 1, the mean of all runs. */
  readonly shape: number;
  /** 0 to 1: how many runs have the shape that most have; null: nothing can be said of it. */
  readonly consistency: number | null;
  /** What did not hold, and in how many runs. */
  readonly missing: readonly { readonly what: string; readonly runs: number }[];
}

/** What one tool comes to. */
export interface ToolScore {
  readonly tool: string;
  /** False: answers were scripted, and nothing is said of any model. */
  readonly has_model: boolean;
  readonly shape: number;
  readonly consistency: number | null;
  readonly tasks: readonly TaskScore[];
}

/** Scores the runs of one task. `isScripted`: they cannot differ. Spec 7.6. */
function scoreTask(
  { name, kind }: { readonly name: string; readonly kind: TaskScore["kind"] },
  runs: readonly Judged[],
  isScripted: boolean,
): TaskScore {
  const counts = new Map<string, number>();
  for (const what of runs.flatMap(({ missing }) => missing)) {
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return {
    ...{ task: name, kind, runs: runs.length },
    shape: mean(runs.map(({ score }) => score)),
    consistency: isScripted || runs.length < 2 ? null : likeMost(runs),
    missing: [...counts].map(([what, count]) => ({ what, runs: count })),
  };
}

function scoreTool(tool: string, has_model: boolean, tasks: readonly TaskScore[]): ToolScore {
  const known = tasks.flatMap(({ consistency }) => consistency ?? []);
  return {
    ...{ tool, has_model, tasks },
    shape: mean(tasks.map(({ shape }) => shape)),
    consistency: known.length === 0 ? null : mean(known),
  };
}

/** A run without an answer is like no other. */
function likeMost(runs: readonly Judged[]): number {
  const counts = new Map<string, number>();
  for (const { shape } of runs) {
    if (shape !== undefined) counts.set(shape, (counts.get(shape) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values()) / runs.length;
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, each) => sum + each, 0) / values.length;
}

import type { Judged } from "./shape.ts";

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
  readonly hasModel: boolean;
  readonly shape: number;
  readonly consistency: number | null;
  readonly tasks: readonly TaskScore[];
}

/** Scores the runs of one task. `isScripted`: they cannot differ. Spec 7.6. */
export function scoreTask(
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

export function scoreTool(tool: string, hasModel: boolean, tasks: readonly TaskScore[]): ToolScore {
  const known = tasks.flatMap(({ consistency }) => consistency ?? []);
  return {
    ...{ tool, hasModel, tasks },
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

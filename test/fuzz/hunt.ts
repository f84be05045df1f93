import { isDeepStrictEqual } from "node:util";
import { mutant } from "./mutants.ts";
import { verifyLine } from "../../src/protocol/admit/verify-line.ts";
import type { Situation } from "./situations.ts";
import { slowJudge, type Judgement } from "./slow-judge.ts";

export type Judge = (line: Uint8Array, situation: Situation) => Judgement;

export interface Hunt {
  /** How many lines got which verdict of the oracle. */
  readonly verdicts: ReadonlyMap<string, number>;
  /** The most that a line took us, and which: a figure to read. What is asserted is counted. */
  readonly worstMs: number;
  readonly worst: string;
  readonly seconds: number;
}

/** Gives every line to the judge and to the oracle; throws at the first on which they differ. */
export function hunt(judge: Judge, seed: number, lines: number): Hunt {
  const verdicts = new Map<string, number>();
  let worstMs = 0;
  let worst = "";
  const startedMs = performance.now();
  for (let number = 0; number < lines; number++) {
    const { line, situation, origin } = mutant(seed, number);
    const got = judgementOf(judge, line, situation);
    const tookMs = clocked(line, situation);
    const expected = slowJudge(line, situation);
    if (!isDeepStrictEqual(got, expected)) {
      throw new Error(describe({ judge, seed, number, line, situation, origin }));
    }
    if (tookMs > worstMs) {
      worstMs = tookMs;
      worst = `${line.length} bytes, number ${number}, from ${origin}`;
    }
    verdicts.set(expected.verdict, (verdicts.get(expected.verdict) ?? 0) + 1);
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  return { verdicts, worstMs, worst, seconds };
}

/** The one judge of single lines. */
export function productJudge(line: Uint8Array, { store }: Situation): Judgement {
  const judged = verifyLine(line, store);
  return judged.ok
    ? { verdict: "accepted", id: judged.line.id }
    : { verdict: judged.problem.reason, id: "" };
}

/** An exception is a verdict too, and never the right one. */
function judgementOf(judge: Judge, line: Uint8Array, situation: Situation): Judgement {
  try {
    return judge(line, situation);
  } catch (error) {
    return { verdict: `threw ${String(error)}`, id: "" };
  }
}

function clocked(line: Uint8Array, situation: Situation): number {
  const before = performance.now();
  productJudge(line, situation);
  return performance.now() - before;
}

interface Difference {
  readonly judge: Judge;
  readonly seed: number;
  readonly number: number;
  readonly line: Uint8Array;
  readonly situation: Situation;
  readonly origin: string;
}

function describe({ judge, seed, number, line, situation, origin }: Difference): string {
  const differs = (candidate: Uint8Array): boolean =>
    !isDeepStrictEqual(judgementOf(judge, candidate, situation), slowJudge(candidate, situation));
  const small = shrink(line, differs);
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
  return [
    `seed ${seed}, line ${number}, from "${origin}", in "${situation.name}"`,
    `got      ${JSON.stringify(judgementOf(judge, line, situation))}`,
    `expected ${JSON.stringify(slowJudge(line, situation))}`,
    `line   ${base64(line)}`,
    `shrunk ${base64(small)}`,
    `got      ${JSON.stringify(judgementOf(judge, small, situation))}`,
    `expected ${JSON.stringify(slowJudge(small, situation))}`,
    "Keep the shrunk line in test/fuzz/corpus/found.jsonl.",
  ].join("\n");
}

const MAX_SHRINK_TRIALS = 5_000;

/** Takes out pieces, ever smaller ones, as long as what is left still differs. */
export function shrink(line: Uint8Array, differs: (line: Uint8Array) => boolean): Uint8Array {
  let smallest = line;
  let trials = 0;
  for (let size = Math.ceil(line.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < smallest.length && trials < MAX_SHRINK_TRIALS;) {
      trials++;
      const candidate = new Uint8Array(
        Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)]),
      );
      if (differs(candidate)) smallest = candidate;
      else at += size;
    }
  }
  return smallest;
}

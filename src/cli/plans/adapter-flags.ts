import { splitWords } from "../../plans/work/argv.ts";
import type { Adapter } from "../../plans/work/work-step.ts";
import type { Cli } from "../context.ts";
import { wrongUsage } from "./plan-place.ts";

export interface AdapterFlags {
  exec?: string;
  timeout?: number;
  allowCommands?: boolean;
}

/** How long one step may be worked at, unless the operator says so. */
const USUAL_STEP_SECONDS = 3_600;

export function stepTimeoutMs({ timeout }: AdapterFlags): number {
  return (timeout ?? USUAL_STEP_SECONDS) * 1_000;
}

/** What works at steps; undefined without --exec. */
export function adapterOf(cli: Cli, flags: AdapterFlags): Adapter | undefined {
  if (flags.exec === undefined) return undefined;
  const split = splitWords(flags.exec);
  if (!split.ok) throw wrongUsage(`--exec: ${split.detail}`, "give the program with its arguments");
  return {
    command: split.words,
    cwd: cli.cwd,
    env: cli.env,
    timeoutMs: stepTimeoutMs(flags),
    allowCommands: flags.allowCommands === true,
  };
}

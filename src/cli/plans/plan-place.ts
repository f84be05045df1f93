import { resolve } from "node:path";
import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import { sanitiseLines } from "../../framing/sanitise.ts";
import { noStep } from "../../plans/plan/changes.ts";
import type { Owners } from "../../plans/plan/owners.ts";
import type { PlanDocument } from "../../plans/plan/parse-plan.ts";
import { stepNamed, type Plan, type Step } from "../../plans/plan/plan.ts";
import { validPlan } from "../../plans/run/plan-file.ts";
import {
  currentPlan,
  planPlaces,
  readRoles,
  type PlanPlaces,
} from "../../plans/run/plan-folder.ts";
import { splitWords } from "../../plans/work/step-commands.ts";
import type { Adapter } from "../../plans/work/work-step.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { seconds, type FlagsOf, type Options } from "../command.ts";
import type { Cli } from "../context.ts";
import { askYesNo } from "../input/confirm.ts";

export const PLAN_FILE = { "[file]": "the plan (else the one in use)" } as const;
export const PLAN_OPTIONS = { "--plan <file>": "the plan (else the one in use)" } as const;
export const ADAPTER_OPTIONS = {
  "--exec <command>": "the program that does a step: it reads JSON and prints a report",
  "--timeout <seconds>": { about: "for one step (default 3600)", parse: seconds },
  "--allow-commands": "do what `Run:` and `Read:` of a step say; no shell sees them",
} as const satisfies Options;
export type PlanFlags = FlagsOf<typeof PLAN_OPTIONS>;
type AdapterFlags = FlagsOf<typeof ADAPTER_OPTIONS>;

/** The plan that a command is about. */
export interface PlanAt {
  readonly disk: Disk;
  readonly file: string;
}

/** The file that is named, else the plan in use. */
export function planAt(cli: Cli, named: string | undefined): PlanAt {
  const disk = nodeDisk();
  return { disk, file: named === undefined ? currentPlan(disk, cli.cwd) : resolve(cli.cwd, named) };
}

/** The same, read and valid, with where its things are. Throws DeaddropError. */
export function readAt(
  cli: Cli,
  named: string | undefined,
): PlanAt & { readonly document: PlanDocument; readonly places: PlanPlaces } {
  const at = planAt(cli, named);
  const document = validPlan(at.disk, at.file);
  return { ...at, document, places: planPlaces(at.file, document.plan.id ?? "") };
}

/** A step of a plan. Throws DeaddropError ("usage") when there is none. */
export function stepIn(plan: Plan, id: string): Step {
  const step = stepNamed(plan, id);
  if (step === undefined) throw wrongUsage(noStep(plan, id), "deaddrop plan status lists them");
  return step;
}

/** Who may do the steps of a plan; `client`: undefined without a wire. */
export async function readOwners(
  { disk, places }: { readonly disk: Disk; readonly places: PlanPlaces },
  client: Client | undefined,
): Promise<Owners> {
  if (client === undefined) return { runner: undefined, roster: [], roles: new Map() };
  const { roster } = await client.view("whoami");
  return { runner: client.handle, roster, roles: readRoles(disk, places) };
}

/** Goes on when a person says yes, or has given --yes. Throws DeaddropError ("refused"). */
export async function requireYes(
  cli: Cli,
  { yes }: { readonly yes?: boolean },
  question: string,
  words: { readonly denied: string; readonly unasked: string; readonly hint: string },
): Promise<void> {
  if (yes === true) return;
  const answer = await askYesNo(cli, question);
  if (answer === true) return;
  const { denied, unasked, hint } = words;
  throw new DeaddropError("refused", answer === false ? denied : unasked, { hint });
}

/** Several rows with words of others in them. */
export function rows(texts: readonly string[]): string {
  return texts.flatMap((text) => sanitiseLines(text)).join("\n");
}

export function wrongUsage(problem: string, hint: string): DeaddropError {
  return new DeaddropError("usage", problem, { hint });
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

/** Runs something that a person, or a service manager, may end: the signal says so. */
export async function untilStopped<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  try {
    return await work(stopping.signal);
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
  }
}

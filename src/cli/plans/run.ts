import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import { unknownOwners, type Owners } from "../../plans/plan/owners.ts";
import { titleOf } from "../../plans/plan/plan.ts";
import { locate } from "../../plans/plan/parse-plan.ts";
import type { FinalReport } from "../../plans/report/final-report.ts";
import { askApproval } from "../../plans/run/ask-approval.ts";
import { writeFinalReport, planPlaces, readRoles } from "../../plans/run/plan-folder.ts";
import { gitCheckpoints } from "../../plans/run/git-steps.ts";
import { holdPlan, type HeldPlan } from "../../plans/run/held-plan.ts";
import { broken } from "../../plans/run/plan-file.ts";
import { runPlan, type RunEnd, type RunEvent, type RunOutside } from "../../plans/run/run-plan.ts";
import { startRun } from "../../plans/run/start-run.ts";
import { withClient, type Cli } from "../context.ts";
import { askYesNo } from "../input/confirm.ts";
import { emit } from "../output/output.ts";
import {
  adapterOf,
  stepTimeoutMs,
  readAt,
  rows,
  wrongUsage,
  untilStopped,
  type AdapterFlags,
  type PlanFlags,
} from "./plan-place.ts";

export interface RunFlags extends PlanFlags, AdapterFlags {
  local?: boolean;
  yes?: boolean;
  approve?: string;
  maxParallel?: number;
  fixes?: number;
  gitCheckpoints?: boolean;
}

const USUAL_PARALLEL = 4;
const USUAL_FIXES = 1;

/** `deaddrop plan run`: the coordinator. Spec 7.5. */
export async function run(cli: Cli, flags: RunFlags, named: string | undefined): Promise<void> {
  if (flags.local !== true) {
    await withClient(cli, flags, (client) => runWith(cli, flags, named, client));
    return;
  }
  if (flags.exec === undefined) {
    throw wrongUsage("--local needs --exec", "name the program that does the steps");
  }
  await runWith(cli, flags, named, undefined);
}

async function runWith(
  cli: Cli,
  flags: RunFlags,
  named: string | undefined,
  client: Client | undefined,
): Promise<void> {
  const { disk, file, document } = readAt(cli, named);
  const owners = await ownersOf(cli, file, client);
  const wrong = locate(document.source, unknownOwners(document.plan, owners));
  if (wrong.length > 0) throw broken(file, wrong);
  await consent(cli, flags, document.plan.steps);
  const started = startRun(disk, file, client?.handle, cli.clock.nowMs());
  const { places } = started;
  try {
    const say = (event: RunEvent): void => emit(cli, flags, event, () => eventText(event));
    const held = holdPlan(disk, file, (text) =>
      say({ event: "told", step: null, level: "asks", text }),
    );
    const end = await untilStopped(async (signal) => {
      const { nowMs, sleep } = cli.clock;
      const outside: RunOutside = { nowMs, sleep, say, signal };
      const { approve } = flags;
      if (approve !== undefined && client !== undefined) {
        await askApproval(client, approve, { planId: started.planId, held, outside });
      }
      const limits = {
        maxParallel: flags.maxParallel ?? USUAL_PARALLEL,
        stepTimeoutMs: stepTimeoutMs(flags),
        maxFixes: flags.fixes ?? USUAL_FIXES,
      };
      const checkpoints =
        flags.gitCheckpoints === true ? gitCheckpoints(disk, places, cli.env) : undefined;
      const options = { limits, owners, adapter: adapterOf(cli, flags), checkpoints };
      return runPlan({ disk, places, held, client }, options, outside);
    });
    const final = writeFinalReport(disk, places, held.document.plan, cli.clock.nowMs());
    finish(cli, flags, { end, final, held, folder: places.folder });
  } finally {
    started.release();
  }
}

async function ownersOf(cli: Cli, file: string, client: Client | undefined): Promise<Owners> {
  if (client === undefined) return { runner: undefined, roster: [], roles: new Map() };
  const { disk, document } = readAt(cli, file);
  const { roster } = await client.view("whoami");
  const places = planPlaces(file, document.plan.id ?? "");
  return { runner: client.handle, roster, roles: readRoles(disk, places) };
}

/** One line for each step, and a yes. Spec 7.5. */
async function consent(
  cli: Cli,
  { yes }: RunFlags,
  steps: readonly { readonly owner: string; readonly description: string }[],
): Promise<void> {
  if (yes === true) return;
  const lines = steps.map((step) => `(${step.owner}: ${titleOf(step)})`);
  cli.stderr.write(`${rows(lines)}\n`);
  const answer = await askYesNo(cli, "Run this plan?");
  if (answer === true) return;
  throw new DeaddropError(
    "refused",
    answer === false
      ? "not confirmed; nothing was begun"
      : "a plan is run when a person has said so",
    {
      hint: "run it on a terminal and say yes, or give --yes",
    },
  );
}

interface Finished {
  readonly end: RunEnd;
  readonly final: FinalReport;
  readonly held: HeldPlan;
  readonly folder: string;
}

function finish(cli: Cli, flags: RunFlags, { end, final, held, folder }: Finished): void {
  const { ok } = final;
  cli.exitCode = end === "complete" && ok ? 0 : 1;
  const left = held.document.plan.steps.filter(({ status }) => status !== "complete");
  const data = { event: "ended", outcome: end, ok, folder, left: left.map(({ id }) => id) };
  emit(cli, flags, data, () => {
    const failing = final.checks
      .filter(({ ok: holds }) => holds === false)
      .flatMap(({ details }) => details);
    const open = left.map(({ id, status }) => `step ${id} is ${status}`);
    const words = {
      complete: "all steps are complete",
      stuck: "nothing more can be begun",
      stopped: "stopped; run it again to go on",
    }[end];
    return rows([words, ...(end === "complete" ? failing : open), `report: ${folder}/report.md`]);
  });
}

function eventText({ event, step, text }: RunEvent): string {
  return rows([event === "told" ? text : `${event} ${step ?? ""}: ${text}`]);
}

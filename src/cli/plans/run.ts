import type { Client } from "../../api/client.ts";
import { unknownOwners } from "../../plans/plan/owners.ts";
import { locate } from "../../plans/plan/parse-plan.ts";
import { titleOf, type Step } from "../../plans/plan/plan.ts";
import type { FinalReport } from "../../plans/report/final-report.ts";
import { askApproval } from "../../plans/run/ask-approval.ts";
import { gitCheckpoints } from "../../plans/run/git-steps.ts";
import { holdPlan } from "../../plans/run/held-plan.ts";
import { broken } from "../../plans/run/plan-file.ts";
import { writeFinalReport } from "../../plans/run/plan-folder.ts";
import { runPlan, type RunEnd, type RunEvent, type RunOutside } from "../../plans/run/run-plan.ts";
import { startRun } from "../../plans/run/start-run.ts";
import { count, define, type FlagsOf, type Options } from "../command.ts";
import { withClient, type Cli } from "../context.ts";
import { emit } from "../output/output.ts";
import {
  ADAPTER_OPTIONS,
  PLAN_FILE,
  adapterOf,
  readAt,
  readOwners,
  requireYes,
  rows,
  stepTimeoutMs,
  untilStopped,
  wrongUsage,
} from "./plan-place.ts";

const OPTIONS = {
  ...ADAPTER_OPTIONS,
  "--yes": "ask nobody before it begins",
  "--approve <peer>": "ask this peer, too, and wait for its yes",
  "--max-parallel <count>": { about: "steps at once (default 4)", parse: count },
  "--fixes <count>": {
    about: "attempts to correct a step that failed (default 1)",
    parse: wholeNumber,
  },
  "--git-checkpoints": "commit after each step, on a branch for the plan",
  "--local": "without a wire: --exec does all steps here",
} as const satisfies Options;
type RunFlags = FlagsOf<typeof OPTIONS>;

const USUAL_PARALLEL = 4;
const USUAL_FIXES = 1;

/** `deaddrop plan run`: the coordinator. Spec 7.5. */
export const run = define({
  about:
    "send each ready step to its owner, take the reports, and end with the final report; " +
    "it may be ended anywhere and run again, also by another agent",
  args: PLAN_FILE,
  options: OPTIONS,
  async run(cli, flags, { file: named }) {
    if (flags.local !== true) {
      await withClient(cli, flags, (client) => runWith(cli, flags, named, client));
      return;
    }
    if (flags.exec === undefined) {
      throw wrongUsage("--local needs --exec", "name the program that does the steps");
    }
    await runWith(cli, flags, named, undefined);
  },
});

async function runWith(
  cli: Cli,
  flags: RunFlags,
  named: string | undefined,
  client: Client | undefined,
): Promise<void> {
  const at = readAt(cli, named);
  const { disk, file, document } = at;
  const owners = await readOwners(at, client);
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
    finish(cli, flags, end, final, places.folder);
  } finally {
    started.release();
  }
}

/** One line for each step, and a yes. Spec 7.5. */
async function consent(cli: Cli, flags: RunFlags, steps: readonly Step[]): Promise<void> {
  if (flags.yes !== true) {
    const lines = steps.map((step) => `(${step.owner}: ${titleOf(step)})`);
    cli.stderr.write(`${rows(lines)}\n`);
  }
  await requireYes(cli, flags, "Run this plan?", {
    denied: "not confirmed; nothing was begun",
    unasked: "a plan is run when a person has said so",
    hint: "run it on a terminal and say yes, or give --yes",
  });
}

function finish(cli: Cli, flags: RunFlags, end: RunEnd, final: FinalReport, folder: string): void {
  const { ok } = final;
  cli.exitCode = end === "complete" && ok ? 0 : 1;
  const left = final.steps.filter(({ status }) => status !== "complete");
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

/** For options that may be 0. */
function wholeNumber(value: string): number {
  return value === "0" ? 0 : count(value);
}

import { join } from "node:path";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { daemonPathsOf } from "../../client/daemon-paths.ts";
import { takeRunLock } from "../../plans/run/start-run.ts";
import { begunWork } from "../../plans/work/begun-work.ts";
import { workPlans, type WorkEvent } from "../../plans/work/work-plans.ts";
import { findHandle, findWire, placesOf, withClient, type Cli } from "../context.ts";
import { emit } from "../output/output.ts";
import {
  adapterOf,
  rows,
  wrongUsage,
  untilStopped,
  type AdapterFlags,
  type PlanFlags,
} from "./plan-place.ts";
import { PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";

export interface WorkFlags extends PlanFlags, AdapterFlags {
  from?: string[];
  once?: boolean;
  maxParallel?: number;
}

/** `deaddrop plan work`: the reference worker. Spec 7.5. */
export async function work(cli: Cli, flags: WorkFlags): Promise<void> {
  const adapter = adapterOf(cli, flags);
  if (adapter === undefined) {
    throw wrongUsage("a worker needs --exec", "name the program that does the steps");
  }
  const at = { wireDir: findWire(cli, flags), handle: findHandle(cli, flags) };
  const paths = daemonPathsOf(placesOf(cli.env), at);
  if (paths === undefined) {
    // The wire cannot be read: opening it says why.
    await withClient(cli, flags, async () => undefined);
    return;
  }
  const disk = nodeDisk();
  disk.makeFolder(paths.stateDir, PRIVATE_FOLDER);
  // A second worker would take what the first one works at for interrupted.
  const lock = takeRunLock(disk, join(paths.stateDir, "plan-work.lock"), cli.clock.nowMs(), {
    text: `${at.handle} has a worker already:`,
    hint: "one worker takes the steps of an agent; give it --max-parallel to work at several",
  });
  try {
    const begun = begunWork(disk, join(paths.stateDir, "plan-work"));
    await withClient(cli, flags, (client) =>
      untilStopped((signal) => {
        const { nowMs, sleep } = cli.clock;
        const say = (event: WorkEvent): void => emit(cli, flags, event, () => textOf(event));
        const { from, once = false, maxParallel = 1 } = flags;
        return workPlans(
          { client, begun, nowMs, sleep, say, signal },
          { adapter, from, once, maxParallel },
        );
      }),
    );
  } finally {
    lock.release();
  }
}

function textOf({ event, step, from, detail }: WorkEvent): string {
  return rows([`${event} ${step === "" ? "a step" : `step ${step}`} of ${from}: ${detail}`]);
}

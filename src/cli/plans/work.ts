import { join } from "node:path";
import { daemonPathsOf } from "../../client/daemon-paths.ts";
import { takeRunLock } from "../../plans/run/start-run.ts";
import { begunWork } from "../../plans/work/begun-work.ts";
import { workPlans, type WorkEvent } from "../../plans/work/work-plans.ts";
import { PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { count, define, repeatable } from "../command.ts";
import { findHandle, findWire, placesOf, withClient } from "../context.ts";
import { emit } from "../output/output.ts";
import { ADAPTER_OPTIONS, adapterOf, rows, wrongUsage, untilStopped } from "./plan-place.ts";

/** `deaddrop plan work`: the reference worker. Spec 7.5. */
export const work = define({
  about: "do the steps that peers send you, one after the other, and report on each",
  options: {
    ...ADAPTER_OPTIONS,
    "--from <peer>": repeatable("only steps of this peer (repeatable)"),
    "--max-parallel <count>": { about: "steps at once (default 1)", parse: count },
    "--once": "end when there is nothing to do",
  },
  async run(cli, flags) {
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
  },
});

function textOf({ event, step, from, detail }: WorkEvent): string {
  return rows([`${event} ${step === "" ? "a step" : `step ${step}`} of ${from}: ${detail}`]);
}

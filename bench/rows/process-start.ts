import { spawnSync } from "node:child_process";
import { amount, type Plan } from "../plan.ts";
import { median, rowOf, type Row, type Side } from "../row.ts";
import { installedProgram } from "../stage/installed.ts";
import { endedChildrenMs, since } from "../stage/processes.ts";
import { makeWire, PEER, READER, type Wire } from "../stage/wire.ts";
import { inTurns, pick } from "../turns.ts";

const RUNS_PER_TURN = 10;

/** P6: commands as processes, with the daemon running, against a Node process that does nothing. */
export async function benchProcessStart(plan: Plan): Promise<Row[]> {
  const wire = makeWire();
  const daemon = await wire.startDaemon(READER);
  const runs = amount(plan, RUNS_PER_TURN);
  const commands: readonly (readonly [name: string, args: readonly string[]])[] = [
    ["send", commandOf(wire, "send", "--to", PEER, "tests are green", "All of them pass.")],
    ["inbox", commandOf(wire, "inbox")],
    ["status", commandOf(wire, "status")],
  ];
  const rows: Row[] = [];
  try {
    for (const [name, args] of commands) {
      started(wire, args, 1);
      const turns = await inTurns(
        plan.turns,
        () => started(wire, args, runs),
        () => started(wire, ["-e", "0"], runs),
      );
      const row = { id: "P6", compared: "ratio" } as const;
      const wall = { ...row, unit: "ms", what: `deaddrop ${name} as a process, p50` };
      rows.push(
        rowOf(
          { ...row, unit: "ms", what: `deaddrop ${name}, CPU`, target: { atMost: 1.4 } },
          pick(turns, ({ cpuMs }) => ({ value: cpuMs ?? Number.NaN, cpuMs })),
        ),
        rowOf({ ...wall, target: { atMost: 1.5 } }, turns),
      );
    }
  } finally {
    await daemon.stop();
    wire.close();
  }
  return rows;
}

function commandOf(wire: Wire, name: string, ...args: readonly string[]): string[] {
  const [, ...rest] = wire.command(READER, name, ...args);
  return [installedProgram(), ...rest];
}

/** The median of their wall times, and the CPU time of one. */
function started(wire: Wire, args: readonly string[], runs: number): Side {
  const cpuBefore = endedChildrenMs();
  const tookMs = Array.from({ length: runs }, () => {
    const startedMs = performance.now();
    const done = spawnSync(process.execPath, args, { env: wire.env, encoding: "utf8" });
    if (done.status !== 0) {
      throw new Error(`${args.join(" ")} ended with ${done.status}: ${done.stderr}`);
    }
    return performance.now() - startedMs;
  });
  const cpuMs = since(cpuBefore, endedChildrenMs());
  return { value: median(tookMs), cpuMs: cpuMs === undefined ? undefined : cpuMs / runs };
}

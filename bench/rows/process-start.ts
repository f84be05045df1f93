import { spawnSync } from "node:child_process";
import { ASKING_SCRIPT } from "../baseline/asking-script.ts";
import { amount, type Plan } from "../plan.ts";
import { median, rowOf, type Row, type Side } from "../row.ts";
import { installedProgram } from "../stage/installed.ts";
import { endedChildrenMs, since } from "../stage/processes.ts";
import { makeWire, PEER, READER, type Wire } from "../stage/wire.ts";
import { inTurns, pick } from "../turns.ts";

const RUNS_PER_TURN = 10;
/** What a coding tool writes to its hook after each of its calls; the other commands leave it unread. */
const INPUT = JSON.stringify({ hook_event_name: "PostToolUse", session_id: "bench" });

const MAIL = ["tests are green", "All of them pass."];
/** Node itself. */
const NOTHING = ["-e", "0"];

type Command = readonly [
  name: string,
  args: readonly string[],
  atMost?: { readonly cpu: number; readonly wall: number },
];

/**
 * P6: commands as processes, with the daemon running, against a Node process that does nothing; the hook
 * also against one that asks the daemon and does nothing else.
 */
export async function benchProcessStart(plan: Plan): Promise<Row[]> {
  const wire = makeWire();
  const daemon = await wire.startDaemon(READER);
  const usual = { cpu: 1.4, wall: 1.5 };
  const ofHook = { cpu: 1.3, wall: 1.3 };
  const hook = [installedProgram(), "hook", "claude", "--as", READER, "--wire", wire.dir];
  const commands: readonly Command[] = [
    ["deaddrop send", commandOf(wire, "send", "--to", PEER, ...MAIL), usual],
    ["deaddrop inbox", commandOf(wire, "inbox"), usual],
    ["deaddrop status", commandOf(wire, "status"), usual],
    ["deaddrop hook", hook, ofHook],
  ];
  const rows: Row[] = [];
  try {
    for (const command of commands) rows.push(...(await rowsOf(plan, wire, command)));
    const asking = ["-e", ASKING_SCRIPT, wire.place(READER).paths.socket];
    rows.push(...(await rowsOf(plan, wire, ["a program that asks a socket", asking])));
    rows.push(...(await rowsOf(plan, wire, ["deaddrop hook, to that program", hook], asking)));
    await daemon.stop();
    rows.push(...(await rowsOf(plan, wire, ["deaddrop hook without a daemon", hook, ofHook])));
  } finally {
    await daemon.stop();
    wire.close();
  }
  return rows;
}

async function rowsOf(
  plan: Plan,
  wire: Wire,
  [what, args, atMost]: Command,
  baseline: readonly string[] = NOTHING,
): Promise<Row[]> {
  const runs = amount(plan, RUNS_PER_TURN);
  started(wire, args, 1);
  const turns = await inTurns(
    plan.turns,
    () => started(wire, args, runs),
    () => started(wire, baseline, runs),
  );
  const row = { id: "P6", unit: "ms", compared: "ratio" } as const;
  const atMostOf = (kind: "cpu" | "wall") => atMost && { target: { atMost: atMost[kind] } };
  return [
    rowOf(
      { ...row, what: `${what}, CPU`, ...atMostOf("cpu") },
      pick(turns, ({ cpuMs }) => ({ value: cpuMs ?? Number.NaN, cpuMs })),
    ),
    rowOf({ ...row, what: `${what} as a process, p50`, ...atMostOf("wall") }, turns),
  ];
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
    const done = spawnSync(process.execPath, args, {
      env: wire.env,
      encoding: "utf8",
      input: INPUT,
    });
    if (done.status !== 0) {
      throw new Error(`${args.join(" ")} ended with ${done.status}: ${done.stderr}`);
    }
    return performance.now() - startedMs;
  });
  const cpuMs = since(cpuBefore, endedChildrenMs());
  return { value: median(tookMs), cpuMs: cpuMs === undefined ? undefined : cpuMs / runs };
}

import { spawnSync } from "node:child_process";
import { percentile, type Row } from "./figures.ts";
import { makeStage, PEER, program, READER, type Stage } from "./stage.ts";

/** P6: commands as processes, with the daemon running, against a Node process that does nothing. */
export async function benchProcessStart(runs: number): Promise<Row[]> {
  const stage = makeStage();
  const daemon = await stage.startDaemon(READER);
  const at = ["--wire", stage.wireDir, "--as", READER];
  const send = [program, "send", ...at, "--to", PEER, "tests are green", "All of them pass."];
  const inbox = [program, "inbox", ...at];
  const sendMs: number[] = [];
  const inboxMs: number[] = [];
  const bareMs: number[] = [];
  try {
    wallMs(stage, send);
    for (let run = 0; run < runs; run += 1) {
      bareMs.push(wallMs(stage, ["-e", "0"]));
      sendMs.push(wallMs(stage, send));
      inboxMs.push(wallMs(stage, inbox));
    }
  } finally {
    await daemon.stop();
    stage.close();
  }
  const row = (what: string, samples: readonly number[], share: number): Row => ({
    id: "P6",
    what,
    unit: "ms",
    ours: percentile(samples, share),
    baseline: percentile(bareMs, share),
    compared: "ratio",
    target: { atMost: 1.5 },
  });
  return [
    row(`deaddrop send as a process, p95 (${runs})`, sendMs, 0.95),
    row("deaddrop send as a process, p50", sendMs, 0.5),
    row("deaddrop inbox as a process, p95", inboxMs, 0.95),
    row("deaddrop inbox as a process, p50", inboxMs, 0.5),
  ];
}

function wallMs(stage: Stage, args: readonly string[]): number {
  const startedMs = performance.now();
  const done = spawnSync(process.execPath, args, { env: stage.env, encoding: "utf8" });
  const tookMs = performance.now() - startedMs;
  if (done.status === 0) return tookMs;
  throw new Error(`${args.join(" ")} ended with ${done.status}: ${done.stderr}`);
}

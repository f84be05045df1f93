import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { BIN, start, until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

const canTrace = spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0;

/** A command under strace; `programs` are those that it has started, itself among them. */
function traced(wire: LiveWire, handle: string, ...[command = "", ...rest]: readonly string[]) {
  const trace = join(wire.folder, `trace of ${handle} ${command}`);
  const started = start(
    "strace",
    [
      ...["-f", "-qq", "-e", "trace=execve", "-e", "signal=none", "-o", trace],
      ...[process.execPath, BIN, command, "--wire", wire.dir, "--as", handle, ...rest],
    ],
    { env: wire.env, input: "" },
  );
  const programs = (): string[] =>
    [...readFileSync(trace, "utf8").matchAll(/execve\("([^"]*)"/g)].map(([, path]) => String(path));
  return { started, programs };
}

async function tracedDaemon(wire: LiveWire, handle: string) {
  const daemon = traced(wire, handle, "daemon");
  const runs = (): boolean => daemon.started.stdout().includes('"the daemon runs"');
  await until(`the daemon of ${handle} runs`, runs);
  const { pid } = JSON.parse(readFileSync(wire.paths(handle).lock, "utf8")) as { pid: number };
  return { ...daemon, stop: () => process.kill(pid, "SIGTERM") };
}

it.skipIf(!canTrace)(
  "no process is started by a send with or without a daemon, a daemon's start, a decision's record (skipped without strace)",
  async () => {
    const wire = makeWire({ deadlineSeconds: 600 });
    const alone = traced(wire, "forge", "send", "without a daemon");
    expect((await alone.started.ended).code).toBe(0);
    const daemons = [await tracedDaemon(wire, "forge"), await tracedDaemon(wire, "scribe")];
    const through = traced(wire, "forge", "send", "through the daemon");
    expect((await through.started.ended).code).toBe(0);
    await wire.json("forge", "propose", "the plan", "in words");
    const proposal = await until("it is there", () =>
      wire.privateLines("scribe", "inbox").find(({ type }) => type === "proposal"),
    );
    await wire.json("scribe", "ack", proposal.event_id);
    await until("it is recorded", () => wire.lines("decisions.jsonl").length > 0);
    for (const daemon of daemons) {
      daemon.stop();
      await daemon.started.ended;
    }
    for (const { programs } of [alone, through, ...daemons]) {
      expect(programs()).toEqual([process.execPath]);
    }
  },
);

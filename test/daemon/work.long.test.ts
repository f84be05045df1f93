import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Client } from "../../src/api/client.ts";
import { openClient } from "../../src/client/open-client.ts";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";
import { BIN, start, until, type Started } from "../support/processes/real-processes.ts";

const CANNOT_TRACE = spawnSync("strace", ["-V"]).error !== undefined;
const LINES = 10;

afterEach(removeWires);

/** The system calls of a daemon that start programs or sync files, as strace writes them. */
interface Traced {
  readonly client: Client;
  /** Those that it has made so far. */
  calls(): string[];
  stop(): Promise<void>;
}

async function traced(wire: LiveWire, handle: string): Promise<Traced> {
  const trace = join(wire.folder, "trace");
  const program = [process.execPath, BIN, "daemon", "--wire", wire.dir, "--as", handle];
  const tracer: Started = start(
    "strace",
    ["-f", "-qq", "-y", "-s", "200", "-e", "trace=execve,fdatasync,fsync", "-o", trace, ...program],
    { env: wire.env },
  );
  const client = await until("the daemon answers", async () => {
    const found = await openClient({ wireDir: wire.dir, handle, env: wire.env });
    if (found.viaDaemon) return found;
    found.close();
    return undefined;
  });
  const { pid } = (await client.view("whoami")).daemon;
  return {
    client,
    calls: () => (existsSync(trace) ? readFileSync(trace, "utf8").trimEnd().split("\n") : []),
    async stop() {
      client.close();
      // The tracer ends with what it traces; a signal to it would only detach it.
      process.kill(pid!, "SIGTERM");
      await tracer.ended;
    },
  };
}

const started = (calls: readonly string[]): string[] =>
  calls.filter((call) => /execve(\(| resumed>)/.test(call) && call.endsWith(" = 0"));
const synced = (calls: readonly string[], path: string): number =>
  calls.filter((call) => /f(data)?sync\(/.test(call) && call.includes(`<${path}>`)).length;

const draft = (to: string, at: number) => ({
  drafts: [{ to: [to], type: "feedback", subject: `line ${at}`, body: "on main" }],
});

test.skipIf(CANNOT_TRACE)(
  "a daemon starts no program for a send or a delivery, and syncs the inbox once a line",
  async () => {
    const wire = makeWire({ cadenceSeconds: 3_600 });
    const { inbox } = wire.paths("forge");
    const daemon = await traced(wire, "forge");
    try {
      // Its first round is over: the daemon does one thing after the other.
      await daemon.client.ask("tick");
      const atStart = daemon.calls().length;
      for (let at = 0; at < LINES; at += 1) await daemon.client.ask("send", draft("scribe", at));
      const sending = daemon.calls().slice(atStart);
      expect(started(sending)).toEqual([]);

      const peer = await openClient({ wireDir: wire.dir, handle: "scribe", env: wire.env });
      for (let at = 0; at < LINES; at += 1) {
        await peer.ask("send", draft("forge", at));
        await until("it is delivered", () => linesOf(inbox) === at + 1);
      }
      peer.close();
      await daemon.client.ask("tick");
      const receiving = daemon.calls().slice(atStart + sending.length);
      expect(started(receiving)).toEqual([]);
      expect(synced(receiving, inbox)).toBe(LINES);
    } finally {
      await daemon.stop();
    }
    // The daemon itself, and no program for a lock.
    expect(started(daemon.calls())).toHaveLength(1);
  },
);

function linesOf(path: string): number {
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").length - 1 : 0;
}

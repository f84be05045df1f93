import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import {
  compareLatency,
  MAX_GROWTH_BYTES,
  memoryBytes,
  quietPeer,
  whyNoMemory,
} from "../../support/processes/delivery-latency.ts";
import {
  makeWire,
  removeWires,
  WIRE_ID,
  type LiveWire,
} from "../../support/processes/live-wire.ts";
import { LIBRARY, pause, start, until } from "../../support/processes/real-processes.ts";

const FLOODING_PEER = fileURLToPath(
  new URL("../../support/processes/flooding-peer.js", import.meta.url),
);
const MAX_QUARANTINE_BYTES = 16 * 1_048_576;
const ROSTER = ["forge", "mallory", "scribe"];

afterEach(removeWires);

/** Mallory, who appends as fast as it can to whatever file it is told. */
async function startFlooding(wire: LiveWire, which: "signed" | "garbage") {
  const { key } = wire.paths("mallory").identity;
  const args = [dirname(LIBRARY), WIRE_ID, "mallory", key, "mallory", "forge", which];
  const flood = start(process.execPath, [FLOODING_PEER, ...args], { env: wire.env });
  await until("mallory is ready", () => flood.stdout().includes("ready"));
  return { into: (path: string) => flood.child.stdin?.write(`${path}\n`) };
}

/** Until the reader has taken in what it takes in of a flood that is over. */
async function untilCalm(wire: LiveWire): Promise<void> {
  const { inbox } = wire.paths("forge");
  let last = -1;
  await until("all of the flood is read", async () => {
    const { size } = statSync(inbox);
    if (size === last) return true;
    last = size;
    await pause(250);
    return false;
  });
}

function quarantineBytes(wire: LiveWire): number {
  const { quarantine } = wire.paths("forge");
  const folder = dirname(quarantine);
  const stem = basename(quarantine, ".jsonl");
  return readdirSync(folder)
    .filter((name) => name.startsWith(stem))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

describe("one peer floods its log, another one is quiet", () => {
  for (const which of ["signed", "garbage"] as const) {
    it(`${which} lines: the quiet one is heard as soon, memory and quarantine stay bounded`, async (context) => {
      const missing = whyNoMemory();
      if (missing !== undefined) context.skip(missing);
      const wire = makeWire({ handles: ROSTER, cadenceSeconds: 1 });
      const daemon = await wire.daemon("forge");
      const flood = await startFlooding(wire, which);
      const quiet = quietPeer(wire, "scribe", { name: "scribe", path: "outbox/scribe.jsonl" });
      for (let at = 0; at < 20; at += 1) await quiet.deliver();
      const beforeBytes = memoryBytes(daemon.pid, "VmRSS");

      const log = join(wire.dir, "outbox", "mallory.jsonl");
      const latency = await compareLatency(`flood of ${which} lines`, quiet, {
        // The same writing into a file that nobody reads: what the machine costs is not counted.
        baseline: () => flood.into(join(wire.folder, "elsewhere.jsonl")),
        load: () => flood.into(log),
        async rest() {
          flood.into("");
          await untilCalm(wire);
        },
      });
      const grownBytes = memoryBytes(daemon.pid, "VmHWM") - beforeBytes;
      process.stdout.write(`${latency}; ${(grownBytes / 1_048_576).toFixed(0)} MiB more\n`);
      quiet.close();

      expect(grownBytes).toBeLessThan(MAX_GROWTH_BYTES);
      expect(quarantineBytes(wire)).toBeLessThanOrEqual(MAX_QUARANTINE_BYTES);
      expect(quarantineBytes(wire) > 0).toBe(which === "garbage");
      const heard = wire.privateLines("forge", "inbox").filter(({ from }) => from === "scribe");
      expect(heard.map(({ event_id }) => event_id)).toEqual(quiet.delivered);
      expect((await daemon.stop()).code).toBe(0);
    });
  }
});

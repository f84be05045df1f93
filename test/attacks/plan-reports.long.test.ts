import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { clientOf } from "../support/scenes/scene-cli.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// A third agent reports in the thread of a plan's step, which is another's.

const PLAN = "plan_id: p\nsteps:\n  - {id: a, description: do a, owner: scribe, files: [a]}\n";
const ROSTER = ["lead", "mallory", "scribe"];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-plan-reports-"));
  writeFileSync(join(folder, "p.yaml"), PLAN);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A report of the step, as a tool sends it. */
function report(thread: string, details: string) {
  const report = { step_id: "a", outcome: "success", details, timestamp: "2026-06-01T09:00:00Z" };
  const body = { state: "done", manifest_digest: "0".repeat(64), report };
  return { to: ["lead"], type: "ship", subject: "report", correlationId: thread, body };
}

test.each([40, 1_500])("%i foreign reports do not hide the owner's", async (foreign) => {
  const wire = new SimulatedWire(ROSTER);
  await wire.start();
  let isAnswered = false;

  /** While the coordinator waits: mallory floods the thread, and scribe does the step. */
  async function answer(): Promise<void> {
    const request = wire.lines("outbox/lead.jsonl").find((line) => line.includes("plan_step"));
    if (request === undefined || isAnswered) return;
    isAnswered = true;
    const { correlation_id: thread, event_id: id = "" } = JSON.parse(request) as Record<
      string,
      string
    >;
    const { place } = await wire.agent("scribe").view("resolve_id", { id });
    const to = { to: ["lead"], type: "ack", subject: "yes", correlationId: thread ?? "" };
    await wire.send("scribe", { ...to, body: { answers: place, approve: true } });
    await wire.send("scribe", report(thread ?? "", "of its owner"));
    const flood = Array.from({ length: foreign }, (_, at) => report(thread ?? "", `false ${at}`));
    for (const each of flood) await wire.post("mallory", each);
    await wire.settle();
  }

  const out: string[] = [];
  const code = await main(["plan", "run", "p.yaml", "--yes"], {
    env: { DEADDROP_WIRE: "/", DEADDROP_AS: "lead", HOME: folder, PATH: process.env["PATH"] },
    cwd: folder,
    stdin: Readable.from([]),
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => out.push(text) },
    exitCode: 0,
    clock: {
      nowMs: () => wire.nowMs,
      async sleep() {
        await wire.pass(60_000);
        await answer();
      },
    },
    // Without a daemon it looks after each pause.
    openClient: async ({ wireDir }) => ({ ...clientOf(wire, "lead", wireDir), viaDaemon: false }),
  });
  expect([code, out.join("")]).toEqual([0, expect.stringContaining("complete")]);
});

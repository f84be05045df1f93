import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import type { Client } from "../../../src/api/client.ts";
import { DeaddropError } from "../../../src/api/errors.ts";
import { main } from "../../../src/cli/main.ts";
import { openClient } from "../../../src/client/open-client.ts";
import { stepRequest } from "../../../src/plans/coordinator/step-request.ts";
import { sendStep } from "../../../src/plans/run/step-messages.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { BIN, pause, start, until } from "../../support/processes/real-processes.ts";
import { planOf, stepsText } from "../../plans/plan-text.ts";

afterEach(removeWires);

const KILL_AT = fileURLToPath(new URL("../../support/processes/kill-at.js", import.meta.url));
/** Notes each time that it runs, then reports; at one point it ends the worker first. */
const PROGRAM = `
const { appendFileSync, readFileSync } = require("node:fs");
appendFileSync("ran.log", process.env.DEADDROP_STEP_ID + "\\n");
const answered = () => readFileSync(process.env.ANSWERS, "utf8").includes('"ack"');
const report = () => console.log(JSON.stringify({ outcome: "success", details: "done" }));
if (process.env.DEADDROP_KILL_AT !== "after the request was answered") report();
else setInterval(() => answered() && process.kill(process.ppid, "SIGKILL") && process.exit(), 20);
`;

/** A wire on which lead has asked ann for step a. */
async function askedStep(): Promise<LiveWire> {
  const wire = makeWire({ handles: ["lead", "ann"] });
  writeFileSync(join(wire.folder, "program.cjs"), PROGRAM);
  const lead = await openClient({ wireDir: wire.dir, handle: "lead", env: wire.env });
  const { plan } = planOf(stepsText("a ann"));
  for (const step of plan.steps) {
    await sendStep(lead, "ann", stepRequest("p", "0".repeat(64), step));
  }
  lead.close();
  return wire;
}

const runsIn = ({ folder }: LiveWire): string => {
  const log = join(folder, "ran.log");
  return existsSync(log) ? readFileSync(log, "utf8") : "";
};

/** What ann has said on the wire: answers, and the outcomes and errors of her reports. */
const saidBy = (wire: LiveWire) =>
  wire.lines("ann_to_lead.jsonl").flatMap(({ type, body }) => {
    if (type === "ack") return [["ack"]];
    const { outcome, error } = (body["report"] ?? {}) as { outcome?: string; error?: string };
    return type === "ship" ? [["ship", outcome, ...(error === undefined ? [] : [error])]] : [];
  });

const INTERRUPTED =
  "the worker ended after this step was begun and before its report; look at what was done";

it.each([
  ["before the program starts", "", ["failure", INTERRUPTED]],
  ["after the program started", "a\n", ["failure", INTERRUPTED]],
  ["after the request was answered", "a\n", ["failure", INTERRUPTED]],
  ["after the report was kept", "a\n", ["success"]],
])(
  "a worker that is killed %s begins the step no second time, and reports what is known",
  async (point, runs, report) => {
    const wire = await askedStep();
    const worker = (env: NodeJS.ProcessEnv) => {
      const args = ["plan", "work", "--wire", wire.dir, "--as", "ann", "--once"];
      const words = [BIN, ...args, "--exec", `${process.execPath} program.cjs`];
      const answers = { ANSWERS: join(wire.dir, "ann_to_lead.jsonl") };
      const options = { env: { ...wire.env, ...answers, ...env }, cwd: wire.folder, input: "" };
      return start(process.execPath, words, options).ended;
    };
    const killed = await worker({
      DEADDROP_KILL_AT: point,
      NODE_OPTIONS: `--import=${KILL_AT}`,
    });
    expect([killed.code, killed.stderr]).toEqual(["SIGKILL", ""]);
    await until("the program has run", () => runsIn(wire) === runs);
    const again = await worker({});
    expect([again.code, again.stderr]).toEqual([0, ""]);
    expect([runsIn(wire), saidBy(wire)]).toEqual([runs, [["ack"], ["ship", ...report]]]);
  },
);

it("a worker whose daemon is gone after the answer to a request works at the step once, and says so", async () => {
  const wire = await askedStep();
  let failures = 1;
  // The request is answered, then the daemon is gone for one call.
  const withoutDaemon = (client: Client): Client => ({
    ...client,
    get viaDaemon() {
      return client.viaDaemon;
    },
    ask: (name, ...args) => {
      if (name === "read" && failures-- > 0) {
        throw new DeaddropError("storage", "the daemon ended");
      }
      return client.ask(name, ...args);
    },
  });
  const out: string[] = [];
  const exec = `${process.execPath} program.cjs`;
  const code = await main(
    ["plan", "work", "--wire", wire.dir, "--as", "ann", "--once", "--exec", exec],
    {
      env: wire.env,
      cwd: wire.folder,
      stdin: Readable.from([]),
      stdout: { write: (text: string) => out.push(text) },
      stderr: { write: (text: string) => out.push(text) },
      exitCode: 0,
      clock: { nowMs: () => Date.now(), sleep: (ms) => pause(Math.min(ms, 50)) },
      openClient: async (place) => withoutDaemon(await openClient(place)),
    },
  );
  expect([code, failures, out.join("")]).toEqual([
    ...[0, 0, "accepted step a of lead: do a\nreported step a of lead: success\n"],
  ]);
  expect([runsIn(wire), saidBy(wire)]).toEqual(["a\n", [["ack"], ["ship", "success"]]]);
});

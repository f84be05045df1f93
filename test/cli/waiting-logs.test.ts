import { afterEach, beforeEach, expect, it } from "vitest";
import { trouble } from "../../src/api/troubles.ts";
import { peerView } from "../support/peer-view.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { NOW_MS, run } from "./fake-cli.ts";
import { commandsOn } from "./on-machine.ts";

// A log that does not move is shown wherever an operator looks, with the reason.

const since = new Date(NOW_MS - 120_000).toISOString();
const difference = "\u001b[31ma line of it is dated 600 s ahead of ours";
const WAIT = trouble("clock_skew", { peer: "scribe", difference }, since);
const SCRIBE = peerView({
  presence: "late",
  waits: [{ ...WAIT, since, place: ["scribe", 7, "5".repeat(64)] }],
});

let machine: Machine;
const { json } = commandsOn(() => machine);
beforeEach(() => {
  machine = newMachine();
});
afterEach(() => machine.remove());

it("peers says why, and since when", async () => {
  const { stdout } = await run(["peers"], { views: { peers: [SCRIBE] } });
  expect(stdout).toMatch(/differ: .*a line of it is dated 600 s ahead of ours, since 2 min ago/);
  const well = { ...SCRIBE, waits: [] };
  expect((await run(["peers"], { views: { peers: [well] } })).stdout).not.toContain("differ");
});

it("doctor and status --check ask the agent, and name what to do", async () => {
  await json("init", "--me", "forge", "--peer", "scribe", "--local-pair");
  const { env, root, wireDir } = machine;
  const outside = { env, cwd: root, nowMs: NOW_MS, views: { troubles: [WAIT] } };
  const at = ["--wire", wireDir, "--as", "forge"];
  const doctor = await run(["doctor", "--json", ...at], outside);
  const { troubles } = JSON.parse(doctor.stdout) as { troubles: unknown[] };
  expect(doctor.exitCode).toBe(1);
  expect(troubles).toContainEqual(WAIT);
  const status = await run(["status", "--check", ...at], outside);
  expect(status.exitCode).toBe(1);
  expect(status.stdout).not.toContain("\u001b");
  expect(status.stdout).toMatch(
    /^clock_skew: the clocks of scribe .*, since 2 min ago → compare both clocks .*\n$/,
  );
  const well = await run(["status", "--check", ...at], { ...outside, views: {} });
  expect([well.exitCode, well.stdout]).toEqual([0, "Nothing is wrong.\n"]);
});

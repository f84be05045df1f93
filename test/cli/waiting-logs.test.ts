import { afterEach, beforeEach, expect, it } from "vitest";
import type { TroubleView } from "../../src/api/troubles.ts";
import { peerView } from "../support/peer-view.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { NOW_MS, run } from "./fake-cli.ts";
import { commandsOn } from "./on-machine.ts";

// A log that does not move is shown wherever an operator looks, with the reason.

const SCRIBE = peerView({
  presence: "late",
  waits: [
    {
      place: ["scribe", 7, "5".repeat(64)],
      because: "ahead",
      detail: "its next line is dated 600 s ahead of our clock",
      since: new Date(NOW_MS - 120_000).toISOString(),
    },
  ],
});

let machine: Machine;
const { json } = commandsOn(() => machine);
beforeEach(() => {
  machine = newMachine();
});
afterEach(() => machine.remove());

it("peers says why, and since when", async () => {
  const { stdout } = await run(["peers"], { views: { peers: [SCRIBE] } });
  expect(stdout).toContain(
    "waits since 2 min ago: its next line is dated 600 s ahead of our clock",
  );
  const well = { ...SCRIBE, waits: [] };
  expect((await run(["peers"], { views: { peers: [well] } })).stdout).not.toContain("waits");
});

it("doctor and status --check ask the agent, and name what to do", async () => {
  await json("init", "--me", "forge", "--peer", "scribe", "--local-pair");
  const { env, root, wireDir } = machine;
  const trouble: TroubleView = {
    what: "waiting",
    detail: "a log waits: scribe_to_forge: \u001b[31mits next line is dated ahead",
    end: "compare this machine's clock with a time server",
    since: new Date(NOW_MS - 120_000).toISOString(),
  };
  const outside = { env, cwd: root, nowMs: NOW_MS, views: { troubles: [trouble] } };
  const at = ["--wire", wireDir, "--as", "forge"];
  const doctor = await run(["doctor", "--json", ...at], outside);
  const { findings } = JSON.parse(doctor.stdout) as { findings: { check: string }[] };
  expect(doctor.exitCode).toBe(1);
  expect(findings.find(({ check }) => check === "logs now")).toMatchObject({
    result: "failed",
    detail: expect.stringMatching(/, since 2 min ago$/) as string,
    fix: trouble.end,
  });
  const status = await run(["status", "--check", ...at], outside);
  expect(status.exitCode).toBe(1);
  expect(status.stdout).not.toContain("\u001b");
  expect(status.stdout).toMatch(/^logs now: a log waits: .*, since 2 min ago → compare this .*\n$/);
  const well = await run(["status", "--check", ...at], { ...outside, views: {} });
  expect([well.exitCode, well.stdout]).toEqual([0, "Nothing is wrong.\n"]);
});

import { afterEach, beforeEach, expect, it } from "vitest";
import { loadPlace } from "../../src/agent/config/agent-config.ts";
import type { PeerView } from "../../src/api/views.ts";
import { takeLock } from "../../src/storage/disk/lock.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { NOW_MS, run } from "./fake-cli.ts";
import { commandsOn } from "./on-machine.ts";

// A log that does not move is shown wherever an operator looks, with the reason.

const SCRIBE: PeerView = {
  handle: "scribe",
  trust_tier: "VERIFIED",
  trusts_us: null,
  heartbeat_tier: null,
  presence: "late",
  state: null,
  last_seen_at: null,
  agent_last_seen: null,
  next_eta: null,
  held: false,
  inbox_unread_count: null,
  foreign_lines: 0,
  waits: [
    {
      log: "scribe_to_forge",
      because: "ahead",
      detail: "scribe_to_forge: the next line is dated 600 s ahead of our clock",
      since: new Date(NOW_MS - 120_000).toISOString(),
    },
  ],
};

let machine: Machine;
const { json } = commandsOn(() => machine);
beforeEach(() => {
  machine = newMachine();
});
afterEach(() => machine.remove());

it("peers says why, and since when", async () => {
  const { stdout } = await run(["peers"], { views: { peers: [SCRIBE] } });
  expect(stdout).toContain(
    "waits since 2 min ago: scribe_to_forge: the next line is dated 600 s ahead of our clock",
  );
  const { waits, ...before } = SCRIBE;
  expect(waits).toHaveLength(1);
  // A daemon of an older version does not say.
  expect((await run(["peers"], { views: { peers: [before] } })).stdout).not.toContain("waits");
});

it("doctor asks the daemon that runs, and names what to do", async () => {
  await json("init", "--me", "forge", "--peer", "scribe", "--local-pair");
  const { env, root, wireDir, host } = machine;
  const request = { wireDir, handle: "forge", peers: [] };
  const { lock } = loadPlace(host.disk, host.places, request).paths;
  const note = { pid: process.pid, role: "daemon" as const, since: new Date().toISOString() };
  const taken = takeLock(host.disk, lock, note, 0);
  try {
    const outside = { env, cwd: root, nowMs: Date.now(), views: { peers: [SCRIBE] } };
    const args = ["doctor", "--json", "--wire", wireDir, "--as", "forge"];
    const { stdout } = await run(args, outside);
    const { findings } = JSON.parse(stdout) as { findings: { check: string; mend?: string }[] };
    const found = findings.find(({ check }) => check === "reading scribe_to_forge");
    expect(found).toMatchObject({ result: "warning" });
    expect(found?.mend).toContain("clock");
  } finally {
    if (taken.ok) taken.lock.release();
  }
});

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { EVIL, hostileWire, STEERS } from "../../support/scenes/hostile-wire.ts";
import { removeWires } from "../../support/processes/live-wire.ts";
import { BIN, start, until } from "../../support/processes/real-processes.ts";

// The daemon's own log, and what it writes for people, beside a peer that says whatever it likes.

afterEach(removeWires);

it("the log in a pipe: JSON lines without a character that steers a terminal", async () => {
  const { wire } = await hostileWire();
  const daemon = await wire.daemon("forge");
  await until("it has told its operator", () => daemon.stdout().includes("too_many_refs"));
  await until("it has listed the incident", () => daemon.stdout().includes("unresolved incident"));
  const { stdout, stderr } = await daemon.stop();
  expect(stderr).toBe("");
  expect(daemon.log().length).toBeGreaterThan(5);
  expect(stdout).not.toMatch(STEERS);
  // The sign on the door was there before and is the peer's; the daemon has put none of its words on it.
  expect(readFileSync(join(wire.dir, "SAFE_MODE"), "utf8")).toBe(`${EVIL}\n`);
  expect(wire.text("PROTOCOL.md")).not.toMatch(STEERS);
  expect(wire.text("forge_state.json")).not.toMatch(STEERS);
});

it("the log on a terminal: nothing that steers it but our own colours", async ({ skip }) => {
  if (spawnSync("script", ["-qec", "true", "/dev/null"]).status !== 0) {
    skip("script(1), which gives a process a terminal, is not here");
  }
  const { wire } = await hostileWire();
  const words = [process.execPath, BIN, "daemon", "--wire", wire.dir, "--as", "forge", "--once"];
  const command = words.map((word) => `'${word}'`).join(" ");
  const env = { ...wire.env, TERM: "xterm" };
  const { code, stdout } = await start("script", ["-qec", command, "/dev/null"], { env }).ended;
  expect(code).toBe(0);
  expect(stdout).toContain("too_many_refs");
  expect(stdout).toContain("config_drift");
  const bare = stdout.replaceAll(/\u001b\[\d\d?m/g, "").replaceAll("\r\n", "\n");
  expect(bare).not.toMatch(STEERS);
  expect(bare).not.toMatch(/^\s*FORGED/m);
});

import { afterEach, beforeEach, expect, it } from "vitest";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newMachine, type Machine } from "../setup/machine.ts";
import { commandsOn } from "./on-machine.ts";

// What a set-up prints is what a person needs: nothing that is untrue, and no list of defaults.

let machine: Machine;
const { run } = commandsOn(() => machine);
beforeEach(() => {
  machine = newMachine();
});
afterEach(() => machine.remove());

const INIT = ["init", "--me", "forge", "--peer", "scribe"];

it("a dry run names no wire id that the real run will not have", async () => {
  const { code, stdout } = await run(...INIT, "--dry-run");
  expect(code).toBe(0);
  expect(stdout).not.toMatch(/\b[0-9a-f]{16}\b/);
  expect(stdout).toContain("an id of its own");
});

it("init and join print only settings that are not the defaults, and no step of a return", async () => {
  const made = await run(...INIT);
  expect(made.stdout).toContain("all settings are the defaults");
  expect(made.stdout).not.toContain("limits.");
  const path = join(machine.wireDir, "config.json");
  const config = JSON.parse(readFileSync(path, "utf8")) as { limits: object };
  const limits = { ...config.limits, max_refs: 7 };
  writeFileSync(path, JSON.stringify({ ...config, limits }));
  const joined = await run("join", "--me", "scribe");
  expect(joined.stdout).toContain("limits.max_refs: 7");
  expect(joined.stdout).not.toContain("limits.max_clock_skew_seconds");
  expect(joined.stdout).not.toContain("is a member again");
});

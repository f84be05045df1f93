import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { installHooks, uninstallHooks } from "../../../src/setup/guard/hooks.ts";

const PROGRAM = { node: "/usr/bin/node", bin: "/opt/deaddrop.js", settings: "/s.json" };
const THEIRS = "#!/bin/sh\nexit 0\n";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-hooks-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A hook was there, and the installation ended when it was moved aside. */
function cutShort(): string {
  const path = join(folder, "pre-commit");
  writeFileSync(path, THEIRS);
  renameSync(path, `${path}.before-deaddrop`);
  return path;
}

test("an installation that was cut short is taken back", () => {
  const path = cutShort();
  expect(uninstallHooks(folder)).toEqual(["pre-commit"]);
  expect(readFileSync(path, "utf8")).toBe(THEIRS);
  expect(existsSync(`${path}.before-deaddrop`)).toBe(false);
  expect(uninstallHooks(folder)).toEqual([]);
});

test("an installation that was cut short is finished, and taken back", () => {
  const path = cutShort();
  expect(installHooks(folder, PROGRAM)).toEqual(["pre-commit", "pre-push"]);
  expect(readFileSync(path, "utf8")).not.toBe(THEIRS);
  uninstallHooks(folder);
  expect(readFileSync(path, "utf8")).toBe(THEIRS);
  expect(existsSync(join(folder, "pre-push"))).toBe(false);
});

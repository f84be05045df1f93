import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  CHECKOUT,
  documentText,
  scriptOf,
  shellBlocks,
  tellNotPlayed,
} from "./support/document-blocks.ts";
import { TEST_LIMIT_MS } from "./support/hang-guard.ts";

/** A checkout to play in, so that no file of this one is made or changed. */
function copyCheckout(to: string): void {
  const parts = [
    "bin",
    "build",
    "dist",
    "schemas",
    "src",
    "systemd",
    "launchd",
    "tiers.json",
    "install.sh",
  ];
  parts.push("package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json", ".npmrc");
  for (const part of parts.filter((each) => existsSync(join(CHECKOUT, each)))) {
    cpSync(join(CHECKOUT, part), join(to, part), { recursive: true, preserveTimestamps: true });
  }
  // A copy, not a link, also where ours is one: an `npm ci` over there must not reach these ones.
  cpSync(realpathSync(join(CHECKOUT, "node_modules")), join(to, "node_modules"), {
    recursive: true,
    preserveTimestamps: true,
    verbatimSymlinks: true,
  });
}

const blocks = shellBlocks(documentText("README.md"));

test("every command of README.md works, in order, in a clean home", () => {
  tellNotPlayed("README.md", blocks);
  const root = mkdtempSync(join(tmpdir(), "deaddrop-readme-"));
  onTestFinished(() => {
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  });
  const home = join(root, "home");
  const folder = join(root, "checkout");
  mkdirSync(home);
  mkdirSync(folder);
  copyCheckout(folder);
  const played = blocks.filter(({ notPlayed }) => notPlayed === undefined);
  const run = spawnSync("bash", ["-c", scriptOf("README.md", blocks)], {
    cwd: folder,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: home, LANG: "C.UTF-8", NO_COLOR: "1" },
    timeout: TEST_LIMIT_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  const shown = `${run.stdout}\n${run.stderr}`;
  expect(run.status, shown).toBe(0);
  for (const { line } of played) expect(shown).toContain(`--- README.md:${line}\n`);
  expect(played.length).toBeGreaterThanOrEqual(6);
});

test("a block that is not played says why", () => {
  const two = shellBlocks("<!-- not played: too long -->\n\n```sh\nx\n```\n\n```sh\ny\n```\n");
  expect(two.map(({ line, text, notPlayed }) => ({ line, text, notPlayed }))).toEqual([
    { line: 1, text: "x\n", notPlayed: "too long" },
    { line: 7, text: "y\n", notPlayed: undefined },
  ]);
  expect(blocks.filter(({ notPlayed }) => notPlayed !== undefined).length).toBeLessThanOrEqual(2);
});

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import ROOMS from "../../build/rooms.json" with { type: "json" };
import { afterAll, beforeAll, expect, test } from "vitest";

const checkout = resolve(import.meta.dirname, "../..");

// Planted mistakes, one a line. The marker says which rule must catch the line it stands on.
const PLANTED: Readonly<Record<string, string>> = {
  "src/wire/message.ts": `
import { readFileSync } from "node:fs"; // no-restricted-imports
import { spawn } from "node:child_process"; // no-restricted-imports
import { connect } from "node:net"; // no-restricted-imports
import { createHash } from "node:crypto";
import { watch } from "chokidar"; // no-restricted-imports
import { pins } from "../trust/pins.ts"; // no-restricted-imports
import { limit } from "./limits.ts";
export const used = [readFileSync, spawn, connect, createHash, watch, pins, limit];
export const now = Date.now(); // no-restricted-properties
export const luck = Math.random(); // no-restricted-properties
export const here = process.cwd(); // no-restricted-globals
`,
  "src/wire/limits.ts": `export const limit = 1;`,
  "src/wire/chain.ts": `
import { createRequire } from "node:module"; // no-restricted-imports
export const load = createRequire(import.meta.url);
`,
  "src/wire/signatures/sodium.ts": `
import { createRequire } from "node:module";
import { readFileSync } from "node:fs"; // no-restricted-imports
import { limit } from "../limits.ts"; // no-restricted-imports
export const sodium = [createRequire, readFileSync, limit];
`,
  "src/workers/check-pool.ts": `
import { Worker } from "node:worker_threads";
import { limit } from "../wire/limits.ts";
import { judge } from "../protocol/admit/judge.ts"; // no-restricted-imports
export const pool = [Worker, limit, judge];
`,
  "src/agent/session/world.ts": `
import { pool } from "../../workers/check-pool.ts"; // no-restricted-imports
export const world = [pool];
`,
  "src/trust/pins.ts": `
import { limit } from "../wire/limits.ts";
import { judge } from "../protocol/admit/judge.ts"; // no-restricted-imports
export const pins = [limit, judge];
`,
  "src/protocol/admit/judge.ts": `
import { limit } from "../../wire/limits.ts";
import { open } from "../../store/open.ts"; // no-restricted-imports
export const judge = [limit, open];
`,
  "src/store/open.ts": `
import { limit } from "../wire/limits.ts";
import { loop } from "../daemon/loop.ts"; // no-restricted-imports
export const open = [limit, loop];
`,
  "src/carriers/reader.ts": `
import { limit } from "../wire/limits.ts";
import { open } from "../store/open.ts"; // no-restricted-imports
export const reader = [limit, open];
`,
  "src/protocol/asks/fold.ts": `
import { limit } from "../../wire/limits.ts";
import type { Log } from "../logs/log.ts"; // no-cycle
import { open } from "../../storage/disk/open.ts"; // no-restricted-imports
export const fold = [limit, open];
export type Fold = readonly Log[];
`,
  "src/protocol/logs/log.ts": `
import type { Fold } from "../asks/fold.ts"; // no-cycle
export type Log = readonly Fold[];
`,
  "src/storage/disk/open.ts": `
import { limit } from "../../wire/limits.ts";
import { loop } from "../../daemon/loop.ts"; // no-restricted-imports
export const open = [limit, loop];
`,
  "src/daemon/loop.ts": `
import { main } from "../cli/main.ts"; // no-restricted-imports no-cycle
import { setTimeout as sleep } from "node:timers/promises";
import { EventEmitter } from "node:events";
export type State = "busy" | "idle" | "paused";
const events = new EventEmitter();
async function work(): Promise<boolean> {
  await sleep(1);
  return true;
}
export function plant(list: number[]): number {
  work(); // no-floating-promises
  void work(); // no-floating-promises
  work().then(() => 1); // no-floating-promises
  events.on("line", async () => void (await work())); // no-misused-promises
  setTimeout(async () => void (await work()), 5); // no-misused-promises
  list.forEach(async () => void (await work())); // no-misused-promises
  if (work()) list.push(1); // no-misused-promises
  return list.length;
}
export function name(state: State): number {
  switch (state) { // switch-exhaustiveness-check
    case "busy":
      return 1;
    case "idle":
      return 2;
  }
  return 0;
}
export function loop(value: any): string { // no-explicit-any
  const unused = 1; // no-unused-vars
  return String(value) + main();
}
`,
  "src/cli/main.ts": `
import { name } from "../daemon/loop.ts"; // no-cycle
export const main = (): string => String(name("idle"));
`,
};

interface Finding {
  readonly code: string;
  readonly filename: string;
  readonly labels: readonly { readonly span: { readonly line: number } }[];
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-lint-"));
  for (const file of ["oxlint.config.js", "build/rooms.json", "tsconfig.json", "package.json"]) {
    cpSync(join(checkout, file), join(folder, file));
  }
  for (const room of Object.keys(ROOMS)) mkdirSync(join(folder, "src", room), { recursive: true });
  symlinkSync(join(checkout, "node_modules"), join(folder, "node_modules"));
  for (const [path, text] of Object.entries(PLANTED)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

test("the linter catches every planted mistake and nothing beside them", () => {
  const args = ["-c", "oxlint.config.js", "--format", "json", "src"];
  const run = spawnSync(join(checkout, "node_modules/.bin/oxlint"), args, {
    cwd: folder,
    encoding: "utf8",
  });
  const report = JSON.parse(run.stdout) as { diagnostics: readonly Finding[] };
  const found = report.diagnostics.map((finding) => {
    const rule = /\(([^)]*)\)/.exec(finding.code)?.[1] ?? finding.code;
    return `${finding.filename}:${String(finding.labels[0]?.span.line)} ${rule}`;
  });
  const planted = Object.entries(PLANTED).flatMap(([path, text]) =>
    text.split("\n").flatMap((line, index) => {
      const rules = /\/\/ ([a-z -]+)$/.exec(line)?.[1]?.split(" ") ?? [];
      return rules.map((rule) => `${path}:${String(index + 1)} ${rule}`);
    }),
  );
  expect(planted.length).toBeGreaterThan(20);
  expect([...new Set(found)].toSorted()).toEqual(planted.toSorted());
  expect(run.status).toBe(1);
});

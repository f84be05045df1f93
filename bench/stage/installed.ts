import { mkdirSync, rmSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { checkout } from "./processes.ts";
import { reportsFolder } from "./wire.ts";

let unpacked: string | undefined;

/** The program as the package brings it, which may differ from the checkout's; unpacked once a run. */
export function installedProgram(): string {
  unpacked ??= unpack();
  return unpacked;
}

function unpack(): string {
  // Below the checkout, so that the package finds its modules there.
  const folder = join(reportsFolder(), "bench-package");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  run("npm", ["pack", "--silent", "--pack-destination", folder], checkout);
  run("sh", ["-c", "tar -xzf *.tgz"], folder);
  return join(folder, "package", "bin", "deaddrop.js");
}

function run(command: string, args: readonly string[], cwd: string): void {
  const done = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`${command} ended with ${done.status}: ${done.stderr}`);
}

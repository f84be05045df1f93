import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import type { Host, HostAnswer, ServicePlace } from "../../src/cli/service/service-place.ts";
import { agentPaths, placesFrom } from "../../src/storage/paths.ts";

export const checkout = resolve(import.meta.dirname, "../..");

/** A home of its own for one test; removed afterwards. */
export function makePlace(
  platform: NodeJS.Platform,
  own: Partial<{ wire: string; handle: string; home: string }> = {},
): ServicePlace {
  const root = mkdtempSync(join(tmpdir(), "deaddrop-service-"));
  onTestFinished(() => {
    rmSync(root, { recursive: true, force: true });
  });
  const home = join(root, own.home ?? "home");
  const places = placesFrom({}, home);
  return {
    platform,
    home,
    uid: 501,
    user: "operator",
    places,
    agent: agentPaths(places, {
      wireDir: join(root, own.wire ?? "_coordination"),
      wireKey: "7c3a91e2b4d05f16",
      handle: own.handle ?? "forge",
    }),
    path: "/usr/local/bin:/usr/bin:/bin",
    node: process.execPath,
    nodeOptions: [],
    program: join(checkout, "bin/deaddrop.js"),
    packageDir: checkout,
  };
}

/** A service manager that answers what the test says, and remembers what it was asked. */
export function fakeHost(answers: Readonly<Record<string, Partial<HostAnswer>>> = {}): {
  host: Host;
  asked: string[];
} {
  const asked: string[] = [];
  const host: Host = (command, args) => {
    const line = [command, ...args].join(" ");
    asked.push(line);
    const known = Object.entries(answers).find(([start]) => line.startsWith(start))?.[1];
    return { status: 0, stdout: "", stderr: "", ...known };
  };
  return { host, asked };
}

/** Why a test cannot run here, or undefined when the program is there. */
export function missing(program: string, ...args: readonly string[]): string | undefined {
  const tried = spawnSync(program, args, { stdio: "ignore" });
  return tried.error === undefined ? undefined : `${program} is not installed here`;
}

// A process of its own: Node with the libraries that a daemon loads, and nothing of ours.
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { checkout } from "../stage/processes.ts";

/** What a daemon imports, of what the package depends on. */
const LOADED: readonly (readonly [dependency: string, module: string])[] = [
  ["@noble/ed25519", "@noble/ed25519"],
  ["ajv", "ajv/dist/2020.js"],
  ["chokidar", "chokidar"],
  ["commander", "commander"],
  ["koffi", "koffi"],
  ["node-cron", "node-cron"],
  ["pino", "pino"],
  ["sodium-native", "sodium-native"],
];

const { dependencies } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as {
  dependencies: Record<string, string>;
};
for (const [dependency, module] of LOADED) {
  if (dependency in dependencies) await import(module);
}
void [createServer, Worker];
setInterval(() => undefined, 30_000);
process.stdout.write("ready\n");

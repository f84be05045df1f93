#!/usr/bin/env node
import { existsSync } from "node:fs";
import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
const isBuilt = existsSync(new URL("dist/cli/main.js", root));
// In a package the modules lie elsewhere; a clone that lacks them has not been installed.
const isInstalled =
  !existsSync(new URL("src/", root)) || existsSync(new URL("node_modules/", root));

if (isBuilt && isInstalled) {
  // Node 22 and later keep compiled code between runs; the older ones compile what they load.
  nodeModule.enableCompileCache?.();
  const { main } = await import("../dist/cli/main.js");
  process.exitCode = await main(process.argv.slice(2));
} else {
  process.stderr.write(
    `deaddrop: ${fileURLToPath(root)} is not built\n  run \`npm ci && npm run build\` there\n`,
  );
  process.exitCode = 2;
}

#!/usr/bin/env node
"use strict";

// Before anything else: without a listener, Node.js opens its debugger on this signal, through which any
// local user can run code in this process. The daemon makes a round on it (Spec 4.2).
process.on("SIGUSR1", () => undefined);

const { existsSync } = require("node:fs");
const { join } = require("node:path");

const root = join(__dirname, "..");
const HOOK = "dist/commands/hook.js";
/** They run long, and fastest as modules. */
const LONG = ["daemon", "audit"];

const has = (path) => existsSync(join(root, path));

async function mainOf(args) {
  if (has("dist/commands/first.js") && !args.some((arg) => LONG.includes(arg))) {
    return require("./commands.js").openCommands(root).main;
  }
  return (await import("../dist/cli/main.js")).main;
}

/** The hook of a tool runs again and again while an agent waits. */
const isHook = (args) => args[0] === "hook" && !args.includes("--help") && !args.includes("-h");

async function run(args) {
  if (isHook(args) && has(HOOK)) {
    await require("./cached-script.js").openHook(join(root, HOOK)).main(args.slice(1));
    return;
  }
  const main = await mainOf(args);
  process.exitCode = await main(args);
}

// In a package the modules lie elsewhere; a clone that lacks them has not been installed.
if (has("dist/cli/main.js") && (!has("src") || has("node_modules"))) {
  run(process.argv.slice(2)).catch((error) => {
    // Our bug: as one that nobody has caught, with its stack.
    queueMicrotask(() => {
      throw error;
    });
  });
} else {
  process.stderr.write(
    `deaddrop: ${root}/ is not built\n  run \`npm ci && npm run build\` there\n`,
  );
  process.exitCode = 2;
}

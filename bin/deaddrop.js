#!/usr/bin/env node
"use strict";

// Before anything else: without a listener, Node.js opens its debugger on this signal, through which any
// local user can run code in this process. The daemon makes a round on it (Spec 4.2).
process.on("SIGUSR1", () => undefined);

// This file is written so that an old Node.js can read it and say what is needed.
const { existsSync } = require("node:fs");
const { join } = require("node:path");

const root = join(__dirname, "..");
const HOOK = "dist/commands/hook.cjs";
/** They run long, with threads that load their own files. */
const LONG = ["daemon", "audit"];

const has = (path) => existsSync(join(root, path));

/** As `engines` in package.json says. */
function isOldNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  return major < 20 || (major === 20 && minor < 19);
}

async function mainOf(args) {
  const isBundled = has("dist/commands/main.js") && !args.some((arg) => LONG.includes(arg));
  return (await import(isBundled ? "../dist/commands/main.js" : "../dist/cli/main.js")).main;
}

/** The hook of a tool runs again and again while an agent waits. */
const isHook = (args) => args[0] === "hook" && !args.includes("--help") && !args.includes("-h");

async function run(args) {
  require("./compile-cache.js").useCompileCache(process.env);
  if (isHook(args) && has(HOOK)) {
    await require(join(root, HOOK)).main(args.slice(1));
    return;
  }
  const main = await mainOf(args);
  process.exitCode = await main(args);
}

function refuse(problem, hint) {
  process.stderr.write(`deaddrop: ${problem}\n  ${hint}\n`);
  process.exitCode = 2;
}

if (isOldNode()) {
  refuse(
    `this is Node.js ${process.version} (${process.execPath}); 20.19 or newer is needed`,
    "install a current version (https://nodejs.org), and put it first in PATH",
  );
} else if (has("dist/cli/main.js") && (!has("src") || has("node_modules"))) {
  // In a package the modules lie elsewhere; a clone that lacks them has not been installed.
  run(process.argv.slice(2)).catch((error) => {
    // Our bug: as one that nobody has caught, with its stack.
    queueMicrotask(() => {
      throw error;
    });
  });
} else {
  refuse(`${root}/ is not built`, "run `npm ci && npm run build` there");
}

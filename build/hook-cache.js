import { renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** Runs the hook once, with its own arguments and input, and keeps what V8 has compiled for it. */

const HOOK = fileURLToPath(new URL("../dist/commands/hook.js", import.meta.url));
const { main, script } = createRequire(import.meta.url)("../bin/cached-script.js").openHook(HOOK);

process.on("exit", () => {
  writeFileSync(`${HOOK}.new`, script.createCachedData());
  // Whole or not there: a hook may be reading it just now.
  renameSync(`${HOOK}.new`, `${HOOK}.cache`);
});
await main(process.argv.slice(2));

"use strict";

const { readFileSync } = require("node:fs");
const { Script } = require("node:vm");

/**
 * A file of dist/commands/, with the code cache that `npm run build` has put beside it. The cache is code,
 * so it is read from nowhere but the folder of the program. V8 refuses one that another Node.js has made,
 * and compiles the source.
 */
exports.cachedScript = (path) =>
  new Script(readFileSync(path, "latin1"), { filename: path, cachedData: cacheBeside(path) });

/** One that cannot be read costs time and nothing else. */
function cacheBeside(path) {
  try {
    return readFileSync(`${path}.cache`);
  } catch {
    return undefined;
  }
}

/** What tools run at each of their steps, as the module that its one file is. */
exports.openHook = (path) => {
  const script = exports.cachedScript(path);
  const module = { exports: {} };
  script.runInThisContext()(module, require);
  return { main: module.exports.main, script };
};

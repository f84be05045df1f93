"use strict";

const { lstatSync, mkdirSync } = require("node:fs");
const { enableCompileCache } = require("node:module");
const { isAbsolute, join } = require("node:path");

/**
 * Has Node.js keep what V8 compiles of our files in a private folder of this user: half of what a short
 * command costs is the compiling. A compile cache is code that the next command runs, so a folder that
 * others could write to is not used. Node.js 20 has no such cache, and NODE_DISABLE_COMPILE_CACHE turns it off.
 */
exports.useCompileCache = (env) => {
  if (enableCompileCache === undefined || (env.NODE_DISABLE_COMPILE_CACHE ?? "") !== "") return;
  const folder = cacheFolder(env);
  if (folder !== undefined && isPrivate(folder)) enableCompileCache(folder);
};

function cacheFolder({ XDG_CACHE_HOME, HOME }) {
  if (XDG_CACHE_HOME !== undefined && isAbsolute(XDG_CACHE_HOME)) {
    return join(XDG_CACHE_HOME, "deaddrop");
  }
  return HOME !== undefined && isAbsolute(HOME) ? join(HOME, ".cache", "deaddrop") : undefined;
}

/** Makes the folder where it is missing; where that cannot be done, commands go without a cache. */
function isPrivate(folder) {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const stat = lstatSync(folder);
    return stat.isDirectory() && stat.uid === process.getuid() && (stat.mode & 0o022) === 0;
  } catch {
    return false;
  }
}

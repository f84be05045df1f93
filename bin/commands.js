"use strict";

const { dirname } = require("node:path");

/**
 * The modules of the commands as two files, made by `npm run build` (build/commands.js): what commands
 * usually need, and the rest, which is read when a module of it is asked for.
 */
exports.openCommands = (root) => {
  const modules = new Map();
  const tables = { first: tableOf("first"), rest: undefined };

  function tableOf(name) {
    const makeTable = require(`${root}/dist/commands/${name}.js`);
    return makeTable({ importDefault, importStar, exportStar });
  }

  /** `id`: the path of a bundled module below `root`; anything else is Node's or a package's. */
  function load(id) {
    if (!id.startsWith("dist/") && !id.startsWith("node_modules/")) return foreign(id);
    const known = modules.get(id);
    if (known !== undefined) return known.exports;
    const run = tables.first[id] ?? (tables.rest ??= tableOf("rest"))[id];
    const module = { exports: {} };
    modules.set(id, module);
    const path = `${root}/${id}`;
    run(module.exports, load, module, path, dirname(path));
    return module.exports;
  }

  return { main: load("dist/cli/main.js").main };
};

/** Those that Node has not loaded by itself, and that take longest to load. */
const LAZY = new Set(
  [
    ...["child_process", "crypto", "module", "net", "os", "timers/promises", "util"],
    ...["worker_threads", "zlib"],
  ].map((name) => `node:${name}`),
);
const lazy = new Map();

/** A module of Node, or a package that is in no bundle; the slow ones load when they are first used. */
function foreign(id) {
  if (!LAZY.has(id)) return require(id);
  const known = lazy.get(id);
  if (known !== undefined) return known;
  let loaded;
  const real = () => (loaded ??= require(id));
  const proxy = new Proxy({}, { get: (_, name) => real()[name], has: (_, name) => name in real() });
  lazy.set(id, proxy);
  return proxy;
}

// What `import` means for modules that the build has turned into functions with `require`.

const importDefault = (module) => (module.__esModule ? module : { default: module });

const importStar = (module) =>
  module.__esModule ? module : { __proto__: module, default: module };

function exportStar(from, to) {
  for (const name of Object.keys(from)) {
    if (name !== "default" && !(name in to)) {
      Object.defineProperty(to, name, { enumerable: true, get: () => from[name] });
    }
  }
}

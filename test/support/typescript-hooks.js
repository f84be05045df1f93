import { readFile } from "node:fs/promises";
import { transform } from "esbuild";
import { plantedHere, withPlant } from "../simulator/plants.js";

/** A mistake that is put into one file as it is loaded, for tests of the tests. */
const plant = plantedHere();

const compiled = new Map();
/** @type {import("esbuild").TransformOptions} */
const OPTIONS = {
  loader: "ts",
  target: "es2023",
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
};

/** A module asked for as `x.ts?run=2` gets its own modules as of that run too: all are fresh. */
export async function resolve(specifier, context, next) {
  const resolved = await next(specifier, context);
  const run = context.parentURL === undefined ? "" : new URL(context.parentURL).search;
  if (run === "" || !isOurs(resolved.url) || resolved.url.includes("?")) return resolved;
  return { ...resolved, url: resolved.url + run };
}

export async function load(url, context, next) {
  const { protocol, pathname } = new URL(url);
  if (protocol !== "file:" || !pathname.endsWith(".ts")) return next(url, context);
  let source = compiled.get(pathname);
  if (source === undefined) {
    const file = await readFile(new URL(`file://${pathname}`), "utf8");
    const text = fewerRuns(pathname, withPlant(plant, pathname, file));
    source = (await transform(text, { ...OPTIONS, sourcefile: pathname })).code;
    compiled.set(pathname, source);
  }
  return { format: "module", source, shortCircuit: true };
}

/** Properties are asked thousands of times about mutants: `DEADDROP_PROPERTY_RUNS` cuts them short. */
function fewerRuns(path, text) {
  const most = Number(process.env.DEADDROP_PROPERTY_RUNS ?? Infinity);
  if (most === Infinity || !path.endsWith(".test.ts")) return text;
  return text.replace(/numRuns: (?:amount\()?([0-9_]+)(?:, [0-9_]+\))?/g, (_, runs) => {
    return `numRuns: ${Math.min(Number(runs.replaceAll("_", "")), most)}`;
  });
}

function isOurs(url) {
  return url.startsWith("file:") && url.endsWith(".ts") && !url.includes("/node_modules/");
}

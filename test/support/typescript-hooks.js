import { readFileSync } from "node:fs";
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

/** The hooks of `register`, which run on a thread of their own. */
export async function resolve(specifier, context, next) {
  return withRun(await next(specifier, context), context);
}

export async function load(url, context, next) {
  const path = typeScriptPath(url);
  if (path === undefined) return next(url, context);
  let source = compiled.get(path);
  if (source === undefined) {
    const { transform } = await import("esbuild");
    source = (await transform(readSource(path), { ...OPTIONS, sourcefile: path })).code;
    compiled.set(path, source);
  }
  return { format: "module", source, shortCircuit: true };
}

/** The hooks of `registerHooks`, for a Node.js that strips types by itself. */
export function resolveWithRun(specifier, context, next) {
  return withRun(next(specifier, context), context);
}

export function loadTypeScript(url, context, next) {
  const path = typeScriptPath(url);
  if (path === undefined) return next(url, context);
  return { format: "module-typescript", source: readSource(path), shortCircuit: true };
}

/** A module asked for as `x.ts?run=2` gets its own modules as of that run too: all are fresh. */
function withRun(resolved, context) {
  const run = context.parentURL === undefined ? "" : new URL(context.parentURL).search;
  if (run === "" || !isOurs(resolved.url) || resolved.url.includes("?")) return resolved;
  return { ...resolved, url: resolved.url + run };
}

function typeScriptPath(url) {
  const { protocol, pathname } = new URL(url);
  return protocol === "file:" && pathname.endsWith(".ts") ? pathname : undefined;
}

function readSource(path) {
  const file = readFileSync(new URL(`file://${path}`), "utf8");
  return fewerRuns(path, withPlant(plant, path, file));
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

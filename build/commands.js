import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transformSync } from "esbuild";
import ts from "typescript";

/**
 * Makes of dist/ the two files that bin/commands.js runs: every module that a command can reach, as a
 * function; and the one file of the hook. esbuild says which modules those are and what each import
 * means; the compiler turns a module into a function. Nothing is renamed, so that a stack names what the
 * source names.
 */

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const TARGET = join(ROOT, "dist", "commands");
const MAIN = "dist/cli/main.js";
/** A stack names a line of these files: it is worth something while lines are short. */
const LINE_CHARACTERS = 160;

/** What an agent runs again and again; these and all that they import are read at every start. */
const FREQUENT = [
  MAIN,
  ...["inbox", "reading", "status"].map((name) => `dist/cli/commands/${name}.js`),
  "dist/cli/sending/verb-command.js",
  ...["send", "reply", "answer"].map((name) => `dist/verbs/${name}.js`),
  "dist/client/open-client.js",
  "dist/api/drafts.js",
  "dist/cli/version.js",
  "dist/cli/errors.js",
];

/** Every module by its path below the checkout: `esm`, and `imports` with what each specifier means. */
async function modulesOf(entry) {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    bundle: true,
    write: false,
    outdir: "unused",
    metafile: true,
    platform: "node",
    format: "esm",
    splitting: true,
    // A package that has both is read as modules: one says `require` in a way that cannot be followed.
    mainFields: ["module", "main"],
    // Native code stays where it is.
    external: ["koffi", "sodium-native"],
    // A linked node_modules is named by its place in the checkout.
    preserveSymlinks: true,
    logLevel: "error",
  });
  return metafile.inputs;
}

/** The modules that are loaded with these, at once and not by `import()`. */
function loadedWith(inputs, entries) {
  const found = new Set();
  const visit = (id) => {
    if (found.has(id)) return;
    found.add(id);
    for (const { path, kind, external } of inputs[id].imports) {
      if (external !== true && kind !== "dynamic-import") visit(path);
    }
  };
  entries.forEach(visit);
  return found;
}

const OPTIONS = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.CommonJS,
  esModuleInterop: true,
  noEmitHelpers: true,
  removeComments: true,
  allowJs: true,
};

/** A module as a function of `exports`, `require`, `module`, its own path and folder. */
function asFunction(id, { format, imports }) {
  const source = readFileSync(join(ROOT, id), "utf8");
  const code = id.endsWith(".json")
    ? `module.exports = ${source};`
    : format === "esm"
      ? ts.transpileModule(source, { fileName: "module.ts", compilerOptions: OPTIONS }).outputText
      : source;
  const meaning = new Map(
    imports.filter(({ external }) => external !== true).map((each) => [each.original, each.path]),
  );
  const linked = code.replaceAll(/\brequire\((["'])([^"'\n]+)\1\)/g, (whole, _, specifier) => {
    const path = meaning.get(specifier);
    return path === undefined ? whole : `require(${JSON.stringify(path)})`;
  });
  const body = linked.replaceAll("import.meta.url", "__url(__filename)");
  return `${JSON.stringify(id)}(exports, require, module, __filename, __dirname) {\n${body}\n}`;
}

/** The names that the compiler's output, and packages in CommonJS, take for given. */
const GIVEN = `
const __importDefault = given.importDefault;
const __importStar = given.importStar;
const __exportStar = given.exportStar;
const __url = (path) => "file://" + path.split("/").map(encodeURIComponent).join("/");
`;

function scriptOf(ids, inputs) {
  const functions = ids.map((id) => asFunction(id, inputs[id]));
  return `module.exports = function (given) {${GIVEN}return {\n${functions.join(",\n")}\n};\n};`;
}

/** The licences of the packages whose code the two files hold. */
function licencesOf(ids) {
  const packages = new Set(
    ids.flatMap((id) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? []),
  );
  return [...packages]
    .map((folder) => {
      const names = readdirSync(join(ROOT, folder)).filter((name) =>
        /^(licen[cs]e|copying)/i.test(name),
      );
      if (names.length === 0) throw new Error(`${folder} has no licence that could be copied`);
      return [folder, ...names.map((name) => readFileSync(join(ROOT, folder, name), "utf8"))].join(
        "\n\n",
      );
    })
    .join("\n\n----\n\n");
}

/** ASCII, which Node.js reads fastest, and without the space that people need. */
function compact(text) {
  const options = { charset: "ascii", minifyWhitespace: true, lineLimit: LINE_CHARACTERS };
  return transformSync(text, options).code;
}

/** What tools run at each of their steps: one file, and nothing that it does not need. */
const HOOK = "dist/agents/hooks/main.js";

/** Modules of Node that a hook seldom needs; to load one takes as long as all that the hook does. */
const SELDOM_NEEDED = ["child_process", "crypto", "module", "os", "timers/promises", "util"];

/** What few hooks need to find their agent: loaded from its own files. */
const elsewhere = {
  name: "elsewhere",
  setup({ onResolve }) {
    onResolve({ filter: /\/setup\/here\// }, ({ kind, path }) =>
      kind === "dynamic-import"
        ? { path: path.replace("../../", "../"), external: true }
        : undefined,
    );
  },
};

const IMPORTS = `const seldom = (id) => new Proxy({}, { get: (_, name) => require(id)[name] });
const whole = (id) => ({ __proto__: require(id), default: require(id) });
`;

/**
 * Modules that are seldom needed are loaded when something of them is used. Of one that is imported whole
 * esbuild would copy each member, once for each file that imports it.
 */
function withLightImports(code) {
  const names = SELDOM_NEEDED.join("|");
  const eager = new RegExp(`^var (\\w+) = require\\("(node:(?:${names}))"\\);$`, "gmu");
  const copied = /^var (\w+) = __toESM\(require\("(node:[\w/]+)"\), 1\);$/gmu;
  return code
    .replace('"use strict";\n', `"use strict";\n${IMPORTS}`)
    .replaceAll(copied, 'var $1 = whole("$2");')
    .replaceAll(eager, 'var $1 = seldom("$2");');
}

const inputs = await modulesOf(MAIN);
const first = loadedWith(inputs, FREQUENT);
rmSync(TARGET, { recursive: true, force: true });
mkdirSync(TARGET, { recursive: true });
const rest = Object.keys(inputs).filter((id) => !first.has(id));
writeFileSync(join(TARGET, "package.json"), `{ "type": "commonjs" }\n`);
writeFileSync(join(TARGET, "LICENCES.txt"), licencesOf(Object.keys(inputs)));
writeFileSync(join(TARGET, "rest.js"), compact(scriptOf(rest, inputs)));
writeFileSync(join(TARGET, "first.js"), compact(scriptOf([...first], inputs)));
const hook = await build({
  absWorkingDir: ROOT,
  entryPoints: [HOOK],
  outfile: join(TARGET, "hook.js"),
  bundle: true,
  write: false,
  platform: "node",
  format: "cjs",
  target: "node20",
  charset: "ascii",
  external: ["koffi", "sodium-native"],
  plugins: [elsewhere],
  logLevel: "error",
});
const hookCode = withLightImports(hook.outputFiles[0].text);
writeFileSync(join(TARGET, "hook.js"), compact(hookCode));

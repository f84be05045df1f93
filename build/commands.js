import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

/**
 * Bundles dist/ for the commands, into dist/commands: a command loads one file with what agents run
 * again and again, and more only for what else it does; the hook of a tool is one file of its own.
 */

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const TARGET = join(ROOT, "dist", "commands");
/** They load native code beside their own files. */
const NATIVE = ["koffi", "sodium-native", "@photostructure/sqlite"];

/** What an agent runs again and again. */
const FREQUENT =
  /\/dist\/(cli\/(main|errors|commands\/(inbox|reading|status)|sending\/verb-command)|client\/open-client|api\/drafts|verbs\/(send|reply|answer))\.js$/;

// A package that has both is read as modules: one says `require` in a way that cannot be followed.
const resolve = { mainFields: ["module", "main"] };
const common = { cwd: ROOT, platform: "node", logLevel: "warn", resolve };
const minify = { compress: false, mangle: false, codegen: { removeWhitespace: true } };

rmSync(TARGET, { recursive: true, force: true });
const bundles = await build([
  {
    ...common,
    input: "dist/cli/main.js",
    external: NATIVE,
    checks: { ineffectiveDynamicImport: false },
    output: {
      dir: TARGET,
      minify,
      codeSplitting: { groups: [{ name: "frequent", test: FREQUENT }] },
    },
  },
  {
    ...common,
    input: { hook: "dist/agents/hooks/main.js" },
    external: NATIVE,
    // What few hooks need to find their agent is loaded from its own files.
    plugins: [
      {
        name: "own-files",
        resolveId: (id) =>
          id.includes("/setup/here/") ? { id: id.replace("../../", "../"), external: true } : null,
      },
    ],
    output: { dir: TARGET, format: "cjs", entryFileNames: "[name].cjs", minify },
  },
]);
const modules = bundles.flatMap(({ output }) =>
  output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : [])),
);
writeFileSync(join(TARGET, "LICENCES.txt"), licencesOf(modules));

/** The licences of the packages whose code the bundles hold. */
function licencesOf(paths) {
  const packages = new Set(
    paths.flatMap((path) => /(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []),
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

import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const FOLDERS = ["wire", "storage"];
const HOUR_MS = 3_600_000;

/**
 * The folder of `src/wire` and `src/storage` as plain JavaScript, for tests that need real
 * processes. Below node_modules, so that packages are found; named by what the sources hold.
 */
export function builtForChildren(): string {
  const cache = join(ROOT, "node_modules", ".cache", "deaddrop-test");
  const target = join(cache, sourceHash());
  if (existsSync(target)) return target;
  mkdirSync(cache, { recursive: true });
  for (const name of readdirSync(cache)) {
    const old = join(cache, name);
    if (Date.now() - statSync(old).mtimeMs > HOUR_MS) rmSync(old, { recursive: true, force: true });
  }
  const building = mkdtempSync(join(cache, "building-"));
  for (const name of FOLDERS) translateFolder(join(ROOT, "src", name), join(building, name));
  try {
    renameSync(building, target);
  } catch (error) {
    // Another test's process was first.
    if (!existsSync(target)) throw error;
    rmSync(building, { recursive: true });
  }
  return target;
}

function sourceHash(): string {
  const hash = createHash("sha256");
  for (const folder of FOLDERS) {
    for (const name of sourcesIn(join(ROOT, "src", folder))) {
      hash.update(name).update(readFileSync(join(ROOT, "src", folder, name)));
    }
  }
  return hash.digest("hex").slice(0, 16);
}

function translateFolder(from: string, to: string): void {
  for (const name of sourcesIn(from)) {
    const { outputText } = ts.transpileModule(readFileSync(join(from, name), "utf8"), {
      compilerOptions: {
        target: ts.ScriptTarget.ES2023,
        module: ts.ModuleKind.ESNext,
        verbatimModuleSyntax: true,
        rewriteRelativeImportExtensions: true,
      },
    });
    const path = join(to, name.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, outputText);
  }
}

function sourcesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".ts")).toSorted();
}

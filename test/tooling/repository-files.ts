import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

export const CHECKOUT = resolve(import.meta.dirname, "../..");

/** What tools make or fetch, and what is not text of ours. */
const PASSED_OVER = new Set([".git", "node_modules", "dist", "coverage", "reports"]);

export interface TextFile {
  /** Relative to the checkout, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** The files at or below these paths (relative to the checkout) whose names end like that. */
export function textFiles(paths: readonly string[], endings: RegExp): TextFile[] {
  return paths
    .flatMap((path) => pathsBelow(path))
    .flatMap((path) =>
      endings.test(path) ? [{ path, text: readFileSync(join(CHECKOUT, path), "utf8") }] : [],
    );
}

function pathsBelow(path: string): string[] {
  if (!statSync(join(CHECKOUT, path)).isDirectory()) return [path];
  const entries = readdirSync(join(CHECKOUT, path), { withFileTypes: true });
  return entries.flatMap((entry) => {
    if (entry.isSymbolicLink() || PASSED_OVER.has(entry.name)) return [];
    const inside = path === "." ? entry.name : `${path}/${entry.name}`;
    return entry.isDirectory() ? pathsBelow(inside) : [inside];
  });
}

/** The number of the line, from 1, in which that character stands. */
export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import type { Repository } from "./repository.ts";

/**
 * For which agent the guard was installed in one work tree. Work trees of one repository share its
 * hooks, so the hooks name nobody: this file in the git folder of each work tree does. Spec 3.6.
 */
export interface InstalledFor {
  readonly handle: string;
  /** The wire's folder, where a search upward from the work tree does not find it. */
  readonly wire?: string;
}

const FILE = "deaddrop-guard.json";

/** Undefined where the guard was not installed in this work tree. Throws DeaddropError ("config"). */
export function readInstalledFor({ gitFolder }: Repository): InstalledFor | undefined {
  const path = join(gitFolder, FILE);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { handle, wire } = JSON.parse(text) as { handle?: unknown; wire?: unknown };
    if (typeof handle === "string") return { handle, ...(typeof wire === "string" && { wire }) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new DeaddropError("config", `${path} does not say for whom the guard is installed`, {
    hint: "install it again, as the agent of this work tree: deaddrop guard install --as <handle>",
  });
}

/** Returns whether anything changed. */
export function writeInstalledFor({ gitFolder }: Repository, installed: InstalledFor): boolean {
  const path = join(gitFolder, FILE);
  const text = `${JSON.stringify(installed)}\n`;
  try {
    if (readFileSync(path, "utf8") === text) return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  writeFileSync(path, text);
  return true;
}

/** For all work trees: they share the hooks, which are gone. */
export function removeInstalledFor({ commonFolder }: Repository): void {
  const linked = join(commonFolder, "worktrees");
  for (const folder of [commonFolder, ...foldersIn(linked)])
    rmSync(join(folder, FILE), { force: true });
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

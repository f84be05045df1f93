import { join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { readWhole } from "../../storage/disk/disk.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
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
  const text = readText(path);
  if (text === undefined) return undefined;
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
  if (readText(path) === text) return false;
  nodeDisk().replace(path, Buffer.from(text), 0o644);
  return true;
}

/** For all work trees: they share the hooks, which are gone. */
export function removeInstalledFor({ commonFolder }: Repository): void {
  const disk = nodeDisk();
  const linked = join(commonFolder, "worktrees");
  const folders = disk.list(linked).map((name) => join(linked, name));
  for (const folder of [commonFolder, ...folders]) disk.remove(join(folder, FILE));
}

function readText(path: string): string | undefined {
  const bytes = readWhole(nodeDisk(), path);
  return bytes === undefined ? undefined : Buffer.from(bytes).toString("utf8");
}

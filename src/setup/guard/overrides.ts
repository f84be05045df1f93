import { endsLine } from "../../storage/disk/line-splitter.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import type { AgentPaths } from "../../storage/paths.ts";

/** One commit or push that went through although it was blocked. Spec 3.6. */
export interface Override {
  /** ISO 8601. */
  readonly at: string;
  readonly hook: "pre-commit" | "pre-push";
  readonly handle: string;
  /** Who git says commits: `Name <address>`. */
  readonly git_user: string | null;
  readonly os_user: string;
  readonly work_tree: string;
  readonly blocked: readonly { readonly path: string; readonly why: string }[];
  /** Paths that are not listed. */
  readonly more: number;
  readonly reason: string | null;
}

const MAX_RECORDED_PATHS = 1_000;

/** As many as fit into a line that a person can read. */
export function listedOf<T>(blocked: readonly T[]): { blocked: readonly T[]; more: number } {
  return {
    blocked: blocked.slice(0, MAX_RECORDED_PATHS),
    more: Math.max(0, blocked.length - MAX_RECORDED_PATHS),
  };
}

/** Synced when it returns. */
export function recordOverride(disk: Disk, paths: AgentPaths, override: Override): void {
  const file = disk.open(paths.overrides, "append");
  try {
    // A crash may have cut the record before.
    const begin = endsLine(file, file.stat().size) ? "" : "\n";
    file.append(Buffer.from(`${begin}${JSON.stringify(override)}\n`, "utf8"));
    file.datasync();
  } finally {
    file.close();
  }
}

/** The last ones, newest first. A line that a crash cut is passed over. */
export function lastOverrides(disk: Disk, paths: AgentPaths, count: number): Override[] {
  const text = Buffer.from(readWhole(disk, paths.overrides) ?? []).toString("utf8");
  const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  return lines
    .filter((line) => line !== "")
    .slice(-count)
    .reverse()
    .flatMap(parsed);
}

function parsed(line: string): Override[] {
  try {
    return [JSON.parse(line) as Override];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

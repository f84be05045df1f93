import { DeaddropError } from "../../api/errors.ts";
import { textOf } from "../../setup/project-files.ts";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";
import { BoundElsewhere, boundElsewhere } from "./file-edit.ts";
import { isHookOf, SCOPES, type Joining } from "./integration.ts";
import type { Written } from "./record.ts";
import { integrationOf } from "./tools/all-tools.ts";

/**
 * A tool runs the hooks of all scopes in a session: with two agents in them it would speak for both.
 * `others`: what this person's other agents have written. Throws DeaddropError ("config"). Spec 8.3.
 */
export function refuseTwoIdentities(disk: Disk, at: Joining, others: readonly Written[]): void {
  const bound = SCOPES.map((scope) => ({ scope, paths: boundPaths(disk, { ...at, scope }) }));
  // Two scopes may share a file: the one in which most is bound is meant.
  const [most] = bound.toSorted((a, b) => b.paths.length - a.paths.length);
  const [path] = most?.paths ?? [];
  if (most !== undefined && path !== undefined) throw boundElsewhere(path, at.tool, most.scope);
  if (at.scope === "user") refuseProjectsOf(disk, at, others);
}

/** The files of that scope that join the tool to another agent or wire. */
function boundPaths(disk: Disk, at: Joining): string[] {
  return integrationOf(at).edits.flatMap((edit) => {
    try {
      edit.put(readable(disk, edit.path));
      return [];
    } catch (error) {
      if (!(error instanceof DeaddropError)) throw error;
      return error instanceof BoundElsewhere ? [edit.path] : [];
    }
  });
}

/** What cannot be read is told when it is to be written. */
function readable(disk: Disk, path: string): string | undefined {
  try {
    return textOf(disk, path);
  } catch (error) {
    if (error instanceof DeaddropError || error instanceof StorageError) return undefined;
    throw error;
  }
}

/** The files in the home count in every project. */
function refuseProjectsOf(disk: Disk, { tool }: Joining, others: readonly Written[]): void {
  for (const [path, { users }] of others.flatMap(({ files }) => Object.entries(files))) {
    const scope = SCOPES.find((each) => each !== "user" && users.includes(`${tool} ${each}`));
    if (scope === undefined || !isHookOf(tool, readable(disk, path))) continue;
    throw boundElsewhere(path, tool, scope);
  }
}

import { textOf } from "../../setup/project-files.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { BoundElsewhere, boundElsewhere } from "./file-edit.ts";
import { isHookOf, SCOPES, type Joining } from "./integration.ts";
import type { Written } from "./record.ts";
import { integrationOf } from "./tools/all-tools.ts";

/**
 * A tool runs the hooks of all scopes in a session: with two agents in them it would speak for both.
 * `others`: what this person's other agents have written. Throws DeaddropError ("config"). Spec 8.3.
 */
export function refuseTwoIdentities(disk: Disk, at: Joining, others: readonly Written[]): void {
  for (const scope of SCOPES) {
    if (scope === at.scope) continue;
    for (const edit of integrationOf({ ...at, scope }).edits) {
      try {
        edit.put(textOf(disk, edit.path));
      } catch (error) {
        // A file that cannot be read here is not written either.
        if (error instanceof BoundElsewhere) throw error;
      }
    }
  }
  if (at.scope === "user") refuseProjectsOf(disk, at, others);
}

/** The files in the home count in every project. */
function refuseProjectsOf(disk: Disk, { tool }: Joining, others: readonly Written[]): void {
  for (const [path, { users }] of others.flatMap(({ files }) => Object.entries(files))) {
    if (!users.includes(`${tool} project`) && !users.includes(`${tool} local`)) continue;
    if (isHookOf(tool, textOf(disk, path))) throw boundElsewhere(path, tool);
  }
}

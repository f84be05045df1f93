import { join } from "node:path";
import type { AgentConfig } from "../../agent/config/agent-config.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { carriersOf } from "../../carriers/folder.ts";
import { trouble, type TroubleView } from "../../api/troubles.ts";
import { ok, type Finding } from "./host-checks.ts";
import { isOurs } from "../wire/sharing.ts";
import { knownMembership } from "../../agent/config/known-handles.ts";
import { cardPath, statePath } from "../../storage/paths.ts";

/** Others that can write, or replace files, where they should not. Spec 1.1, 2.1. */
export function checkFolder(disk: Disk, place: AgentConfig): readonly Finding[] {
  const { folder, outbox, trustFolder, archive } = place.wire;
  const folders = [folder, outbox, trustFolder, archive].flatMap((path) =>
    folderFindings(disk, path),
  );
  // In a folder that everybody can write, the modes of files protect nothing: that comes first.
  if (folders.some(({ severity }) => severity === "error")) return folders;
  const findings = [...folders, ...ownFileFindings(disk, place)];
  if (findings.length > 0) return findings;
  const stat = disk.stat(folder);
  // Neither modes nor the sticky bit bind the owner of a folder.
  const owner =
    stat === undefined || isOurs(stat)
      ? ""
      : `; user ${stat.uid} owns it, and can remove any file in it`;
  return [ok("folder", `${folder} can be written by those who should${owner}`)];
}

function folderFindings(disk: Disk, path: string): readonly TroubleView[] {
  const stat = disk.stat(path);
  if (stat === undefined) return [];
  if (stat.kind !== "folder") return [trouble("folder_obstructed", { path })];
  if ((stat.mode & 0o002) !== 0) return [trouble("writable_by_others", { path, change: "o-w" })];
  const isSticky = (stat.mode & 0o020) === 0 || (stat.mode & 0o1000) !== 0;
  return isSticky ? [] : [trouble("folder_not_sticky", { path, group: stat.gid })];
}

/** What this agent alone may write: its logs, its card, its published state. */
function ownFileFindings(disk: Disk, place: AgentConfig): readonly TroubleView[] {
  const { wire, handle } = place;
  const { members } = knownMembership(disk, place);
  const logs = carriersOf(handle, members).map(({ path }) => join(wire.folder, path));
  const others = [cardPath(wire, handle), statePath(wire, handle)];
  return [...logs, ...others].flatMap((path) => {
    const stat = disk.stat(path);
    if (stat === undefined) return [];
    if (!isOurs(stat)) return [trouble("own_file_foreign", { path, user: stat.uid })];
    if ((stat.mode & 0o022) === 0) return [];
    return [trouble("writable_by_others", { path, change: "go-w" })];
  });
}

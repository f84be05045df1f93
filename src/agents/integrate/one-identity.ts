import { DeaddropError } from "../../api/errors.ts";
import { textOf } from "../../setup/project-files.ts";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";
import { BoundElsewhere, boundElsewhere } from "./file-edit.ts";
import {
  isOfAnother,
  JOINABLE,
  ownerOf,
  SCOPES,
  type Joinable,
  type Joining,
  type Scope,
} from "./integration.ts";
import { field, json } from "./tool-state.ts";
import { CODING_TOOLS, integrationOf } from "./tools/all-tools.ts";

/**
 * A tool runs the hooks and servers of all files that it reads: with two agents in them a session would
 * speak for both. Throws DeaddropError ("config"). Spec 8.3.
 */
export function refuseTwoIdentities(disk: Disk, at: Joining): void {
  const bound = SCOPES.map((scope) => ({ scope, paths: boundPaths(disk, { ...at, scope }) }));
  // Two scopes may share a file: the one in which most is bound is meant.
  const [most] = bound.toSorted((a, b) => b.paths.length - a.paths.length);
  const [path] = most?.paths ?? [];
  if (most !== undefined && path !== undefined) throw boundElsewhere(path, at.tool, most.scope);
  refuseSharedServers(disk, at);
}

/**
 * The scope in whose files the tool is joined for whichever agent works in the folder: nothing has to be
 * written for one of them there.
 */
export function joinedForAll(disk: Disk, at: Joining): Scope | undefined {
  return (["project", "user"] as const).find((scope) => {
    const [server] = integrationOf({ ...at, scope }).edits;
    const text = server === undefined ? undefined : readable(disk, server.path);
    return text !== undefined && hasServer({ ...at, scope }, text);
  });
}

function hasServer(at: Joining, text: string): boolean {
  const [server] = integrationOf(at).edits;
  try {
    return server?.put(text) === text;
  } catch (error) {
    if (error instanceof DeaddropError) return false;
    throw error;
  }
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

/** A tool that takes the servers of another one's file too, whichever of the two is joined second. */
function refuseSharedServers(disk: Disk, at: Joining): void {
  for (const tool of JOINABLE) {
    const { servers } = CODING_TOOLS[tool];
    if (servers === undefined) continue;
    const own = servers.own({ ...at, tool });
    const written = integrationOf(at).edits.map(({ path }) => path);
    for (const path of servers.others({ ...at, tool })) {
      const [there, isNew] = tool === at.tool ? [path, true] : [own, written.includes(path)];
      const bound = serverIn(disk, there);
      if (!isNew || !isOfAnother(bound, ownerOf(at))) continue;
      throw boundElsewhere(there, tool === at.tool ? writerOf(at, path) : tool, "local");
    }
  }
}

/** The tool that writes that file. */
function writerOf(at: Joining, path: string): Joinable {
  const writes = (tool: Joinable): boolean =>
    integrationOf({ ...at, tool }).edits.some((edit) => edit.path === path);
  return JOINABLE.find(writes) ?? at.tool;
}

function serverIn(disk: Disk, path: string): unknown {
  return field(json(disk, path)["mcpServers"], "deaddrop");
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

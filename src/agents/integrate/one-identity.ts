import { DeaddropError } from "../../api/errors.ts";
import { textOf } from "../../setup/project-files.ts";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";
import { BoundElsewhere, boundElsewhere } from "./file-edit.ts";
import {
  JOINABLE,
  SCOPES,
  type Integration,
  type Joinable,
  type Joining,
  type Scope,
} from "./integration.ts";
import { integrationOf } from "./tools/all-tools.ts";

/**
 * A tool runs the hooks and servers of all files that it reads: with two agents in them a session would
 * speak for both. Throws DeaddropError ("config"). Spec 8.3.
 */
export function refuseTwoIdentities(disk: Disk, at: Joining): void {
  const bound = SCOPES.flatMap((scope) => boundFiles(disk, { ...at, scope }));
  // Two tools may share a file: one that is of a single tool says most.
  const [first] = bound.toSorted((a, b) => a.tools.length - b.tools.length);
  if (first !== undefined) throw boundElsewhere(first.path, first.tools);
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

/** The files of that scope that join the tool to another agent or wire, and all tools that read them. */
function boundFiles(disk: Disk, at: Joining): { path: string; tools: Joinable[] }[] {
  return integrationOf(at).edits.flatMap(({ path, put }) => {
    try {
      put(readable(disk, path));
      return [];
    } catch (error) {
      if (!(error instanceof DeaddropError)) throw error;
      return error instanceof BoundElsewhere ? [{ path, tools: toolsWith(at, path) }] : [];
    }
  });
}

function toolsWith(at: Joining, path: string): Joinable[] {
  const isIn = ({ edits }: Integration): boolean => edits.some((edit) => edit.path === path);
  return JOINABLE.filter((tool) => isIn(integrationOf({ ...at, tool })));
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

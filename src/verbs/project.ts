import { existsSync } from "node:fs";
import { namedPaths, refsNote, type NamedPaths } from "../setup/guard/project-files.ts";
import { projectFrom, type Project } from "../setup/guard/project-paths.ts";
import { withNote, type Prepared } from "./prepared.ts";
import type { Speaker } from "./verb.ts";

/** The project that its agent works in; undefined where the wire's folder is gone. */
export function projectOf({ client, cwd }: Pick<Speaker, "client" | "cwd">): Project | undefined {
  return existsSync(client.wireDir) ? projectFrom(client.wireDir, cwd) : undefined;
}

/** The paths that a message names, as they are sent. */
export function pathsGiven(by: Speaker, patterns: readonly string[]): NamedPaths {
  const project = patterns.length === 0 ? undefined : projectOf(by);
  return project === undefined
    ? { paths: patterns, note: undefined }
    : namedPaths(project, patterns);
}

/** The message, with a note on the paths and commits among its refs that are not here. */
export function withRefsNote(by: Speaker, prepared: Prepared): Prepared {
  const { refs = [] } = prepared.draft;
  const project = refs.length === 0 ? undefined : projectOf(by);
  if (project === undefined) return prepared;
  return withNote(prepared, refsNote(project, by.cwd, refs, by.env));
}

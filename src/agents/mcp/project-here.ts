import { existsSync } from "node:fs";
import type { Client } from "../../api/client.ts";
import { withNote, type Prepared } from "../../sending/prepared.ts";
import { namedPaths, refsNote, type NamedPaths } from "../../setup/guard/project-files.ts";
import { projectFrom, type Project } from "../../setup/guard/project-paths.ts";

/** The project that the tool works in; undefined where the wire's folder is gone. */
export function projectHere({ wireDir }: Client): Project | undefined {
  return existsSync(wireDir) ? projectFrom(wireDir, process.cwd()) : undefined;
}

/** The paths that a call names, as they are sent. */
export function pathsGiven(client: Client, patterns: readonly string[]): NamedPaths {
  const project = projectHere(client);
  return project === undefined
    ? { paths: patterns, note: undefined }
    : namedPaths(project, patterns);
}

/** The message, with a note on the paths and commits among its refs that are not here. */
export function withRefsNote(client: Client, prepared: Prepared): Prepared {
  const { refs = [] } = prepared.draft;
  const project = refs.length === 0 ? undefined : projectHere(client);
  if (project === undefined) return prepared;
  return withNote(prepared, refsNote(project, process.cwd(), refs, process.env));
}

import { existsSync } from "node:fs";
import type { Client } from "../../api/client.ts";
import { namedPaths, type NamedPaths } from "../../setup/guard/project-files.ts";
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

import { namedPaths, type NamedPaths } from "../../setup/guard/project-files.ts";
import { projectFrom } from "../../setup/guard/project-paths.ts";
import { findWire, type Cli, type GlobalFlags } from "../context.ts";

/** The paths that a command names, as they are sent. */
export function pathsGiven(cli: Cli, flags: GlobalFlags, patterns: readonly string[]): NamedPaths {
  if (patterns.length === 0) return { paths: [], note: undefined };
  return namedPaths(projectFrom(findWire(cli, flags), cli.cwd), patterns);
}

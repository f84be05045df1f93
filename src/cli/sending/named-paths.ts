import { namedPaths, refsNote, type NamedPaths } from "../../setup/guard/project-files.ts";
import { projectFrom } from "../../setup/guard/project-paths.ts";
import type { Client } from "../../api/client.ts";
import { withNote, type Prepared } from "../../sending/prepared.ts";
import { findWire, type Cli, type GlobalFlags } from "../context.ts";

/** The message, with a note on the paths and commits among its refs that are not here. */
export function withRefsNote(cli: Cli, { wireDir }: Client, prepared: Prepared): Prepared {
  const { refs = [] } = prepared.draft;
  if (refs.length === 0) return prepared;
  return withNote(prepared, refsNote(projectFrom(wireDir, cli.cwd), cli.cwd, refs, cli.env));
}

/** The paths that a command names, as they are sent. */
export function pathsGiven(cli: Cli, flags: GlobalFlags, patterns: readonly string[]): NamedPaths {
  if (patterns.length === 0) return { paths: [], note: undefined };
  return namedPaths(projectFrom(findWire(cli, flags), cli.cwd), patterns);
}

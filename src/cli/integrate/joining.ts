import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { loadPlace } from "../../agent/config/agent-config.ts";
import {
  join as joinTool,
  joiningChanges,
  removalChanges,
  remove as removeTool,
  type FileChange,
} from "../../agents/integrate/integrate.ts";
import type { Joinable, Joining, Scope } from "../../agents/integrate/integration.ts";
import type { FileEdit } from "../../agents/integrate/file-edit.ts";
import { excludeEdits, excludeFile, privateEdits } from "../../agents/integrate/git-privacy.ts";
import { refuseTwoIdentities } from "../../agents/integrate/one-identity.ts";
import { integrationRecord, type Written } from "../../agents/integrate/record.ts";
import { integrationOf } from "../../agents/integrate/tools/all-tools.ts";
import { setupHost } from "../../setup/host.ts";
import { libraryOwns } from "../../skills/library/library-owns.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { programFolder, type AgentPaths } from "../../storage/paths.ts";
import { findHandle, findWire, homeOf, placesOf, type Cli, type GlobalFlags } from "../context.ts";
import { pluginPath, programPath, skillPath } from "../program-path.ts";

/** A tool in a place, as one agent is joined to it. */
export interface ToolJoining {
  readonly at: Joining;
  readonly paths: AgentPaths;
  /** What the person has to do in the tool. */
  readonly left: readonly string[];
  /** What would change; nothing has changed yet. */
  joining(): FileChange[];
  removal(): FileChange[];
  join(changes: readonly FileChange[]): void;
  remove(changes: readonly FileChange[]): void;
}

const RECORD = "integrations.json";

/** Where an agent's integrations are recorded: in its private folder. */
export function recordPath(paths: AgentPaths): string {
  return join(paths.configDir, RECORD);
}

/** What this person's other agents have written, on every wire. */
function recordsOfOthers(cli: Cli, disk: Disk, own: AgentPaths): Written[] {
  const wires = foldersIn(programFolder(placesOf(cli.env)));
  const others = wires.flatMap((wire) => foldersIn(wire)).filter((at) => at !== own.configDir);
  return others.map((folder) => integrationRecord(disk, join(folder, RECORD)).read());
}

function foldersIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? join(folder, entry.name) : []));
}

export function joiningOf(
  cli: Cli,
  tool: Joinable,
  flags: GlobalFlags & { scope?: Scope; allowCommands?: boolean; openSandbox?: boolean },
  { isTemporary = false } = {},
): ToolJoining {
  const { disk, places } = setupHost(cli.env, cli.clock.nowMs());
  const { handle, paths } = loadPlace(disk, places, {
    wireDir: findWire(cli, flags),
    handle: findHandle(cli, flags),
    peers: flags.peer,
  });
  const at: Joining = {
    ...{ tool, handle, scope: flags.scope ?? "local" },
    ...{ wireDir: paths.wireDir, project: projectOf(cli.cwd), home: homeOf(cli.env), env: cli.env },
    program: programWords(cli.env),
    skill: readFileSync(skillPath(), "utf8"),
    plugin: readFileSync(pluginPath(), "utf8"),
    allowsReading: flags.allowCommands === true,
    openedSocket: flags.openSandbox === true ? paths.socket : undefined,
  };
  const integration = integrationOf(at);
  const record = integrationRecord(disk, recordPath(paths));
  const place = {
    disk,
    // Only Claude Code has other files for the person than for the project.
    user: `${tool} ${at.scope === "local" && tool !== "claude" ? "project" : at.scope}`,
    root: at.scope === "user" ? undefined : at.project,
    exclude: excludeFile(at),
  };
  const owned = integration.edits.filter(({ path }) => libraryOwns(place.root ?? at.home, path));
  const ours = integration.edits.filter((edit) => !owned.includes(edit));
  const left = [...integration.left];
  if (owned.some(({ path }) => !existsSync(path))) {
    left.push("the skill is in agent/skills: deaddrop skills sync");
  }
  let edits: readonly FileEdit[] = ours;
  return {
    at,
    paths,
    left,
    joining: () => {
      refuseTwoIdentities(disk, at, recordsOfOthers(cli, disk, paths));
      const hidden = privateEdits(disk, at, ours, record.read(), isTemporary);
      edits = hidden.edits;
      left.push(...hidden.left);
      return joiningChanges(place, edits);
    },
    removal: () => {
      edits = [...ours, ...excludeEdits(disk, at, ours)];
      return removalChanges(place, edits, record.read());
    },
    join: (changes) => joinTool(place, edits, changes, record),
    remove: (changes) => removeTool(place, edits, changes, record),
  };
}

/** The top of the work tree, or the folder itself. */
function projectOf(cwd: string): string {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (folder === dirname(folder)) return cwd;
  }
}

/** `deaddrop`, where that is this very program; a tool asks its person again when the words change. */
function programWords(env: NodeJS.ProcessEnv): readonly string[] {
  const own = realpathSync(programPath());
  const found = (env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "deaddrop"))
    .find((path) => existsSync(path));
  return found !== undefined && realpathSync(found) === own
    ? ["deaddrop"]
    : [process.execPath, programPath()];
}

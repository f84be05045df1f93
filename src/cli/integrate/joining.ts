import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { loadPlace } from "../../agent/config/agent-config.ts";
import {
  join as joinTool,
  joiningChanges,
  remove as removeTool,
  removalChanges,
  type FileChange,
  type Place,
} from "../../agents/integrate/integrate.ts";
import type { FileEdit } from "../../agents/integrate/file-edit.ts";
import { excludeEdits, excludeFile, privateEdits } from "../../agents/integrate/git-privacy.ts";
import type { Joinable, Joining, Scope } from "../../agents/integrate/integration.ts";
import { joinedForAll, refuseTwoIdentities } from "../../agents/integrate/one-identity.ts";
import {
  integrationRecord,
  type IntegrationRecord,
  type Joined,
} from "../../agents/integrate/record.ts";
import { CODING_TOOLS, integrationOf } from "../../agents/integrate/tools/all-tools.ts";
import { claimFolder, taken } from "../../setup/here/bind-folder.ts";
import { projectOf } from "../../setup/here/project.ts";
import { setupHost } from "../../setup/host.ts";
import { libraryOwns } from "../../skills/library/read-library.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { programFolder, type AgentPaths } from "../../storage/paths.ts";
import { boundAbove } from "../../storage/private/bound-folders.ts";
import {
  findHandle,
  findWire,
  homeOf,
  placesOf,
  UnclearIdentity,
  whoHere,
  type Cli,
  type GlobalFlags,
} from "../context.ts";
import { DeaddropError } from "../../api/errors.ts";
import { pluginPath, programPath, skillPath } from "../../setup/program.ts";

/** A tool in a place, as one agent is joined to it. */
export interface ToolJoining extends ToolRemoval {
  readonly paths: AgentPaths;
  /** What would be done; nothing has changed yet. */
  plan(): JoiningPlan;
  join(plan: JoiningPlan): void;
}

export interface JoiningPlan {
  readonly changes: readonly FileChange[];
  readonly edits: readonly FileEdit[];
  /** Whether the folder is bound to the agent, too. */
  readonly bindsFolder: boolean;
  /** What the person has to do in the tool. */
  readonly left: readonly string[];
}

/** A tool that an agent is joined in, to be taken out. */
export interface ToolRemoval {
  readonly at: Joining;
  removal(): FileChange[];
  remove(changes: readonly FileChange[]): void;
}

const RECORD = "integrations.json";

/** Where an agent's integrations are recorded: in its private folder. */
export function recordPath(paths: AgentPaths): string {
  return join(paths.configDir, RECORD);
}

interface JoiningFlags extends GlobalFlags {
  scope?: Scope;
  remove?: boolean;
  allowCommands?: boolean;
  openSandbox?: boolean;
}

export function joiningOf(
  cli: Cli,
  tool: Joinable,
  flags: JoiningFlags,
  { isTemporary = false } = {},
): ToolJoining {
  const { disk, places } = setupHost(cli.env, cli.clock.nowMs());
  const { handle, paths } = loadPlace(disk, places, {
    wireDir: findWire(cli, flags),
    handle: findHandle(cli, flags),
    peers: flags.peer,
  });
  const record = integrationRecord(disk, recordPath(paths));
  const project = projectOf(cli.cwd);
  // What is taken out is what was joined here, unless another scope is named.
  const [known] = flags.remove === true ? record.read().joined.filter(isHere) : [];
  const at: Joining = {
    ...machineOf(cli),
    ...{ tool, handle, scope: flags.scope ?? known?.scope ?? "local" },
    ...{ wireDir: paths.wireDir, project },
    allowsReading: flags.allowCommands === true,
    openedSocket: flags.openSandbox === true ? paths.socket : undefined,
  };
  const { left, own } = integrationIn(at);
  const place = placeOf(disk, at);
  function isHere(joined: Joined): boolean {
    return joined.tool === tool && (joined.scope === "user" || joined.project === project);
  }
  return {
    ...removalOf(disk, at, record),
    paths,
    plan: () => {
      const refusal = CODING_TOOLS[tool].refusal?.(at);
      if (refusal !== undefined) throw refusal;
      const other = record.read().joined.find((each) => isHere(each) && each.scope !== at.scope);
      if (other !== undefined && !isTemporary) throw joinedOtherwise(other);
      const forAll = at.scope === "local" ? joinedForAll(disk, at) : at.scope;
      const bindsFolder = !isTemporary && isToBeBound(cli, at, forAll !== undefined);
      const bound = bindsFolder
        ? [`in ${at.project} you are ${handle} from now on (deaddrop as)`]
        : [];
      if (at.scope === "local" && forAll !== undefined) {
        const whose = forAll === "project" ? "the project's files" : "your own files";
        const joined = `${tool} is joined by ${whose}, in each folder as the agent of that folder`;
        return { changes: [], edits: [], bindsFolder, left: [joined, ...bound] };
      }
      refuseTwoIdentities(disk, at);
      const hidden = privateEdits(disk, at, own, record.read(), isTemporary);
      const { edits } = hidden;
      const changes = joiningChanges(place, edits);
      return { changes, edits, bindsFolder, left: [...left, ...hidden.left, ...bound] };
    },
    join: ({ changes, edits, bindsFolder }) => {
      if (bindsFolder) claimFolder(disk, placesOf(cli.env), { folder: at.project, handle });
      if (edits.length > 0) joinTool(place, edits, changes, record);
    },
  };
}

function joinedOtherwise({ tool, scope }: Joined): DeaddropError {
  return new DeaddropError("refused", `${tool} is joined here already, with --scope ${scope}`, {
    hint: `take that out first: deaddrop integrate ${tool} --remove; nothing was changed`,
  });
}

/** All tools that agents of this user are joined in, in folders that are there. */
export function allRemovals(cli: Cli): ToolRemoval[] {
  const { disk } = setupHost(cli.env, cli.clock.nowMs());
  return recordFiles(cli).flatMap(({ path, handle }) => {
    const record = integrationRecord(disk, path);
    return record
      .read()
      .joined.filter(({ scope, project }) => scope === "user" || existsSync(project))
      .map((joined) => {
        const none = { handle, wireDir: "", allowsReading: false };
        return removalOf(disk, { ...machineOf(cli), ...none, ...joined }, record);
      });
  });
}

function removalOf(disk: Disk, at: Joining, record: IntegrationRecord): ToolRemoval {
  const place = placeOf(disk, at);
  const { own } = integrationIn(at);
  const edits = [...own, ...excludeEdits(disk, at, own)];
  return {
    at,
    removal: () => removalChanges(place, edits, record.read()),
    remove: (changes) => removeTool(place, edits, changes, record),
  };
}

function placeOf(disk: Disk, at: Joining): Place {
  const { tool, scope, project } = at;
  const root = scope === "user" ? undefined : project;
  return { disk, root, exclude: excludeFile(at), joined: { tool, scope, project } };
}

/** Our parts of the tool's files, without the skill where a library of skills has it. */
function integrationIn(at: Joining): { own: readonly FileEdit[]; left: readonly string[] } {
  const { edits, left } = integrationOf(at);
  const root = at.scope === "user" ? at.home : at.project;
  const owned = edits.filter(({ path }) => libraryOwns(root, path));
  const isMissing = owned.some(({ path }) => !existsSync(path));
  return {
    own: edits.filter((edit) => !owned.includes(edit)),
    left: [...left, ...(isMissing ? ["the skill is in agent/skills: deaddrop skills sync"] : [])],
  };
}

/**
 * Whether the folder has to be bound, since what is written names no agent. Throws DeaddropError
 * ("refused") where it is bound to another one: the tool's shell would sign as that.
 */
function isToBeBound(cli: Cli, { handle, project, wireDir }: Joining, isForAll: boolean): boolean {
  const { disk, places } = setupHost(cli.env, cli.clock.nowMs());
  const bound = boundAbove(disk, places, disk.realPath(project));
  if (bound !== undefined && bound.handle !== handle) throw taken(bound, handle);
  if (!isForAll || bound !== undefined) return false;
  try {
    const here = { cwd: project, env: { ...cli.env, DEADDROP_AS: undefined } };
    return whoHere(here, { wire: wireDir }).handle !== handle;
  } catch (error) {
    if (error instanceof UnclearIdentity) return true;
    throw error;
  }
}

function machineOf(cli: Cli): Pick<Joining, "home" | "env" | "program" | "skill" | "plugin"> {
  return {
    home: homeOf(cli.env),
    env: cli.env,
    program: programWords(cli.env),
    skill: readFileSync(skillPath(), "utf8"),
    plugin: (adapter) =>
      `${readFileSync(pluginPath("hook"), "utf8").replaceAll(/^export /gmu, "")}
${readFileSync(pluginPath(adapter), "utf8").replace(/^import .* from ".\/hook\.js";\n/mu, "")}`,
  };
}

/** The records of this user's agents, on every wire. */
function recordFiles(cli: Cli): { path: string; handle: string }[] {
  return foldersIn(programFolder(placesOf(cli.env)))
    .flatMap((wire) => foldersIn(wire))
    .map((folder) => ({ path: join(folder, RECORD), handle: basename(folder) }));
}

function foldersIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? join(folder, entry.name) : []));
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

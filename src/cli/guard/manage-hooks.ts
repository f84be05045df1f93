import { programPath } from "../../setup/program.ts";
import { hookStates, installHooks, uninstallHooks } from "../../setup/guard/hooks.ts";
import { lastOverrides, type Override } from "../../setup/guard/overrides.ts";
import { absentNote } from "../../setup/guard/project-files.ts";
import { projectFrom } from "../../setup/guard/project-paths.ts";
import { removeInstalledFor, writeInstalledFor } from "../../setup/guard/installed-for.ts";
import {
  hooksFolder,
  requireOwnHooks,
  openRepository,
  type Repository,
} from "../../setup/guard/repository.ts";
import { agentPlace } from "../agent-place.ts";
import { homeOf, placesOf, type Cli, type GlobalFlags } from "../context.ts";
import { wireAbove } from "../../setup/here/wire-above.ts";
import { askedAgent } from "./asked-agent.ts";
import { emit, type Paint } from "../output/output.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { failure } from "./override.ts";

export interface InstallFlags extends GlobalFlags {
  shared?: boolean;
}

const SHOWN_OVERRIDES = 5;

/** `deaddrop guard install`. Running it again changes nothing. */
export function install(cli: Cli, flags: InstallFlags): void {
  const { host, place } = agentPlace(cli, flags);
  const repository = openRepository(cli.cwd, cli.env);
  const folder = hooksFolder(repository);
  requireOwnHooks(folder, flags.shared);
  const { path } = folder;
  const written = installHooks(path, {
    node: process.execPath,
    bin: programPath(),
    settings: place.paths.settings,
  });
  const { top } = repository.workTree;
  const above = wireAbove(top, homeOf(cli.env), placesOf(cli.env));
  const isFound = above !== undefined && host.disk.realPath(above) === place.wire.folder;
  const { handle } = place;
  const isNew = writeInstalledFor(
    repository,
    isFound ? { handle } : { handle, wire: place.wire.folder },
  );
  const chained = hookStates(path).flatMap(({ before }) => before ?? []);
  emit(cli, flags, { hooks_folder: path, written, chained }, (paint) =>
    [
      written.length === 0
        ? `The guard is installed already in ${sanitise(path)}`
        : `${paint("green", "installed")} ${written.join(", ")} in ${sanitise(path)}`,
      ...chained.map((each) => `runs first: ${sanitise(each)}`),
      `${isNew ? "From now on it" : "It"} asks as ${handle} in ${sanitise(top)}, unless DEADDROP_AS names another.`,
      "In another work tree of this repository, run this again as the agent that works there.",
      "deaddrop guard status says more; deaddrop guard uninstall removes it.",
    ].join("\n"),
  );
}

/** `deaddrop guard uninstall`: the repository is as it was before. */
export function uninstall(cli: Cli, flags: GlobalFlags): void {
  const repository = openRepository(cli.cwd, cli.env);
  const { path } = hooksFolder(repository);
  const removed = uninstallHooks(path);
  removeInstalledFor(repository);
  emit(cli, flags, { hooks_folder: path, removed }, (paint) =>
    removed.length === 0
      ? `No guard is installed in ${sanitise(path)}`
      : `${paint("green", "removed")} ${removed.join(", ")} from ${sanitise(path)}`,
  );
}

/** What `guard status --json` prints. */
interface GuardStatus {
  hooks_folder: string;
  /** Other repositories use that folder too. */
  shared: boolean;
  /** `changed`: by somebody, after the guard had made it; `other`: no guard. */
  hooks: {
    hook: string;
    state: "installed" | "changed" | "other" | "none";
    runs_first: string | null;
  }[];
  handle: string | null;
  wire: string | null;
  strict: boolean | null;
  /** Why it could not decide now. */
  trouble: string | null;
  /** Which paths of domains match nothing. */
  absent: string | null;
  overrides: Override[];
}

/** `deaddrop guard status`. */
export function status(cli: Cli, flags: GlobalFlags): void {
  const repository = openRepository(cli.cwd, cli.env);
  const { path, isShared } = hooksFolder(repository);
  const hooks = hookStates(path).map(({ hook, found, before }) => ({
    ...{ hook, state: STATES[found?.is ?? "none"] },
    runs_first: before ?? null,
  }));
  const answer: GuardStatus = {
    hooks_folder: path,
    shared: isShared,
    hooks,
    ...whoIsAsked(cli, flags, repository),
  };
  emit(cli, flags, answer, (paint) => statusText(answer, paint));
}

const STATES = { ours: "installed", changed: "changed", foreign: "other", none: "none" } as const;

type Asked = Pick<GuardStatus, "handle" | "wire" | "strict" | "trouble" | "absent" | "overrides">;

function whoIsAsked(cli: Cli, flags: GlobalFlags, repository: Repository): Asked {
  try {
    const { host, place } = agentPlace(cli, askedAgent(cli, flags, repository));
    const owned = [...place.config.domains.values()].flatMap(({ paths }) => paths);
    const project = projectFrom(place.wire.folder, repository.workTree.top);
    return {
      ...{ absent: absentNote(project, owned) ?? null },
      ...{ handle: place.handle, wire: place.wire.folder, trouble: null },
      strict: place.settings["guard.strict"],
      overrides: lastOverrides(host.disk, place.paths, SHOWN_OVERRIDES),
    };
  } catch (error) {
    const unknown = { handle: null, wire: null, strict: null, absent: null, overrides: [] };
    return { ...unknown, trouble: failure(error) };
  }
}

function statusText(answer: GuardStatus, paint: Paint): string {
  const { hooks_folder, shared, hooks, handle, wire, strict, trouble, absent, overrides } = answer;
  const lines = [
    `${paint("bold", "hooks")}  ${sanitise(hooks_folder)}${shared ? " (shared by several repositories)" : ""}`,
    ...hooks.map(({ hook, state, runs_first: first }) => {
      const after = first === null ? "" : `, after ${sanitise(first)}`;
      return `  ${hook}: ${paint(state === "installed" ? "green" : "yellow", STATE_WORDS[state])}${after}`;
    }),
  ];
  if (trouble !== null) return [...lines, `It cannot decide now: ${sanitise(trouble)}`].join("\n");
  lines.push(
    `${paint("bold", "asks")}   as ${handle ?? ""} on ${sanitise(wire ?? "")}`,
    strict === true
      ? "strict: what it cannot decide is blocked"
      : "not strict: what it cannot decide goes through (deaddrop config set guard.strict true)",
    ...(absent === null ? [] : [`domains: ${sanitise(absent)}`]),
    overrides.length === 0 ? "never overridden" : paint("bold", "last overrides"),
    ...overrides.map(({ at, hook, git_user, os_user, blocked, more, reason }) =>
      sanitise(
        `  ${at} ${hook} by ${git_user ?? os_user}: ${blocked.length + more} blocked, ${reason ?? "no reason given"}`,
      ),
    ),
  );
  return lines.join("\n");
}

const STATE_WORDS: Record<GuardStatus["hooks"][number]["state"], string> = {
  installed: "installed",
  changed: "changed by somebody; the guard may not run",
  other: "not installed; another hook is there",
  none: "not installed",
};

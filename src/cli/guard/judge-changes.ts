import { dirname, join, sep } from "node:path";
import type { CheckedPath, PathBlock } from "../../api/views.ts";
import { makeWireLayout } from "../../carriers/folder.ts";
import { knownMembership } from "../../agent/config/known-handles.ts";
import { changedPaths, type Changes } from "../../setup/guard/changes.ts";
import { logProblems, type LogProblem } from "../../setup/guard/log-changes.ts";
import { projectPath } from "../../setup/guard/project-paths.ts";
import { pathInside, type Repository } from "../../setup/guard/repository.ts";
import { agentPlace, type AgentPlace } from "../agent-place.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { askPaths } from "./ask-paths.ts";
import { whyBlocked } from "./block-text.ts";

/** What the guard found in a commit or a push. */
export interface Judgement {
  readonly handle: string;
  readonly blocked: readonly CheckedPath[];
  readonly logs: readonly LogProblem[];
  /** Logs that are not read to their end. */
  readonly behind: readonly string[];
  readonly viaDaemon: boolean;
}

/** Asks the view `check` about the paths, and looks at the wire's logs. Spec 3.6. */
export async function judgeChanges(
  cli: Cli,
  flags: GlobalFlags,
  repository: Repository,
  changes: readonly Changes[],
): Promise<Judgement> {
  const at = agentPlace(cli, flags);
  const { workTree } = repository;
  const project = { holder: dirname(at.place.wire.folder), workTree };
  const changed = new Set(changes.flatMap((each) => changedPaths(each)));
  const paths = [...changed].map((path) => projectPath(project, join(workTree.top, path)) ?? path);
  const { view, viaDaemon } = await withClient(cli, flags, async (client) => ({
    view: await askPaths(client, paths),
    viaDaemon: client.viaDaemon || client.readOnly !== undefined,
  }));
  const { handle, behind } = view;
  const blocked = view.paths.filter(({ verdict }) => verdict === "blocked");
  const logs = problemsOfLogs(at, repository, changes);
  return { handle, blocked, logs, behind, viaDaemon };
}

function problemsOfLogs(
  { host, place }: AgentPlace,
  { git, workTree }: Repository,
  changes: readonly Changes[],
): LogProblem[] {
  const { wire, store, config, paths } = place;
  const folder = [workTree.top, workTree.mainTop]
    .map((top) => pathInside(top, wire.folder))
    .find((path) => path !== undefined);
  if (folder === undefined) return [];
  const inRepository = {
    ...{ git, folder: folder.split(sep).join("/") },
    layout: makeWireLayout(knownMembership(host.disk, place)),
    by: { wireId: config.wireId ?? paths.wireKey, store, signing: config.signing },
  };
  return changes.flatMap((each) => logProblems(inRepository, each));
}

/** What is blocked, one entry for each path or log, with the reason in words. */
export function reasonsOf({ blocked, logs }: Judgement): { path: string; why: string }[] {
  const paths = blocked.map(({ path, blocked_by }) => ({
    path,
    why: blocked_by.map((block) => whyBlocked(block)).join("; "),
  }));
  const lines = logs.map(({ log, line, detail }) => ({
    path: line === null ? log : `${log}:${line}`,
    why: sanitise(detail),
  }));
  return [...paths, ...lines];
}

/** Whom an override concerns: owners of domains, holders of claims, owners of logs; else all peers. */
export function concernedBy({ handle, blocked, logs }: Judgement): string[] {
  const fromPaths = blocked.flatMap(({ blocked_by }) => blocked_by.map((block) => agentOf(block)));
  const fromLogs = logs.map(({ owner }) => (owner === null || owner === handle ? "*" : owner));
  const all = new Set([...fromPaths, ...fromLogs]);
  return all.has("*") ? ["*"] : [...all].filter((each) => each !== handle);
}

function agentOf(block: PathBlock): string {
  return block.kind === "domain" ? block.owner : block.from;
}

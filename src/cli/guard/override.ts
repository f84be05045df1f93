import { DeaddropError } from "../../api/errors.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import type { GuardHook } from "../../setup/guard/hook-text.ts";
import { listedOf, recordOverride } from "../../setup/guard/overrides.ts";
import type { Repository } from "../../setup/guard/repository.ts";
import { agentPlace } from "../agent-place.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { userName } from "../input/user-name.ts";
import { concernedBy, reasonsOf, type Judgement } from "./judge-changes.ts";

/** Paths that the message to a peer names. */
const TOLD_PATHS = 50;

/** Whether the one who commits overrides the guard. */
export function isOverridden(cli: Cli): boolean {
  return cli.env["ALLOW_HOTPATH"] === "1";
}

interface Overridden {
  readonly hook: GuardHook;
  readonly repository: Repository | undefined;
  readonly handle: string;
  readonly blocked: readonly { readonly path: string; readonly why: string }[];
}

/**
 * Records what goes through although it is blocked, and tells the agents that it concerns. What fails
 * is said, and blocks nothing. Returns what there is to say.
 */
export async function override(
  cli: Cli,
  flags: GlobalFlags,
  about: { readonly hook: GuardHook; readonly repository: Repository },
  judgement: Judgement,
): Promise<string[]> {
  const { handle } = judgement;
  const overridden = { ...about, handle, blocked: reasonsOf(judgement) };
  const recorded = noteOverride(cli, flags, overridden);
  const told = await unlessFailing(
    () => tell(cli, flags, overridden, concernedBy(judgement)),
    "the agents that it concerns were not told",
  );
  return [recorded, told];
}

/** Records it in the agent's private file. Returns what there is to say. */
export function noteOverride(cli: Cli, flags: GlobalFlags, overridden: Overridden): string {
  const { hook, repository, handle, blocked } = overridden;
  try {
    const { host, place } = agentPlace(cli, flags);
    recordOverride(host.disk, place.paths, {
      at: new Date(cli.clock.nowMs()).toISOString(),
      ...{ hook, handle, git_user: gitUser(repository), os_user: userName() },
      work_tree: repository?.workTree.top ?? cli.cwd,
      ...listedOf(blocked),
      reason: reasonGiven(cli),
    });
    return `recorded in ${place.paths.overrides}`;
  } catch (error) {
    return `it could not be recorded: ${failure(error)}`;
  }
}

/** Sends one `warning` that names the paths. Spec 3.6. */
async function tell(
  cli: Cli,
  flags: GlobalFlags,
  { hook, blocked }: Overridden,
  to: readonly string[],
): Promise<string> {
  if (to.length === 0) return "no other agent is concerned";
  const what = hook === "pre-commit" ? "commit" : "push";
  const paths = blocked.slice(0, TOLD_PATHS).map(({ path, why }) => `${path}: ${why}`);
  const more = blocked.length - TOLD_PATHS;
  const reason = reasonGiven(cli);
  const body = [
    `A ${what} went through with ALLOW_HOTPATH=1 although the guard blocked it.`,
    `Reason: ${reason ?? "none was given"}`,
    ...paths,
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join("\n");
  const subject = `the guard was overridden: a ${what} changes ${blocked.length} of your files`;
  await withClient(cli, flags, (client) =>
    client.ask("send", { drafts: [{ to, type: "warning", subject, body }] }),
  );
  return `told ${to.includes("*") ? "all peers" : to.join(", ")}`;
}

async function unlessFailing(act: () => Promise<string>, otherwise: string): Promise<string> {
  try {
    return await act();
  } catch (error) {
    return `${otherwise}: ${failure(error)}`;
  }
}

/** What disk, wire or git say; a bug of ours goes on. */
export function failure(error: unknown): string {
  if (!(error instanceof DeaddropError || error instanceof StorageError)) throw error;
  return error.hint === undefined ? error.message : `${error.message}; ${error.hint}`;
}

function reasonGiven({ env }: Cli): string | null {
  const reason = env["ALLOW_HOTPATH_REASON"]?.trim() ?? "";
  return reason === "" ? null : reason;
}

/** `Name <address>`; null where git knows nobody. */
function gitUser(repository: Repository | undefined): string | null {
  try {
    const said = repository?.git(["var", "GIT_AUTHOR_IDENT"]).toString("utf8") ?? "";
    return /^(.*>)/.exec(said)?.[1] ?? null;
  } catch (error) {
    if (error instanceof DeaddropError) return null;
    throw error;
  }
}

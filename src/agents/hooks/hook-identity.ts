import { DeaddropError } from "../../api/errors.ts";
import { TOOLS } from "../../api/tool-sessions.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import type { HookIdentity } from "./hook-daemon.ts";

/** What `deaddrop hook` was called with. */
export interface HookCall extends HookIdentity {
  readonly isWaiter: boolean;
}

/**
 * For whom a hook speaks: for the agent in its arguments; without one, for that of the folder and the
 * environment. Undefined when it speaks for nobody: that is not clear, the session was started as another
 * agent or is one of another tool, or it runs in a linked work tree of the project that it was made for. Spec 8.3.
 */
export async function hookCall(
  args: readonly string[],
  here: { readonly env: NodeJS.ProcessEnv; readonly cwd: string | undefined },
): Promise<HookCall | undefined> {
  const [name, ...rest] = args;
  const tool = TOOLS.find((each) => each === name);
  if (tool === undefined) return undefined;
  const valueOf = (flag: string): string | undefined => {
    const at = rest.indexOf(flag);
    return at === -1 ? undefined : rest[at + 1];
  };
  const [handle, wireDir, project] = [valueOf("--as"), valueOf("--wire"), valueOf("--project")];
  const isWaiter = rest.includes("--wait");
  const asked = here.env["DEADDROP_AS"] ?? "";
  if (handle !== undefined && asked !== "" && asked !== handle) return undefined;
  // Copilot CLI runs the hooks of Claude Code, too, beside its own.
  if (tool === "claude" && here.env["COPILOT_PROJECT_DIR"] !== undefined) return undefined;
  if (project !== undefined && (await isElsewhere(here.cwd, project))) return undefined;
  if (handle !== undefined && wireDir !== undefined) return { tool, handle, wireDir, isWaiter };
  const found = await agentHere(here, handle, wireDir);
  return found && { tool, ...found, isWaiter };
}

/** What few hooks need is loaded for them alone. */
async function agentHere(
  { env, cwd }: { readonly env: NodeJS.ProcessEnv; readonly cwd: string | undefined },
  as: string | undefined,
  wire: string | undefined,
): Promise<Pick<HookIdentity, "handle" | "wireDir"> | undefined> {
  if (cwd === undefined) return undefined;
  const { findHandle, findWire } = await import("../../setup/here/who-here.ts");
  try {
    const named = { as, wire };
    return { handle: findHandle({ env, cwd }, named), wireDir: findWire({ env, cwd }, named) };
  } catch (error) {
    if (error instanceof DeaddropError || error instanceof StorageError) return undefined;
    throw error;
  }
}

async function isElsewhere(cwd: string | undefined, project: string): Promise<boolean> {
  if (cwd === undefined) return false;
  const { mainCheckoutOf, projectOf } = await import("../../setup/here/project.ts");
  const own = projectOf(cwd);
  return own !== project && mainCheckoutOf(own) === project;
}

import { homedir } from "node:os";
import type { Tool } from "../../api/tool-sessions.ts";
import { daemonPathsOf } from "../../client/daemon-paths.ts";
import { connectDaemon, type Connection } from "../../client/socket-client.ts";
import { placesFrom, type DaemonPaths } from "../../storage/paths.ts";

/** For whom a hook speaks; it is in the hook's own arguments, whatever the environment says. */
export interface HookIdentity {
  readonly tool: Tool;
  readonly handle: string;
  readonly wireDir: string;
}

/** The process as the hook uses it. */
export interface HookProcess {
  readonly env: NodeJS.ProcessEnv;
  /** It waits in the background: no limit holds for it from now on. */
  takesItsTime(): void;
  /** What is done before its limit ends it. */
  atLimit(run: () => void): void;
  /** All of the standard input; undefined when it is too long. */
  input(): Promise<string | undefined>;
  /** Resolves when it was taken. */
  print(text: string): Promise<void>;
  /** The same to the standard error. */
  complain(text: string): Promise<void>;
}

type Whose = Pick<HookIdentity, "wireDir" | "handle">;

export function hookPaths(
  { wireDir, handle }: Whose,
  env: NodeJS.ProcessEnv,
): DaemonPaths | undefined {
  return daemonPathsOf(placesFrom(env, env["HOME"] ?? homedir()), { wireDir, handle });
}

/** The agent's daemon; undefined when none runs. */
export async function daemonOf(
  whose: Whose,
  env: NodeJS.ProcessEnv,
  limitMs: number,
): Promise<Connection | undefined> {
  const paths = hookPaths(whose, env);
  return paths === undefined ? undefined : await connectDaemon(paths, limitMs);
}

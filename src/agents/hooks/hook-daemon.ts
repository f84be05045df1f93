import { homedir } from "node:os";
import type { Tool } from "../../api/tool-sessions.ts";
import { daemonPathsOf } from "../../client/daemon-paths.ts";
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

export function hookPaths(
  { wireDir, handle }: HookIdentity,
  env: NodeJS.ProcessEnv,
): DaemonPaths | undefined {
  return daemonPathsOf(placesFrom(env, env["HOME"] ?? homedir()), { wireDir, handle });
}

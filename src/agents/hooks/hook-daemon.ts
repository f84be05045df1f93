import { homedir } from "node:os";
import type { Tool } from "../../api/tool-sessions.ts";
import { daemonPathsOf } from "../../client/daemon-paths.ts";
import { connectDaemon, type Connection } from "../../client/socket-client.ts";
import { placesFrom } from "../../storage/paths.ts";

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
  /** All of the standard input; undefined when it is too long. */
  input(): Promise<string | undefined>;
  /** Resolves when it was taken. */
  print(text: string): Promise<void>;
  /** The same to the standard error. */
  complain(text: string): Promise<void>;
}

/** The agent's daemon; undefined when none runs. */
export async function daemonOf(
  { wireDir, handle }: Pick<HookIdentity, "wireDir" | "handle">,
  env: NodeJS.ProcessEnv,
  limitMs: number,
): Promise<Connection | undefined> {
  const places = placesFrom(env, env["HOME"] ?? homedir());
  const paths = daemonPathsOf(places, { wireDir, handle });
  return paths === undefined ? undefined : await connectDaemon(paths, limitMs);
}

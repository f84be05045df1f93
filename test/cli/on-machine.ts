import type { Machine } from "../setup/machine.ts";
import { run as runCli, type Outside } from "./fake-cli.ts";

/** What stands in for a terminal's typed confirmation. */
export const BY_FLAGS = ["--yes", "--reason", "a test"];

/** The command line as the user of a machine, who names the wire and the agent in each command. */
export function commandsOn(
  machine: () => Machine,
  { viaDaemon = true, openClient }: Pick<Outside, "viaDaemon" | "openClient"> = {},
) {
  async function run(...args: readonly string[]) {
    const { env, root } = machine();
    const named = { ...env, DEADDROP_WIRE: undefined, DEADDROP_AS: undefined };
    const outside = { env: named, cwd: root, nowMs: Date.now(), viaDaemon };
    const agent = openClient === undefined ? {} : { openClient };
    const { exitCode, stdout, stderr } = await runCli(args, { ...outside, ...agent });
    return { code: exitCode, stdout, stderr };
  }

  async function json<T>(...args: readonly string[]): Promise<T> {
    const { code, stdout, stderr } = await run(...args, "--json");
    if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  return { run, json };
}

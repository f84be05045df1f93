import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import type { Client } from "../../../src/api/client.ts";
import { askDirectly } from "../../../src/api/operations.ts";
import type { ViewName, ViewParameters, Views } from "../../../src/api/views.ts";
import type { Cli } from "../../../src/cli/context.ts";
import { main } from "../../../src/cli/main.ts";
import type { SimulatedWire } from "./simulated-wire.ts";

/** Event ids, and the parts of them that are shown: they differ with every change of a line. Times do with jitter. */
const ID = /\b[0-9a-f]{10,64}\b/g;
const TIME = /\b\d{4}-\d{2}-\d{2}T[0-9:.]+Z/g;

/**
 * What an agent or operator reads after a command: the real command line over the agent of a scene,
 * whose daemon runs. Ids and times are left out.
 */
export function commandIn(
  wire: SimulatedWire,
  handle: string,
  ...args: readonly string[]
): Promise<string> {
  return runIn(wire, handle, args, { DEADDROP_AS: handle }, {});
}

/** The same at a person's terminal. */
export function operatorIn(
  wire: SimulatedWire,
  handle: string,
  ...args: readonly string[]
): Promise<string> {
  return runIn(wire, handle, [...args, "--as", handle], {}, { isTTY: true, columns: 500 });
}

async function runIn(
  wire: SimulatedWire,
  handle: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  screen: { readonly isTTY?: boolean; readonly columns?: number },
): Promise<string> {
  const out: string[] = [];
  const cli: Cli = {
    env: { DEADDROP_WIRE: "/", NO_COLOR: "1", ...env },
    cwd: "/",
    stdin: Object.assign(Readable.from([Buffer.from("")]), screen),
    stdout: { write: (text) => out.push(text), ...screen },
    stderr: { write: (text) => out.push(text), ...screen },
    exitCode: 0,
    clock: { nowMs: () => wire.nowMs, sleep: () => Promise.resolve() },
    openClient: async (place) => clientOf(wire, handle, place.wireDir),
  };
  const code = await main(args, cli);
  await wire.settle();
  const text = out.join("").replaceAll(TIME, "<time>").replaceAll(ID, "<id>").trimEnd();
  return code === 0 ? text : `${text}\n(exit ${code})`;
}

/** The agent of a scene as a command reaches it by its daemon's socket. */
export function clientOf(wire: SimulatedWire, handle: string, wireDir: string): Client {
  const agent = wire.agent(handle);
  const ask = askDirectly({
    inTurn: (work) => work(agent),
    until: (asked) => asked(),
    send: async (drafts) => {
      const [answer] = await agent.send([drafts]);
      if (answer === undefined) throw new Error("nothing was sent");
      return answer;
    },
  });
  return {
    handle,
    wireDir,
    viaDaemon: true,
    ask,
    view: async <N extends ViewName>(name: N, ...[args]: ViewParameters<N>) =>
      (await ask("view", { name, args })) as Views[N],
    close: () => undefined,
  };
}

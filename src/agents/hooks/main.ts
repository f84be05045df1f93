import type { HookProcess } from "./hook-daemon.ts";
import { HOOK_LIMIT_MS, runToolHook } from "./run-hook.ts";

/** Longer input is no event of a tool. */
const MAX_EVENT_BYTES = 32 * 1_048_576;

/** The entry of `deaddrop hook`: it loads nothing that it does not need. */
export async function main(args: readonly string[]): Promise<void> {
  const ends: (() => void)[] = [];
  const end = (): never => {
    for (const run of ends) run();
    process.exit(0);
  };
  // It must never keep a tool waiting.
  const limit = setTimeout(end, HOOK_LIMIT_MS).unref();
  process.exit(await runToolHook(args, thisProcess(limit, ends)));
}

function thisProcess(limit: NodeJS.Timeout, ends: (() => void)[]): HookProcess {
  return {
    takesItsTime: () => clearTimeout(limit),
    atLimit: (run) => void ends.push(run),
    env: process.env,
    input: readInput,
    // Node makes a stream when it is first asked for, and most hooks say nothing.
    print: (text) => written(process.stdout, text),
    complain: (text) => written(process.stderr, text),
  };
}

/** By events: to go through it with `for await` loads as much again as the hook itself. */
function readInput(): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    process.stdin.on("data", (piece: Buffer) => {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > MAX_EVENT_BYTES) resolve(undefined);
    });
    process.stdin.on("end", () => resolve(Buffer.concat(pieces).toString("utf8")));
    process.stdin.on("error", reject);
  });
}

function written(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    // The tool may have gone: it is told nothing then.
    stream.on("error", () => process.exit(0));
    stream.write(text, () => resolve());
  });
}

import type { HookProcess } from "./hook-daemon.ts";
import { HOOK_LIMIT_MS, parseHookArguments, runToolHook } from "./run-hook.ts";

/** Longer input is no event of a tool. */
const MAX_EVENT_BYTES = 32 * 1_048_576;

/** The entry of `deaddrop hook`: it loads nothing that it does not need. */
export async function main(args: readonly string[]): Promise<void> {
  // A waiter takes its time; anything else must never keep a tool waiting.
  const isWaiter = parseHookArguments(args)?.isWaiter === true;
  if (!isWaiter) setTimeout(() => process.exit(0), HOOK_LIMIT_MS).unref();
  // The tool may have gone: it is told nothing then.
  process.stdout.on("error", () => process.exit(0));
  process.stderr.on("error", () => process.exit(0));
  process.exit(await runToolHook(args, thisProcess()));
}

function thisProcess(): HookProcess {
  return {
    env: process.env,
    input: readInput,
    print: (text) => written(process.stdout, text),
    complain: (text) => written(process.stderr, text),
  };
}

async function readInput(): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of process.stdin) {
    pieces.push(piece as Buffer);
    bytes += (piece as Buffer).length;
    if (bytes > MAX_EVENT_BYTES) return undefined;
  }
  return Buffer.concat(pieces).toString("utf8");
}

function written(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    stream.write(text, () => resolve());
  });
}

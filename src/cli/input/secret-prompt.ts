import { DeaddropError } from "../../api/errors.ts";
import type { Cli } from "../context.ts";

export interface SecretPrompt {
  /** What is typed up to the end of the line; it is not shown. */
  ask(question: string): Promise<string>;
  /** The terminal as it was, open for the next reader. */
  close(): Promise<void>;
}

const INTERRUPT = "\u0003";
const END_OF_INPUT = "\u0004";
const ERASE = new Set(["\b", "\u007f"]);
const ERASE_ALL = "\u0015";

/** Asks on the terminal, which has to be there. */
export function secretPrompt(cli: Cli, maxBytes: number): SecretPrompt {
  const { stdin, stderr } = cli;
  const keys = stdin.iterator?.({ destroyOnReturn: false }) ?? stdin[Symbol.asyncIterator]();
  const decoder = new TextDecoder();
  /** Typed or pasted beyond the line that was asked for. */
  let ahead = "";
  stdin.setRawMode?.(true);

  async function next(): Promise<string | undefined> {
    if (ahead === "") {
      const step = await keys.next();
      if (step.done === true) return undefined;
      const { value } = step;
      ahead = typeof value === "string" ? value : decoder.decode(value, { stream: true });
      return next();
    }
    const [key = ""] = ahead;
    ahead = ahead.slice(key.length);
    return key;
  }

  return {
    async ask(question) {
      stderr.write(question);
      let line: string[] = [];
      for (;;) {
        const key = await next();
        if (key === INTERRUPT) {
          stderr.write("\n");
          throw new DeaddropError("refused", "interrupted; nothing was written");
        }
        if (key === undefined || key === "\r" || key === "\n" || key === END_OF_INPUT) break;
        if (ERASE.has(key)) line.pop();
        else if (key === ERASE_ALL) line = [];
        else line.push(key);
        if (line.length > maxBytes) throw new DeaddropError("usage", "the passphrase is too long");
      }
      stderr.write("\n");
      return line.join("");
    },
    async close() {
      stdin.setRawMode?.(false);
      await keys.return?.();
      // Else Node waits for keys that nobody asks for.
      stdin.pause?.();
    },
  };
}

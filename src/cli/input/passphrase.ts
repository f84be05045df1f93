import { resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { checkPrivate } from "../../storage/private/private-store.ts";
import type { FlagsOf, Options } from "../command.ts";
import { isOnTerminal, type Cli } from "../context.ts";

const VARIABLE = "DEADDROP_PASSPHRASE";

/** A passphrase is never an argument: those are in the list of processes and in the history. */
export const PASSPHRASE_OPTIONS = {
  "--passphrase-file <file>": `read the passphrase from a file (else ${VARIABLE}, else it is asked for)`,
} as const satisfies Options;
export type PassphraseFlags = FlagsOf<typeof PASSPHRASE_OPTIONS>;

const MIN_LENGTH = 10;

const MAX_PASSPHRASE_BYTES = 1_024;

/**
 * The passphrase: the first line of a private file, else of the environment, else typed without
 * being shown. A new one is typed twice and may not be weak.
 */
export async function readPassphrase(
  cli: Cli,
  disk: Disk,
  flags: PassphraseFlags,
  isNew: boolean,
): Promise<string> {
  const named = flags.passphraseFile;
  const given = named === undefined ? cli.env[VARIABLE] : inFile(disk, resolve(cli.cwd, named));
  const passphrase =
    given === undefined || (given === "" && named === undefined) ? await typed(cli, isNew) : given;
  if (passphrase === "") throw new DeaddropError("usage", "the passphrase is empty");
  if (isNew) refuseWeak(passphrase);
  return passphrase;
}

function inFile(disk: Disk, path: string): string {
  const bytes = readWhole(disk, path, MAX_PASSPHRASE_BYTES);
  if (bytes === undefined) {
    throw new DeaddropError("usage", `--passphrase-file ${path}: no such file`);
  }
  checkPrivate(disk, path, "not_readable_by_others");
  const [first = ""] = Buffer.from(bytes).toString("utf8").split(/\r?\n/, 1);
  return first;
}

async function typed(cli: Cli, isNew: boolean): Promise<string> {
  if (!isOnTerminal(cli)) {
    throw new DeaddropError("usage", "there is no terminal to ask for the passphrase on", {
      hint: `give --passphrase-file FILE (readable by you alone), or set ${VARIABLE}`,
    });
  }
  const prompt = secretPrompt(cli, MAX_PASSPHRASE_BYTES);
  try {
    const first = await prompt.ask("Passphrase: ");
    if (!isNew) return first;
    // Before it is typed again: nobody likes to hear it afterwards.
    refuseWeak(first);
    if ((await prompt.ask("The same once more: ")) === first) return first;
    throw new DeaddropError("refused", "the two passphrases differ; nothing was written");
  } finally {
    await prompt.close();
  }
}

function refuseWeak(passphrase: string): void {
  const length = [...passphrase].length;
  if (length >= MIN_LENGTH && new Set(passphrase).size > MIN_LENGTH / 3) return;
  const why =
    length < MIN_LENGTH
      ? `has ${length} characters; it takes ${MIN_LENGTH} at least`
      : "repeats itself";
  throw new DeaddropError("refused", `the passphrase ${why}`, {
    hint: "somebody who has the file can try passphrases for years: take five or six random words, and keep them apart from the file",
  });
}

interface SecretPrompt {
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
function secretPrompt(cli: Cli, maxBytes: number): SecretPrompt {
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

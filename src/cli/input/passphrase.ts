import { resolve } from "node:path";
import type { Command } from "commander";
import { DeaddropError } from "../../api/errors.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { checkPrivate } from "../../storage/private/private-store.ts";
import type { Cli } from "../context.ts";
import { secretPrompt } from "./secret-prompt.ts";

export interface PassphraseFlags {
  passphraseFile?: string;
}

const VARIABLE = "DEADDROP_PASSPHRASE";
const MIN_LENGTH = 10;
const MAX_PASSPHRASE_BYTES = 1_024;

/** A passphrase is never an argument: those are in the list of processes and in the history. */
export function addPassphrase(command: Command): Command {
  return command.option(
    "--passphrase-file <file>",
    `read the passphrase from a file (else ${VARIABLE}, else it is asked for)`,
  );
}

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
  if (cli.stdin.isTTY !== true || cli.stderr.isTTY !== true) {
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

import { closeSync, fdatasyncSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { safeJson, sanitise } from "../../framing/sanitise.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";
import type { FlagsOf, Options } from "../command.ts";
import { isOnTerminal, type Cli } from "../context.ts";
import { painter } from "../output/output.ts";
import { userName } from "./user-name.ts";

const MAX_TYPED_LENGTH = 1_024;

/** With these an operator agrees without a terminal. Spec 8.6. */
export const CONSENT_OPTIONS = {
  "--yes": "confirm without a terminal; needs --reason",
  "--reason <text>": "why; recorded in your private operator journal",
} as const satisfies Options;

export type ConsentFlags = Pick<FlagsOf<typeof CONSENT_OPTIONS>, "yes" | "reason">;

/** What the operator is about to do. */
export interface OperatorAction {
  /** The command, e.g. "trust promote". */
  readonly action: string;
  /** Whom or what it concerns: a handle, a key id, an event id. */
  readonly target: string;
  /** What will happen, in lines; a peer's words among them are sanitised here. */
  readonly effect: readonly string[];
  /** What has to be typed. */
  readonly word: string;
  /** What replaces typing; `--yes --reason …` unless more is wanted. */
  readonly flags?: string;
}

/**
 * An operator's yes: typed on a terminal, or `--yes --reason …`. An agent's shell is not an
 * operator (spec 8.6). What was agreed to is recorded in the agent's `operatorJournal`
 * (storage/paths.ts), synced, before this returns; so nothing is done that is not recorded.
 */
export async function confirmOperator(
  cli: Cli,
  flags: ConsentFlags,
  action: OperatorAction,
  journalPath: string,
): Promise<void> {
  if (flags.yes === true) requireReason(flags);
  else await askForWord(cli, action);
  record(journalPath, {
    at: new Date(cli.clock.nowMs()).toISOString(),
    action: action.action,
    target: action.target,
    consent: flags.yes === true ? "flags" : "typed",
    reason: flags.reason ?? null,
    user: userName(),
  });
}

function requireReason({ reason = "" }: ConsentFlags): void {
  if (reason.trim() !== "") return;
  throw new DeaddropError("usage", "--yes needs --reason", {
    hint: 'say why, e.g. --yes --reason "digits compared by phone"; it is recorded',
  });
}

async function askForWord(cli: Cli, wanted: OperatorAction): Promise<void> {
  const { action, effect, word, flags = "--yes --reason …" } = wanted;
  if (!isOnTerminal(cli)) {
    throw new DeaddropError("refused", `\`deaddrop ${action}\` is the operator's to decide`, {
      hint: `run it on a terminal and type the confirmation, or give ${flags}`,
    });
  }
  const paint = painter(cli.stderr, cli.env);
  for (const line of effect) cli.stderr.write(`${sanitise(line)}\n`);
  cli.stderr.write(`Type ${paint("bold", sanitise(word))} to go on: `);
  const answer = await typedLine(cli);
  if (answer.trim() !== word) {
    throw new DeaddropError("refused", "not confirmed; nothing was changed", {
      hint: `it takes exactly: ${word}`,
    });
  }
}

/** A question that a terminal answers with y; without a terminal the answer is undefined. */
export async function askYesNo(cli: Cli, question: string): Promise<boolean | undefined> {
  if (!isOnTerminal(cli)) return undefined;
  cli.stderr.write(`${sanitise(question)} [y/N] `);
  return /^y(es)?$/i.test((await typedLine(cli)).trim());
}

/** One line as the terminal hands it over; empty when the operator ends the input instead. */
async function typedLine(cli: Cli): Promise<string> {
  let typed = "";
  for await (const chunk of cli.stdin) {
    typed += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8");
    if (typed.includes("\n") || typed.length > MAX_TYPED_LENGTH) break;
  }
  return typed.split("\n", 1)[0] ?? "";
}

function record(journalPath: string, entry: Record<string, string | null>): void {
  mkdirSync(dirname(journalPath), { recursive: true, mode: PRIVATE_FOLDER });
  const file = openSync(journalPath, "a", PRIVATE_FILE);
  try {
    writeSync(file, `${safeJson(entry)}\n`);
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
}

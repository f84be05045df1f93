import { realpathSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { StorageError } from "../../storage/disk/disk.ts";
import { calling } from "../../storage/disk/errno.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { quote } from "../../wire/quote.ts";
import type { Artifact } from "../report/report.ts";
import { runProgram, type ProgramRun } from "../../daemon/run-program.ts";

/** What the `commands` of a step came to. */
export interface CommandsDone {
  readonly artifacts: readonly Artifact[];
  /** Those that ended with an error. */
  readonly failed: readonly string[];
  /** Those that nobody has allowed. */
  readonly notRun: readonly string[];
}

/** Of a file that is attached. */
const MAX_ATTACHED_BYTES = 8 * 1_024;

/**
 * Runs and reads what a step names, one after the other, if the operator allowed it. Otherwise they are
 * data: a peer has chosen them. A file to be read is in the working folder. Spec 7.3, 7.5.
 */
export async function doCommands(
  commands: readonly string[],
  isAllowed: boolean,
  place: Omit<ProgramRun, "command" | "input">,
): Promise<CommandsDone> {
  const artifacts: Artifact[] = [];
  const failed: string[] = [];
  const notRun: string[] = [];
  for (const command of commands) {
    const [, word, rest = ""] = /^(Run|Read):\s*(.*)$/su.exec(command) ?? [];
    if (word === undefined) continue;
    if (!isAllowed) notRun.push(command);
    else if (word === "Read") artifacts.push({ log: readInside(place.cwd, rest) });
    else {
      const result = await resultOf(rest, place);
      artifacts.push({ test: rest, result });
      if (result !== "passed") failed.push(`${rest}: ${result}`);
    }
  }
  return { artifacts, failed, notRun };
}

async function resultOf(
  line: string,
  place: Omit<ProgramRun, "command" | "input">,
): Promise<string> {
  const split = splitWords(line);
  if (!split.ok) return split.detail;
  const { how, detail } = await runProgram({ ...place, command: split.words, input: "" });
  if (how === "done") return "passed";
  return (how === "failed" ? detail : `${how}: ${detail}`).slice(0, 64);
}

/** The beginning of a file in that folder; no link leads out of it. */
function readInside(folder: string, path: string): string {
  try {
    const top = calling(folder, "looking", () => realpathSync(folder));
    const real = calling(path, "looking", () => realpathSync(resolve(top, path)));
    const way = relative(top, real);
    if (way === "" || way === ".." || way.startsWith(`..${sep}`)) {
      return `${path}: not read, it is not in the working folder`;
    }
    const file = nodeDisk().open(real, "read");
    try {
      const text = Buffer.from(file.read(MAX_ATTACHED_BYTES, 0)).toString("utf8");
      return `${path}:\n${text}${file.stat().size > MAX_ATTACHED_BYTES ? "\n… (cut)" : ""}`;
    } finally {
      file.close();
    }
  } catch (error) {
    if (error instanceof StorageError) return `${path}: not read: ${error.code}`;
    throw error;
  }
}

/** A command line as words, or why it is none. */
export type Words =
  | { readonly ok: true; readonly words: readonly string[] }
  | { readonly ok: false; readonly detail: string };

const MAX_COMMAND_LENGTH = 8_192;

/**
 * Splits a command line at spaces. Quotes of both kinds keep a word together, and a backslash outside of
 * single quotes takes the next sign as it is. Nothing else has a meaning: no variable, pattern, pipe or
 * second command, since no shell sees it. Spec 7.5.
 */
export function splitWords(line: string): Words {
  if (line.length > MAX_COMMAND_LENGTH) return { ok: false, detail: "the command is too long" };
  const words: string[] = [];
  let word: string | undefined;
  let open: string | undefined;
  for (let at = 0; at < line.length; at += 1) {
    const sign = line.charAt(at);
    if (sign === "\0") return { ok: false, detail: "the command has a NUL character" };
    if (sign === "\\" && open !== "'") {
      at += 1;
      word = (word ?? "") + line.charAt(at);
    } else if (open === undefined && (sign === '"' || sign === "'")) {
      open = sign;
      word ??= "";
    } else if (sign === open) {
      open = undefined;
    } else if (open === undefined && /\s/u.test(sign)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + sign;
  }
  if (open !== undefined) return { ok: false, detail: `a quote is not closed in ${quote(line)}` };
  if (word !== undefined) words.push(word);
  if ((words[0] ?? "") === "") return { ok: false, detail: "the command is empty" };
  return { ok: true, words };
}

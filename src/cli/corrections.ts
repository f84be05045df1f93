import { CommanderError } from "commander";
import { DeaddropError } from "../api/errors.ts";
import { shellWord } from "../wire/quote.ts";
import { closest } from "../wire/suggest.ts";
import { agentPlace } from "./agent-place.ts";
import { COMMANDS } from "./command-table.ts";
import { buildCommand, GLOBAL_OPTIONS, type CommandDefinition } from "./command.ts";
import { idsToAnswer } from "../verbs/naming/parent.ts";
import { withClient, type Cli } from "./context.ts";
import { optionNamed, optionNames } from "./other-names.ts";
import {
  checkLine,
  isLikeAnId,
  Misordered,
  Misread,
  readLine,
  wordsOf,
  type Line,
} from "./read-line.ts";

/** What was typed: the command, and all words behind it. */
export interface Typed {
  readonly name: string;
  readonly definition: CommandDefinition;
  readonly words: readonly string[];
}

/** They sign what cannot be taken back: no id is guessed for them. */
const BINDING = new Set(["accept", "reject", "respond", "counter"]);

/** What an ambiguous word needs besides to be a whole line. */
const SAMPLES: Readonly<Record<string, string>> = { send: 'all "subject" "body"' };

/**
 * An error of a command with the line in its hint that was probably meant, ready to run: wrong usage of any
 * kind, and a name for which a better one is known.
 */
export async function withCorrection(error: unknown, typed: Typed, cli: Cli): Promise<unknown> {
  if (error instanceof Misread) {
    return corrected(
      error.message,
      error.hint,
      error.lines.map((words) => [typed.name, ...words]),
    );
  }
  if (error instanceof CommanderError) return correctedUsage(error, typed, cli);
  if (error instanceof Misordered) {
    const { path, options } = readLine(typed.definition, typed.words);
    const line = [typed.name, ...path, ...options, ...error.operands];
    return corrected(error.message, error.hint, [line]);
  }
  if (!(error instanceof DeaddropError) || error.instead === undefined) return error;
  const { given, meant } = error.instead;
  const lines = meant.map((better) => [
    typed.name,
    ...typed.words.map((each) => replaced(each, given, better)),
  ]);
  const { code, message, hint, cause } = error;
  return new DeaddropError(code, message, { hint: hintWith(hint, lines), cause });
}

function replaced(each: string, word: string, better: string): string {
  return each
    .split(",")
    .map((part) => (part === word ? better : part))
    .join(",");
}

/** The first word is no command. */
export function unknownCommand(
  words: readonly string[],
  flags: readonly string[],
  cli: Cli,
): Error {
  const [name = "", ...rest] = words;
  const lines: string[][] = [];
  const better = closest(name, COMMANDS.keys());
  const [next = "", ...others] = rest;
  if (COMMANDS.has(next)) lines.push([next, name, ...others]);
  else if (better !== undefined) lines.push([better, ...rest]);
  else if (rest.length > 0 && isPeer(name, cli)) lines.push(["send", name, ...rest]);
  const all = lines.map((line) => [...line.slice(0, 1), ...flags, ...line.slice(1)]);
  const hint = all.length === 0 ? "`deaddrop help` lists all of them" : undefined;
  return corrected(`no command "${name}"`, hint, all);
}

function isPeer(word: string, cli: Cli): boolean {
  try {
    return agentPlace(cli, {}).peers.includes(word.replaceAll(/^@|[:,]$/g, ""));
  } catch {
    // No wire, or nobody on it: then it is nobody's name.
    return false;
  }
}

/** The one line of several that takes these words. Throws where there are more, or none. */
export async function chooseLine(
  words: readonly string[],
  lines: readonly string[],
  rest: readonly string[],
  cli: Cli,
): Promise<readonly string[]> {
  const whole = lines.map((line) => [...line.split(" "), ...rest]);
  const valid: (readonly string[])[] = [];
  for (const line of whole) {
    const [name = "", ...others] = line;
    const definition = await COMMANDS.get(name)?.load();
    if (definition !== undefined && parses({ name, definition, words: others }, cli))
      valid.push(line);
  }
  const [only, another] = valid;
  if (rest.length > 0 && only !== undefined && another === undefined) return only;
  const shown = lines.map((line) => `deaddrop ${[line, SAMPLES[line]].filter(Boolean).join(" ")}`);
  const filled = valid.map(lineText);
  throw new DeaddropError("usage", `"${words.join(" ")}" can mean several things`, {
    hint: hintOf(undefined, rest.length === 0 || valid.length === 0 ? shown : filled),
  });
}

async function correctedUsage(error: CommanderError, typed: Typed, cli: Cli): Promise<unknown> {
  // Help and version: commander has printed them, and they are no failure.
  if (/^commander\.(help|helpDisplayed|version)$/.test(error.code)) return error;
  const { usageOf = `deaddrop ${typed.name}` } = error as { usageOf?: string };
  const [message = ""] = error.message.replace(/^error: /, "").split("\n(Did you mean");
  const more = `run \`${usageOf} --help\` for what it takes`;
  const { words, isOneOf = false } = await candidatesFor(error.code, message, typed, cli);
  const valid = words.filter((each) => parses({ ...typed, words: each }, cli));
  const lines = isOneOf ? valid : valid.slice(0, 1);
  const { examples: [example] = [] } = readLine(typed.definition, typed.words).definition;
  if (lines.length === 0 && error.code === "commander.missingArgument" && example !== undefined) {
    return new DeaddropError("usage", message, {
      hint: hintOf(`${more}; for example:`, [example]),
    });
  }
  return corrected(
    message,
    more,
    lines.map((line) => [typed.name, ...line]),
  );
}

/** Lines that may have been meant: the words behind the command's name. */
interface Candidates {
  readonly words: readonly (readonly string[])[];
  /** Nobody can tell which of those that are valid; otherwise the first one is the likeliest. */
  readonly isOneOf?: boolean;
}

async function candidatesFor(
  code: string,
  message: string,
  typed: Typed,
  cli: Cli,
): Promise<Candidates> {
  const { definition, words } = typed;
  const [, about = ""] = /'([^']+)'(?: is invalid)?/.exec(message) ?? [];
  switch (code) {
    case "commander.unknownOption":
      return withoutOption(definition, words, about);
    case "commander.excessArguments":
      return { words: inFewerWords(readLine(definition, words), definition) };
    case "commander.missingArgument":
      return isId(about) ? withId(typed, cli) : { words: [] };
    case "commander.invalidArgument": {
      const [, value = "", choices = ""] =
        /'([^']*)' is invalid\. Allowed choices are (.*)\.$/.exec(message) ?? [];
      const better = closest(value, choices.split(", "));
      if (better !== undefined) {
        return { words: [words.map((each) => withValue(each, value, better))] };
      }
      return { words: asOtherOption(readLine(definition, words), value) };
    }
    default:
      return { words: [] };
  }
}

/** A value that another option of the command takes is given to that one. */
function asOtherOption({ definition, path, options, operands }: Line, value: string) {
  const taking = Object.entries(definition.options ?? {}).filter(
    ([, each]) => typeof each === "object" && each.choices?.includes(value) === true,
  );
  const at = options.indexOf(value);
  return taking.map(([spelling]) => [
    ...[...path, ...options.slice(0, at - 1), longName(spelling), ...options.slice(at)],
    ...operands,
  ]);
}

function longName(spelling: string): string {
  return spelling.split(" ", 1)[0] ?? "";
}

function isId(argument: string): boolean {
  return argument === "id" || argument === "request";
}

function withValue(word: string, value: string, better: string): string {
  return word === value
    ? better
    : word.endsWith(`=${value}`)
      ? word.replace(/=.*$/s, `=${better}`)
      : word;
}

/** With the option of nearly that name; or without it, alone or with its value. */
function withoutOption(
  definition: CommandDefinition,
  words: readonly string[],
  option: string,
): Candidates {
  const at = words.findIndex((word) => word === option || word.startsWith(`${option}=`));
  const { definition: leaf } = readLine(definition, words);
  const spellings = Object.keys({ ...GLOBAL_OPTIONS, ...definition.options, ...leaf.options });
  const known = new Map(spellings.map((spelling) => [longName(spelling), spelling]));
  const others = optionNames().filter((each) => optionNamed(each, known, leaf.args) !== undefined);
  const names = [...known.keys(), ...others];
  const [bare, ...bareNames] = [option, ...names].map((name) => name.replace(/^-+/, ""));
  const near = closest(bare ?? "", bareNames);
  const better = near === undefined ? undefined : names[bareNames.indexOf(near)];
  const head = words.slice(0, at);
  const tail = words.slice(at + 1);
  const value = words[at]?.slice(option.length) ?? "";
  if (better !== undefined) return { words: [[...head, `${better}${value}`, ...tail]] };
  const hasValue = value === "" && tail[0]?.startsWith("-") === false;
  const without = [...head, ...tail];
  return { words: hasValue ? [[...head, ...tail.slice(1)], without] : [without], isOneOf: true };
}

/** Words that belong together as one; or the same words for another command of that kind. */
function inFewerWords({ definition, path, options, operands }: Line, whole: CommandDefinition) {
  const joined = [1, 2].map((kept) => [
    ...[...path, ...options, ...operands.slice(0, kept)],
    operands.slice(kept).join(" "),
  ]);
  // A command without arguments loses nothing when the words go; a number is most likely how many.
  const [number] = operands.filter((word) => /^\d+$/.test(word));
  const counting = ["--limit", "--timeout"].map((name) => [
    ...path,
    ...options,
    name,
    number ?? "",
  ]);
  const isPlain = Object.keys(definition.args ?? {}).length === 0;
  const without = isPlain ? [...(number === undefined ? [] : counting), [...path, ...options]] : [];
  const siblings = Object.keys(path.length === 1 ? (whole.commands ?? {}) : {});
  return [...joined, ...siblings.map((name) => [name, ...options, ...operands]), ...without];
}

/** An id that was given as something else; else those that wait for an answer, or the newest message. */
async function withId({ name, definition, words }: Typed, cli: Cli): Promise<Candidates> {
  const { path, options, operands } = readLine(definition, words);
  const at = options.findIndex(isLikeAnId);
  if (at > 0) {
    const others = [...options.slice(0, at - 1), ...options.slice(at + 1)];
    return { words: [[...path, ...others, options[at] ?? "", ...operands]] };
  }
  if (name === "withdraw") return { words: [] };
  const ids = BINDING.has(name) ? await idsWaiting(options, cli) : ["last"];
  return { words: ids.map((id) => [...path, ...options, id, ...operands]), isOneOf: true };
}

async function idsWaiting(options: readonly string[], cli: Cli): Promise<readonly string[]> {
  const valueOf = (name: string) => {
    const at = options.indexOf(name);
    return at === -1 ? {} : { [name.slice(2)]: options[at + 1] };
  };
  try {
    return await withClient(cli, { ...valueOf("--wire"), ...valueOf("--as") }, idsToAnswer);
  } catch (error) {
    // What is wrong besides is said by the command itself.
    if (error instanceof DeaddropError) return [];
    throw error;
  }
}

function parses({ name, definition, words }: Typed, cli: Cli): boolean {
  try {
    const line = readLine(definition, words);
    checkLine(line);
    const isPassedThrough = line.definition.passThrough === true;
    buildCommand(name, definition, cli, "parses").parse(wordsOf(line, isPassedThrough), {
      from: "user",
    });
    return true;
  } catch (error) {
    if (error instanceof CommanderError || error instanceof DeaddropError) return false;
    throw error;
  }
}

function corrected(
  message: string,
  hint: string | undefined,
  lines: readonly (readonly string[])[],
): DeaddropError {
  return new DeaddropError("usage", message, { hint: hintWith(hint, lines) });
}

function hintWith(
  hint: string | undefined,
  lines: readonly (readonly string[])[],
): string | undefined {
  return hintOf(hint, lines.map(lineText));
}

function hintOf(hint: string | undefined, lines: readonly string[]): string | undefined {
  if (lines.length === 0) return hint;
  return [hint ?? "did you mean:", ...lines.map((line) => `  ${line}`)].join("\n");
}

function lineText(words: readonly string[]): string {
  return ["deaddrop", ...words].map((word) => shellWord(word)).join(" ");
}

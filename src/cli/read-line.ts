import { DeaddropError } from "../api/errors.ts";
import { asValue, GLOBAL_OPTIONS, type CommandDefinition, type Value } from "./command.ts";
import { closest } from "../wire/suggest.ts";
import { valueNamed } from "../verbs/other-names.ts";
import { optionNamed } from "./other-names.ts";

/** A command line in the command's own words. */
export interface Line {
  /** Of the command that runs, the last of `path`. */
  readonly definition: CommandDefinition;
  /** The commands within it. */
  readonly path: readonly string[];
  readonly options: readonly string[];
  readonly operands: readonly string[];
}

/** Wrong usage, and the lines that may have been meant: what follows the command's name, in words. */
export class Misread extends DeaddropError {
  readonly lines: readonly (readonly string[])[];

  constructor(message: string, hint: string | undefined, lines: readonly (readonly string[])[]) {
    super("usage", message, { hint });
    this.lines = lines;
  }
}

/** The words of a line in an order that cannot be meant, and in the one that probably is. */
export class Misordered extends DeaddropError {
  readonly operands: readonly string[];

  constructor(message: string, operands: readonly string[]) {
    super("usage", message);
    this.operands = operands;
  }
}

interface Known {
  /** By long name. */
  readonly values: ReadonlyMap<string, Value | undefined>;
  takesValue(name: string): boolean;
}

/** What can be nothing but an id, or a way to name one. */
const LIKE_AN_ID = /^(?:#?[0-9a-f]{6,64}|last|latest)$/i;

export function isLikeAnId(word: string): boolean {
  return LIKE_AN_ID.test(word);
}

const OPTION = /^-(?:-[A-Za-z][\w-]*(?:=[^]*)?|[A-Za-z][\w-]*(?:=[^]*)?)$/;

/**
 * Reads the words behind a command's name: finds the command within it that is meant, and gives options,
 * values and arguments the names and the order that it has for them.
 */
export function readLine(whole: CommandDefinition, words: readonly string[]): Line {
  const { definition, path, rest, chain } = findCommand(whole, withJsonFlag(whole, words));
  const { args = {} } = definition;
  const known = optionsOf(chain);
  const options: string[] = [];
  const plain: string[] = [];
  const named = new Map<string, string[]>();
  let at = 0;
  for (; at < rest.length; at++) {
    const word = rest[at] ?? "";
    if (word === "--") {
      plain.push(...rest.slice(at + 1));
      break;
    }
    if (definition.passThrough === true && plain.length > 0) {
      return { definition, path, options, operands: [...plain, ...rest.slice(at)] };
    }
    if (!OPTION.test(word)) {
      plain.push(word);
      continue;
    }
    const { name: found, inline } = readOption(word, known, args);
    const [name, implied] = found?.split(" ") ?? [];
    const isArgument = name !== undefined && !name.startsWith("-");
    const takesValue = isArgument || (name !== undefined && known.takesValue(name));
    const value = implied ?? inline ?? (takesValue ? rest[++at] : undefined);
    if (takesValue && value === undefined)
      throw new Misread(`${word} needs a value`, undefined, []);
    if (name !== undefined && !takesValue && implied === undefined && inline !== undefined) {
      // A switch as some write it: `--unread=true`.
      const says = valueNamed(inline, ["true", "false"]);
      if (says === undefined) throw new Misread(`${name} takes no value`, undefined, []);
      if (says === "true") options.push(name);
      continue;
    }
    if (isArgument) {
      named.set(name, [...(named.get(name) ?? []), ...(value === undefined ? [] : [value])]);
    } else {
      const spelled = name ?? word;
      const choices = known.values.get(spelled)?.choices;
      const meant =
        value !== undefined && choices !== undefined
          ? (valueNamed(value, choices) ?? value)
          : value;
      options.push(...(name === undefined || meant === undefined ? [spelled] : [spelled, meant]));
    }
  }
  const isHelp = plain.length === 1 && plain[0] === "help" && options.length === 0;
  if (isHelp) return { definition, path, options: ["--help"], operands: [] };
  return { definition, path, options, operands: inOrder(args, plain, named) };
}

/** The same as words for the parser. */
export function wordsOf({ path, options, operands }: Line, isPassedThrough = false): string[] {
  const needsMark = !isPassedThrough && operands.some((word) => word.startsWith("-"));
  return [...path, ...options, ...(needsMark ? ["--"] : []), ...operands];
}

/** The command within a command, by the words that are no options; and all other words. */
function findCommand(whole: CommandDefinition, words: readonly string[]) {
  let definition = whole;
  const chain = [whole];
  const path: string[] = [];
  const rest = [...words];
  const known = optionsOf(everyCommand(whole));
  const enter = (name: string | undefined): void => {
    const found = definition.commands?.[name ?? ""];
    if (name === undefined || found === undefined) return;
    definition = found;
    chain.push(found);
    path.push(name);
  };
  let hasOperand = false;
  for (let at = 0; at < rest.length && definition.commands !== undefined; at++) {
    const word = rest[at] ?? "";
    if (OPTION.test(word)) {
      const { name, inline } = readOption(word, known, {});
      if (name !== undefined && inline === undefined && known.takesValue(name)) at++;
      continue;
    }
    const name = word === "--" ? undefined : subcommandNamed(definition, word);
    hasOperand = name === undefined;
    if (name === undefined) {
      const better = typoIn(definition, word);
      if (better !== undefined || definition.args === undefined) {
        if (better !== undefined || definition.default === undefined) {
          throw unknownCommand(definition, path, word, better, words);
        }
        enter(definition.default);
      }
      break;
    }
    enter(name);
    rest.splice(at--, 1);
  }
  if (definition.run === undefined && !rest.some(isHelpFlag)) {
    const isBare = !hasOperand && rest.every((word) => OPTION.test(word));
    enter(isBare ? definition.bare : definition.default);
  }
  return { definition, path, rest, chain };
}

function isHelpFlag(word: string): boolean {
  return word === "--help" || word === "-h";
}

/** Also by another word for it. */
function subcommandNamed({ commands = {} }: CommandDefinition, word: string): string | undefined {
  const name = word === "ls" ? "list" : word.toLowerCase().replaceAll("_", "-");
  if (Object.hasOwn(commands, name)) return name;
  return Object.entries(commands).find(([, { also }]) => also?.split(" ").includes(name))?.[0];
}

/** A word that is nearly the name of a command is not taken for what the command is about. */
function typoIn({ commands = {}, args }: CommandDefinition, word: string): string | undefined {
  return args !== undefined || /\s/.test(word) ? undefined : closest(word, Object.keys(commands));
}

function unknownCommand(
  { commands = {} }: CommandDefinition,
  path: readonly string[],
  word: string,
  better: string | undefined,
  words: readonly string[],
): Misread {
  const within = path.length === 0 ? "" : `${path.join(" ")} `;
  const message = `there is no command "${within}${word}"`;
  if (better === undefined) {
    return new Misread(message, `there is: ${Object.keys(commands).join(", ")}`, []);
  }
  return new Misread(message, undefined, [words.map((each) => (each === word ? better : each))]);
}

function everyCommand(definition: CommandDefinition): CommandDefinition[] {
  return [definition, ...Object.values(definition.commands ?? {}).flatMap(everyCommand)];
}

function optionsOf(chain: readonly CommandDefinition[]): Known {
  const spellings = [...chain.map(({ options = {} }) => options), GLOBAL_OPTIONS].flatMap(
    (options) => Object.entries(options),
  );
  const takers = new Set(
    spellings.filter(([spelling]) => spelling.includes("<")).map(([spelling]) => long(spelling)),
  );
  const values = new Map(
    spellings.map(([spelling, value]) => [
      long(spelling),
      typeof value === "string" ? undefined : value,
    ]),
  );
  return { values, takesValue: (name) => takers.has(name) };
}

function long(spelling: string): string {
  return spelling.split(" ", 1)[0] ?? "";
}

/** What a word of the line names, and the value that it holds: `--to=bob`, `-n5`. */
function readOption(
  word: string,
  { values, takesValue }: Known,
  args: NonNullable<CommandDefinition["args"]>,
): { name: string | undefined; inline: string | undefined } {
  const [, flag = word, inline] = /^([^=]+)=([^]*)$/.exec(word) ?? [];
  const name = isHelpFlag(flag) ? flag : optionNamed(flag, values, args);
  if (name !== undefined || !/^-\w./.test(word)) return { name, inline };
  const short = optionNamed(word.slice(0, 2), values, args);
  const isAttached = short !== undefined && takesValue(short);
  return isAttached ? { name: short, inline: word.slice(2) } : { name, inline };
}

/** With `--json` for `-o json` and `--format=json`, where no command there has such an option itself. */
function withJsonFlag(whole: CommandDefinition, words: readonly string[]): readonly string[] {
  if (optionsOf(everyCommand(whole)).values.has("--format")) return words;
  const isFormat = (word: string) => /^(?:-o|--output|--format)$/.test(word);
  return words.flatMap((word, at) => {
    if (isFormat(word) && words[at + 1] === "json") return ["--json"];
    if (word === "json" && isFormat(words[at - 1] ?? "")) return [];
    return /^(?:-o|--output|--format)=json$/.test(word) ? ["--json"] : [word];
  });
}

/** Arguments as the command has them: those that were named where they belong, texts in one piece. */
function inOrder(
  args: NonNullable<CommandDefinition["args"]>,
  plain: readonly string[],
  named: ReadonlyMap<string, readonly string[]>,
): string[] {
  const rest = [...plain];
  const spellings = Object.keys(args);
  const operands: string[] = [];
  for (const [at, spelling] of spellings.entries()) {
    const value = args[spelling];
    const isLast = at === spellings.length - 1;
    const own = named.get(spelling);
    if (own !== undefined) operands.push(...own);
    else if (isLast && typeof value === "object" && value.isText === true && rest.length > 1) {
      operands.push(rest.splice(0).join(" "));
    } else if (!spelling.includes("...")) operands.push(...rest.splice(0, 1));
    const choices = typeof value === "object" ? value.choices : undefined;
    if (choices !== undefined)
      operands.push(...operands.splice(-1).map((word) => valueNamed(word, choices) ?? word));
  }
  return [...operands, ...rest];
}

/**
 * Refuses what would be taken for something else than was meant: an id that is none, and options or an
 * object in the place of text. Throws Misread.
 */
export function checkLine({ definition, path, options, operands }: Line): void {
  const spellings = Object.keys(definition.args ?? {});
  const line = (words: readonly string[]) => [...path, ...options, ...words];
  const idAt = spellings.findIndex((spelling) => /^[<[](?:id|request)[>\]]$/.test(spelling));
  const id = operands[idAt];
  if (idAt === 0 && id !== undefined && !LIKE_AN_ID.test(id)) {
    const found = operands.findIndex((word) => LIKE_AN_ID.test(word));
    if (found > 0) {
      const others = operands.filter((_, at) => at !== found);
      throw new Misread(`the id comes first`, undefined, [
        line([operands[found] ?? "", ...others]),
      ]);
    }
    const [, next = ""] = spellings;
    const { choices = [] } = asValue(definition.args?.[next] ?? "");
    if (operands.length === 1 && valueNamed(id, choices) !== undefined) {
      throw new Misread(
        `${id} to what? the id is missing`,
        "deaddrop pending lists what waits",
        [],
      );
    }
    if (/\s/.test(id)) {
      const hint = "an id is what `deaddrop inbox` shows, or last: the newest message";
      const isRoom = operands.length < spellings.length;
      throw new Misread(`"${id}" is no id`, hint, isRoom ? [line(["last", ...operands])] : []);
    }
  }
  const data = options.includes("--body-json") ? undefined : asOptions(definition, operands);
  if (data !== undefined)
    throw new Misread("arguments are words and options", undefined, [line(data)]);
}

/** `to=bob body=hi` and `{"to":"bob"}` as options of this command; undefined where there are none. */
function asOptions(
  definition: CommandDefinition,
  operands: readonly string[],
): string[] | undefined {
  const { args = {} } = definition;
  const known = optionsOf([definition]);
  const named = (key: string, value: string): string[] | undefined => {
    const name = optionNamed(`--${key}`, known.values, args);
    if (name === undefined) return undefined;
    return name.startsWith("-") ? [name, value] : [value];
  };
  const parts = operands.map((word) => {
    const [, key, value] = /^(\w[\w-]*)=(\S*)$/.exec(word) ?? [];
    const object = word.startsWith("{") ? objectIn(word) : undefined;
    if (key !== undefined && value !== undefined) return named(key, value);
    if (object === undefined) return undefined;
    const each = Object.entries(object).map(([name, text]) => named(name, String(text)));
    return each.includes(undefined) ? undefined : each.flatMap((words) => words ?? []);
  });
  if (parts.every((part) => part === undefined)) return undefined;
  return operands.flatMap((word, at) => parts[at] ?? [word]);
}

function objectIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Argument, Command, InvalidArgumentError, Option, type CommanderError } from "commander";
import type { Cli, GlobalFlags } from "./context.ts";

/** An option or argument that is more than a switch or a text. */
export interface Value {
  readonly about: string;
  /** Reads the text; throws InvalidArgumentError or DeaddropError. */
  readonly parse?: (text: string) => unknown;
  readonly choices?: readonly string[];
  readonly default?: unknown;
  /** May be given several times: a list. */
  readonly repeatable?: true;
  /** The option, by its attribute name, that excludes this one. */
  readonly conflicts?: string;
  readonly isRequired?: true;
  readonly isHidden?: true;
  /** Of the last argument: it takes all words that are left, as one text. */
  readonly isText?: true;
}

/** An option that may be given several times: a list of texts. */
export function repeatable(about: string) {
  return { about, repeatable: true } as const;
}

/** By spelling, in the order of the help: `--limit <n>`, `--unread`. A text alone says what it is about. */
export type Options = Readonly<Record<`--${string}`, string | Value>>;
/** By spelling, in their order: `<id>`, `[body]`, `<path...>`. */
type Arguments = Readonly<Record<string, string | Value>>;

export type CamelCase<S extends string> = S extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;
type FlagName<S> = S extends `--no-${infer Name}`
  ? CamelCase<Name>
  : S extends `--${infer Name} <${string}`
    ? CamelCase<Name>
    : S extends `--${infer Name}`
      ? CamelCase<Name>
      : never;
type ArgumentName<S> = S extends `${"<" | "["}${infer Name}...${">" | "]"}`
  ? CamelCase<Name>
  : S extends `${"<" | "["}${infer Name}${">" | "]"}`
    ? CamelCase<Name>
    : never;

type Single<S, V> = V extends { readonly parse: (text: string) => infer T }
  ? T
  : V extends { readonly choices: readonly (infer T)[] }
    ? T
    : S extends `${string}<${string}` | `[${string}`
      ? string
      : boolean;
type ValueOf<S, V> = V extends { readonly repeatable: true } ? Single<S, V>[] : Single<S, V>;
type IsAlwaysThere = { readonly default: unknown } | { readonly isRequired: true };

/** What the action of a command with these options gets. */
export type FlagsOf<O> = GlobalFlags & {
  -readonly [S in keyof O as O[S] extends IsAlwaysThere ? FlagName<S> : never]: ValueOf<S, O[S]>;
} & {
  -readonly [S in keyof O as O[S] extends IsAlwaysThere ? never : FlagName<S>]?: ValueOf<S, O[S]>;
};
type ArgumentsOf<A> = {
  [S in keyof A as ArgumentName<S>]: S extends `${string}...${string}`
    ? Single<S, A[S]>[]
    : S extends `[${string}`
      ? Single<S, A[S]> | undefined
      : Single<S, A[S]>;
};

interface Definition<A, O> {
  /** Paragraphs are filled to the width of the terminal. */
  readonly about: string;
  readonly args?: A;
  readonly options?: O;
  /** Lines to copy, shown behind the help. */
  readonly examples?: readonly string[];
  readonly commands?: Readonly<Record<string, CommandDefinition>>;
  /** Of a command within another one: other words for it. */
  readonly also?: string;
  /** The command within this one that is meant by words that name none of them. */
  readonly default?: string;
  /** The one that is meant where nothing is said. */
  readonly bare?: string;
  /** What follows the last argument is passed on, flags too. */
  readonly passThrough?: true;
  run?(cli: Cli, flags: FlagsOf<O>, args: ArgumentsOf<A>): Promise<void> | void;
}

/** A command, whatever its action takes. */
export type CommandDefinition = Definition<Arguments, Options>;

/** A command as data; the types of its flags and arguments follow from their spelling. */
export function define<
  const A extends Arguments = Record<never, never>,
  const O extends Options = Record<never, never>,
>(definition: Definition<A, O>): CommandDefinition {
  return definition as unknown as CommandDefinition;
}

/** Options that every command takes, unless it has one of that name itself. */
export const GLOBAL_OPTIONS: Options = {
  "--wire <folder>":
    "the wire (else DEADDROP_WIRE, the nearest _coordination/ upward, your only wire)",
  "--as <handle>": "who you are (else DEADDROP_AS, `deaddrop as`, the only identity on the wire)",
  "--json": "print JSON",
  "--peer <handle>": repeatable("a peer, on a wire without a roster (repeatable)"),
};

/**
 * The parser of `deaddrop NAME`, which throws what is wrong and prints through `cli`. One that `only` parses
 * runs nothing.
 */
export function buildCommand(
  name: string,
  definition: CommandDefinition,
  cli: Cli,
  only?: "parses",
): Command {
  const own = new Set(longNames(definition));
  const globals = Object.entries(GLOBAL_OPTIONS).filter(([spelling]) => !own.has(long(spelling)));
  const options = { ...definition.options, ...Object.fromEntries(globals) };
  const command = commandOf(`deaddrop ${name}`, { ...definition, options }, cli, only);
  prepare(command, cli);
  return command;
}

function long(spelling: string): string {
  return spelling.split(" ", 1)[0] ?? "";
}

function longNames({ options = {}, commands = {} }: CommandDefinition): string[] {
  return [...Object.keys(options).map(long), ...Object.values(commands).flatMap(longNames)];
}

function commandOf(
  name: string,
  definition: CommandDefinition,
  cli: Cli,
  only: "parses" | undefined,
): Command {
  const { about, args = {}, options = {}, examples = [], commands = {}, run } = definition;
  const command = new Command(name).description(about);
  for (const [spelling, value] of Object.entries(args)) {
    const { about, choices } = asValue(value);
    const argument = new Argument(spelling, about);
    command.addArgument(choices === undefined ? argument : argument.choices(choices));
  }
  for (const [spelling, value] of Object.entries(options)) {
    command.addOption(optionOf(spelling, asValue(value), cli));
  }
  if (definition.passThrough === true) command.passThroughOptions();
  if (examples.length > 0) command.addHelpText("after", examplesText(examples));
  if (run !== undefined) {
    command.action(() =>
      only === "parses"
        ? undefined
        : run(cli, command.optsWithGlobals(), argumentsOf(command, cli)),
    );
  }
  for (const [sub, each] of Object.entries(commands)) {
    command.addCommand(commandOf(sub, each, cli, only));
  }
  return command;
}

export function asValue(value: string | Value): Value {
  return typeof value === "string" ? { about: value } : value;
}

function optionOf(spelling: string, value: Value, cli: Cli): Option {
  const { parse, choices, repeatable, conflicts } = value;
  const option = new Option(spelling, value.about).default(value.default);
  if (choices !== undefined) option.choices(choices);
  if (parse !== undefined) option.argParser(parse);
  if (repeatable === true) {
    option.argParser((text, before: readonly string[] | undefined) => {
      if (choices?.includes(text) !== false) {
        return [...(before ?? []), ...listed(spelling, text, cli)];
      }
      throw new InvalidArgumentError(`Choose one of ${choices.join(", ")}.`);
    });
  }
  if (conflicts !== undefined) option.conflicts(conflicts);
  return option.makeOptionMandatory(value.isRequired === true).hideHelp(value.isHidden === true);
}

/** Of agents and paths several may be given in one word, with commas between them, unless a file is so named. */
function listed(spelling: string, text: string, cli: Cli): string[] {
  const isList = text.includes(",") && /[<[](?:handle|peer|path|pattern)/.test(spelling);
  if (!isList || existsSync(resolve(cli.cwd, text))) return [text];
  return text.split(/,(?![^{]*\})/).flatMap((each) => (each.trim() === "" ? [] : [each.trim()]));
}

function examplesText(examples: readonly string[]): string {
  const lines = examples.map((line) => `  $ ${line}`).join("\n");
  return `\n${examples.length === 1 ? "Example" : "Examples"}:\n${lines}`;
}

function argumentsOf({ registeredArguments: all, processedArgs }: Command, cli: Cli) {
  return Object.fromEntries(
    all.map((argument, index) => {
      const value = processedArgs[index] as unknown;
      const isList = argument.variadic && Array.isArray(value);
      const texts = isList ? (value as string[]) : [];
      const spelling = `<${argument.name()}>`;
      const list = texts.flatMap((text) => listed(spelling, text, cli));
      return [camelCase(argument.name()), isList ? list : value];
    }),
  );
}

export function camelCase<const Name extends string>(name: Name): CamelCase<Name> {
  return name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase()) as CamelCase<Name>;
}

/** `deaddrop incident raise`, for a command within a command. */
function pathOf(command: Command): string {
  const { parent } = command;
  return parent === null ? command.name() : `${pathOf(parent)} ${command.name()}`;
}

/** Makes a command and its subcommands throw, and print through `cli`. */
function prepare(command: Command, cli: Cli): void {
  command.exitOverride((error: CommanderError) => {
    throw Object.assign(error, { usageOf: pathOf(command) });
  });
  command.configureOutput({
    writeOut: (text) => cli.stdout.write(text),
    writeErr: (text) => cli.stderr.write(text),
    outputError: () => {},
  });
  command.configureHelp({ showGlobalOptions: true });
  refuseRepeats(command);
  for (const sub of command.commands) prepare(sub, cli);
}

/**
 * Commander lets the last of two values win: somebody who gave two of them meant both. In `collab` the
 * last one counts, as in the protocol's own scripts.
 */
function refuseRepeats(command: Command): void {
  if (pathOf(command).startsWith("deaddrop collab ")) return;
  for (const option of command.options) {
    let given: string | undefined;
    command.on(`option:${option.name()}`, (value: string | null | undefined) => {
      if (typeof value !== "string") return;
      const isRepeatable = Array.isArray(command.getOptionValue(option.attributeName()));
      if (given !== undefined && !isRepeatable) {
        const long = option.long ?? option.flags;
        command.error(`${long} takes one value, and is given twice: "${given}" and "${value}"`);
      }
      given = value;
    });
  }
}

/** For options that are a whole number of at least 1. */
export function count(value: string): number {
  const number = Number(value);
  if (/^\d{1,9}$/.test(value) && number >= 1) return number;
  throw new InvalidArgumentError("Give a whole number of at least 1.");
}

/** For options that are a number of seconds. */
export function seconds(value: string): number {
  const number = Number(value);
  if (/^\d{1,7}(\.\d{1,3})?$/.test(value) && number > 0) return number;
  throw new InvalidArgumentError("Give a number of seconds above 0.");
}

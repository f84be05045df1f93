import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { meaningOf } from "./aliases.ts";
import { COMMANDS, COMMAND_GROUPS } from "./command-table.ts";
import { buildCommand } from "./command.ts";
import { processCli, type Cli } from "./context.ts";
import { painter } from "./output/output.ts";
import { onTerminals } from "./output/terminal.ts";
import { checkLine, readLine, wordsOf } from "./read-line.ts";

/** What is no command of the table. */
const RESERVED = new Set(["help", "version", "--help", "-h", "--version", "-V", "-v"]);

/** Flags that come before the command and take a value; `--json` takes none. */
const LEADING_WITH_VALUE = new Set([
  ...["--wire", "-w", "--as", "--peer", "-o", "--output", "--format"],
]);

/** Runs one command line (without node and script) and returns its exit code. Spec 4.2. */
export async function main(args: readonly string[], at: Cli = processCli()): Promise<number> {
  const cli = onTerminals(at);
  try {
    await dispatch(args, cli);
    return cli.exitCode;
  } catch (error) {
    // What comes after `--` is text of a message, not a flag.
    const { reportError } = await import("./errors.ts");
    const given = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
    const json = given.includes("--json");
    return reportError(error, cli, json);
  }
}

/** The command's name and what follows it; and the flags before it. Bare `deaddrop` is `status`. */
function split(args: readonly string[]): { words: readonly string[]; flags: readonly string[] } {
  let index = 0;
  while (index < args.length && args[index]?.startsWith("-") === true) {
    const flag = args[index] ?? "";
    if (["--help", "-h", "--version", "-V", "-v"].includes(flag))
      return { words: [flag], flags: [] };
    index += LEADING_WITH_VALUE.has(flag) ? 2 : 1;
  }
  return { words: args.slice(index), flags: args.slice(0, index) };
}

async function dispatch(args: readonly string[], cli: Cli): Promise<void> {
  const { words, flags } = split(args);
  const [name = "status", ...rest] = await commandLine(words, cli);
  switch (name) {
    case "--version":
    case "-V":
    case "-v":
    case "version": {
      const { version } = await import("../setup/program.ts");
      cli.stdout.write(`${version()}\n`);
      return;
    }
    case "--help":
    case "-h":
    case "help":
      return help(rest, cli);
  }
  const definition = await COMMANDS.get(name)?.load();
  if (definition === undefined) {
    throw (await import("./corrections.ts")).unknownCommand(words, flags, cli);
  }
  const typed = { name, definition, words: [...flags, ...rest] };
  try {
    const line = readLine(definition, typed.words);
    checkLine(line);
    const isPassedThrough = line.definition.passThrough === true;
    const command = buildCommand(name, definition, cli);
    await command.parseAsync(wordsOf(line, isPassedThrough), { from: "user" });
  } catch (error) {
    throw await (await import("./corrections.ts")).withCorrection(error, typed, cli);
  }
}

/** The words of a line with its command by name: another word for it stands for what it means. */
async function commandLine(words: readonly string[], cli: Cli): Promise<readonly string[]> {
  const isPath = (path: string) => existsSync(resolve(cli.cwd, path));
  const meaning = meaningOf(words, (name) => COMMANDS.has(name) || RESERVED.has(name), isPath);
  if (meaning === undefined) return words;
  const { lines, length } = meaning;
  const [line = "", ...others] = lines;
  const rest = words.slice(length);
  if (others.length === 0) return [...line.split(" "), ...rest];
  const { chooseLine } = await import("./corrections.ts");
  return chooseLine(words.slice(0, length), lines, rest, cli);
}

async function help(rest: readonly string[], cli: Cli): Promise<void> {
  const given = rest.filter((each) => !each.startsWith("-"));
  const words = await commandLine(given, cli);
  const [name, ...subs] = words.filter((each) => !each.startsWith("-"));
  if (name === undefined || name === "help") {
    cli.stdout.write(overview(cli));
    return;
  }
  const definition = await COMMANDS.get(name)?.load();
  const { unknownCommand, withCorrection } = await import("./corrections.ts");
  if (definition === undefined) throw unknownCommand(given, [], cli);
  let path: readonly string[];
  try {
    ({ path } = readLine(definition, [...subs, "--help"]));
  } catch (error) {
    throw await withCorrection(error, { name, definition, words: subs }, cli);
  }
  let command: Command = buildCommand(name, definition, cli);
  for (const sub of path) command = command.commands.find((each) => each.name() === sub) ?? command;
  command.outputHelp();
}

/** `deaddrop help`. */
function overview(cli: Cli): string {
  const paint = painter(cli.stdout, cli.env);
  const lines = [
    "deaddrop: a signed, durable inbox for agents, on files",
    "",
    `${paint("bold", "Usage:")} deaddrop [--wire <folder>] [--as <handle>] [--json] <command> …`,
    "",
  ];
  for (const { title, entries } of COMMAND_GROUPS) {
    lines.push(paint("bold", title));
    for (const { name, summary } of entries) lines.push(`  ${name.padEnd(12)}${summary}`);
    lines.push("");
  }
  lines.push(
    "`deaddrop` alone is `deaddrop status`. `deaddrop <command> --help` says more.",
    "`deaddrop demo` shows two agents at work.",
    "Exit codes: 0 fine, 1 refused or wrong usage, 2 configuration, 3 timed out waiting,",
    "4 safe mode, 5 already running, 6 storage, 70 a bug of ours.",
  );
  return `${lines.join("\n")}\n`;
}

import type { Command } from "commander";
import { DeaddropError } from "../api/errors.ts";
import { COMMANDS, COMMAND_GROUPS } from "./command-table.ts";
import { buildCommand, pathOf } from "./command.ts";
import { processCli, type Cli } from "./context.ts";
import { painter } from "./output/output.ts";
import { onTerminals } from "./output/terminal.ts";

/** Flags that come before the command and take a value; `--json` takes none. */
const LEADING_WITH_VALUE = new Set(["--wire", "--as", "--peer"]);

/** Runs one command line (without node and script) and returns its exit code. Spec 4.2. */
export async function main(args: readonly string[], at: Cli = processCli()): Promise<number> {
  const cli = onTerminals(at);
  const { name, rest } = split(args);
  try {
    await dispatch(name, rest, cli);
    return cli.exitCode;
  } catch (error) {
    // What comes after `--` is text of a message, not a flag.
    const { reportError } = await import("./errors.ts");
    const flags = rest.includes("--") ? rest.slice(0, rest.indexOf("--")) : rest;
    return reportError(error, cli, { json: flags.includes("--json"), command: name });
  }
}

/** Finds the command's name; flags before it are given to it. Bare `deaddrop` is `status`. */
function split(args: readonly string[]): { name: string | undefined; rest: readonly string[] } {
  let index = 0;
  while (index < args.length && args[index]?.startsWith("-") === true) {
    const flag = args[index] ?? "";
    if (["--help", "-h", "--version", "-V"].includes(flag)) return { name: flag, rest: [] };
    index += LEADING_WITH_VALUE.has(flag) ? 2 : 1;
  }
  const name = args[index];
  return { name, rest: [...args.slice(0, index), ...args.slice(index + 1)] };
}

async function dispatch(name: string | undefined, rest: readonly string[], cli: Cli) {
  switch (name) {
    case "--version":
    case "-V":
    case "version": {
      const { version } = await import("../setup/program.ts");
      cli.stdout.write(`${version()}\n`);
      return;
    }
    case "--help":
    case "-h":
    case "help":
      return help(rest, cli);
    default:
      await (await commandNamed(name ?? "status", cli)).parseAsync(rest, { from: "user" });
  }
}

async function help(rest: readonly string[], cli: Cli): Promise<void> {
  const [name, ...subs] = rest.filter((each) => !each.startsWith("-"));
  if (name !== undefined && name !== "help") {
    let command = await commandNamed(name, cli);
    for (const sub of subs) command = await subcommandOf(command, sub);
    command.outputHelp();
    return;
  }
  cli.stdout.write(overview(cli));
}

/** A word after a command that has no commands of its own is an argument: its help says what it takes. */
async function subcommandOf(command: Command, name: string): Promise<Command> {
  const found = command.commands.find((each) => each.name() === name);
  if (found !== undefined || command.commands.length === 0) return found ?? command;
  const { closest } = await import("../wire/suggest.ts");
  const names = command.commands.map((each) => each.name());
  const meant = closest(name, names);
  const path = pathOf(command);
  throw new DeaddropError("usage", `${path} has no command "${name}"`, {
    hint: meant === undefined ? `it has ${names.join(", ")}` : `did you mean \`${path} ${meant}\`?`,
  });
}

async function commandNamed(name: string, cli: Cli): Promise<Command> {
  const entry = COMMANDS.get(name);
  if (entry === undefined) {
    const { closest } = await import("../wire/suggest.ts");
    const meant = closest(name, COMMANDS.keys());
    throw new DeaddropError("usage", `no command "${name}"`, {
      hint:
        meant === undefined ? "`deaddrop help` lists all of them" : `did you mean \`${meant}\`?`,
    });
  }
  return buildCommand(name, await entry.load(), cli);
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
    "Exit codes: 0 fine, 1 refused or wrong usage, 2 configuration, 3 timed out waiting,",
    "4 safe mode, 5 already running, 6 storage, 70 a bug of ours.",
  );
  return `${lines.join("\n")}\n`;
}

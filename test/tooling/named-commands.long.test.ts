import type { Command } from "commander";
import { expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/command-table.ts";
import { buildCommand } from "../../src/cli/command.ts";
import { processCli } from "../../src/cli/context.ts";
import { EXIT_CODES } from "../../src/api/errors.ts";
import { agentDocuments, blocksOf, documents, documentText } from "../support/document-blocks.ts";

const SPECIFICATION = "docs/spec/08-interfaces.md";
/** Of main.ts, and in no table. */
const BARE = ["help", "version"];
const NOT_THERE_YET = "Not implemented yet";
/** A name, or several of which one is to be chosen. */
const NAMES = /^[a-z]+(?:\|[a-z]+)*$/;

interface Named {
  readonly line: number;
  /** What follows `deaddrop`. */
  readonly words: readonly string[];
}

/** Command lines that a document shows: in backticks, or at the beginning of a line of a block. */
function namedIn(markdown: string): Named[] {
  const blocks = blocksOf(markdown).filter(({ language }) => ["sh", "text"].includes(language));
  const inBlocks = new Set(blocks.flatMap(({ text }) => text.split("\n")));
  return markdown.split("\n").flatMap((text, at) => {
    const plain = text.replaceAll("\\|", "|");
    const inCode = [...plain.matchAll(/`deaddrop ([^`]+)`/g)].map(([, rest = ""]) => rest);
    const inBlock = inBlocks.has(text) ? /^\s*deaddrop (.+)$/.exec(plain)?.[1] : undefined;
    return [...inCode, ...(inBlock === undefined ? [] : [inBlock])].map((rest) => ({
      line: at + 1,
      words: rest.split(/\s+(?:[|>&#;]|\d?>).*$/, 1)[0]?.split(/\s+/) ?? [],
    }));
  });
}

/** What of a command line does not exist; undefined when all of it does. */
async function problemOf(words: readonly string[]): Promise<string | undefined> {
  const [names = "", next = ""] = words;
  if (!NAMES.test(names)) return undefined;
  const unknown = names.split("|").find((name) => !COMMANDS.has(name) && !BARE.includes(name));
  if (unknown !== undefined) return `no command ${unknown}`;
  const entry = COMMANDS.get(names.split("|", 1)[0] ?? "");
  if (entry === undefined) return undefined;
  const command = buildCommand(entry.name, await entry.load(), processCli());
  const subs = next.split("|").map((name) => subOf(command, name));
  // One that takes arguments itself may have a word of them there.
  const takesSub = command.commands.length > 0 && command.registeredArguments.length === 0;
  if (takesSub && NAMES.test(next) && subs.includes(undefined)) return `${names} has no ${next}`;
  for (const sub of subs) if (sub !== undefined) subs.push(...sub.commands);
  const flags = words.flatMap((word) => /^--[a-z][a-z0-9-]*/.exec(word)?.[0] ?? []);
  const known = [command, ...subs].flatMap((each) => each?.options.map(({ long }) => long) ?? []);
  const wrong = flags.find((flag) => ![...known, "--help"].includes(flag));
  return wrong === undefined ? undefined : `${names} does not take ${wrong}`;
}

function subOf(command: Command, name: string): Command | undefined {
  return command.commands.find((each) => each.name() === name);
}

/** The text under the heading that a line is under. */
function sectionAt(markdown: string, line: number): string {
  const lines = markdown.split("\n");
  const isHeading = (text: string): boolean => /^#{1,6} /.test(text);
  const begin = lines.slice(0, line).findLastIndex(isHeading);
  const length = lines.slice(begin + 1).findIndex(isHeading);
  return lines.slice(begin, length === -1 ? undefined : begin + 1 + length).join("\n");
}

test.each([...documents(), ...agentDocuments()])(
  "%s names no command and no flag that there is not",
  async (path) => {
    const text = documentText(path);
    const problems: string[] = [];
    for (const { line, words } of namedIn(text)) {
      const problem = await problemOf(words);
      if (problem === undefined || sectionAt(text, line).includes(NOT_THERE_YET)) continue;
      problems.push(`${path}:${line}: ${problem}`);
    }
    expect(problems).toEqual([]);
  },
);

/** Commands that a text calls not implemented, although there are such. */
async function calledMissing(markdown: string): Promise<string[]> {
  const sentences = [...markdown.matchAll(/Not implemented yet:([^]*?)(?:\n\n|$)/g)];
  const named = sentences.flatMap(([, text = ""]) => [
    ...text.matchAll(/`(?:deaddrop )?([^`]+)`/g),
  ]);
  const there: string[] = [];
  for (const [, rest = ""] of named) {
    const words = rest.split(/\s+/).filter((word) => word !== "…");
    const isCommand = COMMANDS.has(words[0] ?? "");
    if (isCommand && (await problemOf(words)) === undefined) there.push(words.join(" "));
  }
  return there;
}

test.each(documents())("%s calls nothing unimplemented that there is", async (path) => {
  expect(await calledMissing(documentText(path))).toEqual([]);
});

test("a command that is called unimplemented, and is there, is noticed", async () => {
  const text =
    "Not implemented yet: `skills …`, `sned`,\n`sent --all`, `deaddrop pending`.\n\n`inbox`";
  expect(await calledMissing(text)).toEqual(["skills", "pending"]);
});

test("a wrong command, subcommand or flag is noticed", async () => {
  const text =
    "# T\n\n`deaddrop sned` `deaddrop trust sos x` and\n```sh\ndeaddrop sent --all | head\n```\n";
  const named = namedIn(text);
  expect(named.map(({ line }) => line)).toEqual([3, 3, 5]);
  expect(await Promise.all(named.map(({ words }) => problemOf(words)))).toEqual([
    "no command sned",
    "trust has no sos",
    "sent does not take --all",
  ]);
  expect(sectionAt("# A\na\n## B\nb\n# C\nc", 4)).toBe("## B\nb");
});

test("the specification and docs/commands.md name every command, and the exit codes of all errors", () => {
  for (const path of [SPECIFICATION, "docs/commands.md"]) {
    const text = documentText(path);
    const missing = [...COMMANDS.keys()].filter((name) => !new RegExp(`\`${name}\\b`).test(text));
    expect([path, missing]).toEqual([path, []]);
  }
  const text = documentText(SPECIFICATION);
  for (const [name, code] of Object.entries(EXIT_CODES)) {
    expect(text).toMatch(new RegExp(`^\\| ${code} .*\`${name}\``, "m"));
  }
});

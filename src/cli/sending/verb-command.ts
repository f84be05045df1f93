import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import { isRecipient, peersOf, recipients } from "../../verbs/naming/recipients.ts";
import type { AnyVerb, Field } from "../../verbs/verb.ts";
import { closest } from "../../wire/suggest.ts";
import { camelCase, repeatable, type CommandDefinition, type Value } from "../command.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { Misordered } from "../read-line.ts";
import { BODY_OPTIONS, readBody, readTextFile } from "../input/body-input.ts";
import { deliver, WAIT_OPTIONS } from "./deliver.ts";

type Values = Record<string, unknown>;
type Spelled = { readonly key: string; readonly field: Field; word?: string; option?: string };

/** The command that says a verb: its words, options and help follow from the verb's fields. Spec 8.6. */
export function verbCommand(verb: AnyVerb): CommandDefinition {
  const { about, examples } = verb;
  const args: Record<string, Value> = {};
  const options: Record<string, Value | string> = {};
  const text = textIn(spelledOf(verb));
  for (const { field, word, option } of spelledOf(verb)) {
    const value = valueOf(field);
    if (word !== undefined) args[word] = word === text ? { ...value, isText: true } : value;
    if (option !== undefined) options[option] = value;
    if (field.isBody === true) Object.assign(options, BODY_OPTIONS);
    Object.assign(options, field.file);
  }
  return {
    ...{ about, args, examples, options: { ...options, ...WAIT_OPTIONS } },
    run: (cli, flags, given) =>
      deliver(cli, flags, async (by) => {
        const words = Object.values(given)
          .flat()
          .filter((word) => word !== undefined);
        const spoken = await argumentsOf(cli, by.client, verb, flags, words as string[]);
        return verb.prepare(by, spoken);
      }),
  };
}

/** `[subject] --subject <text>` is a word, and an option in its place. */
function spelledOf({ fields }: AnyVerb): Spelled[] {
  return Object.entries(fields).map(([key, field]) => {
    const [, word, option] = /^([<[]\S+)? ?(--.+)?$/.exec(field.spelling ?? "") ?? [];
    return {
      key,
      field,
      ...(word === undefined ? {} : { word }),
      ...(option === undefined ? {} : { option }),
    };
  });
}

/** The word that all others belong to: the one text, behind an id. */
function textIn(all: readonly Spelled[]): string | undefined {
  const words = all.filter(({ word }) => word !== undefined);
  return words.some(({ key }) => key === "subject") || words[0]?.word?.startsWith("<") !== true
    ? undefined
    : words.slice(1).at(-1)?.word;
}

function valueOf(field: Field): Value {
  const { about = "", enum: choices, default: unlessGiven } = field;
  if (field.isBody === true) return { about: `${about}; - reads standard input` };
  return {
    ...(field.type === "array" ? repeatable(about) : { about }),
    ...(choices === undefined ? {} : { choices }),
    ...(unlessGiven === undefined ? {} : { default: unlessGiven }),
  };
}

/** What the command line says, by the names of the verb's fields. */
async function argumentsOf(
  cli: Cli,
  client: Client,
  verb: AnyVerb,
  flags: GlobalFlags & Values,
  words: readonly string[],
): Promise<Values> {
  const all = spelledOf(verb);
  const given: Values = {};
  for (const { key, field, option } of all) {
    const value = option === undefined ? undefined : flags[nameOf(option)];
    if (value !== undefined) given[key] = value;
    for (const file of Object.keys(field.file ?? {})) {
      const path = flags[nameOf(file)];
      if (typeof path !== "string") continue;
      if (key in given) throw givenTwice(key, `--${key} and ${file}`);
      given[key] = readTextFile(cli, file, path);
    }
  }
  const spoken = await (verb.words?.(client, words) ?? inOrder(client, all, words, given));
  for (const key of Object.keys(spoken)) {
    if (key in given) throw givenTwice(key, `an argument and as --${key}`);
  }
  const said = { ...given, ...spoken };
  const bodyKey = all.find(({ field }) => field.isBody)?.key;
  if (bodyKey === undefined) return said;
  const text = said[bodyKey] as string | undefined;
  const body = await readBody(cli, flags, text);
  return { ...said, [bodyKey]: body === "" ? undefined : body };
}

/** `--ack-required` is `ackRequired`. */
function nameOf(option: string): string {
  return camelCase(option.replace(/^--/, "").split(" ", 1)[0] ?? "");
}

/**
 * Words go to the fields in their order, past those that an option gives. Where the first is the
 * recipient, a word is it that names an agent of the wire or `all`, or that is one word too many.
 */
async function inOrder(
  client: Client,
  all: readonly Spelled[],
  words: readonly string[],
  given: Values,
): Promise<Values> {
  const spelled = all.filter(({ word }) => word !== undefined);
  const last = spelled.at(-1);
  if (last?.word?.endsWith("...>") === true) return { [last.key]: words };
  const open = spelled.filter(({ key }) => !(key in given));
  const [word, ...rest] = words;
  const isNamed = word !== undefined && (await isRecipient(client, word));
  const isFirst = open[0]?.key === "to" && word !== undefined;
  const isTo = isFirst && (isNamed || words.length === spelled.length);
  if (isFirst && !isNamed) await refuseOrder(client, words);
  if (isFirst && !isTo && rest.length > 0 && closest(word, await peersOf(client)) !== undefined) {
    // Nearly a handle, and the text behind it: it is no subject. This says which one is meant.
    await recipients(client, [word]);
  }
  if ("to" in given && isNamed && rest.length > 0) {
    throw givenTwice("to", "an argument and as --to");
  }
  const texts = isTo ? rest : words;
  const fields = open.filter(({ key }) => key !== "to");
  if (texts.length > fields.length) {
    const twice = spelled.find(({ key }) => key in given)?.key ?? "";
    throw givenTwice(twice, `an argument and as --${twice}`);
  }
  const spoken: Values = isTo ? { to: [word] } : {};
  for (const [index, text] of texts.entries()) spoken[fields[index]?.key ?? ""] = text;
  return spoken;
}

/** Whom it is for comes first: a handle further back is no text. Throws Misordered. */
async function refuseOrder(client: Client, words: readonly string[]): Promise<void> {
  for (const [index, word] of words.entries()) {
    if (index === 0 || !(await isRecipient(client, word))) continue;
    throw new Misordered("whom it is for comes first", [word, ...words.toSpliced(index, 1)]);
  }
}

function givenTwice(key: string, how: string): DeaddropError {
  const what = key === "to" ? "recipient" : key;
  return new DeaddropError("usage", `the ${what} is given twice: as ${how}`, {
    hint: "give it once",
  });
}

import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import type { JsonValue } from "../../wire/json/json.ts";
import { MAX_LINE_BYTES } from "../../wire/limits.ts";
import { neededBody } from "../../verbs/words/opening.ts";
import type { FlagsOf, Options } from "../command.ts";
import type { Cli } from "../context.ts";

export const BODY_OPTIONS = {
  "--body <text>": "the body, in place of the argument",
  "--body-file <file>": "read the body from a file, - is standard input",
  "--body-json": "the body is JSON, not text",
} as const satisfies Options;
type BodyFlags = FlagsOf<typeof BODY_OPTIONS>;

/** A pipe that stays open and silent is no body: do not wait for it forever. */
const STDIN_LIMIT_MS = 10_000;

/**
 * The body: the argument or --body, else --body-file (`-` is standard input in each), else what is piped
 * in. Empty text when there is none. With --body-json its JSON value, every digit kept. Throws
 * DeaddropError for one that is given and says nothing.
 */
export async function readBody(
  cli: Cli,
  flags: BodyFlags,
  argument: string | undefined,
): Promise<JsonValue> {
  const given = [argument, flags.body, flags.bodyFile].filter((each) => each !== undefined);
  if (given.length > 1) {
    throw new DeaddropError("usage", "the body is given twice", {
      hint: "as an argument, with --body or with --body-file: one of them",
    });
  }
  const text = await bodyText(cli, flags, argument ?? flags.body);
  const body = flags.bodyJson === true ? await parseJson(text) : text;
  if (given.length > 0) neededBody(body);
  return isBlank(body) ? "" : body;
}

function isBlank(body: JsonValue): boolean {
  return typeof body === "string" && body.trim() === "";
}

async function bodyText(cli: Cli, flags: BodyFlags, text: string | undefined): Promise<string> {
  const source = text ?? flags.bodyFile;
  if (source !== undefined && source !== "-") {
    return text ?? readTextFile(cli, "--body-file", source);
  }
  if (cli.stdin.isTTY === true && source === undefined) return "";
  return stripLastNewline(await readStdin(cli));
}

/** The text of a file that a flag names. Throws DeaddropError for one that is none, or is too long. */
export function readTextFile(cli: Pick<Cli, "cwd">, flag: string, file: string): string {
  const path = resolve(cli.cwd, file);
  try {
    if (statSync(path).size > MAX_LINE_BYTES) throw tooLarge(path);
    return decode(readFileSync(path), path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new DeaddropError("usage", `${flag} ${path}: no such file`);
  }
}

async function readStdin(cli: Cli): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const input = cli.stdin[Symbol.asyncIterator]();
  for (;;) {
    const next = await withinLimit(input.next());
    if (next.done === true) return decode(Buffer.concat(chunks), "standard input");
    const chunk = typeof next.value === "string" ? Buffer.from(next.value) : next.value;
    size += chunk.length;
    if (size > MAX_LINE_BYTES) throw tooLarge("standard input");
    chunks.push(chunk);
  }
}

async function withinLimit<T>(next: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const hint = "give the body as an argument or with --body-file, or close standard input";
      reject(new DeaddropError("usage", "no body came on standard input", { hint }));
    }, STDIN_LIMIT_MS);
  });
  try {
    return await Promise.race([next, late]);
  } finally {
    clearTimeout(timer);
  }
}

function decode(bytes: Uint8Array, where: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new DeaddropError("usage", `${where}: not UTF-8 text`, { cause });
  }
}

function tooLarge(where: string): DeaddropError {
  return new DeaddropError("usage", `${where}: more than ${MAX_LINE_BYTES} bytes`, {
    hint: "a message carries words, not files: put the file where the peer can read it and --ref it",
  });
}

/** Shells and editors end what they write with a newline that nobody means. */
function stripLastNewline(text: string): string {
  return text.replace(/\r?\n$/, "");
}

async function parseJson(text: string): Promise<JsonValue> {
  const { parseObject } = await import("../../wire/json/json.ts");
  // The strict reader takes objects; a body may be any value.
  const parsed = parseObject(Buffer.from(`{"body":${text}\n}`));
  const keys = parsed.ok ? Object.keys(parsed.value) : [];
  const body = parsed.ok && keys.length === 1 ? parsed.value["body"] : undefined;
  if (body !== undefined) return body;
  throw new DeaddropError(
    "usage",
    `the body is not JSON: ${parsed.ok ? "it holds more than one value" : parsed.detail}`,
    {
      hint: "with --body-json text needs its quotes: '\"hello\"'",
    },
  );
}

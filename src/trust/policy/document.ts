import {
  isJsonArray,
  isJsonObject,
  JsonDouble,
  type JsonObject,
  type JsonValue,
} from "../../wire/json/json.ts";
import { quote } from "../../wire/quote.ts";

/** A file that is all wrong is not described to its end. */
const MAX_PROBLEMS = 64;

/**
 * Reads a JSON document of ours field by field and says in words what is wrong with it: where,
 * what was expected. A field that is absent or wrong reads as `undefined`; a wrong one leaves a
 * line in `problems` too.
 */
export class DocumentReader {
  readonly problems: string[] = [];
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  problem(path: string, words: string): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push(`${this.#file}: ${path} ${words}`);
  }

  object(value: JsonValue | undefined, path: string): JsonObject | undefined {
    if (value === undefined) return undefined;
    if (isJsonObject(value)) return value;
    return this.#wrong(path, value, "an object");
  }

  list(value: JsonValue | undefined, path: string): readonly JsonValue[] | undefined {
    if (value === undefined) return undefined;
    if (isJsonArray(value)) return value;
    return this.#wrong(path, value, "a list");
  }

  text(value: JsonValue | undefined, path: string): string | undefined {
    if (value === undefined || typeof value === "string") return value;
    return this.#wrong(path, value, "a string");
  }

  flag(value: JsonValue | undefined, path: string): boolean | undefined {
    if (value === undefined || typeof value === "boolean") return value;
    return this.#wrong(path, value, "true or false");
  }

  wholeNumber(
    value: JsonValue | undefined,
    path: string,
    from: number,
    to: number,
  ): number | undefined {
    if (value === undefined) return undefined;
    if (typeof value === "number" && value >= from && value <= to) return value;
    return this.#wrong(path, value, `a whole number from ${from} to ${to}`);
  }

  texts(value: JsonValue | undefined, path: string): readonly string[] | undefined {
    const list = this.list(value, path);
    return list?.flatMap((item, at) => this.text(item, `${path}[${at}]`) ?? []);
  }

  #wrong(path: string, value: JsonValue, expected: string): undefined {
    this.problem(path, `is ${shown(value)}; expected ${expected}`);
  }
}

/** A foreign value as it may be shown in a message to a person: quoted, escaped and cut. */
export function shown(value: JsonValue): string {
  if (isJsonArray(value)) return "a list";
  if (isJsonObject(value)) return "an object";
  if (typeof value === "string") return quote(value);
  return String(value instanceof JsonDouble ? value.value : value).slice(0, SHOWN_DIGITS);
}

const SHOWN_DIGITS = 40;

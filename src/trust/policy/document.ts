import {
  isJsonArray,
  isJsonObject,
  JsonDouble,
  parseObject,
  type JsonObject,
  type JsonValue,
} from "../../wire/json/json.ts";
import { quote } from "../../wire/quote.ts";

/** The number of problems of one document that are reported. */
const MAX_PROBLEMS = 64;

/**
 * Reads an object of a JSON document field by field and says in words what is wrong with it: where, what was
 * expected. A field that is absent or wrong reads as `undefined`; a wrong one adds a line to `problems`, which the
 * readers of all objects of the document share. Paths are relative to the object that is read.
 */
export class DocumentReader {
  readonly problems: string[];
  readonly #file: string;
  readonly #fields: JsonObject;
  readonly #path: string;

  constructor(file: string, fields: JsonObject, path = "", problems: string[] = []) {
    this.#file = file;
    this.#fields = fields;
    this.#path = path;
    this.problems = problems;
  }

  /** The path "" is that of the object itself. */
  problem(path: string, words: string): void {
    if (this.problems.length >= MAX_PROBLEMS) return;
    this.problems.push(`${this.#file}: ${this.#absolute(path)} ${words}`);
  }

  /** Reports the value of a field that is present but wrong, or absent. */
  unexpected(name: string, expected: string, value = this.value(name)): undefined {
    this.problem(name, `is ${shown(value ?? null)}; expected ${expected}`);
  }

  get names(): readonly string[] {
    return Object.keys(this.#fields);
  }

  value(name: string): JsonValue | undefined {
    return this.#fields[name];
  }

  text(name: string): string | undefined {
    return this.#text(name, this.value(name));
  }

  /** Null says no more than an absent field. */
  textOrNull(name: string): string | undefined {
    return this.#text(name, this.value(name) ?? undefined);
  }

  texts(name: string): readonly string[] | undefined {
    return this.#list(name)?.flatMap((item, at) => this.#text(`${name}[${at}]`, item) ?? []);
  }

  flag(name: string): boolean | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "boolean") return value;
    return this.unexpected(name, "true or false");
  }

  wholeNumber(name: string, from: number, to: number): number | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && value >= from && value <= to) return value;
    return this.unexpected(name, `a whole number from ${from} to ${to}`);
  }

  /** One of these names; an absent one is wrong, too. */
  oneOf<T extends string>(name: string, names: readonly T[]): T | undefined {
    const found = names.find((each) => each === this.value(name));
    return found ?? this.unexpected(name, names.join(", "));
  }

  object(name: string): DocumentReader | undefined {
    const value = this.value(name);
    return value === undefined ? undefined : this.objectAt(name, value);
  }

  /** The reader of an object that is at that path. */
  objectAt(path: string, value: JsonValue): DocumentReader | undefined {
    if (!isJsonObject(value)) return this.unexpected(path, "an object", value);
    return new DocumentReader(this.#file, value, this.#absolute(path), this.problems);
  }

  /** The first `most` fields of an object. */
  entries(name: string, most: number, unit = "entries"): readonly (readonly [string, JsonValue])[] {
    const object = this.object(name);
    return this.#first(
      name,
      object === undefined ? [] : Object.entries(object.#fields),
      most,
      unit,
    );
  }

  /** The first `most` items of a list. */
  items(name: string, most: number, unit = "entries"): readonly JsonValue[] {
    return this.#first(name, this.#list(name) ?? [], most, unit);
  }

  #first<T>(name: string, all: readonly T[], most: number, unit: string): readonly T[] {
    if (all.length > most)
      this.problem(name, `has ${all.length} ${unit}; at most ${most} are read`);
    return all.slice(0, most);
  }

  #list(name: string): readonly JsonValue[] | undefined {
    const value = this.value(name);
    if (value === undefined || isJsonArray(value)) return value;
    return this.unexpected(name, "a list");
  }

  #text(path: string, value: JsonValue | undefined): string | undefined {
    if (value === undefined || typeof value === "string") return value;
    return this.unexpected(path, "a string", value);
  }

  #absolute(path: string): string {
    return [this.#path, path].filter((part) => part !== "").join(".");
  }
}

/** A reader of the bytes of a document, or why they are no JSON object. */
export function openDocument(
  bytes: Uint8Array,
  file: string,
):
  | { readonly ok: true; readonly reader: DocumentReader }
  | { readonly ok: false; readonly detail: string } {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return { ok: false, detail: `${file}: ${parsed.detail}` };
  return { ok: true, reader: new DocumentReader(file, parsed.value) };
}

/** A foreign value as it may be shown in a message to a person: quoted, escaped and cut. */
export function shown(value: JsonValue): string {
  if (isJsonArray(value)) return "a list";
  if (isJsonObject(value)) return "an object";
  if (typeof value === "string") return quote(value);
  return String(value instanceof JsonDouble ? value.value : value).slice(0, SHOWN_DIGITS);
}

const SHOWN_DIGITS = 40;

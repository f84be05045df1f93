import { DeaddropError } from "../api/errors.ts";
import { fromPlain } from "../wire/json/json.ts";
import { quote } from "../wire/quote.ts";
import { closest } from "../wire/suggest.ts";
import { argumentNamed, valueNamed } from "./other-names.ts";
import type { Field, Fields } from "./verb.ts";

type Given = Readonly<Record<string, unknown>>;

const MAX_PROBLEMS = 5;
/** Of a call that is shown in place of what is wrong. */
const MAX_CALL_CHARACTERS = 2_000;
const YES_AND_NO = new Map<unknown, boolean>([
  [true, true],
  [false, false],
  ["true", true],
  ["false", false],
  ["yes", true],
  ["no", false],
  [1, true],
  [0, false],
]);

/** What a value has to be; the value itself is not that. */
class Expected {
  readonly words: string;

  constructor(words: string) {
    this.words = words;
  }
}

/**
 * The arguments of a call, as its fields have them. Clients and models send the same thing in
 * several forms, so what can only mean one thing is taken: `null` or an empty value for an optional
 * argument, one value for a list, JSON text for a list, text for a number or a boolean, lines
 * for a text, another case of a name. `elsewhere` has the call for a value that this tool does not take.
 * Throws DeaddropError with each field, what came and what is allowed, and the call that was probably meant. Spec 8.1.
 */
export function checkArguments(
  called: string,
  properties: Fields,
  required: readonly string[],
  given: unknown,
  elsewhere: Elsewhere = {},
): Record<string, unknown> {
  const fields = asObject(given ?? {});
  if (fields === undefined) {
    const problem = `the arguments must be an object, and were ${shown(given)}`;
    throw refused(called, [problem], usageOf(called, properties, required));
  }
  const problems: string[] = [];
  const checked: Record<string, unknown> = {};
  // With what was probably meant in the place of what is not taken.
  const better: Record<string, unknown> = {};
  let otherCall: ((args: Given) => string) | undefined;
  for (const [key, value] of Object.entries(fields)) {
    const name = propertyNamed(properties, key);
    const property = name === undefined ? undefined : properties[name];
    if (value === null || value === undefined) continue;
    if (name === undefined || property === undefined) {
      const near = closest(key, Object.keys(properties));
      const meant = near === undefined ? "" : `; did you mean ${near}?`;
      problems.push(`there is no argument ${quote(key)}${meant}`);
      if (near !== undefined) better[near] = value;
      continue;
    }
    if (name in checked) {
      problems.push(`${name} is given twice, as ${quote(key)} too`);
      continue;
    }
    if (isEmpty(value) && !required.includes(name)) continue;
    const taken = convert(property, LISTED.has(name) ? split(value) : value);
    if (taken instanceof Expected) {
      const near = suggestionFor(property, value);
      const instead = near === undefined ? "" : `; did you mean ${near}?`;
      problems.push(`${name} must be ${taken.words}, and was ${shown(value)}${instead}`);
      better[name] = near;
      const other = typeof value === "string" ? value.trim().toLowerCase() : "";
      otherCall ??= elsewhere[other]?.bind(undefined, other);
    } else checked[name] = taken;
  }
  const isRefused = (name: string): boolean => problems.some((each) => each.startsWith(`${name} `));
  for (const name of required) {
    if (!(name in checked) && !isRefused(name)) problems.push(`${name} is missing`);
  }
  if (problems.length === 0) return { ...defaultsOf(properties), ...checked };
  const meant = { ...checked, ...better };
  const isWhole = required.every((name) => meant[name] !== undefined);
  const hint = otherCall?.(checked) ?? (isWhole ? callText(called, meant) : undefined);
  const isShort = hint !== undefined && hint.length <= MAX_CALL_CHARACTERS;
  throw refused(called, problems, isShort ? hint : usageOf(called, properties, required));
}

/** The call that is meant by a value which this one does not take, from its other arguments. */
export type Elsewhere = Readonly<Record<string, (value: string, args: Given) => string>>;

/** A call as a model can repeat it; arguments that are undefined are left out. */
export function callText(tool: string, args: Given): string {
  return `${tool} ${JSON.stringify(args)}`;
}

function refused(called: string, problems: readonly string[], hint: string): DeaddropError {
  const shownProblems = problems.slice(0, MAX_PROBLEMS).join("; ");
  return new DeaddropError("usage", `${called}: ${shownProblems}`, { hint });
}

function usageOf(called: string, properties: Fields, required: readonly string[]): string {
  const names = Object.keys(properties);
  const optional = names.filter((name) => !required.includes(name));
  const parts = [
    ...(required.length === 0 ? [] : [`needs ${required.join(", ")}`]),
    ...(optional.length === 0 ? [] : [`takes ${optional.join(", ")}`]),
  ];
  return `${called} ${parts.length === 0 ? "takes no arguments" : parts.join(", and ")}`;
}

/** Also in the spelling of another language: `replyTo`, `reply-to`. */
function propertyNamed(properties: Fields, key: string): string | undefined {
  const snake = key
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase();
  const names = Object.keys(properties);
  return (
    [key, snake].find((name) => Object.hasOwn(properties, name)) ??
    names.find((name) => properties[name]?.aliases?.includes(snake) === true) ??
    argumentNamed(snake, names)
  );
}

/** Lists whose items have no comma: several may come as one text. */
const LISTED = new Set(["paths", "required", "domains", "ids"]);

function split(value: unknown): unknown {
  const isOne = typeof value === "string" && !value.trim().startsWith("[");
  return isOne ? value.split(/,(?![^{]*\})/).map((part) => part.trim()) : value;
}

function defaultsOf(properties: Fields): Record<string, unknown> {
  const all = Object.entries(properties);
  return Object.fromEntries(
    all.flatMap(([name, { default: value }]) => (value === undefined ? [] : [[name, value]])),
  );
}

function isEmpty(value: unknown): boolean {
  return value === "" || (Array.isArray(value) && value.length === 0);
}

function convert(field: Field, value: unknown): unknown {
  switch (field.type) {
    case "string":
      return field.isBody === true ? bodyOf(value) : convertText(field, value);
    case "integer":
      return convertWhole(value);
    case "boolean": {
      const key = typeof value === "string" ? value.trim().toLowerCase() : value;
      return YES_AND_NO.get(key) ?? new Expected("true or false");
    }
    case "array":
      return convertList(field, value);
  }
}

function convertText({ enum: values }: Field, value: unknown): string | Expected {
  const text = asText(value);
  if (values === undefined) return text ?? new Expected("text");
  return valueNamed(text ?? "", values) ?? new Expected(`one of ${values.join(", ")}`);
}

/** Any JSON value. */
function bodyOf(value: unknown): unknown {
  try {
    return fromPlain(value);
  } catch (error) {
    if (error instanceof TypeError) return new Expected(`a JSON value (${error.message})`);
    throw error;
  }
}

/** A list of texts is their lines; an object is its JSON. */
function asText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (!Array.isArray(value)) return typeof value === "object" ? JSON.stringify(value) : undefined;
  const lines = value.map(asText);
  return lines.includes(undefined) ? undefined : lines.join("\n");
}

function convertWhole(value: unknown): number | Expected {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  const isWhole = typeof number === "number" && Number.isSafeInteger(number) && number >= 0;
  return isWhole ? number : new Expected("a whole number of 0 or more");
}

function convertList({ items }: Field, value: unknown): unknown[] | Expected {
  const list = Array.isArray(value) ? value : (listIn(value) ?? [value]);
  const converted = list
    .filter((item) => item !== null)
    .map((item: unknown) => (items === undefined ? item : convert(items, item)));
  const bad = converted.find((item) => item instanceof Expected);
  return bad === undefined ? converted : new Expected(`a list, each ${bad.words}`);
}

function listIn(value: unknown): unknown[] | undefined {
  const parsed = typeof value === "string" && value.trim().startsWith("[") ? parse(value) : value;
  return Array.isArray(parsed) ? parsed : undefined;
}

function asObject(value: unknown): Given | undefined {
  const parsed = typeof value === "string" ? parse(value) : value;
  const isFields = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
  return isFields ? (parsed as Given) : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function suggestionFor({ enum: values = [] }: Field, value: unknown): string | undefined {
  return typeof value === "string" ? closest(value, values) : undefined;
}

function shown(value: unknown): string {
  return quote(typeof value === "string" ? value : (asJson(value) ?? String(value)));
}

/** Undefined for what JSON has no form for. */
function asJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

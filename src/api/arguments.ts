import { DeaddropError } from "./errors.ts";

/** A client asks for what the operation does not take. */
export function badRequest(problem: string): DeaddropError {
  return new DeaddropError("usage", `bad request: ${problem}`);
}

/**
 * Reads a value from the JSON of a request. `name`: of the field that holds it, for the message of the error.
 *
 * @throws DeaddropError "usage"
 */
export type Parser<T> = (value: unknown, name?: string) => T;

/** Of a field that may be left out. */
export interface OptionalParser<T> extends Parser<T> {
  readonly isOptional: true;
}

type Fields = Readonly<Record<string, Parser<unknown>>>;
type OptionalNames<F extends Fields> = {
  [N in keyof F]: F[N] extends OptionalParser<unknown> ? N : never;
}[keyof F];

/** The object that parsers of its fields read. */
export type Parsed<F extends Fields> = {
  [N in Exclude<keyof F, OptionalNames<F>>]: ReturnType<F[N]>;
} & { [N in OptionalNames<F>]?: ReturnType<F[N]> };

/** An object with these fields; unknown fields are dropped: a newer client may send them. */
export function object<F extends Fields>(fields: F): Parser<Parsed<F>> {
  return (value) => {
    const given = asObject(value);
    const read = Object.entries(fields)
      .filter(([name, parse]) => given[name] !== undefined || !("isOptional" in parse))
      .map(([name, parse]) => [name, parse(given[name], name)]);
    return Object.fromEntries(read) as Parsed<F>;
  };
}

/** A field that may be left out. */
export function optional<T>(parse: Parser<T>): OptionalParser<T> {
  return Object.assign((value: unknown, name?: string) => parse(value, name), {
    isOptional: true as const,
  });
}

/** Arguments that may all be left out, and so may be left out altogether: nothing, or null, is an empty object. */
export function options<F extends Fields>(fields: F): Parser<Parsed<F>> {
  const parse = object(fields);
  return (value) => parse(value ?? {});
}

export function asObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw badRequest("an object was expected");
}

/** A value that passes a check. `words`: what it has to be, for the message of the error. */
export function kind<T>(words: string, is: (value: unknown) => value is T): Parser<T> {
  return (value, name) => {
    if (is(value)) return value;
    throw badRequest(`${name ?? "the value"} must be ${words}`);
  };
}

const isText = (value: unknown): value is string => typeof value === "string";
const isCount = (value: unknown): value is number => Number.isSafeInteger(value);

export function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isText);
}

/** Longer than a sentence for a person is. */
const MAX_SHORT_TEXT = 1_000;

export const text = kind("text", isText);
export const shortText = kind(
  `text of at most ${MAX_SHORT_TEXT} characters`,
  (value): value is string => isText(value) && value.length <= MAX_SHORT_TEXT,
);
export const flag = kind("true or false", (value) => typeof value === "boolean");
export const count = kind(
  "a whole number of at least 1",
  (value): value is number => isCount(value) && value >= 1,
);
export const whole = kind("a whole number of at least 0", isCount);
export const texts = kind("a list of text", isTexts);
/** By name, a line of a log. */
export const lineNumbers = kind(
  "an object of line numbers",
  (value): value is Record<string, number> =>
    typeof value === "object" &&
    value !== null &&
    Object.values(value).every((line) => isCount(line) && line >= 0),
);

export function oneOf<const T extends string>(allowed: readonly T[]): Parser<T> {
  return kind(`one of ${allowed.join(", ")}`, (value): value is T =>
    allowed.some((word) => word === value),
  );
}

export function listOf<T>(parse: Parser<T>): Parser<T[]> {
  return (value, name) => {
    if (Array.isArray(value)) return value.map((each) => parse(each));
    throw badRequest(`${name ?? "the value"} must be a list`);
  };
}

export function nothing(): undefined {
  return undefined;
}

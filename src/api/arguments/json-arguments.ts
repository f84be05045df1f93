import { DeaddropError } from "../errors.ts";

/** What a client asks for is not what the operation takes. */
export function badRequest(problem: string): DeaddropError {
  return new DeaddropError("usage", `bad request: ${problem}`);
}

/** A JSON object whose fields are not checked yet. */
export type Given = Readonly<Record<string, unknown>>;

export function asObject(value: unknown): Given {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Given;
  throw badRequest("an object was expected");
}

/** What a field may hold, and how an error message calls that. */
export interface Kind<T> {
  readonly words: string;
  is(value: unknown): value is T;
}

export const text: Kind<string> = {
  words: "text",
  is: (value) => typeof value === "string",
};

/** Longer than a sentence for a person is. */
const MAX_SHORT_TEXT = 1_000;

export const shortText: Kind<string> = {
  words: `text of at most ${MAX_SHORT_TEXT} characters`,
  is: (value): value is string => text.is(value) && value.length <= MAX_SHORT_TEXT,
};

export const flag: Kind<boolean> = {
  words: "true or false",
  is: (value) => typeof value === "boolean",
};

export const count: Kind<number> = {
  words: "a whole number of at least 1",
  is: (value): value is number => Number.isSafeInteger(value) && Number(value) >= 1,
};

export const texts: Kind<string[]> = {
  words: "a list of text",
  is: (value): value is string[] => Array.isArray(value) && value.every((item) => text.is(item)),
};

export const list: Kind<unknown[]> = {
  words: "a list",
  is: (value): value is unknown[] => Array.isArray(value),
};

/** By name, a line of a log. */
export const lineNumbers: Kind<Record<string, number>> = {
  words: "an object of line numbers",
  is: (value): value is Record<string, number> =>
    typeof value === "object" &&
    value !== null &&
    Object.values(value).every((line) => Number.isSafeInteger(line) && Number(line) >= 0),
};

export function oneOf<const T extends string>(allowed: readonly T[]): Kind<T> {
  return {
    words: `one of ${allowed.join(", ")}`,
    is: (value): value is T => allowed.some((word) => word === value),
  };
}

export function needed<T>(given: Given, name: string, kind: Kind<T>): T {
  const value = given[name];
  if (kind.is(value)) return value;
  throw badRequest(`${name} must be ${kind.words}`);
}

/** An object with that field, or an empty one when it is left out. */
export function optional<Name extends string, T>(
  given: Given,
  name: Name,
  kind: Kind<T>,
): { [N in Name]?: T } {
  if (given[name] === undefined) return {};
  return { [name]: needed(given, name, kind) } as { [N in Name]?: T };
}

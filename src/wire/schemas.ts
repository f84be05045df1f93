// oxlint-disable-next-line no-restricted-imports -- the schemas are constants that ship as files
import { createRequire } from "node:module";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { quote } from "./quote.ts";

export const SCHEMA_NAMES = [
  ...(["message", "config", "tiers", "trust", "decision"] as const),
  // Draft-07, of which they use what both drafts have. Spec 7.3, 7.4.
  ...(["agent-plan", "agent-report", "agent-benchmark"] as const),
] as const;
export type SchemaName = (typeof SCHEMA_NAMES)[number];

// The published files are beside `src` in the repository and beside `dist` in the package.
const load = createRequire(import.meta.url);
const compiled = new Map<SchemaName, ValidateFunction>();
let compiler: Ajv2020 | undefined;

/**
 * Checks plain data (`toPlain`) against `schemas/<name>.json`. The detail names the first fault:
 * where it is and what was expected there, such as `seq is 0; expected an integer from 1`. `path` is
 * the JSON pointer of it.
 */
export function check(
  name: SchemaName,
  value: unknown,
): { ok: true } | { ok: false; detail: string; path: string } {
  const validate = validatorOf(name);
  if (validate(value)) return { ok: true };
  // Of a failed anyOf, ajv names the branches first and the whole last.
  const error = validate.errors?.at(-1);
  if (error === undefined) throw new Error(`${name}.json: refused without an error`);
  return { ok: false, detail: faultText(error), path: error.instancePath };
}

function validatorOf(name: SchemaName): ValidateFunction {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  // The schemas are ours and a test holds them against their own schema: to do it again here would
  // take a quarter of the time in which a command starts.
  compiler ??= new Ajv2020({
    ...{ verbose: true, meta: false, validateSchema: false },
    // Ids of plans may be numbers too.
    allowUnionTypes: true,
  });
  const validate = compiler.compile(load(`../../schemas/${name}.json`) as object);
  compiled.set(name, validate);
  return validate;
}

function faultText(error: ErrorObject): string {
  const place = placeOf(error.instancePath);
  const inside = place === "" ? "" : `${place}.`;
  if (error.keyword === "required") {
    return `${inside}${String(error.params["missingProperty"])} is missing`;
  }
  if (error.keyword === "propertyNames") {
    return `${inside}${quote(String(error.params["propertyName"]))} is not a key that belongs here`;
  }
  const branches = requiredByBranch(error);
  if (branches !== undefined) return `${inside}${branches.join(" or ")} is missing`;
  return `${place === "" ? "the document" : place} is ${shown(error.data)}; expected ${expected(error)}`;
}

/** The keys of which an anyOf wants at least one. */
function requiredByBranch(error: ErrorObject): string[] | undefined {
  if (error.keyword !== "anyOf" || !Array.isArray(error.schema)) return undefined;
  const keys = error.schema.map((branch: { required?: string[] }) => branch.required?.[0]);
  return keys.every((key) => key !== undefined) ? keys : undefined;
}

/** `/roster/1` → `roster[1]`. */
function placeOf(instancePath: string): string {
  let place = "";
  for (const raw of instancePath.split("/").slice(1)) {
    const step = raw.replaceAll("~1", "/").replaceAll("~0", "~");
    if (/^\d+$/.test(step)) place += `[${step}]`;
    else if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(step)) place += place === "" ? step : `.${step}`;
    else place += `[${quote(step)}]`;
  }
  return place;
}

function shown(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

function expected(error: ErrorObject): string {
  const schema = (error.parentSchema ?? {}) as Record<string, unknown>;
  const limit = String(error.params["limit"]);
  switch (error.keyword) {
    case "enum":
      return (error.params["allowedValues"] as unknown[]).join(", ");
    case "const":
      return JSON.stringify(error.params["allowedValue"]);
    case "type":
    case "minimum":
    case "maximum":
      return typeText(schema);
    case "minLength":
      return `at least ${limit}`;
    case "maxLength":
      return `at most ${limit} characters`;
    case "maxItems":
    case "maxProperties":
      return `at most ${limit} entries`;
    default:
      return describe(schema) ?? error.message ?? error.keyword;
  }
}

/** The description in the schema, as it reads within a sentence. */
function describe(schema: Record<string, unknown>): string | undefined {
  const text = schema["description"];
  if (typeof text !== "string") return undefined;
  const firstWord = /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() : text.charAt(0);
  return firstWord + text.slice(1).replace(/\.$/, "");
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "a string",
  boolean: "true or false",
  object: "an object",
  array: "a list",
  null: "null",
};

function typeText(schema: Record<string, unknown>): string {
  const types = [schema["type"]].flat().map(String);
  const from = schema["minimum"] as number | undefined;
  const to = schema["maximum"] as number | undefined;
  const range =
    (from === undefined ? "" : ` from ${from}`) +
    (to === undefined || to === Number.MAX_SAFE_INTEGER ? "" : ` to ${to}`);
  return types.map((type) => TYPE_WORDS[type] ?? `an ${type}${range}`).join(" or ");
}

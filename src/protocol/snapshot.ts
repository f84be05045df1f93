import type { State } from "./state.ts";

/** Any change of what State holds changes this; an older checkpoint is then replayed instead. */
const VERSION = 2;
const MAP = "$map";
const SET = "$set";
const OBJECT = "$object";

/** The state as JSON text. It holds maps, sets, arrays, plain objects, text and finite numbers. */
export function writeSnapshot(state: State): string {
  // Part by part, since all that a text is made of is in memory beside it until it is done.
  const parts = Object.entries(state).map(
    ([name, part]) => `${JSON.stringify(name)}:${JSON.stringify(part, pack)}`,
  );
  return `{"version":${VERSION},"state":{${parts.join(",")}}}`;
}

/** The state in such a text; `undefined` when it is of another version, or damaged: replay then. */
export function readSnapshot(text: string): State | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text, unpack);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (typeof parsed !== "object" || parsed === null) return undefined;
  if (!("version" in parsed) || parsed.version !== VERSION) return undefined;
  return "state" in parsed ? (parsed.state as State) : undefined;
}

function pack(_key: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError(`the state holds ${value}, which JSON cannot say`);
  }
  if (value instanceof Map) return { [MAP]: [...value.entries()] };
  if (value instanceof Set) return { [SET]: [...value.values()] };
  // A peer's word may be a key, e.g. the name of a domain.
  return tagOf(value) === undefined ? value : { [OBJECT]: Object.entries(value as object) };
}

function unpack(_key: string, value: unknown): unknown {
  const tag = tagOf(value);
  if (tag === undefined) return value;
  const items = (value as Record<string, unknown>)[tag];
  if (!Array.isArray(items)) return value;
  if (tag === SET) return new Set(items);
  return tag === MAP ? new Map(items) : Object.fromEntries(items as [string, unknown][]);
}

/** The tag of an object that has one of ours as its only key. */
function tagOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const [key, ...more] = Object.keys(value);
  if (more.length > 0) return undefined;
  return key === MAP || key === SET || key === OBJECT ? key : undefined;
}

import type { State } from "./state.ts";

/**
 * Raise it with any change of what State holds: an older checkpoint is then left aside, and the
 * journal replayed.
 */
const SNAPSHOT_VERSION = 6;
const MAP = "$map";
const SET = "$set";
const OBJECT = "$object";
/** What holds more than this is written after the rest, some of it on each line. */
const FEW = 64;
/** Entries are put on one line until it is as long as this. */
const LINE_CHARACTERS = 64 * 1_024;

/** Something that holds much, and the keys that lead to it. */
interface Large {
  readonly path: readonly Key[];
  readonly holder: Holder;
}
type Key = string | number;
type Holder = Map<unknown, unknown> | Set<unknown> | unknown[];

/**
 * The state as lines of JSON text, each made when it is asked for: a state of many megabytes is never
 * in memory a second time. It holds maps, sets, arrays, plain objects, text and finite numbers.
 */
export function* writeSnapshot(state: State): Generator<string> {
  const larges: Large[] = [];
  const rest = packed(state, { path: [], larges });
  yield JSON.stringify({ version: SNAPSHOT_VERSION, state: rest });
  for (const { path, holder } of larges) {
    let entries: string[] = [];
    let length = 0;
    const line = (): string => `[${JSON.stringify(path)},[${entries.join(",")}]]`;
    for (const entry of holder instanceof Map ? holder.entries() : holder.values()) {
      // As JSON.stringify writes it in a list.
      const text = JSON.stringify(packed(entry)) ?? "null";
      entries.push(text);
      length += text.length;
      if (length < LINE_CHARACTERS) continue;
      yield line();
      entries = [];
      length = 0;
    }
    if (entries.length > 0) yield line();
  }
}

/**
 * The state from such lines; `undefined` when it is of another version, or damaged: then the
 * journal is replayed.
 */
export function readSnapshot(lines: Iterable<string>): State | undefined {
  let state: State | undefined;
  for (const line of lines) {
    const parsed = parsedLine(line);
    if (parsed === undefined) return undefined;
    if (state !== undefined) {
      if (!fill(state, parsed)) return undefined;
      continue;
    }
    if (typeof parsed !== "object" || parsed === null) return undefined;
    if (!("version" in parsed) || parsed.version !== SNAPSHOT_VERSION) return undefined;
    if (!("state" in parsed)) return undefined;
    state = parsed.state as State;
  }
  return state;
}

function parsedLine(line: string): unknown {
  try {
    return unpacked(JSON.parse(line));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Puts the entries of one line where they belong. */
function fill(state: State, line: unknown): boolean {
  if (!Array.isArray(line) || line.length !== 2) return false;
  const [path, entries] = line as unknown[];
  if (!Array.isArray(path) || !Array.isArray(entries)) return false;
  const holder = (path as Key[]).reduce<unknown>(at, state);
  if (holder instanceof Map) for (const [key, value] of entries) holder.set(key, value);
  else if (holder instanceof Set) for (const value of entries) holder.add(value);
  else if (Array.isArray(holder)) for (const value of entries) holder.push(value);
  else return false;
  return true;
}

function at(holder: unknown, key: Key): unknown {
  if (holder instanceof Map) return holder.get(key);
  if (typeof holder !== "object" || holder === null) return undefined;
  return (holder as Record<Key, unknown>)[key];
}

/** A value as JSON can say it. With `aside` what holds much is left empty, and noted there. */
function packed(value: unknown, aside?: { path: readonly Key[]; larges: Large[] }): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError(`the state holds ${value}, which JSON cannot say`);
  }
  if (typeof value !== "object" || value === null) return value;
  const under = (key: unknown) =>
    aside === undefined ? undefined : { ...aside, path: [...aside.path, key as Key] };
  const items = itemsOf(value);
  if (items !== undefined && aside !== undefined && items.length > FEW) {
    aside.larges.push({ path: aside.path, holder: value as Holder });
    items.length = 0;
  }
  if (value instanceof Map) {
    const entries = items as [unknown, unknown][];
    return { [MAP]: entries.map(([key, item]) => [packed(key), packed(item, under(key))]) };
  }
  if (value instanceof Set) return { [SET]: (items ?? []).map((item) => packed(item)) };
  if (items !== undefined) return items.map((item, index) => packed(item, under(index)));
  const fields = Object.entries(value).map(([key, item]) => [key, packed(item, under(key))]);
  // A peer may have chosen a key, e.g. the name of a domain.
  return tagOf(value) === undefined ? Object.fromEntries(fields) : { [OBJECT]: fields };
}

function itemsOf(value: object): unknown[] | undefined {
  if (value instanceof Map) return [...(value as Map<unknown, unknown>)];
  if (value instanceof Set) return [...(value as Set<unknown>)];
  return Array.isArray(value) ? [...(value as unknown[])] : undefined;
}

/** Takes what `JSON.parse` has made, and makes of it what was packed. */
function unpacked(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) value[index] = unpacked(item);
    return value;
  }
  const tag = tagOf(value);
  const items = tag === undefined ? undefined : (value as Record<string, unknown>)[tag];
  if (!Array.isArray(items)) {
    const fields = value as Record<string, unknown>;
    for (const key of Object.keys(fields)) fields[key] = unpacked(fields[key]);
    return value;
  }
  unpacked(items);
  if (tag === SET) return new Set(items);
  return tag === MAP ? new Map(items) : Object.fromEntries(items as [string, unknown][]);
}

/** The tag of an object that has one of ours as its only key. */
function tagOf(value: object): string | undefined {
  const [key, ...more] = Object.keys(value);
  if (more.length > 0) return undefined;
  return key === MAP || key === SET || key === OBJECT ? key : undefined;
}

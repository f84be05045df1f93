import { decidingIn } from "./decisions/proposal-thread.ts";
import { IdColumn } from "./logs/id-column.ts";
import type { State } from "./state.ts";

/**
 * Raise it with any change of what State holds: an older checkpoint is then left aside, and the
 * journal replayed.
 */
const SNAPSHOT_VERSION = 24;
const MAP = "$map";
const SET = "$set";
const OBJECT = "$object";
const IDS = "$ids";
const TAGS: readonly string[] = [MAP, SET, OBJECT, IDS];
/** What holds more than this is written after the rest, some of it on each line. */
const FEW = 64;
const ID_CHARACTERS = 64;
/** Entries are put on one line until it is as long as this. */
const LINE_CHARACTERS = 64 * 1_024;

/** Something that holds much, and the keys that lead to it. */
interface Large {
  readonly path: readonly Key[];
  readonly holder: Holder;
}
type Key = string | number;
/** The same, key by key. */
interface Place {
  readonly key: Key;
  readonly up: Place | undefined;
}
/** What holds much, as it is found, and the place that is looked at; undefined at the top. */
interface Aside {
  readonly larges: Large[];
  readonly at: Place | undefined;
}
/** Ids that were read: one is in many places of the state, and all share one text. */
type Ids = Map<string, string>;
type Holder = Map<unknown, unknown> | Set<unknown> | unknown[] | IdColumn;

/**
 * The state as lines of JSON text, each made when it is asked for: a state of many megabytes is never
 * in memory a second time. It holds maps, sets, arrays, columns of ids, plain objects, text
 * and finite numbers.
 */
export function* writeSnapshot(state: State): Generator<string> {
  const larges: Large[] = [];
  const rest = packed(withoutIndexes(state), { larges, at: undefined });
  yield JSON.stringify({ version: SNAPSHOT_VERSION, state: rest });
  for (const { path, holder } of larges) {
    let entries: string[] = [];
    let length = 0;
    const line = (): string => `[${JSON.stringify(path)},[${entries.join(",")}]]`;
    for (const entry of entriesOf(holder)) {
      const text = textOf(entry);
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
  try {
    const state = stateFrom(lines);
    return state === undefined || !hasTopics(state) ? undefined : withIndexes(state);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function stateFrom(lines: Iterable<string>): State | undefined {
  let state: State | undefined;
  const ids: Ids = new Map();
  for (const line of lines) {
    const parsed: unknown = JSON.parse(line);
    if (state !== undefined) {
      if (!fill(state, parsed, ids)) return undefined;
      continue;
    }
    if (typeof parsed !== "object" || parsed === null) return undefined;
    if (!("version" in parsed) || parsed.version !== SNAPSHOT_VERSION) return undefined;
    if (!("state" in parsed)) return undefined;
    state = unpacked(parsed.state, ids) as State;
  }
  return state;
}

function hasTopics(state: unknown): boolean {
  return at(at(state, "proposals"), "topics") instanceof Map;
}

/** As JSON.stringify writes it in a list. Many columns are of whole numbers. */
function textOf(entry: unknown): string {
  if (Number.isSafeInteger(entry)) return String(entry);
  return JSON.stringify(packed(entry)) ?? "null";
}

/** What follows from the rest is made when it is read. */
function withoutIndexes(state: State): State {
  const { names } = state.proposals;
  return withNames(state, { ...names, deciding: new Map(), threads: new Set() });
}

function withIndexes(state: State): State {
  const { names, topics } = state.proposals;
  const all = [...topics.values()];
  const threads = new Set(all.map(({ number }) => number));
  return withNames(state, { ...names, deciding: decidingIn(all), threads });
}

function withNames(state: State, names: State["proposals"]["names"]): State {
  return { ...state, proposals: { ...state.proposals, names } };
}

/** Puts the entries of one line where they belong. */
function fill(state: State, line: unknown, ids: Ids): boolean {
  if (!Array.isArray(line) || line.length !== 2) return false;
  const [path, packedEntries] = line as unknown[];
  if (!Array.isArray(path) || !Array.isArray(packedEntries)) return false;
  const holder = (path as Key[]).reduce<unknown>(at, state);
  if (holder instanceof IdColumn) return packedEntries.every((piece) => holder.pushPiece(piece));
  const entries = unpacked(packedEntries, ids) as unknown[];
  if (holder instanceof Map) {
    if (!arePairs(entries)) return false;
    for (const [key, value] of entries) holder.set(key, value);
  } else if (holder instanceof Set) for (const value of entries) holder.add(value);
  else if (Array.isArray(holder)) for (const value of entries) holder.push(value);
  else return false;
  return true;
}

function at(holder: unknown, key: Key): unknown {
  if (holder instanceof Map) return holder.get(key);
  if (typeof holder !== "object" || holder === null) return undefined;
  return (holder as Record<Key, unknown>)[key];
}

/**
 * A value as JSON can say it; what JSON can say as it is comes back itself, not a copy. With `aside`
 * what holds much is left empty, and noted there.
 */
function packed(value: unknown, aside?: Aside): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError(`the state holds ${value}, which JSON cannot say`);
  }
  if (typeof value !== "object" || value === null) return value;
  if (isHolder(value)) return packedHolder(value, aside);
  let copy: Map<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    const text = packed(item, under(aside, key, item));
    if (text === item) continue;
    copy ??= new Map(Object.entries(value));
    copy.set(key, text);
  }
  // A peer may have chosen a key, e.g. the name of a domain.
  if (tagOf(value) !== undefined) return { [OBJECT]: [...(copy ?? Object.entries(value))] };
  return copy === undefined ? value : Object.fromEntries(copy);
}

function isHolder(value: object): value is Holder {
  if (value instanceof Map || value instanceof Set) return true;
  return Array.isArray(value) || value instanceof IdColumn;
}

function packedHolder(holder: Holder, aside: Aside | undefined): unknown {
  const isLarge = ("length" in holder ? holder.length : holder.size) > FEW;
  if (isLarge) aside?.larges.push({ path: pathOf(aside.at), holder });
  const items: Holder = isLarge && aside !== undefined ? [] : holder;
  if (holder instanceof Map) {
    const entries: [unknown, unknown][] = [];
    for (const [key, item] of items as Iterable<[unknown, unknown]>) {
      entries.push([packed(key), packed(item, under(aside, key, item))]);
    }
    return { [MAP]: entries };
  }
  if (holder instanceof IdColumn) return { [IDS]: [...entriesOf(items)] };
  if (holder instanceof Set)
    return { [SET]: Array.from(items as Set<unknown>, (item) => packed(item)) };
  return Array.from(items as unknown[], (item, at) => packed(item, under(aside, at, item)));
}

/** What is written of it, one after the other. */
function entriesOf(holder: Holder): Iterable<unknown> {
  return holder instanceof IdColumn ? holder.pieces() : holder;
}

/** Where an item is, if it can hold much itself. */
function under(aside: Aside | undefined, key: unknown, item: unknown): Aside | undefined {
  if (aside === undefined || typeof item !== "object") return undefined;
  return { larges: aside.larges, at: { key: key as Key, up: aside.at } };
}

function pathOf(place: Place | undefined): Key[] {
  const path: Key[] = [];
  for (let each = place; each !== undefined; each = each.up) path.unshift(each.key);
  return path;
}

/** Takes what `JSON.parse` has made, and makes of it what was packed. */
function unpacked(value: unknown, ids: Ids): unknown {
  if (typeof value === "string") return sharedId(value, ids);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) {
      const item: unknown = value[at];
      if (typeof item !== "number") value[at] = unpacked(item, ids);
    }
    return value;
  }
  const tag = tagOf(value);
  const items = tag === undefined ? undefined : (value as Record<string, unknown>)[tag];
  if (!Array.isArray(items)) {
    const fields = value as Record<string, unknown>;
    for (const key of Object.keys(fields)) fields[key] = unpacked(fields[key], ids);
    return value;
  }
  if (tag === IDS) {
    const column = new IdColumn();
    if (items.every((piece) => column.pushPiece(piece))) return column;
    throw new SyntaxError("a column of ids holds something else");
  }
  unpacked(items, ids);
  if (tag === SET) return new Set(items);
  if (!arePairs(items)) throw new SyntaxError(`what ${tag} holds has no keys`);
  return tag === MAP ? new Map(items) : Object.fromEntries(items);
}

function arePairs(items: readonly unknown[]): items is [unknown, unknown][] {
  return items.every((item) => Array.isArray(item) && item.length === 2);
}

function sharedId(text: string, ids: Ids): string {
  if (text.length !== ID_CHARACTERS) return text;
  const known = ids.get(text);
  if (known === undefined) ids.set(text, text);
  return known ?? text;
}

/** The tag of an object that has one of ours as its only key. */
function tagOf(value: object): string | undefined {
  if (!TAGS.some((tag) => tag in value)) return undefined;
  const [key = "", ...more] = Object.keys(value);
  return more.length === 0 && TAGS.includes(key) ? key : undefined;
}

import { isHandle } from "./handle.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "./json/json.ts";

/**
 * Where a line stands: its author, its number in the author's chain (null for a line that is in none), and
 * its id (64 lower-case hexadecimal digits). Two places are the same when all three are.
 */
export interface Place {
  readonly author: string;
  readonly seq: number | null;
  readonly id: string;
}

/** A place in a chain. */
export interface ChainPlace extends Place {
  readonly seq: number;
}

/** Names a line; `seq` is null for one that is in no chain. Spec 1.6. */
export type PlaceJson = readonly [author: string, seq: number | null, id: string];

const ID = /^[0-9a-f]{64}$/u;
/** Of a list of places in one field, so many are read. */
const MOST_NAMED = 512;
/** Fields that hold one place, and what a line does with that. */
const PLACE_FIELDS = {
  acks: "answers",
  about: "about",
  counters: "counters",
  decides: "closes",
  corrects: "knows",
  resolves: "resolves",
  escalates: "escalates",
  after: "knows",
} as const;
/** The same of lists of places. */
const LIST_FIELDS = { leaves: "knows", ends: "knows", resumes: "resumes" } as const;

export function placeJson({ author, seq, id }: Place): PlaceJson {
  return [author, seq, id];
}

/** A text that is the same for the same place alone. */
export function placeKey({ author, seq, id }: Place): string {
  return `${author} ${seq ?? "-"} ${id}`;
}

export function isSamePlace(one: Place, other: Place): boolean {
  return one.id === other.id && one.seq === other.seq && one.author === other.author;
}

/** Anything that has not exactly the form of a place names nothing. */
export function readPlace(value: JsonValue | undefined): Place | undefined {
  if (!isJsonArray(value) || value.length !== 3) return undefined;
  const [author, seq, id] = value;
  return placeOf(author, seq, id);
}

/** A place of a chain, put together from what stands at different places of a body. */
export function placeOf(
  author: JsonValue | undefined,
  seq: JsonValue | undefined,
  id: JsonValue | undefined,
): Place | undefined {
  if (typeof author !== "string" || !isHandle(author)) return undefined;
  if (typeof id !== "string" || !ID.test(id)) return undefined;
  if (seq === null) return { author, seq, id };
  return isSeq(seq) ? { author, seq, id } : undefined;
}

export function isChained(place: Place): place is ChainPlace {
  return place.seq !== null;
}

/** What a line that names a place does with it: most only show that its author knows it. */
export type Naming =
  | "closes"
  | "refuses"
  | "answers"
  | "counters"
  | "about"
  | "escalates"
  | "resolves"
  | "resumes"
  | "knows";

/** Lines of other types that name a place so only know it. */
const NAMING_TYPES: Readonly<Partial<Record<Naming, readonly string[]>>> = {
  closes: ["correction"],
  refuses: ["heartbeat"],
  answers: ["ack"],
  counters: ["proposal"],
  about: ["ack"],
  escalates: ["incident"],
  resolves: ["incident"],
  resumes: ["incident"],
};

/** What a line of a type does with a place that its body names so. */
export function namingBy(type: string, naming: Naming): Naming {
  return NAMING_TYPES[naming]?.includes(type) === false ? "knows" : naming;
}

export interface NamedPlace {
  readonly place: Place;
  readonly naming: Naming;
  /** Of a head: up to which number its author's mail is read. */
  readonly read?: number;
}

/** Each place that a chained line's body names, as often as it names it. Spec 1.6. */
export function placesNamed(body: JsonValue): NamedPlace[] {
  if (!isJsonObject(body)) return [];
  const refused = entries(own(body, "refused")).map(refusedPlace);
  return [
    ...Object.entries(PLACE_FIELDS).flatMap(([name, naming]) =>
      named([readPlace(own(body, name))], naming),
    ),
    ...Object.entries(LIST_FIELDS).flatMap(([name, naming]) =>
      named(entries(own(body, name)).map(readPlace), naming),
    ),
    ...inAnswers(own(body, "answers")),
    ...named(inBeats(own(body, "of"), own(body, "beats")), "knows"),
    ...named(refused, "refuses"),
    ...headsNamed(own(body, "heads")),
  ];
}

function named(places: readonly (Place | undefined)[], naming: Naming): NamedPlace[] {
  return places.filter((place) => place !== undefined).map((place) => ({ place, naming }));
}

function inAnswers(value: JsonValue | undefined): NamedPlace[] {
  const one = readPlace(value);
  if (one !== undefined) return named([one], "answers");
  return entries(value).flatMap((entry) => {
    if (!isJsonObject(entry)) return [];
    const by = own(entry, "by");
    return named([pairPlace(by, own(entry, "ack")), pairPlace(by, own(entry, "at"))], "knows");
  });
}

function inBeats(of: JsonValue | undefined, beats: JsonValue | undefined): (Place | undefined)[] {
  return entries(beats).map((beat) => pairPlace(of, beat));
}

/** How far a beat's author holds the chains of others, and has read them. Spec 3.2.2. */
function headsNamed(value: JsonValue | undefined): NamedPlace[] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value)
    .slice(0, MOST_NAMED)
    .flatMap(([author, head]) => {
      if (!isJsonArray(head) || head.length !== 3) return [];
      const place = placeOf(author, head[0], head[1]);
      const [, , read] = head;
      if (place?.seq === undefined || place.seq === null)
        return place === undefined ? [] : [{ place, naming: "knows" as const }];
      const isCount = typeof read === "number" && Number.isSafeInteger(read) && read >= 0;
      return [{ place, naming: "knows" as const, read: isCount ? Math.min(read, place.seq) : 0 }];
    });
}

/** Lines of another author that a beat's author has refused. Spec 3.2.3. */
export interface RefusedLines {
  readonly first: number;
  /** They are the lines up to this one, on its branch. */
  readonly last: ChainPlace;
  readonly reason: string;
}

/** Of a beat's refusals, so many are read. */
const MOST_REFUSED = 32;

/** The refusals that a beat's body names. */
export function readRefused(body: JsonValue): RefusedLines[] {
  const refused = isJsonObject(body) ? own(body, "refused") : undefined;
  return entries(refused)
    .slice(0, MOST_REFUSED)
    .flatMap((item) => {
      const last = refusedPlace(item);
      if (!isJsonArray(item) || last === undefined || !isChained(last)) return [];
      const [, first, , , reason] = item;
      if (!isSeq(first) || first > last.seq || typeof reason !== "string") return [];
      return [{ first, last, reason }];
    });
}

function refusedPlace(value: JsonValue): Place | undefined {
  if (!isJsonArray(value) || value.length !== 5) return undefined;
  const [author, , last, id] = value;
  return placeOf(author, last, id);
}

/** `[seq, id]` of an author. */
export function pairPlace(
  author: JsonValue | undefined,
  pair: JsonValue | undefined,
): Place | undefined {
  if (!isJsonArray(pair) || pair.length !== 2) return undefined;
  return placeOf(author, pair[0], pair[1]);
}

function entries(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonArray(value) ? value.slice(0, MOST_NAMED) : [];
}

function own(body: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(body, name) ? body[name] : undefined;
}

function isSeq(value: JsonValue | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
}

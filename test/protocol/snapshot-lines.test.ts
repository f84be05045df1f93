import { describe, expect, test } from "vitest";
import { eventId } from "../support/scripts/event-id.ts";
import { IdColumn } from "../../src/protocol/logs/id-column.ts";
import { readSnapshot, writeSnapshot } from "../../src/protocol/snapshot.ts";
import { emptyState } from "../../src/protocol/state.ts";

/** A state that holds this too. */
const holding = (extra: unknown) => ({ ...emptyState(), extra });
const linesOf = (extra: unknown): string[] => [...writeSnapshot(holding(extra))];
const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
const mapOf = <Value>(count: number, value: (at: number) => Value): Map<string, Value> =>
  new Map(numbers(count).map((at) => [`k${at}`, value(at)]));

/** A line as it is parsed: where its entries belong, and these. */
function partOf(line: string | undefined): { path: unknown; entries: unknown[] } {
  const parsed: unknown = JSON.parse(line ?? "");
  if (!Array.isArray(parsed)) throw new Error("no list");
  const [path, entries]: unknown[] = parsed;
  return { path, entries: Array.isArray(entries) ? entries : [] };
}

/** The first line of a snapshot, as others could have written it. */
function head(change: (head: Record<string, unknown>) => unknown): string {
  const parsed: unknown = JSON.parse(linesOf("x")[0] ?? "");
  return JSON.stringify(change({ ...(typeof parsed === "object" ? parsed : {}) }));
}

const withExtra = (all: Record<string, unknown>, extra: unknown) => ({
  ...all,
  state: { ...(all["state"] as object), extra },
});

describe("a snapshot gives back", () => {
  test.each([
    ["nothing at all", { none: null, list: [], map: new Map(), set: new Set(), object: {} }],
    ["numbers, texts and what is true", [0, -1.5, 2 ** 53, "", "text", true, false, null]],
    ["a map of sets of lists", new Map([["a", new Set([["x", 1]])]])],
    ["a map whose keys are lists", new Map([[["a", 1], 2]])],
    ["an object in a list in an object", { a: [{ b: new Map([["c", { d: new Set([1]) }]]) }] }],
    ["fields beside a map", { before: 1, map: new Map([["a", 1]]), after: "x" }],
    ["lists in an object with a map", { lists: [[1], [2]], map: new Map() }],
    ["an object with the name of a map", { $map: [["a", 1]] }],
    ["an object with the name of a set", { $set: [1] }],
    ["an object with the name of an object", { $object: [["a", 1]] }],
    ["such a name beside another", { $map: [["a", 1]], b: 2 }],
    ["a list with the name undefined", { undefined: [["a", 1]] }],
    ["two such names", { $set: [1], $object: [] }],
    ["such a name with no list", { $map: 5 }],
    ["such a name with a map", { $map: new Map([["a", 1]]) }],
    ["such a name with an object", { $object: { $set: { x: new Set([1]) } } }],
    ["such a name within the object of one", { $object: [["$map", { $map: [] }]] }],
    ["a column of ids", IdColumn.of(["f".repeat(64), "0a".repeat(32), "f".repeat(64)])],
    ["an object with the name of a column of ids", { $ids: [1] }],
    ["an id in several places", ["f".repeat(64), "f".repeat(64), "e".repeat(64), "f".repeat(63)]],
  ])("%s", (_what, extra) => {
    expect(readSnapshot(linesOf(extra))).toEqual(holding(extra));
  });

  test.each([
    ["a map", mapOf(65, (at) => at)],
    ["a map of maps", mapOf(65, (at) => new Map([["a", at]]))],
    ["a set", new Set(numbers(65))],
    ["a set of lists", new Set(numbers(65).map((at) => [at, new Set([at])]))],
    ["a list", numbers(65)],
    ["a column of ids", IdColumn.of(numbers(65).map((at) => eventId(`${at}`)))],
    ["a list of objects", numbers(65).map((at) => ({ at, map: new Map([["a", at]]) }))],
    ["a list in a map", new Map([["a", numbers(65)]])],
    ["a set in a list", [1, "x", null, new Set(numbers(65))]],
    ["a map in an object in a list", [{ before: 1 }, { map: mapOf(65, (at) => at), after: 2 }]],
    ["a map whose keys are numbers", new Map([[7, mapOf(65, (at) => at)]])],
    ["a large list in a large map", mapOf(65, (at) => (at === 3 ? numbers(70) : at))],
  ])("%s that holds much", (_what, extra) => {
    expect(readSnapshot(linesOf(extra))).toEqual(holding(extra));
  });
});

test("what holds no more than 64 is on the first line", () => {
  expect(linesOf([mapOf(64, (at) => at), new Set(numbers(64)), numbers(64)])).toHaveLength(1);
});

test.each([
  ["map", mapOf(65, (at) => at), '{"$map":[]}', ["k0", 0]],
  ["set", new Set(numbers(65)), '{"$set":[]}', 0],
  ["list", numbers(65), "[]", 0],
])("a %s of more than 64 is empty on the first line and follows it", (_what, many, empty, one) => {
  const [first = "", ...rest] = linesOf({ at: [many] });
  expect(first).toContain(`"extra":{"at":[${empty}]}`);
  expect(rest).toHaveLength(1);
  const { path, entries } = partOf(rest[0]);
  expect(path).toEqual(["extra", "at", 0]);
  expect(entries).toHaveLength(65);
  expect(entries[0]).toEqual(one);
});

test("an object with the name of a map among others is written as it is", () => {
  expect(linesOf({ $map: [1], b: 2 })[0]).toContain('"extra":{"$map":[1],"b":2}');
});

test("what is undefined in a list is null, as in JSON, however long the list is", () => {
  for (const count of [3, 65]) {
    const list = [undefined, ...numbers(count)];
    expect(readSnapshot(linesOf(list))).toEqual(holding([null, ...numbers(count)]));
  }
});

test("what holds much within what holds much is written in its entry", () => {
  const [, ...rest] = linesOf(mapOf(65, () => numbers(70)));
  expect(rest).toHaveLength(1);
  expect(partOf(rest[0]).entries[64]).toEqual(["k64", numbers(70)]);
});

test("entries are put on one line until it is 64 KiB long", () => {
  const texts = (count: number, length: number) =>
    numbers(count).map((at) => String(at).padEnd(length - 2, "x"));
  const counts = (list: string[]) =>
    linesOf(list)
      .slice(1)
      .map((line) => partOf(line).entries.length);
  // In quotes each text has 1,024 characters: 64 of them are 64 KiB.
  expect(counts(texts(128, 1_024))).toEqual([64, 64]);
  expect(counts(texts(130, 1_024))).toEqual([64, 64, 2]);
  expect(counts(texts(130, 1_023))).toEqual([65, 65]);
  const long = texts(200, 1_000);
  expect(readSnapshot(linesOf(long))).toEqual(holding(long));
});

test("a state is the same after it was written", () => {
  const extra = () => ({ many: mapOf(65, (at) => at), object: { $map: 1, few: new Set([1]) } });
  const state = holding(extra());
  state.proposals.names.deciding.set("a_to_b", new Map());
  expect([...writeSnapshot(state)]).toHaveLength(2);
  expect(state.proposals.names.deciding.size).toBe(1);
  expect(state.extra).toStrictEqual(extra());
});

test.each([
  ["an infinite number", Infinity],
  ["no number", Number.NaN],
])("%s is no state", (_what, value) => {
  expect(() => linesOf([value])).toThrow(
    new TypeError(`the state holds ${value}, which JSON cannot say`),
  );
});

describe("a damaged snapshot is left aside:", () => {
  test("one without any line", () => {
    expect(readSnapshot([])).toBeUndefined();
  });

  test.each([
    ["no JSON", "{"],
    ["null", "null"],
    ["a number", "7"],
    ["a text", '"version"'],
    ["a list", "[]"],
    ["no version", head(({ state }) => ({ state }))],
    ["another version", head(({ version, state }) => ({ version: Number(version) - 1, state }))],
    ["the version as a text", head(({ version, state }) => ({ version: String(version), state }))],
    ["no state", head(({ version }) => ({ version }))],
    ["a state that is none", head(({ version }) => ({ version, state: null }))],
    ["a state without proposals", head(({ version }) => ({ version, state: {} }))],
    ["a map whose entries are no pairs", head((all) => withExtra(all, { $map: [5] }))],
    ["a map with a key alone", head((all) => withExtra(all, { $map: [["a"]] }))],
    ["an object without keys", head((all) => withExtra(all, { $object: ["ab"] }))],
    ["a column of ids that are none", head((all) => withExtra(all, { $ids: ["ab"] }))],
  ])("one whose first line is %s", (_what, line) => {
    expect(readSnapshot([line])).toBeUndefined();
    expect(readSnapshot([line, ...linesOf("x")])).toBeUndefined();
  });

  test("one with a later line for a place in what is null", () => {
    expect(readSnapshot([...linesOf(null), '[["extra","x"],[]]'])).toBeUndefined();
  });

  test.each([
    ["no JSON", '[["logs"],'],
    ["null", "null"],
    ["an object", '{"length":2}'],
    ["an empty list", "[]"],
    ["a place without entries", '[["logs"]]'],
    ["a list of three", '[["logs"],[],[]]'],
    ["a place that is no list", '["logs",[]]'],
    ["entries that are no list", '[["logs"],{}]'],
    ["for a place that does not exist", '[["logs","a_to_b","beats"],[]]'],
    ["for a part that does not exist", '[["nothing","there"],[]]'],
    ["for a place in a text", '[["extra","length"],[]]'],
    ["for an object", '[["tally"],[]]'],
    ["entries of a map that are no pairs", '[["logs"],["ab"]]'],
    ["a key of a map without its value", '[["logs"],[["a"]]]'],
  ])("one with a later line that is %s", (_what, line) => {
    const lines = linesOf("some text");
    expect(readSnapshot([...lines, line])).toBeUndefined();
    expect(readSnapshot([...lines, '[["logs"],[]]'])).toBeDefined();
  });
});

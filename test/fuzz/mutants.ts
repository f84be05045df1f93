import { MAX_LINE_BYTES } from "../../src/wire/limits.ts";
import { slowCanonical, type Tree } from "../wire/json/slow-json.ts";
import { utf8 } from "../wire/vector-files.ts";
import { CORPUS, FREQUENT, type Seed } from "./corpus.ts";
import { mutateBytes } from "./mutate-bytes.ts";
import { signedTree } from "./mutate-signature.ts";
import { mutateTree, spelled } from "./mutate-tree.ts";
import { pickerFrom, type Picker } from "./picker.ts";
import { SITUATIONS, type Situation } from "./situations.ts";
import { member, slowRead } from "./slow-reader.ts";

/** One line to be judged, and where. Follows from seed and number alone. */
export interface Mutant {
  readonly line: Uint8Array;
  readonly situation: Situation;
  readonly origin: string;
}

const trees = new Map<Seed, Tree | undefined>();

function treeOf(seed: Seed): Tree | undefined {
  if (!trees.has(seed)) trees.set(seed, slowRead(seed.line));
  return trees.get(seed);
}

/** One line in so many is blown up. */
const HUGE_EVERY = 2_500;

export function mutant(seed: number, number: number): Mutant {
  const pick = pickerFrom(Math.imul(seed, 0x9e3779b1) + Math.imul(number, 0x85ebca6b));
  const origin = pick.one(pick.once(2) ? FREQUENT : CORPUS);
  const situation = pick.one(SITUATIONS);
  return { line: lineFrom(origin, pick), situation, origin: origin.name };
}

function lineFrom(seed: Seed, pick: Picker): Uint8Array {
  const tree = treeOf(seed);
  if (pick.once(HUGE_EVERY)) return huge(tree, pick);
  const kind = pick.below(20);
  if (kind < 5 || tree === undefined) return mutateBytes(seed.line, pick.one(CORPUS).line, pick);
  const changed = mutateTree(tree, pick);
  const signed = kind < 18 ? signedTree(changed, pick) : changed;
  const line = utf8(spelled(signed, pick));
  return pick.once(10) ? mutateBytes(line, seed.line, pick) : line;
}

const LONG_UNITS = [
  ...["x", "\u00e9", "\u{10ffff}", "\\u00e9", "\\n", "\\\\", "\\ud83d\\ude00", "\\u0000", "\u2028"],
  ...["7", "a\\/"],
];
/** Values of which a body of the largest default size holds thousands. */
const MANY_UNITS: readonly ((at: number) => string)[] = [
  () => "[]",
  () => "{}",
  () => "0",
  () => "1e22",
  () => '""',
  () => `${"[".repeat(60)}${"]".repeat(60)}`,
  (at) => `{"${at.toString(36)}":0}`,
  (at) => `{"b${at}":0.5,"a":-0}`,
];
const MANY_BYTES = 65_000;
/** Left for the other fields. */
const ROOM = 2_000;

/**
 * A signed line whose body is one string or number almost as long as a line may be, or as many
 * small values as a body may hold; often stretched to just that length, or one byte beyond.
 */
function huge(tree: Tree | undefined, pick: Picker): Uint8Array {
  const spelt = pick.once(2) ? many(pick.one(MANY_UNITS)) : long(pick);
  const body = member(slowRead(utf8(`{"body":${spelt}}`)), "body");
  const others = tree?.is === "object" ? tree.members.filter(([key]) => key !== "body") : [];
  const signed = signedTree(
    { is: "object", members: body === undefined ? others : [...others, ["body", body]] },
    pick,
  );
  const kept = signed.is === "object" ? signed.members.filter(([key]) => key !== "body") : [];
  const rest = slowCanonical({ is: "object", members: kept });
  const line = utf8(`{"body":${spelt}${kept.length === 0 ? "" : ","}${rest.slice(1)}`);
  const length = MAX_LINE_BYTES + pick.one([-MAX_LINE_BYTES, -1, 0, 0, 1]);
  return Buffer.concat([line, Buffer.alloc(Math.max(0, length - line.length), " ")]);
}

function long(pick: Picker): string {
  const unit = pick.one(LONG_UNITS);
  const text = unit.repeat(Math.floor((MAX_LINE_BYTES - ROOM) / utf8(unit).length));
  return unit === "7" && pick.once(2) ? `0.${text}` : `"${text}"`;
}

function many(unitAt: (at: number) => string): string {
  const units: string[] = [];
  for (let bytes = 0; bytes < MANY_BYTES; bytes += (units.at(-1) ?? "").length + 1) {
    units.push(unitAt(units.length));
  }
  return `[${units.join(",")}]`;
}

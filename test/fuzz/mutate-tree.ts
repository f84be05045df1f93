import { spell, type Tree } from "../wire/json/slow-json.ts";
import { V30_OMIT, V31_OMIT } from "../../src/wire/canonical.ts";
import { CHAIN } from "./situations.ts";
import { KINDS } from "./slow-shape.ts";
import type { Picker } from "./picker.ts";

type Members = readonly (readonly [string, Tree])[];

const text = (value: string): Tree => ({ is: "string", text: value });
const integer = (digits: string): Tree => ({ is: "integer", text: digits });
const double = (spelled: string): Tree => ({ is: "double", value: Number(spelled), text: spelled });
const list = (members: readonly Tree[]): Tree => ({ is: "array", members });
const word = (value: "null" | "true" | "false"): Tree => ({ is: "word", text: value });

/** Numbers that a reader gets wrong when it is careless, in spellings that differ. */
const NUMBERS: readonly Tree[] = [
  ...["0", "-0", "1", "-1", "7", "1200", "9007199254740991", "9007199254740992"],
  ...["-9007199254740993", "9".repeat(40), "1".repeat(4_300), "1".repeat(4_301)],
]
  .map(integer)
  .concat(
    [
      ...["0.0", "-0.0", "-0e0", "1.0", "1e0", "1E+2", "1e21", "1e16", "9999999999999998.0"],
      ...["1e-4", "0.00001", "5e-324", "2e-324", "1e308", "1.7976931348623159e308", "1e400"],
      ...["123456789012345678.5", `0.${"3".repeat(900)}`, "1e-9999", "1e5", "2.5e-7", "1e22"],
    ].map(double),
  );

const TEXTS: readonly string[] = [
  ...["", "*", "alice", "bob", "carol", "did:wire:alice", "alice\u0000", "alice\n", "ALICE"],
  ...["\u00e9", "e\u0301", "\ufb01", "\u212b", "\u2028", "\u007f", "\ufeff", "\ud7ff", "\ue000"],
  ...["\uffff", "\u{10000}", "\u{10ffff}", "😀", "\ud800", "\udfff", 'a"\\/', "\b\f\n\r\t\u001f"],
  ...["urgent:", "urgent: now", " urgent:", "x".repeat(500), "😀".repeat(500), "😀".repeat(501)],
  ...["x".repeat(256), "x".repeat(257), "a".repeat(128), "a".repeat(129), "__proto__", "null"],
];

const TIMES: readonly string[] = [
  ...["2026-06-01T12:00:00.000000Z", "2026-06-01T12:05:00Z", "2026-06-01T12:05:00.000001Z"],
  ...["2026-06-01T12:00Z", "2026-06-01T14:00:00+02:00", "2026-06-01T12:00:00+0000"],
  ...["2026-06-01T12:00:00-00", "2026-06-01T12:00:00+23:59", "2026-06-01T12:00:00+24:00"],
  ...["2026-02-29T00:00:00Z", "2024-02-29T00:00:00Z", "1900-02-29T00:00:00Z"],
  ...["2026-06-31T00:00:00Z", "2026-12-31T23:59:60Z", "2026-06-01T24:00:00Z"],
  ...["0001-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"],
  ...["2026-06-01 12:00:00Z", "2026-06-01t12:00:00z", "2026-06-01T12:00:00", "2026-06-01"],
  ...["2026-06-01T12:00:00.123456789012345678Z", "2026-06-01T12:00:00.1234567890123456789Z"],
  ...["2026-06-01T12:00:00.Z", "2026-06-01T12:00:00,5Z", "2026-6-1T12:00:00Z", "+002026-06-01"],
  ...["2026-06-01T12:00:00Z ", "2026-06-01T12:00:00Z\n", "2026-00-01T00:00:00Z"],
];

const IDS = CHAIN.map((line) => String(line["event_id"]));

/** Values that a field may have and just may not have. */
const POOLS: ReadonlyMap<string, readonly Tree[]> = new Map(
  Object.entries({
    timestamp: TIMES.map(text),
    from: TEXTS.map(text),
    to: [
      list([]),
      ...[
        ["*"],
        ["bob"],
        ["carol"],
        ["bob", "carol"],
        ["dave"],
        ["did:wire:bob"],
        ["bob", "b ob"],
      ].map((names) => list(names.map(text))),
      list(Array.from({ length: 1_024 }, () => text("bob"))),
      list(Array.from({ length: 1_025 }, () => text("bob"))),
      list([integer("1")]),
    ],
    type: [...Object.keys(KINDS), "Ack", "note", "constructor", "kind:5", ""].map(text),
    kind: [...Object.values(KINDS).map((kind) => integer(String(kind))), ...NUMBERS],
    subject: TEXTS.map(text),
    refs: [0, 1, 2, 3, 64, 65].map((count) => list(Array.from({ length: count }, () => text("r")))),
    priority: ["low", "medium", "normal", "high", "urgent", "High", ""].map(text),
    correlation_id: [...TEXTS, ...TIMES.slice(0, 2)].map(text),
    ack_required: [word("true"), word("false"), word("null"), integer("1")],
    event_id: [...IDS, "", "0".repeat(64)].map(text),
    public_key_id: ["alice", "alice:", ":", "bob:28bf6857", "alice:28bf6857:", "é:1"].map(text),
    signature: ["", "=", "A".repeat(86) + "==", "A".repeat(88)].map(text),
    wire: ["w1", "w2", "", "W1"].map(text),
    seq: [...["1", "2", "3", "4", "5", "6", "7"].map(integer), ...NUMBERS],
    prev: [...IDS, "", IDS[0]?.toUpperCase() ?? ""].map(text),
  }),
);

const FIELDS = [...POOLS.keys()];

function anything(pick: Picker): Tree {
  switch (pick.below(7)) {
    case 0:
      return pick.one(NUMBERS);
    case 1:
      return text(pick.one(TEXTS));
    case 2:
      return word(pick.one(["null", "true", "false"]));
    case 3:
      return nested(pick.one([1, 2, 60, 61, 62, 63, 64, 70]), pick);
    case 4:
      return text(pick.one(TEXTS).repeat(pick.below(60)).slice(0, 9_000));
    case 5:
      return text("x".repeat(pick.one([1_022, 1_023, 65_534, 65_535])));
    default:
      return {
        is: "object",
        members: Array.from({ length: pick.below(5) }, () => [pick.one(TEXTS), pick.one(NUMBERS)]),
      };
  }
}

function nested(depth: number, pick: Picker): Tree {
  let tree = pick.one(NUMBERS);
  for (let level = 0; level < depth; level++) {
    tree = pick.once(2) ? list([tree]) : { is: "object", members: [[pick.one(TEXTS), tree]] };
  }
  return tree;
}

/** Up to three changes of fields, each by itself well spelled. */
export function mutateTree(tree: Tree, pick: Picker): Tree {
  let members: Members = tree.is === "object" ? tree.members : [];
  if (pick.once(3)) members = inChain(members, pick);
  for (let times = pick.below(4); times > 0; times--) members = mutateMembers(members, pick);
  return { is: "object", members };
}

/** With a place after one of the lines of alice's chain, or nearly so. */
function inChain(members: Members, pick: Picker): Members {
  const seq = 1 + pick.below(7);
  const prev = IDS[pick.once(8) ? pick.below(IDS.length) : seq - 2];
  return [
    ...members.filter(([key]) => !["wire", "seq", "prev"].includes(key)),
    ["wire", text("w1")],
    ["seq", integer(String(seq))],
    ...(prev === undefined ? [] : [["prev", text(prev)] as const]),
  ];
}

function mutateMembers(members: Members, pick: Picker): Members {
  const field = pick.once(3) && members.length > 0 ? pick.one(members)[0] : pick.one(FIELDS);
  const others = members.filter(([key]) => key !== field);
  const at = pick.below(members.length + 1);
  const pool = POOLS.get(field);
  const value = pool === undefined || pick.once(8) ? anything(pick) : pick.one(pool);
  switch (pick.below(10)) {
    case 0:
      return others;
    case 1:
      return [...others, ["body", anything(pick)]].filter(
        ([key], place, all) => key !== "body" || place === all.length - 1,
      ) as Members;
    case 2:
      return [...members.slice(0, at), [pick.one(TEXTS), anything(pick)], ...members.slice(at)];
    case 3:
      // The same key once more: never to be read.
      return pick.once(4) ? [...members, [field, value]] : members;
    case 4:
      return members.toSorted(() => pick.below(3) - 1);
    default:
      return [...others, [field, value]];
  }
}

/** Without what a signature of that version does not cover. */
export function unsignedOf(tree: Tree, version: "v3.0" | "v3.1"): Tree {
  if (tree.is !== "object") return tree;
  const omit = version === "v3.1" ? V31_OMIT : V30_OMIT;
  return { is: "object", members: tree.members.filter(([key]) => !omit.includes(key)) };
}

/** Chooses no white space of the six kinds, and of the ways to write a character the plainest. */
const PLAINLY = (choices: number): number => (choices === 6 ? 0 : 1);

/** A line that says this: plainly, or as somebody else might write it. */
export function spelled(tree: Tree, pick: Picker): string {
  return spell(tree, pick.once(2) ? PLAINLY : pick.below);
}

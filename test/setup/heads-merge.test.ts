import fc from "fast-check";
import { expect, it } from "vitest";
import { aheadOf, newerHeads } from "../../src/setup/backup/heads-merge.ts";
import { parseHeads, serialiseHeads, type Heads } from "../../src/storage/own-log/heads.ts";

const head = fc.record({ seq: fc.integer({ min: 1, max: 5 }), id: fc.constantFrom("a", "b") });
const own = head.map(({ seq, id }) => ({ seq, id, end: seq * 10, prefixHash: id }));
const mapOf = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<ReadonlyMap<string, T>> =>
  fc.dictionary(fc.constantFrom("one", "two", "three"), of).map((d) => new Map(Object.entries(d)));
const heads: fc.Arbitrary<Heads> = fc.record({ peers: mapOf(head), own: mapOf(own) });

const logsOf = ({ peers, own: mine }: Heads) => [...peers, ...mine];

it("no head is ever lowered or lost, whichever of the two is newer", () => {
  fc.assert(
    fc.property(heads, heads, (here, other) => {
      const merged = newerHeads(here, other);
      for (const kind of ["peers", "own"] as const) {
        for (const from of [here, other]) {
          for (const [log, { seq }] of from[kind]) {
            expect(merged[kind].get(log)?.seq).toBeGreaterThanOrEqual(seq);
          }
        }
        for (const [log, found] of merged[kind]) {
          expect([here[kind].get(log), other[kind].get(log)]).toContain(found);
        }
      }
      // Once more changes nothing, and the file says the same.
      expect(logsOf(newerHeads(merged, other))).toEqual(logsOf(merged));
      expect(parseHeads(serialiseHeads(merged), "heads.json")).toEqual({
        peers: merged.peers,
        own: merged.own,
      });
    }),
  );
});

it("says what is known here and not in the other", () => {
  const here: Heads = {
    own: new Map([["mine", { seq: 3, id: "c", end: 1, prefixHash: "" }]]),
    peers: new Map([
      ["new", { seq: 1, id: "a" }],
      ["forked", { seq: 2, id: "b" }],
      ["same", { seq: 2, id: "b" }],
      ["behind", { seq: 2, id: "b" }],
    ]),
  };
  const other: Heads = {
    own: new Map([["mine", { seq: 2, id: "b", end: 1, prefixHash: "" }]]),
    peers: new Map([
      ["forked", { seq: 2, id: "x" }],
      ["same", { seq: 2, id: "b" }],
      ["behind", { seq: 9, id: "z" }],
    ]),
  };
  expect(aheadOf(here, other)).toEqual([
    "mine: line 3 is known here, the backup knows up to 2",
    "new: line 1 is known here, none in the backup",
    "forked: line 2 is another one here than in the backup",
  ]);
});

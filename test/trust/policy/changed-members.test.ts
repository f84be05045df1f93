import { describe, expect, test } from "vitest";
import { withMembership } from "../../../src/trust/policy/changed-members.ts";
import { parseConfig, type WireConfig } from "../../../src/trust/policy/config.ts";
import type { Absence } from "../../../src/wire/roster/members.ts";

type Change = Parameters<typeof withMembership>[1];

const CONFIG = { wire_id: "w1", roster: ["a", "b"], a_field_of_others: [1, "2"] };
const LEFT_MS = Date.UTC(2026, 4, 1);
const BACK_MS = Date.UTC(2026, 4, 2);
const PLACES = new Map([["b_to_a", { lines: 3, seq: 2, eventId: "ab" }]]);

const bytesOf = (document: object) => new TextEncoder().encode(JSON.stringify(document));
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

function configOf(bytes: Uint8Array): WireConfig {
  const parsed = parseConfig(bytes);
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.config;
}

const change = (
  handle: string,
  becomes: Change["becomes"],
  atMs: number,
  changedBy?: string,
): Change => ({ handle, becomes, atMs, logs: PLACES, changedBy });

const LEAVES = change("b", "left", LEFT_MS);
const RETURNS = change("b", "back", BACK_MS);
const away: Absence = { atMs: LEFT_MS, logs: PLACES, back: undefined };
const returned: Absence = { ...away, back: { atMs: BACK_MS, logs: PLACES } };

/** The configuration after those changes, one after the other. */
function after(...changes: readonly Change[]): Uint8Array {
  return changes.reduce(withMembership, bytesOf(CONFIG));
}

describe("a change of members in config.json", () => {
  test("notes who leaves, and with which lines", () => {
    const { roster, left, membersChangedBy } = configOf(after(LEAVES));
    expect(roster).toEqual(["a", "b"]);
    expect(left).toEqual(new Map([["b", [away]]]));
    expect(membersChangedBy).toBeUndefined();
  });

  test("notes who comes back, and who leaves once more", () => {
    const again = change("b", "left", BACK_MS + 1);
    expect(configOf(after(LEAVES, RETURNS)).left).toEqual(new Map([["b", [returned]]]));
    expect(configOf(after(LEAVES, RETURNS, again)).left).toEqual(
      new Map([["b", [returned, { ...away, atMs: BACK_MS + 1 }]]]),
    );
  });

  test("adds a new member, of which nothing was asked before", () => {
    const { roster, left } = configOf(after(LEAVES, change("c", "new", BACK_MS)));
    expect(roster).toEqual(["a", "b", "c"]);
    const joined = { atMs: undefined, logs: new Map(), back: { atMs: BACK_MS, logs: PLACES } };
    expect(left).toEqual(
      new Map([
        ["b", [away]],
        ["c", [joined]],
      ]),
    );
  });

  test("names the decision that it follows, and keeps all else", () => {
    const made = after(change("b", "left", LEFT_MS, "4b1dfe01"));
    expect(configOf(made).membersChangedBy).toBe("4b1dfe01");
    expect(JSON.parse(textOf(made))).toMatchObject(CONFIG);
    expect(textOf(made)).toBe(`${JSON.stringify(JSON.parse(textOf(made)), null, 2)}\n`);
    // Another change without a decision leaves the name of the last one.
    const next = withMembership(made, change("b", "back", BACK_MS));
    expect(configOf(next).membersChangedBy).toBe("4b1dfe01");
  });
});

describe("a change that is there already", () => {
  test("changes no byte", () => {
    const left = after(LEAVES);
    expect(withMembership(left, LEAVES)).toBe(left);
    const decided = change("b", "left", LEFT_MS, "4b1dfe01");
    const noted = after(decided);
    expect(withMembership(noted, decided)).toBe(noted);
    // It is known by its decision, whatever came after it.
    const back = withMembership(noted, RETURNS);
    expect(withMembership(back, decided)).toBe(back);
  });

  test("is not one of another time or decision, and no return is one", () => {
    const noMember = "b is no member";
    expect(() => withMembership(after(LEAVES), change("b", "left", BACK_MS))).toThrow(noMember);
    const decided = after(change("b", "left", LEFT_MS, "4b1dfe01"));
    expect(() => withMembership(decided, change("b", "left", LEFT_MS, "00ff00ff"))).toThrow(
      noMember,
    );
    const back = after(LEAVES, RETURNS);
    expect(() => withMembership(back, RETURNS)).toThrow("b is a member already");
    expect(() => withMembership(back, change("b", "new", LEFT_MS))).toThrow(
      "b is a member already",
    );
    // It is away since that time no longer.
    expect(configOf(withMembership(back, LEAVES)).left.get("b")).toEqual([returned, away]);
  });
});

describe("is refused", () => {
  test.each([
    ["a stranger who leaves", after(), change("c", "left", LEFT_MS), "c is no member"],
    ["a stranger who comes back", after(), change("c", "back", LEFT_MS), "c is no member"],
    ["a member who comes back", after(), RETURNS, "b is a member already"],
    ["a member who is new", after(), change("b", "new", LEFT_MS), "b is a member already"],
    ["one who left and is new", after(LEAVES), change("b", "new", BACK_MS), "b is no member"],
    ["a wire without a roster", bytesOf({}), LEAVES, "config.json names no roster"],
    ["bytes that are no configuration", bytesOf({ roster: 5 }), LEAVES, "roster is 5"],
    ["a handle that is none", after(), change("-", "new", LEFT_MS), "roster"],
  ])("%s", (_what, bytes, wanted, problem) => {
    expect(() => withMembership(bytes, wanted)).toThrow(problem);
  });
});

import { describe, expect, test } from "vitest";
import { MESSAGE_TYPES } from "../../src/wire/kinds.ts";
import { acceptsType, compareTiers, tierNamed, TIERS } from "../../src/trust/tiers.ts";

// Spec 2.3, by hand: what each tier does NOT accept.
const REFUSED_BY_UNTRUSTED =
  "decision claim release ship warning request feedback incident ack proposal correction shutdown".split(
    " ",
  );
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  UNTRUSTED: [...REFUSED_BY_UNTRUSTED, "kind:1999", "kind:20001"],
  VERIFIED: ["claim"],
  ATTESTED: [],
  TRUSTED: [],
};
const ALL_TYPES = [...MESSAGE_TYPES, "kind:1999", "kind:20001"];

describe.each(TIERS)("%s", (tier) => {
  test.each(ALL_TYPES)("%s", (type) => {
    expect(acceptsType(tier, type)).toBe(!REFUSED[tier]?.includes(type));
  });
});

test.each(ALL_TYPES)("no tier accepts no %s", (type) => {
  expect(acceptsType(undefined, type)).toBe(false);
});

test("the table names every type there is", () => {
  const accepted = ["heartbeat", "agent_card", "trust_tier_announcement"];
  expect([...REFUSED_BY_UNTRUSTED, ...accepted].sort()).toEqual([...MESSAGE_TYPES].sort());
});

test("unknown names, other cases too, are no tier", () => {
  expect(tierNamed("ATTESTED")).toBe("ATTESTED");
  for (const name of ["attested", "ADMIN", "", "__proto__"])
    expect(tierNamed(name)).toBeUndefined();
});

test("tiers are ordered", () => {
  expect([...TIERS].reverse().sort(compareTiers)).toEqual(TIERS);
});

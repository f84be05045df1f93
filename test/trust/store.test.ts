import { describe, expect, test } from "vitest";
import { isPinned, newPeer, tierOf, type Peer } from "../../src/trust/store.ts";
import { alice, pinned, peer, storeOf } from "./people.ts";

const stranger = newPeer("alice");

describe("what the store says of an agent", () => {
  test.each<[string, Peer | undefined, boolean]>([
    ["who is not in it", undefined, false],
    ["of whom it knows the name alone", stranger, false],
    ["without a tier", { ...stranger, tier: undefined }, false],
    ["who is UNTRUSTED", { ...stranger, tier: "UNTRUSTED" }, false],
    ["with a key", { ...stranger, tier: "UNTRUSTED", keys: [pinned(alice)] }, true],
    ["who may write unsigned", { ...stranger, mayBeUnsigned: true }, true],
    ["to whom the operator has given a tier", { ...stranger, tier: "VERIFIED" }, true],
  ])("an agent %s is pinned or not", (_who, of, expected) => {
    expect(isPinned(of)).toBe(expected);
  });

  test("its tier: UNTRUSTED for a stranger, none for one who is blocked", () => {
    expect(tierOf(storeOf(), "alice")).toBe("UNTRUSTED");
    expect(tierOf(storeOf(peer(alice, "TRUSTED")), "alice")).toBe("TRUSTED");
    expect(tierOf(storeOf({ ...peer(alice, "TRUSTED"), blocked: true }), "alice")).toBeUndefined();
  });
});

import { describe, expect, test } from "vitest";
import { authenticate, everSignedBy } from "../../src/admission/authenticate.ts";
import { deactivateKey, pin, revokeKey, setMayBeUnsigned, setTier } from "../../src/trust/pins.ts";
import { joinStores } from "../../src/trust/store-merge.ts";
import { EMPTY_STORE, newPeer, type TrustStore } from "../../src/trust/store.ts";
import { parseTrustStore, serialiseTrustStore } from "../../src/trust/trust-file.ts";
import { unsignedRefusal, type UnsignedPast } from "../../src/admission/unsigned-lines.ts";
import {
  alice,
  context,
  lineOf,
  NOON_MS,
  note,
  peer,
  person,
  signV31,
  storeOf,
} from "../trust/people.ts";

const POLICIES = [
  { enforceSigned: false, allowUnsignedFrom: [] },
  { enforceSigned: true, allowUnsignedFrom: ["alice"] },
];
const WHERE = { owner: "alice", log: "alice_to_bob" };

function verdict(store: TrustStore, signing = POLICIES[1], past?: UnsignedPast): string {
  const ctx = context({ store, ...(signing && { signing }) });
  const source = { ...WHERE, unsignedPast: past && (() => past) };
  const read = authenticate(lineOf(note()), source, ctx);
  return read.ok ? "taken" : read.reason;
}

/** Throws when the store refuses. */
function stored(change: { ok: boolean; store?: TrustStore }): TrustStore {
  if (change.store === undefined) throw new Error("refused");
  return change.store;
}

describe("a live unsigned line", () => {
  const keyed = storeOf(peer(alice));
  const stopped = stored(
    deactivateKey(keyed, alice.signer.keyId, "2026-06-01T00:00:00Z", new Map()),
  );
  const revoked = stored(revokeKey(keyed, alice.signer.keyId, NOON_MS, new Map()));

  test.for(POLICIES)("is taken of an agent that policy lets and that has no key: %o", (policy) => {
    expect(verdict(EMPTY_STORE, policy)).toBe("taken");
    expect(verdict(storeOf(newPeer("alice")), policy)).toBe("taken");
  });

  test.for(POLICIES)(
    "is refused once a key was pinned, stopped and revoked ones too: %o",
    (policy) => {
      for (const store of [keyed, stopped, revoked])
        expect(verdict(store, policy)).toBe("unsigned");
    },
  );

  test("is refused of anybody whom policy does not let, whatever the pin says", () => {
    const pinned = stored(setMayBeUnsigned(keyed, "alice", true));
    expect(verdict(pinned, { enforceSigned: true, allowUnsignedFrom: ["bob"] })).toBe("unsigned");
  });

  test("is taken by the operator's exception, which the store keeps, until it ends", () => {
    const pinned = stored(setMayBeUnsigned(keyed, "alice", true));
    const read = parseTrustStore(Buffer.from(serialiseTrustStore(pinned)), 0);
    if (!read.ok) throw new Error(read.detail);
    expect(verdict(read.store)).toBe("taken");
    expect(verdict(stored(setMayBeUnsigned(read.store, "alice", false)))).toBe("unsigned");
    // Restoring an older store brings no exception back that has ended.
    expect(verdict({ version: 1, peers: joinStores(keyed, read.store) })).toBe("unsigned");
  });

  test("a key that only a card brought in counts, and does not lift the agent", () => {
    const unsigned = stored(setTier(EMPTY_STORE, "alice", "VERIFIED", NOON_MS, true));
    const carded = stored(pin(unsigned, "alice", alice.key, "2026-06-01T00:00:00Z"));
    expect(verdict(carded)).toBe("unsigned");
  });
});

describe("an unsigned line of history", () => {
  // The key is pinned a second after the line is dated.
  const later = new Date(NOON_MS + 1_000).toISOString();
  const at = (addedAt: string) => {
    const known = peer(alice);
    return storeOf({ ...known, keys: known.keys.map((key) => ({ ...key, addedAt })) });
  };

  test.each([
    ["taken", { noted: undefined, isBeforeSigned: true }, at(later)],
    ["unsigned", { noted: undefined, isBeforeSigned: false }, at(later)],
    ["unsigned", { noted: undefined, isBeforeSigned: true }, at(new Date(NOON_MS).toISOString())],
    ["taken", { noted: undefined, isBeforeSigned: true }, at("")],
    ["taken", { noted: "taken", isBeforeSigned: false }, at(later)],
    ["unsigned", { noted: "refused", isBeforeSigned: true }, at(later)],
    ["taken", { noted: undefined, isBeforeSigned: false }, EMPTY_STORE],
  ] as const)("is %s with %o", (expected, past, store) => {
    for (const policy of POLICIES) expect(verdict(store, policy, past)).toBe(expected);
  });

  test("the first of several keys counts, whichever it is, and one without a time counts for nothing", () => {
    const past = { noted: undefined, isBeforeSigned: true } as const;
    const sooner = new Date(NOON_MS).toISOString();
    const of = (...times: string[]) => {
      const [key] = peer(alice).keys;
      const keys = times.map((addedAt) => ({ ...(key ?? expect.fail("no key")), addedAt }));
      return storeOf({ ...peer(alice), keys });
    };
    expect(verdict(of(sooner, later), POLICIES[1], past)).toBe("unsigned");
    expect(verdict(of(later, sooner), POLICIES[1], past)).toBe("unsigned");
    expect(verdict(of("", later), POLICIES[1], past)).toBe("taken");
    expect(verdict(of("", sooner), POLICIES[1], past)).toBe("unsigned");
  });

  test("stays refused where policy does not let it be written", () => {
    const past = { noted: "taken", isBeforeSigned: true } as const;
    const strict = { enforceSigned: true, allowUnsignedFrom: [] };
    expect(unsignedRefusal({ from: "alice", timestampMs: 0 }, strict, EMPTY_STORE, past)).toBe(
      "lines of alice have to be signed",
    );
  });
});

describe("from where on a log is signed", () => {
  const signed = lineOf(signV31(note()));
  const revoked = stored(revokeKey(storeOf(peer(alice)), alice.signer.keyId, NOON_MS, new Map()));

  test("a line with a key ever pinned counts, a revoked one too", () => {
    expect(everSignedBy(signed, WHERE, context())).toBe("alice");
    expect(everSignedBy(signed, WHERE, context({ store: revoked }))).toBe("alice");
  });

  test("neither an unsigned line does, nor one by a key never pinned, nor one of another log", () => {
    const open = context({ signing: { enforceSigned: false, allowUnsignedFrom: [] } });
    expect(everSignedBy(lineOf(note()), WHERE, open)).toBeUndefined();
    const twin = lineOf(signV31(note(), person("alice", " another")));
    expect(everSignedBy(twin, WHERE, open)).toBeUndefined();
    expect(everSignedBy(signed, { owner: "bob", log: "bob_to_alice" }, open)).toBeUndefined();
    const changed = lineOf({ ...signV31(note()), subject: "changed" });
    expect(everSignedBy(changed, WHERE, open)).toBeUndefined();
  });
});

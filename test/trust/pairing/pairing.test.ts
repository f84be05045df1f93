import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  advancePairing,
  beginAgain,
  beginPairing,
  claimOf,
  digitsOf,
  isExhausted,
  MAX_RESTARTS,
  noteMismatch,
  type Pairing,
  type PairingNews,
  type PeerClaim,
} from "../../../src/trust/pairing/pairing.ts";
import { committedSas, sasCommitment, staticSas } from "../../../src/trust/pairing/sas.ts";
import { publicKeyOf } from "../../../src/wire/signature.ts";

const bytes = (text: string): Uint8Array =>
  new Uint8Array(createHash("sha256").update(text).digest());
const keyOf = (text: string): Uint8Array => publicKeyOf(bytes(text));

/** One side, its operator's machine and its card. */
class Side {
  pairing: Pairing;
  readonly news: PairingNews[] = [];
  #nonces = 0;

  readonly name: string;
  readonly key: Uint8Array;

  constructor(name: string, key = keyOf(name)) {
    this.name = name;
    this.key = key;
    this.pairing = beginPairing(key, this.#fresh());
  }

  get did(): string {
    return `did:wire:${this.name}`;
  }

  get card(): PeerClaim {
    return { ...claimOf(this.pairing), key: this.key };
  }

  read(card: PeerClaim): void {
    const step = advancePairing(this.pairing, card);
    this.pairing = step.pairing;
    if (step.news !== undefined) this.news.push(step.news);
  }

  /** Its operator lets another claim see a nonce, if one waits. */
  again(card: PeerClaim): void {
    if (this.pairing.other === undefined) return;
    this.pairing = beginAgain(this.pairing, this.#fresh());
    this.read(card);
  }

  /** Its private file is lost: it begins with another nonce. */
  forget(): void {
    this.pairing = beginPairing(this.key, this.#fresh());
  }

  digitsWith(other: Side): string | undefined {
    return digitsOf(this.pairing, this.did, other.did);
  }

  #fresh(): Uint8Array {
    this.#nonces += 1;
    return bytes(`${this.name} nonce ${this.#nonces}`);
  }
}

describe("a nonce", () => {
  const random = bytes("random");

  /** A side that has seen this peer's commitment, and shows its own nonce. */
  function met() {
    const [a, b] = [new Side("forge"), new Side("scribe")];
    a.read(b.card);
    b.read(a.card);
    return { a, b };
  }

  it("that does not fit its commitment is not taken, and one that fits later is", () => {
    const { a, b } = met();
    const { nonce } = b.card;
    if (nonce === undefined) throw new Error("it does not show its nonce");
    a.read({ ...b.card, nonce: random });
    expect([a.pairing.peerNonce, a.news]).toEqual([undefined, ["wrong_nonce"]]);
    a.read(b.card);
    expect(a.pairing.peerNonce).toEqual(nonce);
    // A wrong one does not take its place.
    a.read({ ...b.card, nonce: random });
    expect(a.pairing.peerNonce).toEqual(nonce);
    a.read({ ...b.card, nonce: undefined });
    expect(a.pairing.peerNonce).toEqual(nonce);
  });

  it("with the same commitment and another key is another claim", () => {
    const { a, b } = met();
    a.read(b.card);
    const known = a.pairing.peer;
    a.read({ ...b.card, key: keyOf("a thief") });
    expect([a.pairing.peer, a.news]).toEqual([known, ["restarted"]]);
    expect(a.digitsWith(b)).toBeUndefined();
  });
});

describe("two honest sides", () => {
  it("get the same digits, and neither shows its nonce before it has the other's commitment", () => {
    const [a, b] = [new Side("forge"), new Side("scribe")];
    expect([a.card.nonce, b.card.nonce]).toEqual([undefined, undefined]);
    a.read(b.card);
    expect([a.card.nonce, a.card.seen]).toEqual([undefined, b.card.commitment]);
    b.read(a.card);
    expect(b.card.nonce).toBeDefined();
    a.read(b.card);
    expect(b.digitsWith(a)).toBeUndefined();
    b.read(a.card);
    expect(a.digitsWith(b)).toMatch(/^[0-9]{6}$/);
    expect(b.digitsWith(a)).toBe(a.digitsWith(b));
    expect(a.news).toEqual([]);
  });

  it("meet in the end in whatever order they look, and however often one begins again", () => {
    const moves = fc.array(fc.constantFrom("a looks", "b looks", "a forgets", "b forgets"), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(moves, (all) => {
        const [a, b] = [new Side("forge"), new Side("scribe")];
        for (const move of all) {
          if (move === "a looks") a.read(b.card);
          if (move === "b looks") b.read(a.card);
          if (move === "a forgets") a.forget();
          if (move === "b forgets") b.forget();
        }
        for (let round = 0; round < 6; round += 1) {
          a.read(b.card);
          a.again(b.card);
          b.read(a.card);
          b.again(a.card);
        }
        expect(a.digitsWith(b)).toBeDefined();
        expect(b.digitsWith(a)).toBe(a.digitsWith(b));
      }),
    );
  });

  it("change nothing when they read the same card again", () => {
    const [a, b] = [new Side("forge"), new Side("scribe")];
    for (let round = 0; round < 4; round += 1) {
      a.read(b.card);
      b.read(a.card);
    }
    const before = a.pairing;
    a.read(b.card);
    expect(a.pairing).toEqual(before);
  });

  it("meet also where the other's cards do not say what they have seen", () => {
    const [a, b] = [new Side("forge"), new Side("scribe")];
    const silent = (side: Side): PeerClaim => ({ ...side.card, seen: undefined });
    for (let round = 0; round < 3; round += 1) {
      a.read(silent(b));
      b.read(silent(a));
    }
    expect(a.digitsWith(b)).toBeDefined();
    expect(b.digitsWith(a)).toBe(a.digitsWith(b));
  });
});

describe("a peer that begins again", () => {
  function met(): [Side, Side] {
    const [a, b] = [new Side("forge"), new Side("scribe")];
    for (let round = 0; round < 3; round += 1) {
      a.read(b.card);
      b.read(a.card);
    }
    return [a, b];
  }

  it("waits for the operator: its old digits are void, and no other nonce is drawn for it", () => {
    const [a, b] = met();
    const { nonce } = a.pairing;
    b.forget();
    for (let round = 0; round < 3; round += 1) {
      a.read(b.card);
      b.read(a.card);
    }
    expect(a.news).toEqual(["restarted"]);
    expect([a.digitsWith(b), b.digitsWith(a)]).toEqual([undefined, undefined]);
    expect(a.pairing.nonce).toEqual(nonce);
    // Nor does b show its own nonce to a claim that has not seen its commitment.
    expect(b.card.nonce).toBeUndefined();
  });

  it("gets other digits on the operator's decision, and our nonce that was shown is never used again", () => {
    const [a, b] = met();
    const [digits, { nonce }] = [a.digitsWith(b), a.pairing];
    b.forget();
    b.read(a.card);
    a.read(b.card);
    a.again(b.card);
    expect(a.pairing.nonce).not.toEqual(nonce);
    for (let round = 0; round < 3; round += 1) {
      b.read(a.card);
      a.read(b.card);
    }
    expect(a.digitsWith(b)).not.toBe(digits);
    expect(b.digitsWith(a)).toBe(a.digitsWith(b));
  });

  it("is the same claim as before when it shows that one again: nothing new is shown to it", () => {
    const [a, b] = met();
    const [card, digits] = [b.card, a.digitsWith(b)];
    const shown = new Set([a.card.nonce]);
    for (let round = 0; round < 10; round += 1) {
      b.forget();
      a.read(b.card);
      shown.add(a.card.nonce);
      expect(a.digitsWith(b)).toBeUndefined();
      a.read(card);
      shown.add(a.card.nonce);
      expect(a.digitsWith(b)).toBe(digits);
    }
    expect([shown.size, a.pairing.restarts]).toEqual([1, 10]);
  });

  it("with another key waits, too, and what was mismatched stays counted", () => {
    const [a, b] = met();
    a.pairing = noteMismatch(noteMismatch(a.pairing));
    const other = new Side("scribe", keyOf("another"));
    other.read(b.card);
    a.read(other.card);
    expect([a.news, isExhausted(a.pairing)]).toEqual([["restarted"], false]);
    a.again(other.card);
    expect([a.card.nonce, isExhausted(noteMismatch(a.pairing))]).toEqual([undefined, true]);
  });

  it("costs one nonce however often its card changes, and is counted up to a limit", () => {
    const [a] = met();
    const shown = new Set([a.card.nonce]);
    for (let change = 0; change < 1_000; change += 1) {
      const key = keyOf(change % 2 === 0 ? "scribe" : "another");
      const nonce = bytes(`change ${change}`);
      a.read({ key, nonce, commitment: sasCommitment(nonce, key) });
      shown.add(a.card.nonce);
    }
    expect([shown.size, a.pairing.restarts]).toEqual([1, 1_000]);
    a.pairing = { ...a.pairing, restarts: MAX_RESTARTS };
    a.read(new Side("scribe", keyOf("once more")).card);
    expect(a.pairing.restarts).toBe(MAX_RESTARTS);
  });

  it("cannot show a nonce that it was not committed to", () => {
    const [a, b] = [new Side("forge"), new Side("scribe")];
    a.read(b.card);
    a.read({ ...b.card, nonce: bytes("chosen later") });
    expect(a.news).toEqual(["wrong_nonce"]);
    expect(a.digitsWith(b)).toBeUndefined();
  });
});

describe("somebody in between", () => {
  const [forge, scribe] = ["did:wire:forge", "did:wire:scribe"];
  const KEYS = 4_096;

  it("finds keys that give both sides the same published digits", () => {
    // It pretends to be scribe towards forge and forge towards scribe: any pair of keys will do.
    const [own, other] = [keyOf("forge"), keyOf("scribe")];
    const seen = new Map<string, number>();
    for (let at = 0; at < KEYS; at += 1) {
      const key = keyOf(`to forge ${at}`);
      seen.set(staticSas({ did: forge, key: own }, { did: scribe, key }), at);
    }
    let found = 0;
    for (let at = 0; at < KEYS; at += 1) {
      const key = keyOf(`to scribe ${at}`);
      if (seen.has(staticSas({ did: forge, key }, { did: scribe, key: other }))) found += 1;
    }
    expect(found).toBeGreaterThan(0);
  });

  test("cannot search for digits over committed nonces: each look of its own is final", () => {
    // Whatever it does after it has learnt a nonce needs another commitment, and so another nonce.
    const [a, b] = [new Side("forge"), new Side("scribe")];
    let equal = 0;
    for (let attempt = 0; attempt < 200; attempt += 1) {
      const asScribe = new Side("scribe", keyOf(`to forge ${attempt}`));
      const asForge = new Side("forge", keyOf(`to scribe ${attempt}`));
      // It must be committed on both sides before it learns anything; and it takes the operators'
      // word each time but the first.
      for (let round = 0; round < 4; round += 1) {
        a.read(asScribe.card);
        a.again(asScribe.card);
        asScribe.read(a.card);
        b.read(asForge.card);
        b.again(asForge.card);
        asForge.read(b.card);
      }
      const [shown, other] = [a.digitsWith(asScribe), b.digitsWith(asForge)];
      expect([shown, other]).toEqual([expect.any(String), expect.any(String)]);
      if (shown === other) equal += 1;
      // Now it knows all nonces. It searches one of its own that would make the digits equal.
      for (let guess = 0; guess < 100; guess += 1) {
        const nonce = bytes(`guess ${attempt} ${guess}`);
        const wanted = { did: scribe, key: asScribe.key, nonce };
        const digits = committedSas({ did: forge, key: a.key, nonce: a.pairing.nonce }, wanted);
        if (digits !== other) continue;
        // Found, and of no use: its commitment changes, and with it our nonce, if our operator
        // lets it see one at all.
        const better = { key: asScribe.key, commitment: sasCommitment(nonce, asScribe.key), nonce };
        a.read(better);
        a.again(better);
        expect(a.digitsWith(asScribe)).not.toBe(other);
      }
    }
    expect(equal).toBeLessThan(3);
  });
});

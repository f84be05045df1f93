import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { buildCard } from "../../src/trust/cards/card-build.ts";
import { claimFor, verifyCard } from "../../src/trust/cards/card.ts";
import type { SasClaim } from "../../src/trust/pairing/pairing.ts";
import { committedSas, sasCommitment, staticSas } from "../../src/trust/pairing/sas.ts";
import { didOf } from "../../src/wire/handle.ts";
import { makeSigner, publicKeyOf } from "../../src/wire/signature.ts";
import { BY_FLAGS } from "../cli/on-machine.ts";
import { makeHomes, removeWires, type LiveWire } from "../support/processes/live-wire.ts";
import { until } from "../support/processes/real-processes.ts";

afterEach(removeWires);

interface Row {
  readonly handle: string;
  readonly tier: string;
  readonly sas_verified_at?: string | null;
}

interface Sas {
  readonly state: string;
  readonly digits: string | null;
  readonly restarted: boolean;
  readonly restarts: number;
}

interface Sent {
  readonly messages: readonly { readonly event_id: string }[];
  readonly awaits_comparison?: readonly unknown[];
}

const sas = (wire: LiveWire, self: string, peer: string) =>
  wire.json<Sas>(self, "trust", "sas", peer);

async function tierOf(wire: LiveWire, self: string, peer: string): Promise<string | undefined> {
  const rows = await wire.json<Row[]>(self, "trust", "list");
  return rows.find(({ handle }) => handle === peer)?.tier;
}

function homesOf(homes: ReadonlyMap<string, LiveWire>): [LiveWire, LiveWire] {
  const [forge, scribe] = [homes.get("forge"), homes.get("scribe")];
  if (forge === undefined || scribe === undefined) throw new Error("no homes");
  return [forge, scribe];
}

it("two strangers come from a folder to full trust, step by step", async () => {
  const [forge, scribe] = homesOf(
    await makeHomes(["forge", "scribe"], undefined, { deadlineSeconds: 600 }),
  );
  await forge.daemon("forge");
  await scribe.daemon("scribe");
  const inbox = () => scribe.privateLines("scribe", "inbox").map(({ subject }) => subject);

  // The daemons have read each other's cards: known, and not believed.
  await until("forge has pinned scribe", async () => {
    return (await tierOf(forge, "forge", "scribe")) === "UNTRUSTED";
  });
  await forge.json("forge", "send", "too early");
  const text = await forge.run("forge", "send", "and again");
  expect(text.stdout).toContain("scribe gets it when the digits are compared");
  const announced = () =>
    scribe.lines("scribe_to_forge.jsonl").filter(({ type }) => type === "trust_tier_announcement");
  await until("scribe says that forge is not verified there", () => announced().length > 0);
  expect(announced().map(({ body }) => body)).toEqual([{ about: "forge", tier: "UNTRUSTED" }]);
  expect((await forge.run("forge", "sent")).stdout).toContain(
    "published: waits for the comparison of digits",
  );
  expect(inbox()).toEqual([]);

  // Digits, read out over another channel.
  const ours = await until("there are digits", async () => {
    const { digits } = await sas(forge, "forge", "scribe");
    return digits ?? undefined;
  });
  const theirs = await until("there are digits on the other side", async () => {
    const { digits } = await sas(scribe, "scribe", "forge");
    return digits ?? undefined;
  });
  expect(theirs).toBe(ours);
  await forge.json("forge", "trust", "verify", "scribe", theirs, ...BY_FLAGS);
  await scribe.json("scribe", "trust", "verify", "forge", ours, ...BY_FLAGS);
  expect(await tierOf(forge, "forge", "scribe")).toBe("VERIFIED");
  await until("forge hears that it is verified", async () => {
    return (await forge.json<Sent>("forge", "send", "hello")).awaits_comparison === undefined;
  });
  await until("it arrives", () => inbox().includes("hello"));
  expect(inbox().slice(0, 2)).toEqual(["too early", "and again"]);

  // A promotion skips no step.
  const hasty = await forge.run(
    "forge",
    "trust",
    "promote",
    "scribe",
    "--to",
    "TRUSTED",
    ...BY_FLAGS,
  );
  expect([hasty.code, hasty.stderr]).toEqual([
    1,
    expect.stringContaining("becomes ATTESTED before"),
  ]);

  // Ten decisions that forge proposes and scribe acks.
  for (let count = 1; count <= 10; count += 1) {
    const sent = await forge.json<Sent>("forge", "propose", `decision ${count}`);
    const id = sent.messages[0]?.event_id ?? "";
    await until("scribe has it", () => inbox().includes(`decision ${count}`));
    if (count === 10) expect(await tierOf(forge, "forge", "scribe")).toBe("VERIFIED");
    await scribe.json("scribe", "ack", id);
  }
  await until("scribe has risen", async () => {
    return (await tierOf(forge, "forge", "scribe")) === "ATTESTED";
  });
  // It was forge who proposed: nothing of that counts on the other side.
  expect(await tierOf(scribe, "scribe", "forge")).toBe("VERIFIED");
  await forge.json("forge", "trust", "promote", "scribe", "--to", "TRUSTED", ...BY_FLAGS);
  expect(await tierOf(forge, "forge", "scribe")).toBe("TRUSTED");
});

/** Somebody who owns the folders that two agents take for one, and shows each a peer of its own. */
class Between {
  readonly #dir: string;
  readonly #as: string;
  readonly #victim: string;
  readonly #seed: Uint8Array;
  readonly key: Uint8Array;

  constructor(dir: string, as: string, victim: string, seed: Uint8Array) {
    this.#dir = dir;
    this.#as = as;
    this.#victim = victim;
    this.#seed = seed;
    this.key = publicKeyOf(seed);
  }

  /** What the victim shows whom it takes for its peer. */
  claim(): SasClaim & { key: Uint8Array } {
    const bytes = readFileSync(join(this.#dir, "trust", `${this.#victim}.card.json`));
    const verdict = verifyCard(bytes, Date.now());
    if (!verdict.ok) throw new Error(verdict.detail);
    const claim = claimFor(verdict.card, this.#as);
    const key = verdict.card.keys.find(({ keyId }) => keyId === verdict.card.signedBy)?.key;
    if (claim === undefined || key === undefined) throw new Error("no claim");
    return { ...claim, key };
  }

  show(claim: SasClaim | undefined): void {
    const signer = makeSigner(this.#as, this.#seed);
    const card = buildCard(
      {
        handle: this.#as,
        keys: [{ keyId: signer.keyId, key: this.key, validFrom: undefined, validUntil: undefined }],
        tierOffered: "ATTESTED",
        tierRequired: "VERIFIED",
        policies: {
          max_message_body_kb: 64,
          max_clock_skew_seconds: 300,
          rate_limit_msg_per_min: 60,
        },
        issuedAt: new Date().toISOString(),
        ...(claim === undefined ? {} : { claims: new Map([[this.#victim, claim]]) }),
      },
      signer,
    );
    writeFileSync(join(this.#dir, "trust", `${this.#as}.card.json`), card);
  }
}

function seedOf(number: number): Uint8Array {
  const seed = new Uint8Array(32);
  new DataView(seed.buffer).setUint32(0, number);
  return seed;
}

/** Two keys with which both sides see the same digits, as long as nobody commits to anything. */
function searchKeys(forgeKey: Uint8Array, scribeKey: Uint8Array): [Uint8Array, Uint8Array] {
  const [forge, scribe] = [didOf("forge"), didOf("scribe")];
  const seen = new Map<string, number>();
  for (let number = 1; number < 20_000; number += 1) {
    const key = publicKeyOf(seedOf(number));
    seen.set(staticSas({ did: forge, key: forgeKey }, { did: scribe, key }), number);
    const shownToScribe = staticSas({ did: forge, key }, { did: scribe, key: scribeKey });
    const match = seen.get(shownToScribe);
    if (match !== undefined) return [seedOf(match), seedOf(number)];
  }
  throw new Error("nothing found");
}

it("somebody between them finds keys with equal digits, and is found out all the same", async () => {
  const homes = await makeHomes(["forge", "scribe"], (handle) => `wire as ${handle} sees it`);
  const [forge, scribe] = homesOf(homes);
  const keyOf = (wire: LiveWire, self: string) =>
    new Between(wire.dir, self === "forge" ? "scribe" : "forge", self, seedOf(0)).claim().key;
  const [fakeScribe, fakeForge] = searchKeys(keyOf(forge, "forge"), keyOf(scribe, "scribe"));
  const asScribe = new Between(forge.dir, "scribe", "forge", fakeScribe);
  const asForge = new Between(scribe.dir, "forge", "scribe", fakeForge);

  // Digits of keys alone: the search has succeeded, and so these are not believed.
  asScribe.show(undefined);
  asForge.show(undefined);
  const [left, right] = [await sas(forge, "forge", "scribe"), await sas(scribe, "scribe", "forge")];
  expect([left.state, right.state, left.digits]).toEqual(["static", "static", right.digits]);
  const hasty = await forge.run(
    "forge",
    "trust",
    "verify",
    "scribe",
    right.digits ?? "",
    ...BY_FLAGS,
  );
  expect([hasty.code, hasty.stderr]).toEqual([1, expect.stringContaining("prove too little")]);

  // Now by the rules, as far as they can be bent: it commits itself to forge, and learns forge's
  // nonce before it has to choose what scribe sees.
  const ownNonce = seedOf(1);
  const committed = { commitment: sasCommitment(ownNonce, asScribe.key) };
  asScribe.show(committed);
  await sas(forge, "forge", "scribe");
  asScribe.show({ ...committed, seen: asScribe.claim().commitment });
  await sas(forge, "forge", "scribe");
  const forgeNonce = asScribe.claim().nonce;
  if (forgeNonce === undefined) throw new Error("forge has not shown its nonce");
  asScribe.show({ ...committed, seen: asScribe.claim().commitment, nonce: ownNonce });
  const wanted = (await sas(forge, "forge", "scribe")).digits ?? "";
  expect(wanted).toMatch(/^[0-9]{6}$/);

  const guess = { commitment: sasCommitment(seedOf(2), asForge.key) };
  asForge.show(guess);
  await sas(scribe, "scribe", "forge");
  asForge.show({ ...guess, seen: asForge.claim().commitment });
  await sas(scribe, "scribe", "forge");
  const { nonce: scribeNonce, key: scribeKey } = asForge.claim();
  if (scribeNonce === undefined) throw new Error("scribe has not shown its nonce");
  // It knows both nonces: another of its own that makes the digits equal is soon found ...
  const other = { did: didOf("scribe"), key: scribeKey, nonce: scribeNonce };
  const digitsWith = (nonce: Uint8Array) =>
    committedSas({ did: didOf("forge"), key: asForge.key, nonce }, other);
  let found = 3;
  while (found < 20_000_000 && digitsWith(seedOf(found)) !== wanted) found += 1;
  expect(digitsWith(seedOf(found))).toBe(wanted);
  // ... and does not fit what it was committed to; another commitment gets another nonce.
  asForge.show({ ...guess, seen: asForge.claim().commitment, nonce: seedOf(found) });
  expect((await sas(scribe, "scribe", "forge")).digits).toBeNull();
  const better = { commitment: sasCommitment(seedOf(found), asForge.key), nonce: seedOf(found) };
  asForge.show({ ...better, seen: asForge.claim().commitment });
  // ... and only if scribe's operator lets another claim see one.
  const waiting = await sas(scribe, "scribe", "forge");
  expect([waiting.state, waiting.restarts]).toEqual(["changed", 1]);
  expect(asForge.claim().nonce).toEqual(scribeNonce);
  await scribe.json("scribe", "trust", "sas", "forge", "--again", ...BY_FLAGS);
  asForge.show({ ...better, seen: asForge.claim().commitment });
  const shown = await sas(scribe, "scribe", "forge");
  expect([shown.state, shown.restarted]).toEqual(["digits", true]);
  expect(shown.digits).not.toBe(wanted);

  // The operators read out what they see, and each finds out.
  for (let tries = 0; tries < 3; tries += 1) {
    const wrong = ["trust", "verify", "scribe", shown.digits ?? "", ...BY_FLAGS];
    expect((await forge.run("forge", ...wrong)).code).toBe(1);
  }
  const rows = await forge.json<{ handle: string; blocked: boolean }[]>("forge", "trust", "list");
  expect(rows.find(({ handle }) => handle === "scribe")?.blocked).toBe(true);
  const verify = ["trust", "verify", "forge", wanted, ...BY_FLAGS];
  expect((await scribe.run("scribe", ...verify)).stderr).toContain("these are not the digits");
  expect(await tierOf(scribe, "scribe", "forge")).toBe("UNTRUSTED");
});

it("a daemon that nobody watches shows one nonce, however often the card of its peer changes", async () => {
  const CHANGES = 8;
  const LOOKS_BEFORE_ANOTHER_SHOW = 60;
  const [forge] = homesOf(await makeHomes(["forge", "scribe"], (handle) => `wire of ${handle}`));
  const daemon = await forge.daemon("forge");
  const asScribe = new Between(forge.dir, "scribe", "forge", seedOf(9));
  const restarts = (): number => {
    const file = readFileSync(forge.paths("forge").pairing, "utf8");
    const { peers } = JSON.parse(file) as { peers: Record<string, { restarts: number }> };
    return peers["scribe"]?.restarts ?? 0;
  };
  const shown = new Set<string>();
  const note = (): boolean => {
    const { nonce } = asScribe.claim();
    if (nonce !== undefined) shown.add(Buffer.from(nonce).toString("hex"));
    return nonce !== undefined;
  };
  for (let change = 0; change <= CHANGES; change += 1) {
    const commitment = sasCommitment(seedOf(change), asScribe.key);
    const show = () => asScribe.show({ commitment, seen: asScribe.claim().commitment });
    show();
    // A watcher that has only begun may miss a change. The daemon looks again by itself, half a
    // minute later; a card that is written once more is seen sooner.
    let looks = 0;
    await until(`forge has looked at card ${change}`, () => {
      looks += 1;
      if (looks % LOOKS_BEFORE_ANOTHER_SHOW === 0) show();
      return note() && restarts() === change;
    });
    // A restart of the daemon forgets nothing of it.
    if (change === CHANGES / 2) {
      await daemon.stop();
      await forge.daemon("forge");
    }
  }
  note();
  expect(shown.size).toBe(1);
  const told = daemon.log().filter(({ peer, restarts: count }) => peer === "scribe" && count);
  expect(told).toHaveLength(1);
});

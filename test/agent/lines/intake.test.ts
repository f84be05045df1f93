import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import {
  Intake,
  type Believed,
  type Judging,
  type Source,
} from "../../../src/agent/lines/intake.ts";
import { Database } from "../../../src/store/database.ts";
import { Store } from "../../../src/store/store.ts";
import { signFields } from "../../../src/wire/compose.ts";
import { kindOf } from "../../../src/wire/kinds.ts";
import { fromPlain, isJsonObject } from "../../../src/wire/json/json.ts";
import { DEFAULT_LIMITS } from "../../../src/wire/limits.ts";
import { makeSigner, publicKeyOf, verifyEach, type Signer } from "../../../src/wire/signature.ts";
import { amount } from "../../support/amounts.ts";
import { randomFrom } from "../../support/random.ts";

// Whatever the order, the portions and the copies in which lines come: the same lines are held in the end.

const WIRE = "0d4be1a97725c83f";
const NOW = Date.parse("2026-06-01T12:00:00Z");

function secretOf(name: string): Uint8Array {
  return createHash("sha256").update(name).digest();
}

const signers = new Map<string, Signer>();
function signerOf(handle: string, key: string): Signer {
  const name = `${handle} ${key}`;
  const signer = signers.get(name) ?? makeSigner(handle, secretOf(name));
  signers.set(name, signer);
  return signer;
}

function pinned(handle: string, key: string, active = true) {
  const { keyId } = signerOf(handle, key);
  return { keyId, key: publicKeyOf(secretOf(`${handle} ${key}`)), active };
}

interface Signed {
  readonly bytes: Uint8Array;
  readonly id: string;
  readonly seq: number | null;
}

interface Said {
  readonly key?: string;
  readonly type?: string;
  readonly to?: readonly string[] | undefined;
  readonly body?: unknown;
  readonly at?: number;
  readonly fields?: object;
}

/** The next line of a chain; `after` undefined: the first. `null`: a line in no chain. */
function line(author: string, after: Signed | undefined | null, said: Said = {}): Signed {
  const { key = "a", type = "ship", to = ["forge"], body = "", at = 0, fields = {} } = said;
  const seq = after === null ? null : (after?.seq ?? 0) + 1;
  const timestamp = new Date(NOW + at).toISOString();
  const unsigned = fromPlain({
    ...{ timestamp, from: author, to, type, kind: kindOf(type), subject: "s", body },
    ...{ correlation_id: type === "ack" ? "T" : timestamp, ack_required: type === "proposal" },
    wire: WIRE,
    ...(seq === null ? {} : { seq, prev: after?.id }),
    ...fields,
  });
  if (!isJsonObject(unsigned)) throw new Error("no object");
  const { line: bytes, id } = signFields(unsigned, signerOf(author, key));
  return { bytes, id, seq };
}

function judging(
  changes: Partial<Judging> = {},
  pins: Record<string, Partial<Believed>> = {},
): Judging {
  const believed = (author: string): Believed => ({
    ...{ tier: "VERIFIED", blocked: false, held: undefined, allowUnchained: false },
    ...{ mayBeUnsigned: false, keys: [pinned(author, "a")] },
    ...pins[author],
  });
  return {
    ...{ self: "forge", wireId: WIRE, limits: DEFAULT_LIMITS, mark: { seq: 0, id: null } },
    isFirstReading: false,
    signing: { enforceSigned: true, allowUnsignedFrom: [] },
    believed,
    isMember: (author) => ["forge", "scribe", "ann"].includes(author),
    ...changes,
  };
}

const FROM_SCRIBE: Source = { owner: "scribe", reader: "forge", isLive: true };

class Reader {
  readonly store = new Store(Database.open(":memory:"));
  readonly #intake = new Intake(this.store, (items) => Promise.resolve(verifyEach(items)));
  by: Judging;
  nowMs = NOW;

  constructor(by = judging()) {
    this.by = by;
  }

  async read(lines: readonly Signed[], source = FROM_SCRIBE) {
    const checked = await this.#intake.check(
      lines.map(({ bytes }) => bytes),
      this.by,
    );
    const taken = this.store.write((into) =>
      this.#intake.take(into, checked, source, this.by, this.nowMs),
    );
    for (;;) {
      const proven = await this.#intake.prove("scribe", this.by);
      const { hasMore } = this.store.write((into) =>
        this.#intake.settle(into, this.by, this.nowMs, proven),
      );
      if (proven.length === 0 && !hasMore) return taken;
    }
  }

  get whole(): readonly [number, number | null] {
    const { seq, fork } = this.store.chains.whole("scribe");
    return [seq, fork];
  }

  verdicts(): Record<string, string | null> {
    const lines = this.store.lines({ after: 0, limit: 1_000 });
    return Object.fromEntries(lines.map(({ id, verdict }) => [id, verdict]));
  }

  get mail(): string[] {
    return this.store.mail.after({}, 0, 1_000).flatMap((n) => this.store.line(n)?.id ?? []);
  }

  /** All that follows from the set of lines. */
  state(): object {
    const lines = this.store.lines({ after: 0, limit: 1_000 });
    const plain = lines.map(({ id, verdict, branch, aside }) => [
      id,
      verdict,
      branch !== null,
      aside,
    ]);
    return {
      whole: this.whole,
      lines: plain.toSorted(([one], [other]) => (String(one) < String(other) ? -1 : 1)),
    };
  }
}

test("mail comes in the order of the chain, whatever the order of the lines", async () => {
  const one = line("scribe", undefined);
  const two = line("scribe", one, { at: 1 });
  const three = line("scribe", two, { at: 2 });
  const reader = new Reader();
  await reader.read([three]);
  expect(reader.whole).toEqual([0, null]);
  expect(reader.mail).toEqual([]);
  await reader.read([one, three]);
  expect(reader.mail).toEqual([one.id]);
  await reader.read([two, one]);
  expect(reader.whole).toEqual([3, null]);
  expect(reader.mail).toEqual([one.id, two.id, three.id]);
});

test("what lies behind a gap is delivered after ten minutes, once", async () => {
  const one = line("scribe", undefined);
  const two = line("scribe", one, { at: 1 });
  const three = line("scribe", two, { at: 2 });
  const reader = new Reader();
  await reader.read([one, three]);
  reader.nowMs += 10 * 60_000;
  await reader.read([]);
  expect(reader.mail).toEqual([one.id, three.id]);
  expect(reader.whole).toEqual([1, null]);
  await reader.read([two]);
  expect(reader.mail).toEqual([one.id, three.id, two.id]);
  expect(reader.whole).toEqual([3, null]);
});

test("two lines with one number: neither is mail before the operator follows one", async () => {
  const one = line("scribe", undefined);
  const yes = line("scribe", one, { body: "yes" });
  const no = line("scribe", one, { body: "no" });
  const behind = line("scribe", no, { at: 1 });
  const reader = new Reader();
  await reader.read([one, yes, no, behind]);
  expect(reader.whole).toEqual([1, 2]);
  expect(reader.mail).toEqual([one.id]);
  reader.store.write(() => reader.store.chains.follow({ author: "scribe", seq: 2, id: no.id }));
  await reader.read([]);
  expect(reader.mail).toEqual([one.id, no.id, behind.id]);
  expect(reader.verdicts()[yes.id]).toBe("log_forked");
  expect(reader.whole).toEqual([3, null]);
});

test("who knows the second key alone reads what the first one signed", async () => {
  const one = line("scribe", undefined);
  const names = line("scribe", one, {
    type: "proposal",
    body: {
      ...{ action: "add_key", key_id: signerOf("scribe", "b").keyId, required: ["forge"] },
      key: Buffer.from(publicKeyOf(secretOf("scribe b"))).toString("base64"),
    },
  });
  const next = line("scribe", names, { key: "b", at: 1 });
  const keys = [pinned("scribe", "b")];
  const late = new Reader(judging({}, { scribe: { keys } }));
  await late.read([one, names, next]);
  expect(late.mail).toEqual([one.id, names.id, next.id]);
  const early = new Reader();
  await early.read([one, next, names]);
  expect(early.whole).toEqual([3, null]);
  // Authentic, and not believed before it is pinned.
  expect(early.mail).toEqual([one.id, names.id]);
});

test("what nobody with a key has signed changes nothing", async () => {
  const one = line("scribe", undefined);
  const forged = line("scribe", one, { key: "thief" });
  const reader = new Reader();
  const { skipped } = await reader.read([one, forged, { ...one, bytes: Buffer.from("{}") }]);
  expect(skipped.map(({ reason }) => reason).toSorted()).toEqual(["schema", "untrusted_key"]);
  expect(reader.whole).toEqual([1, null]);
  const next = line("scribe", one, { at: 1 });
  await reader.read([next]);
  expect(reader.mail).toEqual([one.id, next.id]);
});

test("lines that an author did not sign cost it no token", async () => {
  const one = line("scribe", undefined);
  const forged = line("scribe", one, { key: "thief" });
  const loose = line("scribe", null, { key: "thief" });
  const reader = new Reader();
  const charged: string[] = [];
  const mayTake = (author: string): boolean => charged.push(author) > 0;
  await reader.read([one, forged, loose, one], { ...FROM_SCRIBE, mayTake });
  expect(charged).toEqual(["scribe"]);
});

test("what a revoked key signed behind the last good line is struck; the owner goes on from there", async () => {
  const one = line("scribe", undefined);
  const good = line("scribe", one, { at: 1 });
  const stolen = line("scribe", good, { at: 2 });
  const keys = [pinned("scribe", "a"), pinned("scribe", "b")];
  const reader = new Reader(judging({}, { scribe: { keys } }));
  await reader.read([one, good, stolen]);
  const { keyId } = signerOf("scribe", "a");
  reader.store.write(() =>
    reader.store.chains.strike("scribe", keyId, { author: "scribe", seq: 2, id: good.id }),
  );
  const next = line("scribe", good, { at: 3, key: "b" });
  const later = line("scribe", stolen, { at: 4 });
  await reader.read([next, later]);
  expect(reader.whole).toEqual([3, null]);
  expect(reader.mail).toEqual([one.id, good.id, stolen.id, next.id]);
});

test("a line of our own chain is adopted up to our mark, and no further", async () => {
  const one = line("forge", undefined);
  const two = line("forge", one, { at: 1 });
  const reader = new Reader(judging({ mark: { seq: 1, id: one.id } }));
  const { foreign } = await reader.read([two, one], { owner: "forge", isLive: false });
  expect(foreign.map(({ id }) => id)).toEqual([two.id]);
  expect(reader.store.chains.whole("forge").seq).toBe(1);
});

test("any order, portions and copies: the same lines are held, linked and whole", async () => {
  for (let seed = 1; seed <= amount(15, 5_000); seed += 1) {
    const random = randomFrom(seed);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
    const lines: Signed[] = [];
    const ends: (Signed | undefined)[] = [undefined];
    for (let at = 0; at < 8; at += 1) {
      const isForking = random() < 0.15;
      const after = isForking ? pick([...lines, undefined]) : ends.at(-1);
      const next = line("scribe", after, { at, body: `${seed} ${at}` });
      lines.push(next);
      ends.push(next);
    }
    const states: object[] = [];
    for (let order = 0; order < 3; order += 1) {
      const reader = new Reader();
      const shuffled = [...lines, pick(lines), pick(lines)]
        .map((each) => ({ each, by: order === 0 ? 0 : random() }))
        .toSorted((one, other) => one.by - other.by)
        .map(({ each }) => each);
      // Nothing is judged before all is there: then order decides what was delivered before a fork showed.
      reader.by = judging(
        {},
        { scribe: { held: { cause: "key_revoked", detail: "", sinceMs: 0 } } },
      );
      for (let from = 0; from < shuffled.length;) {
        const size = 1 + Math.floor(random() * 4);
        await reader.read(shuffled.slice(from, from + size));
        from += size;
      }
      reader.by = judging();
      await reader.read([]);
      states.push(reader.state());
      reader.store.close();
    }
    expect({ seed, state: states[1] }).toEqual({ seed, state: states[0] });
    expect({ seed, state: states[2] }).toEqual({ seed, state: states[0] });
  }
});

test("closes of asks are judged with the lines that they name, and a free beat starts the time of who has read", async () => {
  const reader = new Reader();
  const forge: Source = { owner: "forge", isLive: true };
  const asking = { type: "proposal", to: ["scribe"], body: { required: ["scribe"] } };
  const ask = line("forge", undefined, asking);
  const { thread } = { thread: new Date(NOW).toISOString() };
  const fields = { correlation_id: thread };
  const yes = line("scribe", undefined, {
    ...{ type: "ack", fields },
    body: { acks: ["forge", 1, ask.id], approve: true },
  });
  const beat = line("scribe", yes, {
    ...{ type: "heartbeat", to: ["*"] },
    body: { state: "idle", heads: { forge: [1, ask.id, 1] } },
  });
  const close = line("forge", ask, {
    ...{ type: "correction", fields },
    body: {
      ...{ decides: ["forge", 1, ask.id], outcome: "approved" },
      answers: [{ by: "scribe", ack: [1, yes.id], at: [2, beat.id] }],
    },
  });
  reader.by = judging({ mark: { seq: 2, id: close.id } });
  const state = (): string[] =>
    reader.store.asks.changed({ after: 0, limit: 9 }).map((part) => part.state);
  await reader.read([ask], forge);
  expect(state()).toEqual(["open"]);
  await reader.read([yes, beat]);
  const [open] = reader.store.asks.open("forge");
  expect([...(open?.readySince ?? [])]).toEqual([["scribe", NOW]]);
  await reader.read([close], forge);
  expect(state()).toEqual(["approved"]);
  expect(reader.store.asks.open("forge")).toEqual([]);
  reader.store.close();
});

test("an ask in no chain that names nobody asks the reader of its carrier", async () => {
  const reader = new Reader();
  const bytes = line("ann", null, { type: "proposal", to: undefined });
  await reader.read([bytes], { owner: "ann", reader: "forge", isLive: true });
  expect(reader.store.asks.open("forge").map(({ ask }) => ask.place.author)).toEqual(["ann"]);
  reader.store.close();
});

test("of lines that begin a branch, those of one key leave room for those of another", async () => {
  const reader = new Reader();
  const first = line("scribe", undefined);
  await reader.read([first]);
  const most = 64;
  const forks = Array.from({ length: most + 10 }, (_each, at) => line("scribe", first, { at }));
  await reader.read(forks);
  // The first of them begins none.
  expect(reader.store.linesNumbered("scribe", 2)).toHaveLength(most);
  expect(reader.store.chains.rivals("scribe", 2)).toHaveLength(most);
  // The operator has revoked the key that did this, and compared another.
  const last = { seq: 1, id: first.id };
  const keys = [{ ...pinned("scribe", "a", false), last }, pinned("scribe", "b")];
  reader.by = judging({}, { scribe: { keys } });
  reader.store.write(() => {
    reader.store.chains.strike("scribe", pinned("scribe", "a").keyId, {
      author: "scribe",
      ...last,
    });
  });
  const next = line("scribe", first, { key: "b", at: 1_000 });
  await reader.read([next]);
  expect(reader.whole).toEqual([2, null]);
  expect(reader.mail).toEqual([first.id, next.id]);
});

test("what waits of one author keeps no line of another from being judged", async () => {
  const reader = new Reader(judging({}, { ann: { tier: "UNTRUSTED" } }));
  const many = 1_001;
  const waiting = Array.from({ length: many }, (_each, at) => line("ann", null, { at }));
  await reader.read(waiting, { owner: "ann", reader: "forge", isLive: true });
  expect(reader.mail).toEqual([]);
  const one = line("scribe", null);
  await reader.read([one]);
  expect(reader.mail).toEqual([one.id]);
  reader.by = judging();
  await reader.read([]);
  expect(reader.mail).toEqual([one.id, ...waiting.map(({ id }) => id)].slice(0, 1_000));
});

test("who has compared the second key alone reads a long chain of the first one", async () => {
  const reader = new Reader(judging({}, { scribe: { keys: [pinned("scribe", "b")] } }));
  const lines = [line("scribe", undefined)];
  for (let at = 1; at < 300; at += 1) lines.push(line("scribe", lines.at(-1), { at }));
  await reader.read(lines);
  expect(reader.whole).toEqual([0, null]);
  const vouching = line("scribe", lines.at(-1), { key: "b" });
  await reader.read([vouching]);
  expect(reader.mail).toHaveLength(301);
  // A branch that is not followed vouches for nothing behind its fork.
  const keys = [pinned("scribe", "b").keyId];
  const other = line("scribe", lines[99], { key: "b", at: 1_000 });
  await reader.read([other, line("scribe", other, { at: 1_001 })]);
  reader.store.write(() => {
    reader.store.chains.follow({ author: "scribe", seq: 101, id: lines[100]?.id ?? "" });
  });
  expect(reader.store.chains.lastSigned("scribe", keys)).toBe(301);
  reader.store.write(() => {
    reader.store.chains.follow({ author: "scribe", seq: 101, id: other.id });
  });
  expect(reader.store.chains.lastSigned("scribe", keys)).toBe(101);
});

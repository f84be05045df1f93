import { expect, test } from "vitest";
import { Intake, type Believed, type Judging } from "../../../src/agent/lines/intake.ts";
import { Database } from "../../../src/store/database.ts";
import { Store } from "../../../src/store/store.ts";
import { DEFAULT_LIMITS } from "../../../src/wire/limits.ts";
import { decodeKey, keyId, verifyEach } from "../../../src/wire/signature.ts";
import { randomReading, type RandomOptions } from "../../model/random-reader.ts";
import {
  expectedOf,
  type Expected,
  type PinnedAgent,
  type Reader,
  type ReaderEvent,
} from "../../model/reader.ts";
import { readLine } from "../../../src/protocol/admit/read-line.ts";
import { isState } from "../../../src/trust/tiers.ts";
import { WIRE_ID } from "../../model/reader-lines.ts";
import { amount } from "../../support/amounts.ts";

// The intake holds and delivers what the independent model of the specification says, event by event.

interface Pin {
  readonly keyId: string;
  readonly key: Uint8Array;
  isActive: boolean;
  isRevoked: boolean;
  last: { readonly seq: number; readonly id: string } | undefined;
}

interface Standing {
  tier: Believed["tier"];
  isBlocked: boolean;
  /** The revoked key for which it is held. */
  heldFor: Pin | undefined;
  readonly agent: PinnedAgent | undefined;
  readonly keys: Pin[];
}

type Found = Extract<ReaderEvent, { kind: "found" }>;

/** The product, driven by the events of the model. */
class Product {
  readonly #database = Database.open(":memory:");
  readonly store = new Store(this.#database);
  readonly #intake = new Intake(this.store, (items) => Promise.resolve(verifyEach(items)));
  readonly #standings = new Map<string, Standing>();
  readonly #found: Found[] = [];
  readonly #reader: Reader;
  #isFirstReading: boolean;

  constructor(reader: Reader, isFirstReading: boolean) {
    this.#reader = reader;
    this.#isFirstReading = isFirstReading;
    for (const author of Object.keys(reader.agents)) this.#standing(author);
  }

  async apply(event: ReaderEvent): Promise<void> {
    if (event.kind === "found") {
      this.#found.push(event);
      await this.#read(event, event.atMs);
    } else this.#act(event);
    await this.#settle(event.atMs);
    // With another key the carriers in which lines were passed over are read again.
    if (event.kind === "pin" || event.kind === "verify")
      for (const found of this.#found) await this.#read(found, event.atMs);
    await this.#settle(event.atMs);
  }

  /** Lines that are proven and not linked. */
  proven(author: string): { readonly id: string; readonly bytes: Uint8Array }[] {
    const sql =
      "select lower(hex(id)) as id, bytes from waiting join agents using (a) where name = ? and proven = 1 order by seq, id";
    return this.#database.all(sql, author);
  }

  isLoose(id: string): boolean {
    return this.store.withIdPrefix(id, 2).every(({ seq }) => seq === null);
  }

  async #read({ carrier, line, isHistorical }: Found, nowMs: number): Promise<void> {
    const by = this.#judging();
    const checked = await this.#intake.check([line], by);
    const { owner, reader } = carrier;
    const source = { owner, isLive: !isHistorical, ...(reader === null ? {} : { reader }) };
    this.store.write((into) => this.#intake.take(into, checked, source, by, nowMs));
  }

  async #settle(nowMs: number): Promise<void> {
    for (;;) {
      const by = this.#judging();
      const authors = this.store.chains.unfinished();
      const proven = (
        await Promise.all(authors.map((each) => this.#intake.prove(each, by)))
      ).flat();
      const taken = this.store.write((into) => this.#intake.settle(into, by, nowMs, proven));
      if (proven.length === 0 && !taken.hasMore) return;
    }
  }

  #act(event: Exclude<ReaderEvent, { kind: "found" }>): void {
    const { chains } = this.store;
    if (event.kind === "caught-up") this.#isFirstReading = false;
    if (event.kind === "caught-up" || event.kind === "clock") return;
    const standing = this.#standing(event.author);
    if (event.kind === "tier") standing.tier = event.tier;
    if (event.kind === "block") standing.isBlocked = event.isBlocked;
    if (event.kind === "pin") this.#pin(standing, event.author, event.key);
    if (event.kind === "verify") {
      const pin = this.#pin(standing, event.author, event.key);
      if (pin === undefined || pin.isRevoked) return;
      for (const each of standing.keys) each.isActive = each === pin;
      standing.heldFor = undefined;
      if (standing.tier === "UNTRUSTED") standing.tier = "VERIFIED";
    }
    if (event.kind === "deactivate") {
      const pin = standing.keys.find((each) => each.keyId === event.keyId);
      if (pin?.isActive !== true) return;
      pin.isActive = false;
      const { last } = event;
      pin.last = last === null ? undefined : { seq: last[0], id: last[1] };
    }
    if (event.kind === "revoke") {
      const named = this.store.namedKeys
        .of(event.author)
        .find((each) => each.keyId === event.keyId);
      const unpinned = named === undefined ? undefined : Buffer.from(named.key).toString("base64");
      const pin =
        standing.keys.find((each) => each.keyId === event.keyId) ??
        (unpinned === undefined ? undefined : this.#pin(standing, event.author, unpinned));
      const { seq, id } = chains.whole(event.author);
      const last =
        event.last === undefined ? (id === null ? null : ([seq, id] as const)) : event.last;
      if (pin === undefined) return;
      pin.isActive = false;
      pin.isRevoked = true;
      pin.last = last === null ? undefined : { seq: last[0], id: last[1] };
      standing.heldFor = pin;
      standing.tier = "UNTRUSTED";
      const place = last === null ? null : { author: event.author, seq: last[0], id: last[1] };
      this.store.write(() => chains.strike(event.author, event.keyId, place));
    }
    if (event.kind === "follow") {
      const [seq, id] = event.place;
      this.store.write(() => chains.follow({ author: event.author, seq, id }));
    }
  }

  #pin(standing: Standing, author: string, key: string): Pin | undefined {
    const bytes = decodeKey(key);
    if (bytes === undefined) return undefined;
    const id = keyId(author, bytes);
    const known = standing.keys.find((each) => each.keyId === id);
    if (known !== undefined) return known;
    const pin = { keyId: id, key: bytes, isActive: true, isRevoked: false, last: undefined };
    standing.keys.push(pin);
    return pin;
  }

  #standing(author: string): Standing {
    const known = this.#standings.get(author);
    if (known !== undefined) return known;
    const agent = this.#reader.agents[author];
    const keys = (agent?.keys ?? []).flatMap(({ key, isActive, last }): Pin[] => {
      const bytes = decodeKey(key);
      if (bytes === undefined) return [];
      const at = last === null ? undefined : { seq: last[0], id: last[1] };
      return [{ keyId: keyId(author, bytes), key: bytes, isActive, isRevoked: false, last: at }];
    });
    const { tier = "UNTRUSTED", isBlocked = false } = agent ?? {};
    const standing = { tier, isBlocked, heldFor: undefined, agent, keys };
    this.#standings.set(author, standing);
    return standing;
  }

  #judging(): Judging {
    const { handle, wireId, policy, roster } = this.#reader;
    return {
      ...{ self: handle, wireId, isFirstReading: this.#isFirstReading },
      signing: { enforceSigned: policy.enforceSigned, allowUnsignedFrom: policy.allowUnsignedFrom },
      limits: { ...DEFAULT_LIMITS, ...policy },
      mark: { seq: Number.MAX_SAFE_INTEGER, id: null },
      isMember: (author) => roster.includes(author),
      believed: (author) => {
        const { tier, isBlocked, heldFor, agent, keys } = this.#standing(author);
        return {
          ...{ tier, blocked: isBlocked },
          held: heldFor && { cause: "key_revoked", detail: "", sinceMs: 0 },
          allowUnchained: agent?.isUnchainedAllowed === true,
          mayBeUnsigned: agent?.isUnsignedAllowed === true,
          keys: keys.map((pin) => ({
            ...{ keyId: pin.keyId, key: pin.key, active: pin.isActive, revoked: pin === heldFor },
            ...(pin.last === undefined ? {} : { last: pin.last }),
          })),
        };
      },
    };
  }
}

interface State {
  readonly chains: object;
  readonly lines: Record<string, string>;
}

/** Lines that say how an agent is are no mail, whatever is said of them. */
function isStateLine(bytes: Uint8Array): boolean {
  const read = readLine(bytes, WIRE_ID);
  return read.ok && isState(read.line.type);
}

function told(verdict: string | null): string {
  if (verdict === null) return "waits";
  if (verdict === "mail") return "mail";
  if (verdict === "untrusted_key" || verdict === "log_forked") return "refused";
  return verdict === "passed" ? "accepted" : `refused ${verdict}`;
}

/** What the model expects, in the words of the product. */
function expectedState(
  { authors, lines }: Expected,
  self: string,
  settled: Map<string, string>,
  states: ReadonlySet<string>,
): State {
  const chains = Object.entries(authors)
    .filter(([author, { authentic }]) => authentic.length > 0 && author !== self)
    .map(([author, { linked, ahead, struck, against, whole, forkAt }]) => [
      author,
      {
        linked: linked.toSorted(),
        ahead: ahead.toSorted(),
        // A line that is struck on a branch that is not followed may be called either.
        aside: [...new Set([...struck, ...against])].filter((id) => linked.includes(id)).toSorted(),
        whole: whole?.[0] ?? 0,
        fork: forkAt,
      },
    ]);
  const verdicts = [...lines]
    .filter(([id, { verdict }]) => verdict.is !== "own" && !states.has(id))
    .map(([id, { verdict }]) => {
      const now = verdict.is === "refused" ? told(verdict.reason) : verdict.is;
      // The product keeps what it has said once; the model judges again what is no mail.
      const said = settled.get(id) ?? now;
      // But for a copy that shows that a line in no chain is for the reader.
      const is = said === "accepted" && now === "mail" ? now : said;
      if (is !== "waits" && is !== "refused") settled.set(id, is);
      return [id, is];
    });
  return {
    chains: Object.fromEntries(chains),
    lines: Object.fromEntries(verdicts),
  };
}

function productState(product: Product, self: string): State {
  const { store } = product;
  const held = store.lines({ after: 0, limit: 10_000 });
  const authors = [
    ...new Set([
      ...held.filter(({ seq }) => seq !== null).map(({ author }) => author),
      ...store.chains.unfinished(),
    ]),
  ];
  const chains = authors
    .filter((author) => author !== self)
    .flatMap((author) => {
      const of = held.filter((line) => line.author === author && line.seq !== null);
      const linked = of.filter(({ branch }) => branch !== null);
      const waiting = product.proven(author).map(({ id }) => id);
      const unlinked = of.filter(({ branch }) => branch === null).map(({ id }) => id);
      if (of.length + waiting.length === 0) return [];
      const { seq, fork } = store.chains.whole(author);
      const aside = linked.filter((line) => line.aside !== null).map(({ id }) => id);
      return [
        [
          author,
          {
            linked: linked.map(({ id }) => id).toSorted(),
            ahead: [...unlinked, ...waiting].toSorted(),
            ...{ aside: aside.toSorted(), whole: seq, fork },
          },
        ],
      ];
    });
  const lines = held
    .filter(({ author, type }) => author !== self && !isState(type))
    .map(({ id, verdict }) => [id, told(verdict)]);
  const waiting = authors
    .filter((author) => author !== self)
    .flatMap((author) => product.proven(author))
    .filter(({ bytes }) => !isStateLine(bytes))
    .map(({ id }) => [id, "waits"]);
  return {
    chains: Object.fromEntries(chains),
    lines: Object.fromEntries([...lines, ...waiting]),
  };
}

const OPTIONS: RandomOptions = { acts: 35, hasOperator: true, hasLeaves: false };

test("what a reader holds and delivers after each of many events", async () => {
  for (let seed = 1; seed <= amount(60, 90); seed += 1) {
    const { reader, events } = randomReading(seed, OPTIONS);
    const expected = expectedOf(reader, events);
    const product = new Product(
      reader,
      events.some(({ kind }) => kind === "caught-up"),
    );
    const settled = new Map<string, string>();
    const found = events.flatMap((event) => (event.kind === "found" ? [event.line] : []));
    const states = new Set(
      found.filter(isStateLine).flatMap((line) => {
        const read = readLine(line, WIRE_ID);
        return read.ok ? [read.line.id] : [];
      }),
    );
    for (const [index, event] of events.entries()) {
      const each = expected[index];
      if (each === undefined) throw new Error("no expectation");
      if (each.isIgnored) continue;
      await product.apply(event);
      const said = productState(product, reader.handle);
      const wanted = expectedState(each, reader.handle, settled, states);
      // What is no mail may be said later: behind a line that waits, or before a gap is over. A line in no chain
      // that was refused for its key stays refused, also when that key is used again.
      for (const [id, is] of Object.entries(said.lines))
        if (is === "waits" && wanted.lines[id] !== "mail") wanted.lines[id] = is;
        else if (is === "refused" && product.isLoose(id)) wanted.lines[id] = is;
        // Struck or not followed only after it was refused for another reason.
        else if (is.startsWith("refused") && wanted.lines[id] === "refused") wanted.lines[id] = is;
      expect({ seed, index, ...said }).toEqual({ seed, index, ...wanted });
    }
    product.store.close();
  }
});

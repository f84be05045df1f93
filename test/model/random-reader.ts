// Random wires as one reader meets them, from a seed: what agents of all kinds sign, what becomes of it in
// carriers, and what the operator does meanwhile. Everything has real signatures.
import { randomFrom } from "../support/random.ts";
import {
  corruptCopy,
  LineWriter,
  resign,
  START_MS,
  testKey,
  timestampAt,
  WIRE_ID,
  type SignedLine,
} from "./reader-lines.ts";
import type { Carrier, PinnedAgent, Reader, ReaderEvent, SeqId, Tier } from "./reader.ts";

export interface RandomReading {
  readonly seed: number;
  readonly reader: Reader;
  readonly events: readonly ReaderEvent[];
}

export interface RandomOptions {
  /** Agents act, at most so often; about as many lines are signed. */
  readonly acts: number;
  /** Whether the operator acts while lines arrive. */
  readonly hasOperator: boolean;
  /** Whether members leave. Then who is refused depends on when lines arrive. */
  readonly hasLeaves: boolean;
  /** What the agents are, one by one; else the seed decides, also how many there are. */
  readonly kinds?: readonly Kind[];
  /** False: no line was there before the reader was. */
  readonly hasHistory?: boolean;
}

export type Kind = "honest" | "forking" | "rotating" | "robbed" | "unchained" | "upgrading";

interface Author {
  readonly handle: string;
  readonly kind: Kind;
  readonly writer: LineWriter;
  keyNumber: number;
  readonly said: SignedLine[];
}

/** A line on its way: it was put into a carrier at a step. */
interface Put {
  readonly step: number;
  readonly carrier: Carrier;
  readonly line: Uint8Array;
}

const READER = "forge";
const MINUTE_MS = 60_000;
const KINDS: readonly Kind[] = [
  "honest",
  "honest",
  "forking",
  "rotating",
  "robbed",
  "unchained",
  "upgrading",
];
const TYPES = ["ship", "ship", "request", "heartbeat", "heartbeat", "claim", "warning", "ack"];
const TIERS: readonly Tier[] = [
  "VERIFIED",
  "VERIFIED",
  "VERIFIED",
  "UNTRUSTED",
  "ATTESTED",
  "TRUSTED",
];

/** One random reading. The same seed and options give the same one. */
export function randomReading(seed: number, options: RandomOptions): RandomReading {
  const random = randomFrom(seed);
  const below = (count: number): number => Math.floor(random() * count);
  const chance = (probability: number): boolean => random() < probability;
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[below(items.length)];
    if (item === undefined) throw new RangeError("there is nothing to pick from");
    return item;
  };

  const authors = ["scribe", "mason", "ann", "zoe"]
    .slice(0, options.kinds?.length ?? 1 + below(4))
    .map((handle, index): Author => {
      const writer = new LineWriter(handle);
      writer.version = chance(0.15) ? "v3.0" : "v3.1";
      return {
        handle,
        kind: options.kinds?.[index] ?? pick(KINDS),
        writer,
        keyNumber: 1,
        said: [],
      };
    });
  const handles = authors.map(({ handle }) => handle);
  const puts: Put[] = [];
  const foreign = new Map(handles.map((handle) => [handle, new LineWriter(handle)]));

  // --- What agents sign ---

  const someTo = (): readonly string[] =>
    pick([["*"], ["*"], [READER], [READER, "ann"], ["ann"], []]);

  /** What is wrong with a line, now and then: it is authentic all the same. */
  function someFaults(): Readonly<Record<string, unknown>> {
    if (chance(0.75)) return {};
    return pick([
      { subject: undefined },
      { kind: 100, type: "ship" },
      { body: { text: "x".repeat(1_100) } },
      { refs: ["a", "b", "c"] },
      { type: "unheard-of" },
      { type: undefined, kind: 4_321 },
      { timestamp: "yesterday" },
      { timestamp: timestampAt(START_MS + below(70) * MINUTE_MS) },
      { timestamp: timestampAt(START_MS + below(70) * MINUTE_MS) },
    ]);
  }

  function put(author: Author, said: SignedLine, carriers = carriersOf(author, said)): void {
    author.said.push(said);
    for (const carrier of carriers) puts.push({ step: puts.length, carrier, line: said.line });
  }

  function carriersOf({ handle }: Author, said: SignedLine): readonly Carrier[] {
    const outbox = { owner: handle, reader: null };
    const pair = { owner: handle, reader: READER };
    const other = { owner: handle, reader: handle === "ann" ? "scribe" : "ann" };
    if (said.seq !== null) return pick([[outbox], [outbox], [outbox, pair], [pair]]);
    return pick([[pair], [pair], [pair, other], [other], [outbox]]);
  }

  function sayLoose(author: Author): void {
    const type = pick(TYPES);
    const to = chance(0.3) ? undefined : someTo();
    const wire = pick([{}, { wire: WIRE_ID }, { wire: "0000000000000000" }]);
    const { writer } = author;
    const fields = { to, ...wire, ...someFaults() };
    put(author, chance(0.15) ? writer.sayUnsigned(type, fields) : writer.sayLoose(type, fields));
  }

  function say(author: Author, type = pick(TYPES), fields = someFaults()): SignedLine {
    const names = chance(0.3) ? someNames() : {};
    const said = author.writer.say(type, { to: someTo(), ...names, ...fields });
    put(author, said);
    return said;
  }

  /** What a line names: places of others, and now and then one that nobody wrote. */
  function someNames(): Readonly<Record<string, unknown>> {
    const author = pick(authors);
    const line = chance(0.1) ? { seq: 3, id: "0".repeat(64) } : pick([...author.said, null]);
    if (line === null || line.seq === null) return {};
    const place = [author.handle, line.seq, line.id];
    return pick([
      { body: { heads: { [author.handle]: [line.seq, line.id, 0] } } },
      { body: { acks: place, approve: true } },
      { body: { resumes: [place, "none"] } },
      { body: { refused: [[author.handle, line.seq, line.seq, line.id, "log_forked"]] } },
    ]);
  }

  const chainOf = ({ said }: Author): readonly SignedLine[] =>
    said.filter(({ seq }) => seq !== null);

  function goBack(author: Author): void {
    const chain = chainOf(author);
    if (chain.length > 0) author.writer.goBackTo(pick(chain));
  }

  function useKey(author: Author, number: number): void {
    author.keyNumber = number;
    author.writer.key = testKey(author.handle, number);
  }

  function nameNextKey(author: Author): void {
    const { keyId, base64 } = testKey(author.handle, author.keyNumber + 1);
    const body = { action: "add_key", key_id: keyId, key: base64, required: [READER] };
    say(author, "proposal", { body });
  }

  /** A revocation as the text wants it, or one that is not. */
  function revoke(author: Author): void {
    const { handle, keyNumber, writer } = author;
    const lastGood = writer.last;
    const revoked = testKey(handle, keyNumber).keyId;
    if (!chance(0.2)) useKey(author, keyNumber + 1);
    const last = chance(0.8) ? lastGood : [1, "0".repeat(64)];
    say(author, "correction", { body: { revokes: revoked, last } });
  }

  /** Who has stolen a key goes on from any place. */
  function stealAndSay(author: Author): void {
    const { writer, keyNumber } = author;
    const { key, last } = writer;
    writer.key = testKey(author.handle, 1 + below(keyNumber));
    goBack(author);
    for (let count = 1 + below(3); count > 0; count -= 1) say(author);
    writer.key = key;
    writer.last = last;
  }

  function act(author: Author): void {
    const { kind, writer } = author;
    const isChained = kind !== "unchained" && (kind !== "upgrading" || chainOf(author).length > 0);
    if (kind === "upgrading" && chance(0.1)) say(author);
    else if (!isChained || chance(0.05)) sayLoose(author);
    else if (options.hasLeaves && chance(0.02)) {
      say(author, "shutdown", { body: { leave: true, after: 0 } });
    } else if (kind === "forking" && chance(0.12)) {
      goBack(author);
      say(author);
    } else if (kind === "rotating" && chance(0.15)) {
      nameNextKey(author);
      if (chance(0.7)) useKey(author, author.keyNumber + 1);
    } else if (kind === "robbed" && chance(0.25)) {
      if (chance(0.5) || writer.last === null) stealAndSay(author);
      else {
        if (chance(0.5)) goBack(author);
        revoke(author);
      }
    } else say(author);
  }

  for (let count = options.acts; count > 0; count -= 1) act(pick(authors));
  for (const author of authors) {
    const timestamp = timestampAt(START_MS + (2 + below(4)) * 30 * MINUTE_MS);
    if (!chance(0.3)) continue;
    if (author.writer.last === null) put(author, author.writer.sayLoose("ship", { timestamp }));
    else say(author, "ship", { timestamp });
  }

  // --- What becomes of it in carriers ---

  const someCarrier = (): Carrier => ({
    owner: pick([...handles, "mallory"]),
    reader: pick([null, READER, "ann"]),
  });
  const signed = authors.flatMap(({ said }) => said);

  /** Junk, torn and foreign lines, and copies of all kinds. */
  function someNoise(): readonly { readonly carrier: Carrier; readonly line: Uint8Array }[] {
    const carrier = someCarrier();
    const author = pick(authors);
    const { handle } = author;
    const one = pick(signed);
    const isChained = one.seq !== null;
    // A broken copy of an unchained line in a file of its author would be for that one's reader as well.
    const elsewhere = isChained ? carrier : { ...carrier, owner: "mallory" };
    switch (below(9)) {
      case 0:
        return [
          { carrier, line: Buffer.from(pick(["junk", "{}", "[1]", "\u0000\u0001", "{", "null"])) },
        ];
      case 1:
        return [{ carrier, line: one.line.subarray(0, 1 + below(one.line.length - 1)) }];
      case 2:
        return [{ carrier, line: Buffer.concat([one.line.subarray(0, 40), pick(signed).line]) }];
      case 3: {
        const line = foreign.get(handle)?.say("ship", { wire: "ffffffffffffffff" }).line;
        return line === undefined ? [] : [{ carrier, line }];
      }
      case 4: {
        // Of a key that is no one's, in the name of an author.
        const stranger = new LineWriter(handle, testKey(handle, 1_000));
        stranger.nowMs -= 500;
        if (author.writer.last !== null) stranger.last = author.writer.last;
        return [{ carrier, line: stranger.say("ship").line }];
      }
      case 5:
      case 6:
        return [{ carrier: elsewhere, line: corruptCopy(one, below(6)) }];
      case 7: {
        const owner = authors.find(({ said }) => said.includes(one)) ?? author;
        const key = testKey(owner.handle, 1 + below(owner.keyNumber));
        return isChained ? [{ carrier, line: resign(one, key) }] : [];
      }
      default:
        return [{ carrier: elsewhere, line: one.line }];
    }
  }

  const arrivals = puts.flatMap((one): readonly (Put & { readonly when: number })[] => {
    if (chance(0.03)) return [];
    const jitter = pick([0, 0, 0, 0, 3, 3, 10, puts.length]);
    const when = one.step + below(jitter + 1) + random() / 2;
    const again = { ...one, when: when + below(puts.length) };
    return chance(0.1) ? [{ ...one, when }, again] : [{ ...one, when }];
  });
  for (let count = below(1 + puts.length / 2); count > 0; count -= 1) {
    const when = random() * puts.length;
    for (const noise of someNoise()) arrivals.push({ ...noise, step: 0, when });
  }
  const inOrder = chance(0.1)
    ? arrivals.toReversed()
    : arrivals.toSorted((a, b) => a.when - b.when);

  // --- What the reader believes, and its operator does ---

  function somePins({ handle }: Author): readonly (readonly [string, PinnedAgent])[] {
    if (chance(0.08)) return [];
    const numbers = pick([[1], [1], [1], [1], [1, 2], [1, 2, 3], [2], [2, 3], []]);
    const agent: PinnedAgent = {
      tier: pick(TIERS),
      isBlocked: chance(0.03),
      isUnchainedAllowed: chance(0.2),
      isUnsignedAllowed: chance(0.2),
      keys: numbers.map((number) => ({
        key: testKey(handle, number).base64,
        isActive: true,
        last: null,
      })),
    };
    return [[handle, agent]];
  }

  const reader: Reader = {
    handle: READER,
    wireId: WIRE_ID,
    roster: [READER, ...handles.filter((handle) => handle !== "zoe" || chance(0.5)), "ann"].filter(
      (handle, index, all) => all.indexOf(handle) === index,
    ),
    unchained: authors
      .filter(({ kind }) => kind === "unchained")
      .map(({ handle }) => handle)
      .filter((handle) => handle !== "zoe"),
    epoch: 0,
    policy: {
      enforceSigned: !chance(0.1),
      allowUnsignedFrom: chance(0.3) ? ["ann", "scribe"] : [],
      max_message_body_kb: 1,
      max_clock_skew_seconds: 300,
      max_refs: 2,
    },
    agents: Object.fromEntries(authors.flatMap(somePins)),
  };

  function somePlace(author: Author): SeqId | null {
    const chain = chainOf(author);
    if (chain.length === 0) return null;
    const line = pick(chain);
    return [line.seq ?? 0, line.id];
  }

  /** A place that an operator may have to name: one of a fork, where there is one. */
  function someBranch(author: Author): SeqId | null {
    const chain = chainOf(author);
    const lowest = chain
      .filter(({ seq, id }) => chain.some((other) => other.seq === seq && other.id !== id))
      .toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
    const [first] = lowest;
    if (first === undefined || chance(0.2)) return somePlace(author);
    const line = pick(lowest.filter(({ seq }) => seq === first.seq));
    return [line.seq ?? 0, line.id];
  }

  function operatorAct(atMs: number): readonly ReaderEvent[] {
    const author = pick(authors);
    const { handle, keyNumber } = author;
    const key = testKey(handle, 1 + below(keyNumber));
    const base = { atMs, author: handle };
    switch (below(16)) {
      case 0:
      case 1:
        return [{ ...base, kind: "pin", key: key.base64 }];
      case 2:
        return [{ ...base, kind: "verify", key: testKey(handle, keyNumber).base64 }];
      case 3:
      case 4:
        return [{ ...base, kind: "tier", tier: pick(TIERS) }];
      case 5:
        return chance(0.3) ? [{ ...base, kind: "block", isBlocked: chance(0.5) }] : [];
      case 6:
        return [{ ...base, kind: "deactivate", keyId: key.keyId, last: somePlace(author) }];
      case 7: {
        const revoke: ReaderEvent = { ...base, kind: "revoke", keyId: key.keyId };
        return chance(0.5) ? [revoke] : [{ ...revoke, last: somePlace(author) }];
      }
      default: {
        const place = someBranch(author);
        return place === null ? [] : [{ ...base, kind: "follow", place }];
      }
    }
  }

  let nowMs = START_MS + 5 * MINUTE_MS;
  const historical = options.hasHistory !== false && chance(0.3) ? below(inOrder.length) : 0;
  const events: ReaderEvent[] = [];
  for (const [index, { carrier, line }] of inOrder.entries()) {
    nowMs += 1_000 + below(20_000);
    const isHistorical = index < historical;
    events.push({ kind: "found", atMs: nowMs, carrier, line, isHistorical });
    if (index === historical - 1) events.push({ kind: "caught-up", atMs: nowMs });
    if (isHistorical) continue;
    if (chance(0.08)) {
      nowMs += 1_000 + below(11 * MINUTE_MS);
      events.push({ kind: "clock", atMs: nowMs });
    }
    if (options.hasOperator && chance(0.15)) events.push(...operatorAct(nowMs));
  }
  for (let count = 3; count > 0; count -= 1) {
    nowMs += 16 * MINUTE_MS + 777;
    events.push({ kind: "clock", atMs: nowMs });
    if (options.hasOperator) events.push(...operatorAct(nowMs));
  }
  return { seed, reader, events };
}

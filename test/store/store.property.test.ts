import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import type { MailQuery } from "../../src/store/mail.ts";
import { Store, type HeldLine, type NewLine } from "../../src/store/store.ts";
import { amount } from "../support/amounts.ts";

// Any order of changes, ends without a word, restarts and pages: the store answers as a plain list would.

const folder = mkdtempSync(join(tmpdir(), "deaddrop-store-"));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});
let databases = 0;

const AUTHORS = ["forge", "scribe", "ann"];
const WORDS = ["build", "Bücher", "tests", "don't", "AND", '"x"', "日本", "a*"];
const id = fc
  .tuple(fc.constantFrom("00", "7f", "7fa", "ff"), fc.nat(30))
  .map(([start, n]) => start.padEnd(64 - String(n).length, "0") + String(n));
const words = fc.array(fc.constantFrom(...WORDS), { maxLength: 4 }).map((all) => all.join(" "));
const line: fc.Arbitrary<NewLine> = fc
  .record({
    author: fc.constantFrom(...AUTHORS),
    seq: fc.option(fc.integer({ min: 1, max: 6 })),
    id,
    thread: fc.constantFrom("t1", "t2", "t3"),
    type: fc.constantFrom("ship", "heartbeat"),
    sentMs: fc.nat(1_000),
    receivedMs: fc.nat(1_000),
    isLive: fc.boolean(),
    isOurs: fc.boolean(),
    isUrgent: fc.boolean(),
    keyId: fc.constantFrom(null, "k"),
    isVerified: fc.boolean(),
    words: fc.option(fc.record({ subject: words, body: words }), { nil: undefined }),
  })
  .map(({ words: found, ...each }) => {
    const isBeat = each.type === "heartbeat";
    const bytes = Buffer.from(JSON.stringify([each.author, each.seq, each.id]));
    return {
      ...each,
      bytes,
      prev: null,
      names: [],
      ...(found === undefined || isBeat ? {} : { words: found }),
    };
  });

/** What a store should say, in as few words as possible. */
class Model {
  lines: (HeldLine & NewLine)[] = [];
  keys = new Map<string, number>();
  last = 0;

  copy(): Model {
    return Object.assign(new Model(), {
      lines: [...this.lines],
      keys: new Map(this.keys),
      last: this.last,
    });
  }

  hold(added: NewLine): number {
    const same = this.lines.find(
      (each) => each.author === added.author && each.seq === added.seq && each.id === added.id,
    );
    if (same !== undefined) return same.n;
    const isLooseBeat = (each: NewLine): boolean => each.seq === null && each.type === "heartbeat";
    const later = this.lines.find(
      (each) => isLooseBeat(each) && each.author === added.author && each.sentMs >= added.sentMs,
    );
    if (isLooseBeat(added) && later !== undefined) return later.n;
    if (isLooseBeat(added))
      this.lines = this.lines.filter((each) => !isLooseBeat(each) || each.author !== added.author);
    this.last += 1;
    const unjudged = { verdict: null, delivered: null, isUnread: false, aside: null };
    this.lines.push({ ...added, ...unjudged, n: this.last, branch: null });
    return this.last;
  }

  /** A line that may be judged. */
  unjudged(at: number): number | undefined {
    const waiting = this.lines.filter(
      ({ verdict, type }) => verdict === null && type !== "heartbeat",
    );
    return waiting[at]?.n;
  }

  judge(n: number, verdict: string): void {
    const delivered = Math.max(0, ...this.lines.map((each) => each.delivered ?? 0)) + 1;
    const judged =
      verdict === "mail" ? { verdict, delivered, isUnread: true } : { verdict, isUnread: false };
    this.lines = this.lines.map((each) => (each.n === n ? { ...each, ...judged } : each));
  }

  markRead(ns: readonly number[]): number {
    const unread = new Set(this.lines.filter((each) => each.isUnread).map(({ n }) => n));
    const marked = new Set(ns.filter((n) => unread.has(n)));
    this.lines = this.lines.map((each) =>
      marked.has(each.n) ? { ...each, isUnread: false } : each,
    );
    return marked.size;
  }

  held(keep: (line: HeldLine) => boolean): HeldLine[] {
    return this.lines.filter(keep).map(({ words: _words, names: _names, ...each }) => each);
  }
}

/** Words without case and accents. */
function plainWords(text: string): string[] {
  const plain = text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");
  return plain.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Each question of the inbox, for the mail in the order of its delivery. */
function expectMail({ mail }: Store, delivered: readonly HeldLine[]): void {
  expect(mail.last()).toBe(delivered.length);
  const ids = delivered.map((each) => each.id).slice(0, 2);
  const queries: MailQuery[] = [
    ...[{}, { unread: true }, { from: "forge" }, { unread: true, from: "ann" }],
    ...[{ thread: "t1" }, { unread: true, thread: "t2" }, ...ids.map((each) => ({ id: each }))],
  ];
  for (const query of queries) {
    const { unread, from, thread, id: wanted } = query;
    const meant = delivered.filter(
      (each) =>
        (unread !== true || each.isUnread) &&
        (from === undefined || each.author === from) &&
        (thread === undefined || each.thread === thread) &&
        (wanted === undefined || each.id === wanted),
    );
    for (const after of [0, 2]) {
      const behind = meant.filter((each) => (each.delivered ?? 0) > after).map(({ n }) => n);
      expect(mail.after(query, after, 1_000)).toEqual(behind);
      expect(mail.after(query, after, 1)).toEqual(behind.slice(0, 1));
      expect(mail.count(query, after)).toBe(behind.length);
    }
    const before = meant.filter((each) => (each.delivered ?? 0) < 4).map(({ n }) => n);
    expect(mail.before(query, 4, 1_000)).toEqual(before.toReversed());
  }
  const unread = delivered.filter((each) => each.isUnread);
  const fresh = unread.filter((each) => (each.delivered ?? 0) > 1);
  const urgentFirst = fresh.toSorted((one, other) => Number(other.isUrgent) - Number(one.isUrgent));
  expect(mail.fresh(1, 1_000)).toEqual(urgentFirst.map(({ n }) => n));
  expect(mail.unread().map(({ author, count, urgent }) => [author, count, urgent])).toEqual(
    AUTHORS.toSorted().flatMap((author) => {
      const of = unread.filter((each) => each.author === author);
      const urgent = of.filter(({ isUrgent }) => isUrgent).length;
      return of.length === 0 ? [] : [[author, of.length, urgent]];
    }),
  );
}

function expectSame(store: Store, model: Model): void {
  const plain = (lines: readonly HeldLine[]): HeldLine[] =>
    lines.map((each) => ({ ...each, branch: null, bytes: Buffer.from(each.bytes) }));
  const all = { after: 0, limit: 1_000 };
  expect(plain(store.lines(all))).toEqual(model.held(() => true));
  const delivered = model
    .held((each) => each.delivered !== null)
    .toSorted((one, other) => (one.delivered ?? 0) - (other.delivered ?? 0));
  expectMail(store, delivered);
  const mail = model.held((each) => each.type !== "heartbeat");
  for (const thread of ["t1", "t2", "t3", "t4"]) {
    const inThread = mail.filter((each) => each.thread === thread);
    expect(plain(store.thread(thread, all))).toEqual(inThread);
    const row = store.threads(1_000, 10).find((each) => each.thread === thread);
    expect(row?.lines ?? 0).toBe(inThread.length);
    expect(row?.unread ?? 0).toBe(inThread.filter((each) => each.isUnread).length);
    if (row !== undefined) expect(row.last).toBe(inThread.at(-1)?.n);
  }
  for (const author of AUTHORS) {
    const chain = model
      .held((each) => each.author === author && each.seq !== null)
      .toSorted((one, other) => (one.seq ?? 0) - (other.seq ?? 0) || one.n - other.n);
    expect(plain(store.chain(author, all))).toEqual(chain);
    expect(plain(store.linesNumbered(author, 2))).toEqual(chain.filter(({ seq }) => seq === 2));
  }
  for (const prefix of ["7f", "7fa", "7fa0", "", "zz"]) {
    const found = mail
      .filter((each) => prefix !== "" && each.id.startsWith(prefix))
      .toSorted((one, other) =>
        one.id === other.id ? one.n - other.n : one.id < other.id ? -1 : 1,
      );
    expect(plain(store.withIdPrefix(prefix, 1_000))).toEqual(found);
  }
  for (const asked of [...WORDS, "build te", "", "bü"]) {
    const wanted = plainWords(asked);
    const found = model.lines.filter(({ words: of }) => {
      const has = plainWords(`${of?.subject ?? ""} ${of?.body ?? ""}`);
      return wanted.length > 0 && wanted.every((each) => has.some((word) => word.startsWith(each)));
    });
    const ns = store.search(asked, { before: 1_000, limit: 1_000 }).map(({ n }) => n);
    expect(ns).toEqual(found.map(({ n }) => n).toReversed());
  }
  for (const each of model.lines.slice(-3)) {
    expect(store.line(each.n)?.id).toBe(each.id);
    expect(store.lineAt(each)?.n).toBe(each.n);
    expect(store.lineAt({ ...each, author: "nobody" })).toBeUndefined();
  }
  for (const [key, n] of model.keys) expect(store.sends.find(key, 0)?.ns).toEqual([n]);
}

const change = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("hold" as const), line }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("read" as const), ns: fc.array(fc.nat(30)) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("judge" as const),
      at: fc.nat(5),
      verdict: fc.constantFrom("mail", "passed", "tier_refused"),
    }),
  },
  fc.record({ do: fc.constant("bind" as const), key: fc.constantFrom("k1", "k2"), line }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;
const step = fc.record({
  changes: fc.array(change, { maxLength: 8 }),
  /** How the transaction ends; a crash is an end that closes nothing. */
  end: fc.constantFrom("commit" as const, "throw" as const, "crash" as const),
  reopen: fc.constantFrom("no" as const, "closed" as const, "killed" as const),
});

function play(
  model: Model,
  store: Parameters<Parameters<Store["write"]>[0]>[0],
  sends: Store["sends"],
  each: Change,
): void {
  if (each.do === "hold") expect(store.hold(each.line).n).toBe(model.hold(each.line));
  else if (each.do === "read") expect(store.markRead(each.ns)).toBe(model.markRead(each.ns));
  else if (each.do === "judge") {
    const n = model.unjudged(each.at);
    if (n === undefined) return;
    if (each.verdict === "mail") store.deliver(n);
    else store.setVerdict(n, each.verdict);
    model.judge(n, each.verdict);
  } else if (!model.keys.has(each.key)) {
    const n = model.hold(each.line);
    expect(store.hold(each.line).n).toBe(n);
    sends.bind({ name: each.key, digest: "" }, [n], 0);
    model.keys.set(each.key, n);
  }
}

test("any changes, ends and restarts: what was committed is there, and nothing else", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
      databases += 1;
      const path = join(folder, `${databases}.db`);
      let model = new Model();
      let store = Store.open(path);
      const abandoned: Store[] = [];
      for (const { changes, end, reopen } of steps) {
        const next = model.copy();
        const failure = new Error("the life ends here");
        const write = (): void =>
          store.write((into) => {
            for (const each of changes) play(next, into, store.sends, each);
            if (end !== "commit") throw failure;
          });
        if (end === "commit") write();
        else expect(write).toThrow(failure);
        if (end === "commit") model = next;
        if (reopen !== "no" || end === "crash") {
          if (reopen === "closed") store.close();
          else abandoned.push(store);
          store = Store.open(path);
        }
        expectSame(store, model);
      }
      store.close();
      for (const each of abandoned) each.close();
    }),
    { numRuns: amount(15, 2_000) },
  );
});

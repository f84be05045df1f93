import { expect, test } from "vitest";
import { Intake, type Judging } from "../../../src/agent/lines/intake.ts";
import { Database } from "../../../src/store/database.ts";
import { Store } from "../../../src/store/store.ts";
import { decodeKey, keyId, verifyEach } from "../../../src/wire/signature.ts";
import { DEFAULT_LIMITS } from "../../../src/wire/limits.ts";
import { randomReading, type RandomOptions } from "../../model/random-reader.ts";
import { expectedOf, type Expected, type Reader, type ReaderEvent } from "../../model/reader.ts";
import { amount } from "../../support/amounts.ts";

// How far a store is settled, what it lacks and which line of a fork it took second, against the independent model.

const OPTIONS: RandomOptions = {
  ...{ acts: 35, hasOperator: false, hasLeaves: false, hasHistory: false },
  kinds: ["honest", "forking", "rotating", "upgrading"],
};

function judgingBy({ handle, wireId, roster, policy, agents }: Reader): Judging {
  return {
    ...{ self: handle, wireId, mark: { seq: 0, id: null }, isFirstReading: false },
    signing: { enforceSigned: policy.enforceSigned, allowUnsignedFrom: policy.allowUnsignedFrom },
    limits: {
      ...DEFAULT_LIMITS,
      max_message_body_kb: policy.max_message_body_kb,
      max_clock_skew_seconds: policy.max_clock_skew_seconds,
      max_refs: policy.max_refs,
    },
    believed: (author) => {
      const agent = agents[author];
      return {
        tier: agent?.tier,
        blocked: agent?.isBlocked ?? false,
        held: undefined,
        allowUnchained: agent?.isUnchainedAllowed ?? false,
        mayBeUnsigned: agent?.isUnsignedAllowed ?? false,
        keys: (agent?.keys ?? []).map(({ key, isActive, last }) => {
          const bytes = decodeKey(key) ?? new Uint8Array(32);
          const pinned = { keyId: keyId(author, bytes), key: bytes, active: isActive };
          return last === null ? pinned : { ...pinned, last: { seq: last[0], id: last[1] } };
        }),
      };
    },
    isMember: (author) => roster.includes(author),
  };
}

/** A store that has taken in what was found, line by line. */
async function take(reader: Reader, events: readonly ReaderEvent[]): Promise<Store> {
  const store = new Store(Database.open(":memory:"));
  const intake = new Intake(store, (items) => Promise.resolve(verifyEach(items)));
  const by = judgingBy(reader);
  for (const event of events) {
    if (event.kind === "found") {
      const { owner, reader: to } = event.carrier;
      const source = { owner, isLive: true, ...(to === null ? {} : { reader: to }) };
      const checked = await intake.check([event.line], by);
      store.write((into) => intake.take(into, checked, source, by, event.atMs));
    }
    for (let hasMore = true; hasMore;) {
      const proven = (
        await Promise.all(Object.keys(reader.agents).map((author) => intake.prove(author, by)))
      ).flat();
      const settled = store.write((into) => intake.settle(into, by, event.atMs, proven));
      hasMore = settled.hasMore || proven.length > 0;
    }
  }
  return store;
}

const compare = (one: string, other: string): number => (one < other ? -1 : 1);

function recordsOf(store: Store, self: string, isUndecided: (author: string) => boolean) {
  const records = store.beats(self);
  const lacks = records.lacks().map(({ place: { author, seq, id } }) => `${author} ${seq} ${id}`);
  const authors = records.others();
  return {
    wants: [...new Set(lacks)].toSorted(compare),
    heads: authors.flatMap((author) => {
      const place = records.settled(author);
      return place === undefined || isUndecided(author)
        ? []
        : [`${author} ${place.seq} ${place.id}`];
    }),
    forked: authors.flatMap((author) =>
      records
        .unnamed(author)
        .filter(({ reason }) => reason === "log_forked")
        .map(({ last }) => last),
    ),
  };
}

function recordsExpected({ wants, heads }: Pick<Expected, "wants" | "heads">): object {
  return {
    wants: wants.map(({ author, last, id }) => `${author} ${last} ${id}`).toSorted(compare),
    heads: Object.entries(heads)
      .map(([author, [seq, id]]) => `${author} ${seq} ${id}`)
      .toSorted(compare),
  };
}

test("on random readings", async () => {
  for (let seed = 1; seed <= amount(30, 2_000); seed += 1) {
    const { reader, events } = randomReading(seed, OPTIONS);
    const expected = expectedOf(reader, events).at(-1);
    if (expected === undefined) continue;
    const store = await take(reader, events);
    // What waits for a key is not lacked: no copy would help.
    const wants = expected.wants.filter(
      ({ author, last, id }) => store.chains.stateOf({ author, seq: last, id }) !== "unproven",
    );
    // What was taken in together has no order.
    const forks = Object.entries(expected.authors).flatMap(([author, { forkAt, tookSecond }]) =>
      tookSecond === null ? [] : [{ author, seq: forkAt, id: tookSecond }],
    );
    // When intake decides later than the text says, heads stop earlier.
    const isUndecided = (author: string): boolean =>
      store
        .chain(author, { after: 0, limit: 1_000 })
        .some(
          ({ id, verdict }) => verdict === null && expected.lines.get(id)?.verdict.is !== "waits",
        );
    const heads = Object.entries(expected.heads).filter(([author]) => !isUndecided(author));
    const { forked, ...records } = recordsOf(store, reader.handle, isUndecided);
    const model = recordsExpected({ wants, heads: Object.fromEntries(heads) });
    expect({ seed, ...records }).toEqual({ seed, ...model });
    for (const place of forks)
      expect({ seed, forked }).toMatchObject({
        seed,
        forked: expect.arrayContaining([place]) as unknown,
      });
    store.close();
  }
});

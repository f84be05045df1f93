import { afterEach, expect, it, vi } from "vitest";
import { Database } from "../../src/store/database.ts";
import { Store } from "../../src/store/store.ts";
import type { PlaceJson } from "../../src/wire/places.ts";
import { newLine, Writer } from "../support/chain-lines.ts";

// What one line costs does not grow with what its author has written before: counted in statements and rows.

const THREAD = "t1";

afterEach(() => {
  vi.restoreAllMocks();
});

/** Counts statements, and rows that they return. */
function countWork(): { take(): number } {
  let work = 0;
  const { all, get, run } = Database.prototype;
  vi.spyOn(Database.prototype, "all").mockImplementation(function (this: Database, ...asked) {
    const rows = all.apply(this, asked);
    work += 1 + rows.length;
    return rows;
  });
  vi.spyOn(Database.prototype, "get").mockImplementation(function (this: Database, ...asked) {
    work += 1;
    return get.apply(this, asked);
  });
  vi.spyOn(Database.prototype, "run").mockImplementation(function (this: Database, ...asked) {
    const done = run.apply(this, asked);
    work += 1 + done.changes;
    return done;
  });
  return {
    take() {
      const taken = work;
      work = 0;
      return taken;
    },
  };
}

/** The work that each line of a thread makes, from the first to the last. */
function workOfEach(say: (forge: Writer, scribe: PlaceJson, nth: number) => void): number[] {
  const store = new Store(Database.open(":memory:"));
  const counter = countWork();
  const forge = new Writer("forge");
  const scribe = new Writer("scribe");
  scribe.say("ack", THREAD, {});
  const take = (writer: Writer): number => {
    const line = writer.lines.at(-1);
    if (line === undefined) throw new Error("nothing was said");
    counter.take();
    store.write((into) => {
      into.hold(newLine(line));
      store.asks.judge("w", 64);
    });
    return counter.take();
  };
  take(scribe);
  forge.say("proposal", THREAD, { required: ["scribe"] });
  take(forge);
  const work = Array.from({ length: 1_000 }, (_, nth) => {
    say(forge, scribe.last, nth);
    return take(forge);
  });
  store.close();
  return work;
}

const ASK = (forge: Writer): PlaceJson => {
  const asked = forge.lines[0];
  return [forge.author, 1, asked?.id ?? ""];
};

it.each<[string, (forge: Writer, scribe: PlaceJson, nth: number) => void]>([
  ["an ack", (forge) => forge.say("ack", THREAD, { acks: ASK(forge), approve: true })],
  ["a proposal", (forge) => forge.say("proposal", THREAD, { required: ["scribe"] })],
  ["a request of many", (forge) => forge.say("request", THREAD, { required: ["scribe", "ann"] })],
  [
    "a close that proves nothing",
    (forge, [by, seq, id]) =>
      forge.say("correction", THREAD, {
        ...{ decides: ASK(forge), outcome: "approved" },
        answers: [{ by, ack: [seq, id], at: [seq, id] }],
      }),
  ],
  [
    "a close that waits for lines",
    (forge, [by]) =>
      forge.say("correction", THREAD, {
        ...{ decides: ASK(forge), outcome: "approved" },
        answers: [{ by, ack: [7, "7".repeat(64)], at: [7, "7".repeat(64)] }],
      }),
  ],
  [
    "a beat that names lines which nobody holds",
    (forge, _, nth) =>
      forge.say("heartbeat", "", {
        heads: { scribe: [nth + 9, nth.toString(16).padStart(64, "0"), 0] },
      }),
  ],
])("the thousandth of %s costs as little as the tenth", (_what, say) => {
  const work = workOfEach(say);
  const early = Math.max(...work.slice(8, 12));
  // What is pruned now and then counts for the lines before it.
  const late = work.slice(-256).reduce((sum, each) => sum + each, 0) / 256;
  expect(late).toBeLessThanOrEqual(early + 2);
  expect(early).toBeLessThan(100);
});

it("what waits for one line is judged in parts when it comes", () => {
  const store = new Store(Database.open(":memory:"));
  const forge = new Writer("forge");
  const scribe = new Writer("scribe");
  const yes = scribe.say("heartbeat", "", {});
  const asks = Array.from({ length: 50 }, (_, at) =>
    forge.say("proposal", `t${at}`, { required: ["scribe"] }),
  );
  for (const [at, ask] of asks.entries()) {
    const answers = [{ by: "scribe", ack: [1, yes[2]], at: [1, yes[2]] }];
    forge.say("correction", `t${at}`, { decides: ask, outcome: "approved", answers });
  }
  store.write((into) => {
    for (const line of forge.lines) into.hold(newLine(line));
    while (!store.asks.judge("w", 64)) continue;
  });
  const states = (): string[] =>
    store.asks.changed({ after: 0, limit: 99 }).map(({ state }) => state);
  expect(new Set(states())).toEqual(new Set(["waits"]));
  const isDone = store.write((into) => {
    for (const line of scribe.lines) into.hold(newLine(line));
    return [store.asks.judge("w", 30), store.asks.judge("w", 30)];
  });
  expect(isDone).toEqual([false, true]);
  expect(new Set(states())).toEqual(new Set(["open"]));
  store.close();
});

it("a newcomer that has read all of an asker first judges each close by itself", () => {
  const store = new Store(Database.open(":memory:"));
  const forge = new Writer("forge");
  const scribe = new Writer("scribe");
  for (let at = 0; at < 300; at += 1) {
    const ask = forge.say("proposal", `t${at}`, { required: ["scribe"] });
    const yes = scribe.say("ack", `t${at}`, { acks: ask, approve: true });
    forge.beat({ scribe: yes });
    const answers = [{ by: "scribe", ack: [yes[1], yes[2]], at: [yes[1], yes[2]] }];
    forge.say("correction", `t${at}`, { decides: ask, outcome: "approved", answers });
  }
  store.write((into) => {
    for (const line of forge.lines) into.hold(newLine(line));
    while (!store.asks.judge("w", 64)) continue;
  });
  const counter = countWork();
  const work = scribe.lines.map((line) => {
    counter.take();
    store.write((into) => {
      into.hold(newLine(line));
      store.asks.judge("w", 64);
    });
    return counter.take();
  });
  const states = store.asks.changed({ after: 0, limit: 999 }).map(({ state }) => state);
  expect(states.filter((state) => state === "approved")).toHaveLength(300);
  expect(Math.max(...work.slice(1))).toBeLessThanOrEqual(Math.min(...work.slice(1)) + 4);
  store.close();
});

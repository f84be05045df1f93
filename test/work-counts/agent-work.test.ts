import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Agent as AgentType } from "../../src/agent/agent.ts";
import type { Draft } from "../../src/wire/compose.ts";
import { makeWire, removeWires } from "../support/processes/live-wire.ts";
import { beginWorkCount } from "../support/work-count.ts";
import { countWorld, type CountedWorld, type Work } from "./counting-world.ts";

// Before the modules are loaded: only what is compiled after that is counted.
const calls = await beginWorkCount((url) => url.includes("/src/"));
const { Agent } = await import("../../src/agent/agent.ts");
const { silentLogger } = await import("../../src/agent/session/world.ts");
const { realWorld } = await import("../../src/client/direct-client.ts");
const { placesOf } = await import("../../src/cli/context.ts");

const PEERS = Array.from({ length: 3 }, (_, at) => `peer${at + 1}`);
/** Time stands still: no beat is due between two calls, however slow the machine is. */
const NOW_MS = Date.now();
const clock = {
  wallMs: () => NOW_MS,
  micros: () => 0,
  monoMs: () => 1_000_000,
  nextTurn: () => Promise.resolve(),
};

let counted: CountedWorld;
let agent: AgentType;
let peer: AgentType;

/** One of four agents on a real disk, and one of its peers; both have read all that there is. */
beforeEach(async () => {
  const wire = makeWire({ handles: ["forge", ...PEERS] });
  const world = { ...realWorld(placesOf(wire.env), wire.dir, silentLogger), clock };
  counted = countWorld(world);
  agent = new Agent(counted.world, { wireDir: wire.dir, handle: "forge" });
  peer = new Agent(world, { wireDir: wire.dir, handle: "peer1" });
  peer.lockIdentity(0);
  await rounds(peer);
  agent.lockIdentity(0);
  await rounds(agent);
});

afterEach(async () => {
  agent.close();
  peer.close();
  await removeWires();
});

afterAll(() => calls.end());

async function rounds(of: AgentType): Promise<void> {
  while (await of.tick());
}

/** Transactions in the WAL of a database: the last frame of each says how large the database is then. */
function commitsIn(path: string): number {
  const wal = readFileSync(`${path}-wal`);
  const salt = wal.subarray(16, 24);
  const frameBytes = 24 + wal.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at < wal.length; at += frameBytes) {
    if (!salt.equals(wal.subarray(at + 8, at + 16))) break;
    if (wal.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return commits;
}

function drafts(count: number, to = "forge"): Draft[][] {
  return Array.from({ length: count }, (_, at) => [
    { to: [to], type: "feedback", subject: `line ${at}`, body: "all tests pass on main" },
  ]);
}

const receiving = (): Promise<Work> => counted.during(() => rounds(agent));

describe("a send", () => {
  test("syncs its mark and its carrier beside the store, and locks nothing", async () => {
    const before = await counted.during(() => agent.send(drafts(1, "peer1")));
    expect(before).toMatchObject({ syncs: 2, locks: 0, lists: 0, signatureChecks: 0 });
    expect(before).toMatchInlineSnapshot(`
      {
        "appends": 0,
        "bytesRead": 41,
        "lists": 0,
        "locks": 0,
        "opens": 1,
        "reads": 1,
        "replaces": 1,
        "signatureChecks": 0,
        "stats": 9,
        "syncs": 2,
      }
    `);
  });

  test("is one transaction of the store, however many are answered together", async () => {
    const { store } = agent.place.paths;
    for (const count of [1, 32]) {
      const before = commitsIn(store);
      await agent.send(drafts(count, "peer1"));
      expect(commitsIn(store) - before).toBe(1);
    }
  });

  test("costs no more syncs, opens, stats and reads when 32 are answered together", async () => {
    const one = await counted.during(() => agent.send(drafts(1, "peer1")));
    const many = await counted.during(() => agent.send(drafts(32, "peer1")));
    expect({ ...many, bytesRead: 0 }).toEqual({ ...one, bytesRead: 0 });
  });

  test("is read back by the next round without a check of its signature", async () => {
    await agent.send(drafts(1, "peer1"));
    expect(await receiving()).toMatchInlineSnapshot(`
      {
        "appends": 0,
        "bytesRead": 41,
        "lists": 0,
        "locks": 0,
        "opens": 1,
        "reads": 1,
        "replaces": 0,
        "signatureChecks": 0,
        "stats": 12,
        "syncs": 0,
      }
    `);
  });

  test("parses what it sends, and what it reads back", async () => {
    const parsed = await calls.callsDuring("parseMessage", async () => {
      await agent.send(drafts(1, "peer1"));
      await rounds(agent);
    });
    expect(parsed).toMatchInlineSnapshot(`1`);
  });
});

describe("a delivered line", () => {
  test("is checked once, and read once", async () => {
    await peer.send(drafts(1));
    expect(await receiving()).toMatchInlineSnapshot(`
      {
        "appends": 1,
        "bytesRead": 41,
        "lists": 0,
        "locks": 0,
        "opens": 1,
        "reads": 1,
        "replaces": 1,
        "signatureChecks": 1,
        "stats": 12,
        "syncs": 3,
      }
    `);
  });

  test("is parsed once", async () => {
    await peer.send(drafts(10));
    const parsed = await calls.callsDuring("parseMessage", () => rounds(agent));
    expect(parsed).toMatchInlineSnapshot(`0`);
  });

  test("costs no sync, open, stat or lock of its own in a batch", async () => {
    await peer.send(drafts(1));
    const one = await receiving();
    await peer.send(drafts(20));
    const many = await receiving();
    const perLine = { bytesRead: 0, reads: 0, signatureChecks: 0 };
    expect({ ...many, ...perLine }).toEqual({ ...one, ...perLine });
    expect(many.signatureChecks).toBe(20);
  });

  test("costs the same after a long history", async () => {
    await peer.send(drafts(1));
    const { bytesRead: _few, ...after } = await receiving();
    for (let at = 0; at < 10; at += 1) await peer.send(drafts(200));
    await receiving();
    await peer.send(drafts(1));
    const { bytesRead, ...later } = await receiving();
    expect(later).toEqual(after);
    // What is hashed before a cursor has a bound of its own.
    expect(bytesRead).toBeLessThan(4 * 65_536);
  });
});

test("a page of unread mail costs a page, however much is unread", async () => {
  const LIMIT = 20;
  const costOf = async (after?: string) => {
    const args = { unread: true, limit: LIMIT, ...(after === undefined ? {} : { after }) };
    const page = await agent.view("inbox", args);
    const ask = () => agent.view("inbox", args);
    return {
      page,
      parsed: await calls.callsDuring("parseObject", ask),
    };
  };
  await peer.send(drafts(200));
  await receiving();
  const few = await costOf();
  expect([few.page.messages.length, few.page.more]).toEqual([LIMIT, 180]);
  expect(few.parsed).toBeGreaterThanOrEqual(LIMIT);
  expect(few.parsed).toBeLessThanOrEqual(4 * LIMIT);
  for (let at = 0; at < 44; at += 1) await peer.send(drafts(200));
  await receiving();
  const many = await costOf();
  expect(many.page.messages.map(({ subject }) => subject)).toEqual(
    few.page.messages.map(({ subject }) => subject),
  );
  expect(many.parsed).toBe(few.parsed);
  const next = await costOf(many.page.next);
  expect(next.page.messages.map(({ subject }) => subject)).toEqual(
    Array.from({ length: LIMIT }, (_, at) => `line ${LIMIT + at}`),
  );
  expect(next.page.more).toBe((many.page.more ?? 0) - LIMIT);
  expect(next.parsed).toBe(few.parsed);
});

test("a round with nothing new writes nothing", async () => {
  const idle = await receiving();
  expect(idle).toMatchObject({ syncs: 0, appends: 0, replaces: 0, locks: 0 });
  expect(idle).toMatchInlineSnapshot(`
    {
      "appends": 0,
      "bytesRead": 41,
      "lists": 0,
      "locks": 0,
      "opens": 1,
      "reads": 1,
      "replaces": 0,
      "signatureChecks": 0,
      "stats": 12,
      "syncs": 0,
    }
  `);
});

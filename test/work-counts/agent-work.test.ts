import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Agent } from "../../src/agent/agent.ts";
import type { Draft } from "../../src/wire/compose.ts";
import { makeWire, removeWires } from "../support/processes/live-wire.ts";
import { beginWorkCount } from "../support/work-count.ts";
import { countWorld, type CountedWorld, type Work } from "./counting-world.ts";

// Before the modules are loaded: only what is compiled after that is counted.
const calls = await beginWorkCount((url) => url.includes("/src/"));
const { openAgent } = await import("../../src/agent/agent.ts");
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
let agent: Agent;
let peer: Agent;

/** One of four agents on a real disk, and one of its peers; both have read all that there is. */
beforeEach(async () => {
  const wire = makeWire({ handles: ["forge", ...PEERS] });
  const world = { ...realWorld(placesOf(wire.env), wire.dir, silentLogger), clock };
  counted = countWorld(world);
  agent = openAgent(counted.world, { wireDir: wire.dir, handle: "forge" });
  peer = openAgent(world, { wireDir: wire.dir, handle: "peer1" });
  await peer.lockIdentity(0);
  await rounds(peer);
  await agent.lockIdentity(0);
  await rounds(agent);
  await agent.sync();
});

afterEach(async () => {
  agent.close();
  peer.close();
  await removeWires();
});

afterAll(() => calls.end());

async function rounds(of: Agent): Promise<void> {
  while (await of.tick());
}

function drafts(count: number, to = "forge"): Draft[][] {
  return Array.from({ length: count }, (_, at) => [
    { to: [to], type: "feedback", subject: `line ${at}`, body: "all tests pass on main" },
  ]);
}

const receiving = (): Promise<Work> => counted.during(() => rounds(agent));

describe("a send", () => {
  test("syncs once before it is answered, and locks nothing", async () => {
    const before = await counted.during(() => agent.send(drafts(1, "peer1")));
    expect(before).toMatchObject({ syncs: 1, locks: 0, lists: 0, signatureChecks: 0 });
    expect(before).toMatchInlineSnapshot(`
      {
        "appends": 2,
        "bytesRead": 1,
        "lists": 0,
        "locks": 0,
        "opens": 0,
        "reads": 1,
        "replaces": 0,
        "signatureChecks": 0,
        "stats": 4,
        "syncs": 1,
      }
    `);
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
        "bytesRead": 2658,
        "lists": 0,
        "locks": 0,
        "opens": 1,
        "reads": 3,
        "replaces": 0,
        "signatureChecks": 0,
        "stats": 14,
        "syncs": 0,
      }
    `);
  });

  test("parses what it sends, and what it reads back", async () => {
    const parsed = await calls.callsDuring("parseMessage", async () => {
      await agent.send(drafts(1, "peer1"));
      await rounds(agent);
    });
    expect(parsed).toMatchInlineSnapshot(`2`);
  });
});

describe("a delivered line", () => {
  test("is checked once, and read once", async () => {
    await peer.send(drafts(1));
    expect(await receiving()).toMatchInlineSnapshot(`
      {
        "appends": 2,
        "bytesRead": 2392,
        "lists": 0,
        "locks": 0,
        "opens": 1,
        "reads": 3,
        "replaces": 0,
        "signatureChecks": 1,
        "stats": 16,
        "syncs": 3,
      }
    `);
  });

  test("is parsed once", async () => {
    await peer.send(drafts(10));
    const parsed = await calls.callsDuring("parseMessage", () => rounds(agent));
    expect(parsed).toMatchInlineSnapshot(`10`);
  });

  test("costs no sync, open, stat or lock of its own in a batch", async () => {
    await peer.send(drafts(1));
    const one = await receiving();
    await peer.send(drafts(20));
    const many = await receiving();
    const perLine = { bytesRead: 0, signatureChecks: 0 };
    expect({ ...many, ...perLine }).toEqual({ ...one, ...perLine });
    expect(many.signatureChecks).toBe(20);
  });

  test("costs the same after a long history", async () => {
    await peer.send(drafts(1));
    const { bytesRead: _few, ...after } = await receiving();
    for (let at = 0; at < 10; at += 1) await peer.send(drafts(200));
    await receiving();
    await agent.sync();
    await peer.send(drafts(1));
    const { bytesRead, ...later } = await receiving();
    expect(later).toEqual(after);
    // What is hashed before a cursor has a bound of its own.
    expect(bytesRead).toBeLessThan(4 * 65_536);
  });
});

test("a page of unread mail costs a page, however much is unread", async () => {
  const LIMIT = 20;
  const PART_ROWS = 4_096;
  const costOf = async (after?: string) => {
    const args = { unread: true, limit: LIMIT, ...(after === undefined ? {} : { after }) };
    const page = await agent.view("inbox_page", args);
    const ask = () => agent.view("inbox_page", args);
    return {
      page,
      keys: await calls.callsDuring("idKey", ask),
      rows: await calls.callsDuring("show", ask),
      messages: await calls.callsDuring("parseMessage", ask),
    };
  };
  await peer.send(drafts(200));
  await receiving();
  const few = await costOf();
  expect([few.page.messages.length, few.page.more]).toEqual([LIMIT, 180]);
  expect(few.messages).toBe(LIMIT);
  for (let at = 0; at < 44; at += 1) await peer.send(drafts(200));
  await receiving();
  const many = await costOf();
  expect(many.page.messages.map(({ subject }) => subject)).toEqual(
    few.page.messages.map(({ subject }) => subject),
  );
  expect([many.keys, many.messages]).toEqual([few.keys, few.messages]);
  // The first unread row is looked for in its part of the index and in the last one.
  expect(many.rows).toBeLessThanOrEqual(2 * PART_ROWS);
  const next = await costOf(many.page.next);
  expect(next.page.messages.map(({ subject }) => subject)).toEqual(
    Array.from({ length: LIMIT }, (_, at) => `line ${LIMIT + at}`),
  );
  expect(next.page.more).toBe((many.page.more ?? 0) - LIMIT);
  expect(next.rows).toBeLessThan(2 * LIMIT);
  expect(next.keys).toBeLessThan(2 * LIMIT);
  expect(next.messages).toBe(LIMIT);
});

test("a round with nothing new reads and writes nothing", async () => {
  const idle = await receiving();
  expect(idle).toMatchObject({ syncs: 0, appends: 0, replaces: 0, bytesRead: 0, locks: 0 });
  expect(idle).toMatchInlineSnapshot(`
    {
      "appends": 0,
      "bytesRead": 0,
      "lists": 0,
      "locks": 0,
      "opens": 0,
      "reads": 0,
      "replaces": 0,
      "signatureChecks": 0,
      "stats": 10,
      "syncs": 0,
    }
  `);
});

test("a sync with nothing new writes nothing", async () => {
  expect(await counted.during(() => agent.sync())).toMatchInlineSnapshot(`
    {
      "appends": 0,
      "bytesRead": 145,
      "lists": 0,
      "locks": 0,
      "opens": 1,
      "reads": 1,
      "replaces": 0,
      "signatureChecks": 0,
      "stats": 9,
      "syncs": 0,
    }
  `);
});

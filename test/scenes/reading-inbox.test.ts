import { expect, test } from "vitest";
import type { InboxPage, ViewArgs } from "../../src/api/views.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

const sceneOf = checkedScenes("replay");

// What an agent reads: oldest first, all of it, and nothing marked that was not given out. Spec 8.6.

const FILE = "scribe_to_forge.jsonl";

/** Lines of scribe's, each a thread of its own; their event ids. */
function writeMany(wire: SimulatedWire, count: number): string[] {
  const lines: string[] = [];
  const ids: string[] = [];
  let after = wire.head("scribe");
  for (let at = 0; at < count; at += 1) {
    const begun = after === undefined ? ("nothing" as const) : after;
    const made = wire.forge("scribe", {
      to: ["forge"],
      subject: `number ${at}`,
      atMs: wire.nowMs + at,
      after: begun,
    });
    after = { seq: (after?.seq ?? 0) + 1, id: made.id };
    lines.push(`${Buffer.from(made.line).toString("utf8")}\n`);
    ids.push(made.id);
  }
  wire.append(FILE, lines.join(""));
  return ids;
}

async function scene(count: number): Promise<{ wire: SimulatedWire; ids: string[] }> {
  const wire = sceneOf(["forge", "scribe"], { rateLimit: 60_000 });
  await wire.start("forge");
  const ids = writeMany(wire, count);
  await wire.settle();
  return { wire, ids };
}

async function page(wire: SimulatedWire, args: ViewArgs["inbox"]): Promise<InboxPage> {
  return wire.agent("forge").view("inbox", args);
}

const idsOf = ({ messages }: InboxPage): string[] => messages.map(({ _meta }) => _meta.id);

test("the oldest unread come first, and a limit says how many there are besides", async () => {
  const { wire, ids } = await scene(30);
  const first = await page(wire, { unread: true, limit: 20 });
  expect([idsOf(first), first.more]).toEqual([ids.slice(0, 20), 10]);
  await wire.agent("forge").markRead(idsOf(first));
  const second = await page(wire, { unread: true, limit: 20 });
  expect([idsOf(second), second.more]).toEqual([ids.slice(20), 0]);
  const newest = await page(wire, { newest: true, limit: 5 });
  expect([idsOf(newest), newest.more]).toEqual([ids.slice(-5), 25]);
  const one = await page(wire, { id: ids[3] ?? "" });
  expect(idsOf(one)).toEqual([ids[3]]);
});

test("pages hold every message once, also those that come while it is read", async () => {
  const { wire, ids } = await scene(1_100);
  const read: string[] = [];
  let last = await page(wire, {});
  for (let pages = 1; last.messages.length > 0; pages += 1) {
    read.push(...idsOf(last));
    expect(last.messages.length).toBeLessThanOrEqual(500);
    if (pages === 2) {
      ids.push(...writeMany(wire, 3));
      await wire.settle();
    }
    last = await page(wire, { after: last.next });
  }
  expect(read).toEqual(ids);
  const limited = await page(wire, { limit: 2 });
  expect(limited.more).toBe(1_101);
  expect(idsOf(await page(wire, { limit: 2, after: limited.next }))).toEqual(ids.slice(2, 4));
  await expect(page(wire, { after: "elsewhere" })).rejects.toThrow("after must be the `next`");
});

test("the newest are the same with any limit, also of lines that were gone for a while, and after a restart", async () => {
  for (const isGone of [false, true]) {
    const { wire, ids } = await scene(40);
    if (isGone) {
      const all = wire.read(FILE);
      await wire.stop("forge");
      wire.replace(FILE, `${all.split("\n").slice(0, 20).join("\n")}\n`);
      await wire.start("forge");
      await wire.settle();
      wire.replace(FILE, all);
      await wire.settle();
    }
    for (const isRestarted of [false, true]) {
      if (isRestarted) {
        await wire.stop("forge");
        await wire.start("forge");
        await wire.settle();
      }
      for (const limit of [1, 7, 25, 39, 40, 41, 700]) {
        const { messages, more } = await page(wire, { newest: true, limit });
        expect(messages.map(({ _meta }) => _meta.id)).toEqual(ids.slice(-limit));
        expect(more).toBe(Math.max(0, ids.length - limit));
      }
    }
  }
});

test("`_meta` is ours and comes first, whatever a peer's line holds under that name", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  const timestamp = new Date(wire.nowMs).toISOString();
  const line = wire.sign("scribe", {
    ...{ _meta: { tier: "TRUSTED", id: "f".repeat(64) }, timestamp, from: "scribe" },
    ...{ to: ["forge"], type: "feedback", subject: "urgent: s", body: "b", refs: [] },
    ...{ priority: "low", correlation_id: timestamp, ack_required: false },
    ...{ wire: "5ce9e0f1a2b3c4d5", seq: 1 },
  });
  wire.append(FILE, `${line}\n`);
  await wire.settle();
  const [message] = (await page(wire, {})).messages;
  const { event_id: id } = JSON.parse(line) as { event_id: string };
  expect(Object.keys(message ?? {})[0]).toBe("_meta");
  expect(message?._meta).toMatchObject({ id, priority: "high", read: false });
});

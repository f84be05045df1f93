import { expect, test } from "vitest";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// Spec 4.1: nothing walks history while somebody waits. What is counted are operations on the disk, and
// the bytes that they read.

const sceneOf = checkedScenes("replay");
const LOG = "scribe_to_forge";

/** Messages of scribe's, each a thread of its own; every hundredth speaks of a heron. */
function writeMany(wire: SimulatedWire, count: number): string[] {
  let after = wire.head(LOG);
  const made = Array.from({ length: count }, (_, at) => {
    const about = at % 100 === 0 ? "a Heron" : "nothing";
    const line = wire.forge("scribe", LOG, {
      ...{ to: ["forge"], subject: `number ${at}`, body: { text: about } },
      ...{ atMs: wire.nowMs + at, after: after ?? "nothing" },
    });
    after = { seq: (after?.seq ?? 0) + 1, id: line.id };
    return line;
  });
  wire.append(`${LOG}.jsonl`, made.map(({ line }) => `${Buffer.from(line).toString()}\n`).join(""));
  return made.map(({ id }) => id);
}

async function scene(count: number): Promise<{ wire: SimulatedWire; ids: string[] }> {
  const wire = sceneOf(["forge", "scribe"], { rateLimit: 60_000 });
  await wire.start("forge");
  const ids = writeMany(wire, count);
  await wire.settle();
  await wire.rest();
  return { wire, ids };
}

/** What is asked of the past, with what has to come of it. */
const QUESTIONS: readonly (readonly [
  name: string,
  ask: (wire: SimulatedWire, ids: readonly string[]) => Promise<unknown>,
])[] = [
  ["inbox", (wire) => wire.agent("forge").view("inbox_page", { newest: true, limit: 5 })],
  ["unread", (wire) => wire.agent("forge").view("inbox_page", { unread: true, limit: 5 })],
  ["thread", (wire, ids) => wire.agent("forge").view("thread", { id: ids[7] ?? "" })],
  [
    "an id",
    (wire, ids) => wire.agent("forge").view("resolve_id", { id: ids[9]?.slice(0, 12) ?? "" }),
  ],
  ["pending", (wire) => wire.agent("forge").view("pending", undefined)],
  ["stats", (wire) => wire.agent("forge").view("stats", undefined)],
  ["search", (wire) => wire.agent("forge").view("search_page", { text: "heron", limit: 2 })],
];

async function operationsOf(wire: SimulatedWire, ids: readonly string[]): Promise<number[]> {
  const process = wire.process("forge");
  const counts: number[] = [];
  for (const [, ask] of QUESTIONS) {
    const before = process.operations;
    await ask(wire, ids);
    counts.push(process.operations - before);
  }
  return counts;
}

test("what is asked costs as many operations after 1,500 messages as after 300", async () => {
  const few = await scene(300);
  const many = await scene(1_500);
  const counts = await operationsOf(few.wire, few.ids);
  // The first unread row is found by a binary search, a read for each step.
  const [inbox, unread = 0, ...rest] = counts;
  const [search = 0, ...others] = (await operationsOf(many.wire, many.ids)).toReversed();
  const [inboxOfMany, unreadOfMany = 0, ...restOfMany] = others.toReversed();
  expect([inboxOfMany, ...restOfMany]).toEqual([inbox, ...rest.slice(0, -1)]);
  expect(unreadOfMany).toBeLessThanOrEqual(unread + Math.ceil(Math.log2(1_500 / 300)));
  // Which reads 64 KiB at once.
  expect(search).toBeLessThanOrEqual((counts.at(-1) ?? 0) + 12);
  expect(Math.max(...counts)).toBeLessThan(40);
});

test("the answers are the same when the index is gone, cut, or full of zeros", async () => {
  const { wire, ids } = await scene(300);
  const answers = async (): Promise<string> => {
    const all: unknown[] = [];
    for (const [, ask] of QUESTIONS.slice(0, 4)) all.push(await ask(wire, ids));
    // Where the next page begins is after what the daemon has noted since.
    return JSON.stringify(all, (key, value: unknown) => (key === "next" ? undefined : value));
  };
  const before = await answers();
  const path = wire.paths("forge").lineIndex;
  for (const harm of ["gone", "cut", "zeros"] as const) {
    await wire.stop("forge");
    const disk = wire.disk.process();
    const { size } = disk.stat(path) ?? { size: 0 };
    expect(size).toBeGreaterThan(0);
    disk.remove(path);
    const file = disk.open(path, "append");
    if (harm === "cut") file.append(new Uint8Array(1_000));
    if (harm === "zeros") file.append(new Uint8Array(size));
    file.close();
    if (harm === "gone") disk.remove(path);
    await wire.start("forge");
    expect(await answers()).toEqual(before);
  }
});

test("a search finds page by page what is there, escaped or in capitals, the newest last", async () => {
  const { wire, ids } = await scene(250);
  const search = (text: string, before = {}) =>
    wire.agent("forge").view("search_page", { text, limit: 2, ...before });
  const first = await search("HERON");
  expect(first.messages.map(({ _meta }) => _meta.id)).toEqual([ids[100], ids[200]]);
  const second = await search("heron", { before: first.next });
  expect(second.messages.map(({ _meta }) => _meta.id)).toEqual([ids[0]]);
  expect(second.next).toBeNull();
  await wire
    .agent("forge")
    .send([
      [{ to: ["scribe"], type: "feedback", subject: 'un "héron"\u2028', body: "a\tb" }],
    ] as never);
  await wire.settle();
  for (const text of ['"héron"', "é", "HÉRON", "\u2028"]) {
    expect((await search(text)).messages.map(({ subject }) => subject)).toEqual([
      'un "héron"\u2028',
    ]);
  }
  expect((await search("heron of 1900")).messages).toEqual([]);
  await expect(search("heron", { before: "yesterday" })).rejects.toThrow("before must be");
});

test("a page of a search looks through few bytes of many, and the next one goes on there", async () => {
  const wire = sceneOf(["forge", "scribe"], { rateLimit: 60_000 });
  await wire.start("forge");
  let after = wire.head(LOG);
  const lines = Array.from({ length: 60 }, (_, at) => {
    const body = { text: "x".repeat(200_000), last: at === 0 ? "a heron" : "nothing" };
    const place = { atMs: wire.nowMs + at, after: after ?? ("nothing" as const) };
    const line = wire.forge("scribe", LOG, {
      to: ["forge"],
      subject: `number ${at}`,
      body,
      ...place,
    });
    after = { seq: (after?.seq ?? 0) + 1, id: line.id };
    return line;
  });
  wire.append(
    `${LOG}.jsonl`,
    lines.map(({ line }) => `${Buffer.from(line).toString()}\n`).join(""),
  );
  await wire.settle();
  const search = (before: object) =>
    wire.agent("forge").view("search_page", { text: "heron", ...before });
  const first = await search({});
  expect([first.messages, first.next]).toEqual([[], expect.any(String)]);
  const second = await search({ before: first.next });
  expect(second.messages.map(({ _meta }) => _meta.id)).toEqual([lines[0]?.id]);
});

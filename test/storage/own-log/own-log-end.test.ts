import { expect, it } from "vitest";
import type { OwnHead } from "../../../src/storage/own-log/heads.ts";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import { endOfOwnLog, type OwnClaim } from "../../../src/storage/own-log/own-log-end.ts";
import { prefixHash } from "../../../src/storage/files/tail.ts";
import { wholeLogs } from "../../../src/storage/archive/whole-logs.ts";
import { MemoryDisk, type MemoryProcess } from "../../support/disk/memory-disk.ts";

// Stand-ins for signed lines: what a line claims is all that is asked of it.
const LIVE = "/wire/forge_to_scribe.jsonl";
const SEGMENTS = [
  "/wire/archive/2025/forge_to_scribe.jsonl",
  "/wire/archive/2026/forge_to_scribe.jsonl",
];

interface Stood {
  readonly seq: number;
  readonly id?: string;
  readonly prev?: string;
  readonly keyId?: string;
}

const ours = (seq: number, over: Partial<Stood> = {}): string =>
  `${JSON.stringify({ seq, id: `id${seq}`, ...(seq > 1 ? { prev: `id${seq - 1}` } : {}), ...over })}\n`;
const upTo = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, at) => ours(from + at)).join("");

function claimOf(line: Uint8Array): OwnClaim | undefined {
  const text = Buffer.from(line).toString("utf8");
  if (!text.startsWith("{") || !text.endsWith("}")) return undefined;
  const { seq, id = "", prev, keyId } = JSON.parse(text) as Stood;
  return keyId === undefined ? { by: "us", seq, id, prev } : { by: "unknown key", seq, keyId };
}

function diskWith(files: Readonly<Record<string, string>>): MemoryProcess {
  const disk = new MemoryDisk().process();
  for (const [path, text] of Object.entries(files)) {
    disk.makeFolder(path.slice(0, path.lastIndexOf("/")), 0o700);
    disk.replace(path, Buffer.from(text), 0o600);
  }
  return disk;
}

/** What was remembered when these bytes had been synced. */
function rememberedAt(text: string, seq: number): OwnHead {
  const file = diskWith({ [LIVE]: text }).open(LIVE, "read");
  return { seq, id: `id${seq}`, end: text.length, prefixHash: prefixHash(file, text.length) };
}

function endOf(disk: MemoryProcess, remembered: OwnHead | undefined) {
  return endOfOwnLog(wholeLogs(disk, "/wire"), LIVE, remembered, claimOf);
}

it("the head moves on to the last line that follows", () => {
  const text = upTo(1, 5);
  const end = endOf(diskWith({ [LIVE]: text }), rememberedAt(upTo(1, 2), 2));
  expect(end).toMatchObject({
    head: { seq: 5, id: "id5", end: text.length },
    unknownKeys: [],
    problem: undefined,
  });
  expect(end.head?.prefixHash).toBe(rememberedAt(text, 5).prefixHash);
});

it("what is remembered stays when the log shows no more, or less", () => {
  const remembered = rememberedAt(upTo(1, 3), 3);
  expect(endOf(diskWith({ [LIVE]: upTo(1, 3) }), remembered).head).toBe(remembered);
  expect(endOf(diskWith({ [LIVE]: upTo(1, 2) }), remembered).head).toBe(remembered);
  expect(endOf(diskWith({}), remembered).head).toBe(remembered);
  expect(endOf(diskWith({}), undefined).head).toBeUndefined();
});

it("without a memory the log itself is all that is known", () => {
  expect(endOf(diskWith({ [LIVE]: upTo(4, 6) }), undefined).head).toMatchObject({ seq: 6 });
});

it("goes on through segments that were archived since, also when the live file is empty", () => {
  const disk = diskWith({
    [SEGMENTS[0] ?? ""]: upTo(1, 4),
    [SEGMENTS[1] ?? ""]: upTo(5, 7),
    [LIVE]: upTo(8, 9),
  });
  const remembered = rememberedAt(upTo(1, 2), 2);
  expect(endOf(disk, remembered).head).toMatchObject({ seq: 9, end: upTo(1, 9).length });
  const archived = rememberedAt(upTo(1, 7), 7);
  disk.replace(LIVE, new Uint8Array(0), 0o600);
  expect(endOf(disk, remembered).head).toEqual(archived);
  disk.remove(LIVE);
  expect(endOf(disk, remembered).head).toEqual(archived);
});

it("a line that only lacks its newline counts: the next append gives it one", () => {
  const text = upTo(1, 3);
  const disk = diskWith({ [LIVE]: text.slice(0, -1) });
  expect(endOf(disk, rememberedAt(upTo(1, 1), 1)).head).toMatchObject({ seq: 3, end: 0 });
  const torn = diskWith({ [LIVE]: text.slice(0, -2) });
  expect(endOf(torn, rememberedAt(upTo(1, 1), 1)).head).toMatchObject({ seq: 2 });
});

it("rubbish and lines of others between ours are passed over", () => {
  const text = `${upTo(1, 2)}rubbish\n\n \n${upTo(3, 3)}`;
  expect(endOf(diskWith({ [LIVE]: text }), rememberedAt(upTo(1, 1), 1)).head?.seq).toBe(3);
});

it.each([
  ["a gap", `${upTo(1, 2)}${ours(4)}${ours(5)}`],
  ["a line that follows another one", `${upTo(1, 2)}${ours(3, { prev: "other" })}`],
  ["a fork", `${upTo(1, 2)}${ours(2, { id: "other" })}${ours(3)}`],
])("%s is followed no further, and told", (_what, text) => {
  const end = endOf(diskWith({ [LIVE]: text }), rememberedAt(upTo(1, 1), 1));
  expect(end.head?.seq).toBe(2);
  expect(end.problem).toMatch(/^line \d in it does not follow line 2$/);
});

it("later lines of ours with a key that is not at hand are told; earlier ones are history", () => {
  const strange = (seq: number) => ours(seq, { keyId: "forge:0ld" });
  const text = `${strange(1)}${ours(2, { prev: "id1" })}`;
  const remembered: OwnHead = { seq: 1, id: "id1", end: 0, prefixHash: "" };
  expect(endOf(diskWith({ [LIVE]: text }), remembered)).toMatchObject({
    head: { seq: 2 },
    unknownKeys: [],
  });
  const later = `${text}${strange(3)}${strange(4)}`;
  expect(endOf(diskWith({ [LIVE]: later }), remembered)).toMatchObject({
    head: { seq: 2 },
    unknownKeys: ["forge:0ld"],
  });
});

it("what stands in the way of reading is thrown, not guessed around", () => {
  const disk = diskWith({ "/wire/x": "" });
  disk.makeFolder(LIVE, 0o700);
  expect(() => endOf(disk, undefined)).toThrow(StorageError);
  expect(disk.openFiles).toBe(0);
});

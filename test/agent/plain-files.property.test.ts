import fc from "fast-check";
import { expect, test } from "vitest";
import {
  mailId,
  noticeId,
  PlainFile,
  type PlainRow,
  type PlainRows,
  type Written,
} from "../../src/agent/plain-files.ts";
import { StorageError, type Disk } from "../../src/storage/disk/disk.ts";
import { eventId } from "../../src/wire/canonical.ts";
import { parseObject } from "../../src/wire/json/json.ts";
import { amount } from "../support/amounts.ts";
import { Crashed, MemoryDisk, type MemoryProcess } from "../support/disk/memory-disk.ts";

// Whatever happens to the file, the store, the process or the power: in the end each row of the store stands
// in the file or one of its parts exactly once, byte for byte, and nothing else does.

const FOLDER = "/state";
const PATH = "/state/notices.jsonl";
const ROTATE_BYTES = 300;

/** A line whose number in the test is its id. */
function lineOf(id: number): Uint8Array {
  return Buffer.from(JSON.stringify({ id: `n-${id}`, text: "x".repeat((id * 37) % 90) }));
}

/** Rows in memory, as a store has them; each change is a transaction. */
class Rows implements PlainRows {
  ids: number[] = [];
  read = 0;
  written: string | undefined;

  after(m: number, limit: number): PlainRow[] {
    return this.ids.slice(m, m + limit).map((id, at) => ({
      ...{ m: m + at + 1, id: `n-${id}`, bytes: lineOf(id) },
    }));
  }

  numberOf(id: string): number | undefined {
    const at = this.ids.findIndex((each) => `n-${each}` === id);
    return at < 0 ? undefined : at + 1;
  }

  oldestUnread(): number | undefined {
    return this.read < this.ids.length ? this.read + 1 : undefined;
  }

  loadWritten(): Written | undefined {
    return this.written === undefined ? undefined : (JSON.parse(this.written) as Written);
  }

  saveWritten(written: Written): void {
    this.written = JSON.stringify(written);
  }

  copy(): Rows {
    const { ids, read, written } = this;
    return Object.assign(new Rows(), { ids: [...ids], read, written });
  }
}

const event = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("deliver" as const), rows: fc.nat(9) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("write" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("mark read" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("fail" as const),
      at: fc.integer({ min: 1, max: 25 }),
      how: fc.constantFrom("crash" as const, "EIO" as const, "ENOSPC" as const),
    }),
  },
  fc.record({
    do: fc.constant("power cut" as const),
    how: fc.constantFrom("drop" as const, "keep" as const, "tear" as const),
  }),
  fc.record({ do: fc.constant("delete" as const) }),
  fc.record({ do: fc.constant("cut" as const), bytes: fc.nat(400) }),
  fc.record({ do: fc.constant("copy" as const) }),
  fc.record({ do: fc.constant("put copy back" as const) }),
  fc.record({
    do: fc.constant("junk" as const),
    text: fc.constantFrom("\n", "{", "\0\0\n", "[]\n"),
  }),
  fc.record({ do: fc.constant("double" as const) }),
  fc.record({ do: fc.constant("copy store" as const) }),
  fc.record({ do: fc.constant("older store" as const), order: fc.constantFrom(1, -1) }),
  fc.record({ do: fc.constant("lose store" as const), order: fc.constantFrom(1, -1) }),
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

class Scene {
  readonly world = new MemoryDisk({ seed: 7 });
  disk: MemoryProcess;
  rows = new Rows();
  file: PlainFile;
  sent = 0;
  /** What stands in no file any more, since it was read and its part was removed. */
  readonly gone = new Set<number>();
  /** A store that forgets what was removed, or a copy that brings it back, may write such a row once more. */
  mayComeBack = false;
  #copy: Uint8Array = new Uint8Array();
  #storeCopy = new Rows();

  constructor() {
    this.disk = this.world.process();
    this.disk.makeFolder(FOLDER, 0o700);
    this.file = this.#open();
  }

  #open(): PlainFile {
    return new PlainFile(this.disk, PATH, this.rows, noticeId, ROTATE_BYTES);
  }

  get #other(): MemoryProcess {
    return this.world.process();
  }

  content(path = PATH): Buffer {
    return contentOf(this.#other, path);
  }

  get partPaths(): string[] {
    const names = this.#other.list(FOLDER).filter((name) => /^notices\.\d{16}\.jsonl$/.test(name));
    return names.map((name) => `${FOLDER}/${name}`);
  }

  linesOf(path: string): number[] {
    return this.content(path).toString("latin1").split("\n").slice(0, -1).map(numberIn);
  }

  restart(): void {
    this.disk.kill();
    this.disk = this.world.process();
    this.file = this.#open();
  }

  write(): void {
    const before = new Map(this.partPaths.map((path) => [path, this.linesOf(path)]));
    const unread = this.rows.oldestUnread() ?? Infinity;
    try {
      this.file.write();
    } catch (error) {
      if (!(error instanceof StorageError || error instanceof Crashed)) throw error;
      if (error instanceof Crashed) this.restart();
    }
    const now = new Set(this.partPaths);
    for (const [path, lines] of before) {
      if (now.has(path)) continue;
      expect(now.size).toBeGreaterThanOrEqual(2);
      for (const id of lines) {
        const m = this.rows.numberOf(`n-${id}`);
        if (m !== undefined) expect(m).toBeLessThan(unread);
        this.gone.add(id);
      }
    }
  }

  #change(bytes: Uint8Array): void {
    this.#other.replace(PATH, bytes, 0o600);
  }

  /** A store that lacks the last rows gets them again, in some order, as carriers bring them. */
  #goOnFrom(rows: Rows, order: number): void {
    this.mayComeBack = true;
    this.restart();
    const missing = this.rows.ids.filter((id) => !rows.ids.includes(id));
    this.rows = rows;
    this.file = this.#open();
    this.write();
    rows.ids.push(...(order < 0 ? missing.toReversed() : missing));
  }

  play(each: Event): void {
    if (each.do === "deliver")
      for (let at = 0; at < each.rows; at += 1) this.rows.ids.push((this.sent += 1));
    else if (each.do === "write") this.write();
    else if (each.do === "mark read") this.rows.read = this.rows.ids.length;
    else if (each.do === "restart") this.restart();
    else if (each.do === "fail") this.disk.failAt(each.at, each.how);
    else if (each.do === "power cut") {
      this.world.powerCut(each.how);
      this.restart();
    } else if (each.do === "delete") this.#other.remove(PATH);
    else if (each.do === "cut")
      this.#change(this.content().subarray(0, Math.max(0, this.content().length - each.bytes)));
    else if (each.do === "copy") this.#copy = this.content();
    else if (each.do === "put copy back") {
      this.mayComeBack = true;
      this.#change(this.#copy);
    } else if (each.do === "junk")
      this.#change(Buffer.concat([this.content(), Buffer.from(each.text)]));
    else if (each.do === "double") this.#change(Buffer.concat([this.content(), this.content()]));
    else if (each.do === "copy store") this.#storeCopy = this.rows.copy();
    else if (each.do === "older store") this.#goOnFrom(this.#storeCopy.copy(), each.order);
    else this.#goOnFrom(new Rows(), each.order);
  }

  /** All is well again. */
  finish(): void {
    this.disk.heal();
    this.restart();
    this.write();
  }
}

function contentOf(disk: Disk, path: string): Buffer {
  if (disk.stat(path) === undefined) return Buffer.alloc(0);
  const file = disk.open(path, "read");
  const bytes = Buffer.from(file.read(file.stat().size, 0));
  file.close();
  return bytes;
}

/** The line whole, as it was signed, or this fails. */
function numberIn(line: string): number {
  const id = Number(/^\{"id":"n-(\d+)"/.exec(line)?.[1]);
  expect(line).toBe(Buffer.from(lineOf(id)).toString("latin1"));
  return id;
}

test("in the end each row stands there once, and nothing else", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const scene = new Scene();
      for (const each of events) scene.play(each);
      scene.finish();
      const files = [...scene.partPaths, PATH];
      const there = files.flatMap((path) => scene.linesOf(path));
      expect(scene.content().at(-1) ?? 0x0a).toBe(0x0a);
      expect(there.filter((id) => !scene.gone.has(id)).toSorted((a, b) => a - b)).toEqual(
        scene.rows.ids.filter((id) => !scene.gone.has(id)).toSorted((a, b) => a - b),
      );
      expect(new Set(there).size).toBe(there.length);
      if (!scene.mayComeBack) expect(there.filter((id) => scene.gone.has(id))).toEqual([]);
      const before = scene.content();
      scene.write();
      expect(scene.content().equals(before)).toBe(true);
    }),
    { numRuns: amount(300, 30_000) },
  );
});

test("without any trouble the parts and the file are the rows in their order", () => {
  const scene = new Scene();
  for (let at = 0; at < 60; at += 1) {
    scene.play({ do: "deliver", rows: at % 4 });
    scene.write();
    if (at % 7 === 0) scene.restart();
  }
  const files = [...scene.partPaths, PATH];
  expect(files.flatMap((path) => scene.linesOf(path))).toEqual(scene.rows.ids);
  let offset = 0;
  for (const path of scene.partPaths) {
    expect(path).toBe(`/state/notices.${String(offset).padStart(16, "0")}.jsonl`);
    offset += scene.content(path).length;
  }
});

test("parts that are read go, but for the two newest", () => {
  const scene = new Scene();
  const deliver = (): void => {
    scene.play({ do: "deliver", rows: 8 });
    scene.write();
  };
  for (let at = 0; at < 5; at += 1) deliver();
  expect(scene.partPaths).toHaveLength(5);
  scene.rows.read = 20;
  deliver();
  expect(scene.partPaths).toHaveLength(4);
  expect(scene.linesOf(scene.partPaths[0] ?? "")).toContain(21);
  scene.rows.read = scene.rows.ids.length;
  deliver();
  expect(scene.partPaths).toHaveLength(2);
});

test("an older store writes nothing again that was removed with its part", () => {
  const scene = new Scene();
  scene.play({ do: "deliver", rows: 2 });
  scene.write();
  scene.restart();
  const older = scene.rows.copy();
  for (let at = 0; at < 5; at += 1) {
    scene.play({ do: "deliver", rows: 8 });
    scene.rows.read = scene.rows.ids.length;
    scene.write();
  }
  expect([...scene.gone]).toEqual(expect.arrayContaining([1, 2]) as number[]);
  const before = scene.content();
  scene.rows = older;
  scene.restart();
  scene.write();
  expect(scene.content().equals(before)).toBe(true);
});

/** Parts of eight rows each; all is read but the last rows, so two parts are left. */
function rotatedScene(parts: number): Scene {
  const scene = new Scene();
  for (let at = 0; at < parts; at += 1) {
    scene.rows.read = scene.rows.ids.length;
    scene.play({ do: "deliver", rows: 8 });
    scene.write();
  }
  return scene;
}

test("rows of a removed part are not written again, wherever a rotation dies or its file is deleted", () => {
  for (let at = 1; at < 40; at += 1) {
    const scene = rotatedScene(5);
    scene.play({ do: "deliver", rows: 8 });
    scene.disk.failAt(at, at % 2 === 0 ? "EIO" : "crash");
    scene.write();
    scene.disk.heal();
    scene.play({ do: "deliver", rows: 1 });
    scene.write();
    scene.play({ do: "delete" });
    scene.write();
    scene.restart();
    scene.write();
    const there = [...scene.partPaths, PATH].flatMap((path) => scene.linesOf(path));
    expect([...scene.gone, ...there].toSorted((a, b) => a - b)).toEqual(scene.rows.ids);
  }
});

test("a store that was lost finds its rows in every part", () => {
  const scene = new Scene();
  for (let at = 0; at < 4; at += 1) {
    scene.play({ do: "deliver", rows: 9 });
    scene.write();
  }
  const before = [...scene.partPaths, PATH].map((path) => scene.content(path));
  expect(before).toHaveLength(5);
  scene.play({ do: "lose store", order: -1 });
  scene.write();
  scene.restart();
  scene.write();
  expect([...scene.partPaths, PATH].map((path) => scene.content(path))).toEqual(before);
});

test("what was written after a sync that failed is there after a power cut", () => {
  for (let at = 1; at < 30; at += 1) {
    const scene = new Scene();
    scene.play({ do: "deliver", rows: 2 });
    scene.write();
    scene.play({ do: "deliver", rows: 2 });
    scene.disk.failAt(at, "EIO");
    scene.write();
    scene.disk.heal();
    scene.write();
    scene.world.powerCut("drop");
    expect(scene.linesOf(PATH)).toEqual(scene.rows.ids);
  }
});

test("a line of mail is known by its id, whether it says it or not", () => {
  const signed = { from: "forge", seq: 1, body: "x", signature: "s", public_key_id: "forge:1" };
  const parsed = parseObject(Buffer.from(JSON.stringify(signed)));
  const id = parsed.ok ? eventId(parsed.value) : "";
  expect(id).toMatch(/^[0-9a-f]{64}$/);
  expect(mailId(Buffer.from(JSON.stringify(signed)))).toBe(id);
  expect(mailId(Buffer.from(JSON.stringify({ ...signed, event_id: id })))).toBe(id);
  expect(mailId(Buffer.from(JSON.stringify({ ...signed, event_id: "f1" })))).toBe(id);
  expect(mailId(Buffer.from("{"))).toBeUndefined();
  expect(noticeId(Buffer.from('{"id":7}'))).toBeUndefined();
});

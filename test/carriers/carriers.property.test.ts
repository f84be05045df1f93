import fc from "fast-check";
import { expect, test } from "vitest";
import {
  publish,
  type Carrier,
  type OwnChain,
  type OwnLine,
  type Published,
} from "../../src/carriers/publisher.ts";
import { readCarrier } from "../../src/carriers/reader.ts";
import { StorageError } from "../../src/storage/disk/disk.ts";
import { amount } from "../support/amounts.ts";
import { Crashed, MemoryDisk, type MemoryProcess } from "../support/disk/memory-disk.ts";

// Whatever others do to the files of a carrier, and wherever a process or the power dies: in the end the
// carrier holds the whole chain, nothing that was there is cut, and a reader has seen every line.

const PATH = "/wire/forge_to_scribe.jsonl";
const PART = "/wire/archive/forge_to_scribe.jsonl";
const CARRIER: Carrier = { path: PATH, others: [PART], mode: 0o600 };

function line(seq: number): OwnLine {
  const body = "x".repeat((seq * 37) % 90);
  return { seq, bytes: Buffer.from(JSON.stringify({ from: "forge", seq, body })) };
}

function chainOf(last: number): OwnChain {
  return {
    last,
    after: (seq, limit) =>
      Array.from({ length: Math.max(0, Math.min(limit, last - seq)) }, (_, at) =>
        line(seq + at + 1),
      ),
  };
}

const JUNK = ["\n", "junk\n", "{", '{"from":"forge","seq":2}\n', "\0\0\0", `${"y".repeat(200)}\n`];
const event = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("send" as const), lines: fc.nat(5) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("publish" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("read" as const), bytes: fc.nat(300) }) },
  fc.record({
    do: fc.constant("fail" as const),
    at: fc.integer({ min: 1, max: 12 }),
    how: fc.constantFrom("crash" as const, "EIO" as const, "ENOSPC" as const),
  }),
  fc.record({
    do: fc.constant("power cut" as const),
    how: fc.constantFrom("drop" as const, "keep" as const, "tear" as const),
  }),
  fc.record({ do: fc.constant("junk" as const), text: fc.constantFrom(...JUNK) }),
  fc.record({ do: fc.constant("cut" as const), bytes: fc.nat(200) }),
  fc.record({ do: fc.constant("delete" as const) }),
  fc.record({ do: fc.constant("put back" as const) }),
  fc.record({ do: fc.constant("archive" as const) }),
);

class Scene {
  world = new MemoryDisk({ seed: 1 });
  disk: MemoryProcess;
  sent = 0;
  published: Published | undefined;
  cursor: string | undefined;
  marked = 0;
  readonly seen = new Set<string>();
  copy: Uint8Array = new Uint8Array();

  constructor() {
    this.disk = this.world.process();
    this.disk.makeFolder("/wire/archive", 0o700);
    this.disk.syncFolder("/");
    this.disk.syncFolder("/wire");
  }

  /** Somebody else's hand, which nothing fails. */
  get #other(): MemoryProcess {
    return this.world.process();
  }

  content(path = PATH): Buffer {
    if (this.#other.stat(path) === undefined) return Buffer.alloc(0);
    const file = this.#other.open(path, "read");
    const bytes = Buffer.from(file.read(file.stat().size, 0));
    file.close();
    return bytes;
  }

  change(bytes: Uint8Array): void {
    this.#other.replace(PATH, bytes, 0o600);
  }

  archive(): void {
    if (this.content().length === 0 || this.content(PART).length > 0) return;
    this.#other.replace(PART, this.content(), 0o600);
    this.change(new Uint8Array());
  }

  remove(): void {
    this.#other.remove(PATH);
  }

  publish(): void {
    const before = this.content();
    try {
      this.published = publish(
        this.disk,
        CARRIER,
        chainOf(this.sent),
        this.published,
        ({ seq }) => {
          this.marked = Math.max(this.marked, seq);
        },
      );
    } catch (error) {
      if (!(error instanceof StorageError || error instanceof Crashed)) throw error;
      this.restart();
    }
    const after = this.content();
    expect(after.subarray(0, before.length).equals(before)).toBe(true);
    for (const each of ownNumbers(after))
      expect(each).toBeLessThanOrEqual(Math.max(this.marked, 2));
  }

  /** A dead process; its memory of what is published may be as old as the store's last commit. */
  restart(): void {
    this.disk = this.world.process();
  }

  read(bytes: number): boolean {
    const read = readCarrier(this.world.process(), PATH, this.cursor, { bytes, lines: 3 });
    this.cursor = read.cursor;
    for (const each of read.lines) this.seen.add(Buffer.from(each).toString("latin1"));
    return read.hasMore;
  }
}

function ownNumbers(content: Buffer): number[] {
  const numbers: number[] = [];
  for (const text of content.toString("latin1").split("\n")) {
    const found = /^\{"from":"forge","seq":(\d+),"body"/.exec(text);
    if (found !== null) numbers.push(Number(found[1]));
  }
  return numbers;
}

function play(scene: Scene, each: typeof event extends fc.Arbitrary<infer T> ? T : never): void {
  if (each.do === "send") scene.sent += each.lines;
  else if (each.do === "publish") scene.publish();
  else if (each.do === "read") scene.read(each.bytes);
  else if (each.do === "fail") scene.disk.failAt(each.at, each.how);
  else if (each.do === "power cut") {
    scene.world.powerCut(each.how);
    scene.restart();
  } else if (each.do === "junk")
    scene.change(Buffer.concat([scene.content(), Buffer.from(each.text)]));
  else if (each.do === "cut") {
    scene.copy = scene.content();
    scene.change(scene.copy.subarray(0, Math.max(0, scene.copy.length - each.bytes)));
  } else if (each.do === "delete") scene.remove();
  else if (each.do === "put back") scene.change(scene.copy);
  else scene.archive();
}

test("in the end a carrier holds the whole chain, and its reader has every line of it", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const scene = new Scene();
      for (const each of events) play(scene, each);
      scene.disk.heal();
      scene.restart();
      scene.publish();
      const lines = [PART, PATH].flatMap((path) =>
        scene.content(path).toString("latin1").split("\n"),
      );
      const wanted = chainOf(scene.sent).after(0, scene.sent);
      for (const { bytes } of wanted)
        expect(lines).toContain(Buffer.from(bytes).toString("latin1"));
      expect(scene.published?.through ?? 0).toBe(scene.sent);
      const size = scene.content().length;
      scene.publish();
      expect(scene.content()).toHaveLength(size);
      while (scene.read(64)) continue;
      const whole = scene.content().toString("latin1").split("\n").slice(0, -1);
      for (const text of whole.filter((each) => each.trim() !== ""))
        expect(scene.seen).toContain(text);
    }),
    { numRuns: amount(300, 20_000) },
  );
});

test("what was published is there after a power cut", () => {
  const scene = new Scene();
  scene.sent = 3;
  scene.publish();
  scene.world.powerCut("drop");
  expect(ownNumbers(scene.content())).toEqual([1, 2, 3]);
});

test("a carrier that takes some of the lines holds these alone", () => {
  const disk = new MemoryDisk({ seed: 1 }).process();
  disk.makeFolder("/wire", 0o700);
  const takes = ({ seq }: OwnLine): boolean => seq % 2 === 0;
  const carrier: Carrier = { path: PATH, others: [], mode: 0o600, takes };
  const first = publish(disk, carrier, chainOf(3), undefined, () => undefined);
  publish(disk, carrier, chainOf(6), first, () => undefined);
  const read = readCarrier(disk, PATH, undefined, { bytes: 10_000, lines: 100 });
  expect(ownNumbers(Buffer.concat(read.lines.map((each) => Buffer.from([...each, 0x0a]))))).toEqual(
    [2, 4, 6],
  );
});

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { archiveFile, compressPart, type PartNames } from "../../src/carriers/archive.ts";
import type { OwnLines, WireLayout } from "../../src/carriers/carrier.ts";
import { FolderTransport, listWire, makeWireLayout } from "../../src/carriers/folder.ts";
import { carrierLines } from "../../src/carriers/packed.ts";
import type { OwnLine } from "../../src/carriers/publisher.ts";
import { StorageError, type Disk } from "../../src/storage/disk/disk.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { amount } from "../support/amounts.ts";
import { countedDisk } from "../support/disk/counted-disk.ts";
import { Crashed, MemoryDisk, type MemoryProcess } from "../support/disk/memory-disk.ts";

// The folder as a set of carriers: names are compared with those that handles form, and however members and files
// change, ours together hold the chain, and each copy holds what is for its reader.

const WIRE = "/wire";

function diskWith(paths: Iterable<string>): MemoryProcess {
  const disk = new MemoryDisk().process();
  for (const folder of ["outbox", "archive/2026"]) disk.makeFolder(`${WIRE}/${folder}`, 0o700);
  for (const path of paths) disk.open(`${WIRE}/${path}`, "append").close();
  return disk;
}

function list(disk: Disk, layout: WireLayout) {
  return listWire(disk, WIRE, layout);
}

const membership = (...handles: string[]) => ({
  ...{ handle: handles[0] ?? "", handles, members: new Map(handles.map((each) => [each, true])) },
});

test("each file that handles form has its owner and reader; every other one is told", () => {
  const handle = fc.constantFrom("a", "b", "c", "a_to", "to_b", "a.2", "b.jsonl", "A-1", "outbox");
  fc.assert(
    fc.property(
      fc.uniqueArray(handle, { minLength: 1, maxLength: 5 }),
      fc.uniqueArray(handle, { maxLength: 5 }),
      (handles, strangers) => {
        const all = [...new Set([...handles, ...strangers])];
        const names = all.flatMap((a) => [
          `outbox/${a}.jsonl`,
          ...all.map((b) => `${a}_to_${b}.jsonl`),
        ]);
        const disk = diskWith([...new Set(names), "decisions.jsonl", "notes.txt", "config.json"]);
        const found = list(disk, makeWireLayout(membership(...handles)));
        const owners = new Map<string, Set<string>>();
        for (const a of handles) {
          owners.set(`outbox/${a}.jsonl`, new Set([`${a} undefined`]));
          for (const b of handles.filter((each) => each !== a)) {
            const path = `${a}_to_${b}.jsonl`;
            owners.set(path, (owners.get(path) ?? new Set()).add(`${a} ${b}`));
          }
        }
        const known = names.filter((name) => owners.has(name));
        expect(new Set(found.carriers.map(({ name }) => name))).toEqual(new Set(known));
        for (const { name, owner, reader } of found.carriers)
          expect(owners.get(name)).toContain(`${owner} ${String(reader)}`);
        expect(new Set(found.unowned)).toEqual(new Set(names.filter((name) => !owners.has(name))));
        expect(found.passedOver).toEqual([]);
      },
    ),
    { numRuns: amount(150, 10_000) },
  );
});

test("a name that pairs of two rosters form belongs to the earlier pair", () => {
  const { carriers } = makeWireLayout(membership("a", "b_to_c", "a_to_b", "c"));
  expect(carriers.get("a_to_b_to_c.jsonl")).toMatchObject({ owner: "a", reader: "b_to_c" });
});

test("a part belongs to whom the longest known name says, and keeps its reader", () => {
  const layout = makeWireLayout(membership("forge", "ann", "ann.2"));
  const year = "archive/2026";
  const parts = ["forge.jsonl", "forge.2.jsonl.gz", "forge_to_ann.2.jsonl", "forge_to_ann.3.jsonl"];
  const disk = diskWith([...parts, "ann.2.jsonl", "mason.jsonl"].map((name) => `${year}/${name}`));
  expect(list(disk, layout)).toEqual({
    carriers: [
      { name: `${year}/ann.2.jsonl`, owner: "ann.2", reader: undefined },
      { name: `${year}/forge.2.jsonl.gz`, owner: "forge", reader: undefined },
      { name: `${year}/forge.jsonl`, owner: "forge", reader: undefined },
      { name: `${year}/forge_to_ann.2.jsonl`, owner: "forge", reader: "ann.2" },
      { name: `${year}/forge_to_ann.3.jsonl`, owner: "forge", reader: "ann" },
    ],
    unowned: [`${year}/mason.jsonl`],
    passedOver: [],
  });
});

test("a round over 256 members costs one look at each file that is there", () => {
  const handles = Array.from({ length: 256 }, (_, at) => `agent-${at}`);
  const files = handles.map((handle) => `outbox/${handle}.jsonl`);
  const parts = handles.map((handle) => `archive/2026/${handle}.jsonl`);
  const { disk, taken } = countedDisk(diskWith([...files, ...parts, "agent-3_to_agent-7.jsonl"]));
  const layout = makeWireLayout(membership(...handles));
  const found = listWire(disk, WIRE, layout);
  expect(found.carriers).toHaveLength(513);
  const calls = taken();
  expect(calls["disk list"]).toBe(4);
  expect(calls["disk stat"]).toBeLessThanOrEqual(520);
});

test("a wire that is reached through a link is listed; nothing within it may be one", () => {
  const root = mkdtempSync(join(tmpdir(), "deaddrop-folder-"));
  try {
    const [wire, link] = [join(root, "wire"), join(root, "link")];
    mkdirSync(join(wire, "archive"), { recursive: true });
    for (const name of ["outbox", "archive/2026"]) symlinkSync(root, join(wire, name));
    writeFileSync(join(wire, "forge_to_scribe.jsonl"), "");
    symlinkSync(wire, link);
    const layout = makeWireLayout(membership("forge", "scribe"));
    expect(listWire(nodeDisk({ wireDir: link }), link, layout)).toEqual({
      carriers: [{ name: "forge_to_scribe.jsonl", owner: "forge", reader: "scribe" }],
      unowned: [],
      passedOver: [
        { path: "outbox", problem: "it is no folder" },
        { path: "archive/2026", problem: "it is no folder" },
      ],
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test("what cannot be listed is passed over when others have closed it, and stops us when the disk fails", () => {
  const layout = makeWireLayout(membership("forge", "scribe"));
  const disk = diskWith(["forge_to_scribe.jsonl", "archive/2026/forge_to_scribe.jsonl"]);
  const refuse = (code: "EACCES" | "EIO") => {
    disk.standing = (path) => (path.endsWith("2026") ? code : undefined);
  };
  refuse("EACCES");
  expect(list(disk, layout).carriers.map(({ name }) => name)).toEqual(["forge_to_scribe.jsonl"]);
  expect(list(disk, layout).passedOver).toEqual([
    { path: "archive/2026", problem: expect.stringContaining("permission") as string },
  ]);
  refuse("EIO");
  expect(() => list(disk, layout)).toThrow(StorageError);
});

const HANDLES = ["forge", "scribe", "ann", "mason"];
const event = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("send" as const), to: fc.nat(5) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("publish" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("members" as const),
      chains: fc.array(fc.constantFrom(true, false, undefined), { minLength: 3, maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("fail" as const),
      at: fc.integer({ min: 1, max: 20 }),
      how: fc.constantFrom("crash" as const, "EIO" as const, "ENOSPC" as const),
    }),
  },
  fc.record({ do: fc.constant("archive" as const) }),
  fc.record({ do: fc.constant("compress" as const) }),
  fc.record({ do: fc.constant("restart" as const) }),
  fc.record({ do: fc.constant("retry" as const) }),
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

class Scene {
  readonly world = new MemoryDisk({ seed: 3 });
  disk = this.world.process();
  readonly sent: { readonly line: OwnLine; readonly to: readonly string[] | undefined }[] = [];
  members = new Map([
    ["forge", true],
    ["scribe", true],
  ]);
  layout = this.#layout();
  marked = 0;
  nowMs = 0;
  retry: (() => void) | undefined;
  folder = this.#open();

  constructor() {
    this.disk.makeFolder(WIRE, 0o700);
  }

  #layout(): WireLayout {
    return makeWireLayout({ handle: "forge", handles: HANDLES, members: this.members });
  }

  get names(): PartNames {
    return this.layout.parts;
  }

  #open(): FolderTransport {
    this.retry = undefined;
    const ours: OwnLines = {
      handle: "forge",
      chain: () => ({
        last: this.sent.length,
        after: (seq, limit) => this.sent.slice(seq, seq + limit).map(({ line }) => line),
      }),
      beforeAppend: ({ seq }) => {
        this.marked = Math.max(this.marked, seq);
      },
    };
    return new FolderTransport({
      ...{ disk: this.disk, wireDir: WIRE, mode: 0o600, ours, layout: () => this.layout },
      world: {
        clock: { wallMs: () => this.nowMs },
        after: (_, act) => {
          this.retry = act;
          return () => (this.retry = undefined);
        },
        watch: () => () => undefined,
      },
    });
  }

  restart(): void {
    this.disk.kill();
    this.disk = this.world.process();
    this.folder = this.#open();
  }

  #send(which: number): void {
    const to = [["*"], ["scribe"], ["ann", "mason"], [], undefined, ["mason"]][which];
    const seq = this.sent.length + 1;
    const timestamp = "2026-06-01T10:00:00Z";
    const bytes = Buffer.from(JSON.stringify({ from: "forge", seq, timestamp, to }));
    this.sent.push({ line: { seq, bytes }, to });
  }

  /** Numbers of the lines of the files that exist of these, in each. */
  numbers(): Map<string, number[]> {
    const disk = this.world.process();
    return new Map(
      list(disk, this.layout).carriers.map(({ name }) => {
        const file = disk.open(`${WIRE}/${name}`, "read");
        const texts = [...carrierLines(file)].map(({ bytes }) =>
          Buffer.from(bytes ?? []).toString(),
        );
        const whole = texts.filter((text) => text.startsWith("{") && text.endsWith("}"));
        return [name, whole.map((text) => (JSON.parse(text) as { seq: number }).seq)];
      }),
    );
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof StorageError || error instanceof Crashed)) throw error;
      if (error instanceof Crashed) this.restart();
    }
  }

  play(each: Event): void {
    if (each.do === "send") this.#send(each.to);
    else if (each.do === "members") {
      const others = HANDLES.slice(1).flatMap((handle, at) => {
        const chains = each.chains[at];
        return chains === undefined ? [] : [[handle, chains] as const];
      });
      this.members = new Map([["forge", true], ...others]);
      this.layout = this.#layout();
    } else if (each.do === "fail") this.disk.failAt(each.at, each.how);
    else if (each.do === "restart") this.restart();
    else
      this.#guard(() => {
        if (each.do === "publish") this.folder.publish();
        else if (each.do === "retry") this.tryAgain();
        else this.#archive(each.do);
      });
  }

  tryAgain(): void {
    this.nowMs += 30_000;
    this.retry?.();
  }

  #archive(what: "archive" | "compress"): void {
    for (const { name } of list(this.disk, this.layout).carriers) {
      const isLive = !name.startsWith("archive/");
      if (what === "archive" && isLive)
        archiveFile(this.disk, WIRE, this.names, name, { year: 2026, author: "forge" });
      if (what === "compress" && !isLive && !name.endsWith(".gz"))
        compressPart(this.disk, `${WIRE}/${name}`);
    }
  }
}

test("ours together hold the chain, each copy what is for its reader, no file a line twice", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const scene = new Scene();
      for (const each of events) scene.play(each);
      scene.disk.heal();
      scene.restart();
      scene.folder.publish();
      expect(scene.folder.health().problem).toBeUndefined();
      const found = scene.numbers();
      const all = [...found.values()].flat();
      const sent = scene.sent.map(({ line }) => line.seq);
      expect([...new Set(all)].toSorted((a, b) => a - b)).toEqual(sent);
      for (const path of scene.layout.carriers.keys()) {
        const isPart = (name: string): boolean =>
          scene.names.liveOf(name.replace(/^.*\//u, "")) === path;
        const numbers = [...found].flatMap(([name, each]) => (isPart(name) ? each : []));
        expect(new Set(numbers).size).toBe(numbers.length);
      }
      expect(scene.marked).toBe(Math.max(0, ...all));
      for (const handle of HANDLES.slice(1)) {
        const isCopy = scene.members.size > 2 && scene.members.get(handle) === false;
        if (!isCopy) continue;
        const copies = [...found].filter(([name]) => name.includes(`forge_to_${handle}`));
        const there = new Set(copies.flatMap(([, numbers]) => numbers));
        for (const { line, to } of scene.sent)
          if (to === undefined || to.includes("*") || to.includes(handle))
            expect(there).toContain(line.seq);
      }
      const before = [...found];
      scene.folder.publish();
      scene.restart();
      scene.folder.publish();
      expect([...scene.numbers()]).toEqual(before);
    }),
    { numRuns: amount(150, 10_000) },
  );
});

test("with two members it is the pair's file, else the outbox; the next line goes to the other one", () => {
  const scene = new Scene();
  const members = (...chains: (boolean | undefined)[]): void => {
    scene.play({ do: "members", chains });
  };
  const send = (which: number): void => {
    scene.play({ do: "send", to: which });
    scene.play({ do: "publish" });
  };
  send(1);
  members(true, false, undefined);
  send(0);
  send(1);
  send(2);
  members(true, undefined, undefined);
  send(1);
  members(undefined, undefined, undefined);
  send(4);
  expect(Object.fromEntries(scene.numbers())).toEqual({
    "forge_to_scribe.jsonl": [1, 5],
    "forge_to_ann.jsonl": [2, 4],
    "outbox/forge.jsonl": [2, 3, 4, 6],
  });
});

test("trouble with the folder is told, tried again, and holds up deadlines while nothing can be listed", () => {
  const scene = new Scene();
  scene.play({ do: "members", chains: [true, true, undefined] });
  scene.play({ do: "send", to: 0 });
  scene.disk.standing = (path, how) => (path === WIRE && how === "read" ? "EIO" : undefined);
  scene.folder.publish();
  expect(scene.folder.health().problem).toMatchObject({ code: "local", sinceMs: 0 });
  scene.folder.list();
  expect(scene.folder.knownMs("scribe", 7)).toBeUndefined();
  scene.disk.standing = undefined;
  scene.folder.publish();
  expect(scene.folder.trouble).toMatchObject({ sinceMs: 0 });
  scene.tryAgain();
  expect(scene.folder.health()).toMatchObject({ problem: undefined, waiting: 0 });
  expect(scene.numbers().get("outbox/forge.jsonl")).toEqual([1]);
  expect(scene.folder.knownMs("scribe", 7)).toBe(7);
});

test("carriers are read with cursors that are text, and a damaged part is told while it is there", () => {
  const scene = new Scene();
  scene.play({ do: "send", to: 0 });
  scene.play({ do: "publish" });
  const [carrier] = scene.folder.list();
  if (carrier === undefined) throw new Error("nothing was published");
  expect(carrier).toEqual({ name: "forge_to_scribe.jsonl", owner: "forge", reader: "scribe" });
  const budget = { bytes: 1_000, lines: 10 };
  const read = scene.folder.read(carrier, undefined, budget);
  expect(read.lines).toHaveLength(1);
  expect(scene.folder.read(carrier, read.cursor, budget).lines).toEqual([]);
  expect(scene.folder.read(carrier, "{}", budget).lines).toHaveLength(1);
  scene.play({ do: "archive" });
  const part = `${WIRE}/archive/2026/forge_to_scribe.jsonl`;
  scene.disk.replace(`${part}.gz`, Buffer.from("this is no gzip file"), 0o600);
  scene.disk.remove(part);
  for (const each of scene.folder.list()) scene.folder.read(each, undefined, budget);
  expect(scene.folder.health().troubles).toEqual([
    {
      ...{ cause: "wire_tampered", where: '"archive/2026/forge_to_scribe.jsonl.gz"' },
      detail: "it is passed over: it is no gzip file",
    },
  ]);
  scene.disk.remove(`${part}.gz`);
  scene.folder.list();
  expect(scene.folder.health().troubles).toEqual([]);
});

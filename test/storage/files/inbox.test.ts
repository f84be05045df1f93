import { describe, expect, it } from "vitest";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import { openInbox, type Inbox } from "../../../src/storage/files/inbox.ts";
import type { RoutedLine } from "../../../src/storage/files/inbox-repair.ts";
import { openJournal, type Journal } from "../../../src/storage/files/journal.ts";
import {
  Crashed,
  MemoryDisk,
  type Fault,
  type MemoryProcess,
} from "../../support/disk/memory-disk.ts";
import type { PowerCut } from "../../support/disk/memory-inode.ts";

const FOLDER = "/state";
const INBOX = "/state/inbox.jsonl";

interface Routed extends RoutedLine {
  readonly line: number;
}

function lineOf(number: number): Uint8Array {
  return Buffer.from(`{"line":${number},"body":"${"x".repeat((number * 37) % 90)}"}`);
}

interface Delivery {
  readonly inbox: Inbox;
  readonly journal: Journal<Routed>;
}

/** Opens both and brings the inbox to what the journal says. */
function start(disk: MemoryProcess, durable = 0): Delivery {
  disk.makeFolder(FOLDER, 0o700);
  const journal = openJournal<Routed>(disk, "/state/journal.jsonl");
  const inbox = openInbox(disk, INBOX, 2_000);
  recover({ inbox, journal }, durable);
  return { inbox, journal };
}

function recover({ inbox, journal }: Delivery, durable: number) {
  return inbox.recover(
    durable,
    (from) => routedFrom(journal, from),
    ({ line }) => lineOf(line),
  );
}

function* routedFrom(journal: Journal<Routed>, from: number): Generator<Routed> {
  for (const { entry } of journal.read()) if (entry.inbox >= from) yield entry;
}

/** The journal first, then the inbox: the order that makes delivery exactly once. */
function deliver({ inbox, journal }: Delivery, numbers: readonly number[]): void {
  const lines = numbers.map(lineOf);
  const offsets = inbox.place(lines);
  journal.append(
    numbers.map((line, index) => {
      return { line, inbox: offsets[index] ?? -1, start: 0, end: lineOf(line).length + 1 };
    }),
  );
  inbox.append(lines);
}

function textOf(disk: MemoryProcess, path = INBOX): string {
  const size = disk.stat(path)?.size ?? 0;
  return size === 0 ? "" : Buffer.from(disk.open(path, "read").read(size, 0)).toString();
}

function textFor(numbers: readonly number[]): string {
  return numbers.map((number) => `${Buffer.from(lineOf(number)).toString()}\n`).join("");
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

describe("delivery", () => {
  it("counts logical offsets, and reads back by them", () => {
    const delivery = start(new MemoryDisk().process());
    deliver(delivery, [1, 2, 3]);
    const [offset] = delivery.inbox.place([lineOf(4)]);
    expect(offset).toBe(textFor([1, 2, 3]).length);
    const at = textFor([1]).length;
    expect(delivery.inbox.read(at, lineOf(2).length)).toEqual(Uint8Array.from(lineOf(2)));
  });

  /** Three lives, the second with a fault; each goes on where the journal ends. */
  function scene(at: number, fault: Fault, power: PowerCut | "none", seed: number) {
    const world = new MemoryDisk({ seed });
    let reached = false;
    // As a checkpoint would remember it: nothing before it is compared again.
    let durable = 0;
    for (let life = 0; life < 3; life += 1) {
      const disk = world.process();
      if (life === 1) disk.failAt(at, fault);
      try {
        const delivery = start(disk, durable);
        durable = delivery.inbox.end;
        for (let batch = 0; batch < 3; batch += 1) {
          const next = [...delivery.journal.read()].length;
          deliver(delivery, [next + 1, next + 2, next + 3]);
          durable = delivery.inbox.end;
        }
      } catch (error) {
        if (!(error instanceof Crashed) && !(error instanceof StorageError)) throw error;
      }
      if (life === 1) reached = disk.operations >= at;
      disk.kill();
      if (power !== "none") world.powerCut(power);
    }
    const disk = world.process();
    const { journal } = start(disk, durable);
    const count = [...journal.read()].length;
    expect(count).toBeGreaterThanOrEqual(18);
    expect(textOf(disk)).toBe(textFor(upTo(count)));
    return reached;
  }

  for (const fault of ["crash", "EIO", "ENOSPC"] as const) {
    for (const power of ["none", "drop", "keep", "tear"] as const) {
      it(`exactly once: ${fault} at every operation, then power ${power}`, () => {
        let at = 1;
        while (scene(at, fault, power, at)) at += 1;
        expect(at).toBeGreaterThan(20);
        if (power !== "tear") return;
        for (let seed = 1; seed <= 8 * at; seed += 1) scene(1 + (seed % at), fault, power, seed);
      });
    }
  }
});

it("what a killed process had not synced is synced before it counts as durable", () => {
  for (let seed = 1; seed < 30; seed += 1) {
    const world = new MemoryDisk({ seed });
    const first = world.process();
    const delivery = start(first);
    first.failAt(4, "crash"); // journal: append, sync; inbox: append, sync
    expect(() => deliver(delivery, [1, 2, 3])).toThrow(Crashed);
    const durable = start(world.process()).inbox.end;
    world.powerCut("tear");
    const last = world.process();
    start(last, durable);
    expect(textOf(last)).toBe(textFor([1, 2, 3]));
  }
});

describe("a full disk", () => {
  it("leaves nothing half: the same lines go in when there is room", () => {
    const disk = new MemoryDisk().process();
    const { inbox } = start(disk);
    disk.failAt(1, "ENOSPC");
    expect(() => inbox.append([lineOf(1)])).toThrow("disk full");
    inbox.append([lineOf(1)]);
    expect(textOf(disk)).toBe(textFor([1]));
  });
});

/** Line 2 of three is lost, and blanks are in its place. */
function withBlanks(disk: MemoryProcess) {
  const delivery = start(disk);
  deliver(delivery, [1, 2, 3]);
  disk.open(INBOX, "append").truncate(0);
  const repair = delivery.inbox.recover(
    0,
    (from) => routedFrom(delivery.journal, from),
    ({ line }) => (line === 2 ? undefined : lineOf(line)),
  );
  return { delivery, repair };
}

describe("recovery", () => {
  it("rebuilds a deleted inbox, one cut at every byte, and one with a hole", () => {
    const disk = new MemoryDisk().process();
    const delivery = start(disk);
    deliver(delivery, upTo(4));
    const whole = textFor(upTo(4));
    disk.remove(INBOX);
    expect(recover(delivery, whole.length)).toEqual({
      restored: 4,
      lost: [],
      cutBytes: 0,
      unnamed: [],
    });
    expect(textOf(disk)).toBe(whole);
    for (let length = 0; length < whole.length; length += 1) {
      disk.open(INBOX, "append").truncate(length);
      recover(delivery, whole.length);
      expect(textOf(disk)).toBe(whole);
    }
    const file = disk.open(INBOX, "append");
    file.truncate(10);
    file.append(new Uint8Array(whole.length - 10));
    recover(delivery, 0);
    expect(textOf(disk)).toBe(whole);
  });

  it("keeps offsets when a line is lost with its log: blanks are in its place", () => {
    const disk = new MemoryDisk().process();
    const { repair } = withBlanks(disk);
    expect(repair).toMatchObject({ restored: 2, lost: [{ line: 2 }], cutBytes: 0 });
    const lines = textOf(disk).split("\n");
    expect(lines[0]).toBe(Buffer.from(lineOf(1)).toString());
    expect(lines[1]).toBe(" ".repeat(lineOf(2).length));
    expect(lines[2]).toBe(Buffer.from(lineOf(3)).toString());
  });

  it("gives the place of a lost last line to no other, and says so again at the next start", () => {
    const disk = new MemoryDisk().process();
    const delivery = start(disk);
    deliver(delivery, [1, 2]);
    const { end } = delivery.inbox;
    disk.open(INBOX, "append").truncate(lineOf(1).length + 1);
    for (let starts = 0; starts < 2; starts += 1) {
      const repair = delivery.inbox.recover(
        0,
        (from) => routedFrom(delivery.journal, from),
        ({ line }) => (line === 2 ? undefined : lineOf(line)),
      );
      expect(repair.lost).toMatchObject([{ line: 2 }]);
      expect(delivery.inbox.place([lineOf(3)])).toEqual([end]);
    }
  });

  it("fills the blanks of a lost line in another file: those who follow this one are past them", () => {
    const disk = new MemoryDisk().process();
    const { delivery } = withBlanks(disk);
    const followed = disk.open(INBOX, "read");
    const before = followed.stat();
    // What a process has left that was killed while it did the same.
    disk.open("/state/.inbox.jsonl.0123456789ab", "append").close();
    recover(delivery, 0);
    expect(disk.list(FOLDER).filter((name) => name.startsWith("."))).toEqual([]);
    expect(textOf(disk)).toBe(textFor([1, 2, 3]));
    expect(disk.stat(INBOX)?.ino).not.toBe(before.ino);
    expect(followed.stat()).toMatchObject({ ino: before.ino, size: before.size });
    deliver(delivery, [4]);
    const { ino } = disk.stat(INBOX) ?? {};
    recover(delivery, 0);
    expect(textOf(disk)).toBe(textFor([1, 2, 3, 4]));
    expect(disk.stat(INBOX)?.ino).toBe(ino);
  });

  it.each(["crash", "EIO", "ENOSPC"] as const)(
    "never fills them in the same file, when it dies or fails at any operation: %s",
    (fault) => {
      let reached = 0;
      for (let at = 1; ; at += 1) {
        const world = new MemoryDisk({ seed: at });
        withBlanks(world.process());
        const followed = world.process().stat(INBOX)?.ino;
        const disk = world.process();
        disk.failAt(at, fault);
        try {
          start(disk);
        } catch (error) {
          if (!(error instanceof Crashed) && !(error instanceof StorageError)) throw error;
          reached += 1;
        }
        const isWhole = textOf(world.process()) === textFor([1, 2, 3]);
        if (isWhole) expect(world.process().stat(INBOX)?.ino).not.toBe(followed);
        start(world.process());
        expect(textOf(world.process())).toBe(textFor([1, 2, 3]));
        if (disk.operations < at) break;
      }
      expect(reached).toBeGreaterThan(3);
    },
  );

  it("keeps whole lines that a lost journal no longer names, and cuts a torn end", () => {
    const disk = new MemoryDisk().process();
    const delivery = start(disk);
    deliver(delivery, [1, 2]);
    disk.remove("/state/journal.jsonl");
    disk.open(INBOX, "append").append(Buffer.from('{"half'));
    const again = start(disk);
    expect(textOf(disk)).toBe(textFor([1, 2]));
    deliver(again, [3]);
    expect(textOf(disk)).toBe(textFor([1, 2, 3]));
  });

  it("does not write into an inbox that another program changed", () => {
    const disk = new MemoryDisk().process();
    const delivery = start(disk);
    deliver(delivery, [1]);
    disk.open(INBOX, "append").append(Buffer.from("scribble\n"));
    expect(() => delivery.inbox.append([lineOf(2)])).toThrow("changed or removed");
    disk.remove(INBOX);
    expect(() => delivery.inbox.append([lineOf(2)])).toThrow("changed or removed");
    recover(delivery, 0);
    deliver(delivery, [2]);
    expect(textOf(disk)).toBe(textFor([1, 2]));
  });
});

describe("rotation", () => {
  function filled(disk: MemoryProcess): Delivery {
    const delivery = start(disk);
    deliver(delivery, upTo(40));
    return delivery;
  }

  it("happens only when large enough; offsets go on, and what is closed stays readable", () => {
    const disk = new MemoryDisk().process();
    const delivery = filled(disk);
    const { end } = delivery.inbox;
    expect(end).toBeGreaterThan(2_000);
    expect(delivery.inbox.rotate(() => 0)).toBe(true);
    expect(delivery.inbox.base).toBe(end);
    expect(textOf(disk, "/state/inbox.0000000000000000.jsonl")).toBe(textFor(upTo(40)));
    deliver(delivery, [41]);
    expect(textOf(disk)).toBe(textFor([41]));
    const again = start(disk);
    expect(again.inbox.base).toBe(end);
    expect(textOf(disk)).toBe(textFor([41]));
    expect(again.inbox.rotate(() => again.inbox.end)).toBe(false);
    const read = ({ inbox }: Delivery, at: number, line: number) =>
      Buffer.from(inbox.read(at, lineOf(line).length) ?? []).toString("utf8");
    for (const each of [delivery, again]) {
      expect(read(each, 0, 1)).toBe(Buffer.from(lineOf(1)).toString("utf8"));
      expect(read(each, end, 41)).toBe(Buffer.from(lineOf(41)).toString("utf8"));
    }
  });

  it("keeps each closed file that holds something unread, however many there are", () => {
    const disk = new MemoryDisk().process();
    const delivery = filled(disk);
    const starts = [0];
    for (let round = 0; round < 4; round += 1) {
      delivery.inbox.rotate(() => (starts[1] ?? 0) + 1);
      starts.push(delivery.inbox.base);
      deliver(delivery, upTo(40));
    }
    const readable = starts.map((at) => delivery.inbox.read(at, 1)?.length === 1);
    // The unread line is in the second one: the first is gone, all others are there.
    expect(readable).toEqual([false, true, true, true, true]);
  });

  it("keeps two closed files when all is read", () => {
    const disk = new MemoryDisk().process();
    const delivery = filled(disk);
    for (let round = 0; round < 4; round += 1) {
      delivery.inbox.rotate(() => delivery.inbox.end);
      deliver(delivery, upTo(40));
    }
    expect(disk.list(FOLDER).filter((name) => /^inbox\.[0-9]+\.jsonl$/.test(name))).toHaveLength(2);
  });

  it.each(["none", "drop", "keep", "tear"] as const)(
    "loses no offset when it dies at any operation, power %s",
    (power) => {
      for (let at = 1; at < 20; at += 1) {
        const world = new MemoryDisk({ seed: at });
        const disk = world.process();
        const { inbox } = filled(disk);
        const { end } = inbox;
        disk.failAt(at, "crash");
        try {
          inbox.rotate(() => end);
        } catch (error) {
          if (!(error instanceof Crashed)) throw error;
        }
        disk.kill();
        if (power !== "none") world.powerCut(power);
        const last = world.process();
        const delivery = start(last);
        expect(delivery.inbox.end).toBe(end);
        deliver(delivery, [41]);
        expect(textOf(last).endsWith(textFor([41]))).toBe(true);
      }
    },
  );
});

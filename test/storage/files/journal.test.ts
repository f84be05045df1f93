import { describe, expect, it } from "vitest";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import { openJournal } from "../../../src/storage/files/journal.ts";
import { MAX_QUARANTINE_BYTES, openQuarantine } from "../../../src/storage/files/quarantine.ts";
import { Crashed, MemoryDisk, type MemoryProcess } from "../../support/disk/memory-disk.ts";

interface Entry {
  readonly n: number;
  readonly text?: string;
}

const JOURNAL = "/journal.jsonl";

function numbers(disk: MemoryProcess): number[] {
  return [...openJournal<Entry>(disk, JOURNAL).read()].map(({ entry }) => entry.n);
}

function textOf(disk: MemoryProcess, path: string): string {
  const file = disk.open(path, "read");
  return Buffer.from(file.read(file.stat().size, 0)).toString();
}

describe("the journal", () => {
  it("reads from any offset that it handed out", () => {
    const journal = openJournal<Entry>(new MemoryDisk().process(), JOURNAL);
    expect(journal.append([{ n: 1, text: "ü\u2028" }])).toEqual([0]);
    const after = journal.end;
    const [second, third] = journal.append([{ n: 2 }, { n: 3 }]);
    expect(second).toBe(after);
    expect(journal.at(third ?? 0)).toEqual({ entry: { n: 3 }, start: third, end: journal.end });
    expect(journal.at(journal.end)).toBeUndefined();
    expect([...journal.read(after)]).toMatchObject([
      { entry: { n: 2 }, start: after },
      { entry: { n: 3 }, end: journal.end },
    ]);
    expect([...journal.read()][0]?.entry).toEqual({ n: 1, text: "ü\u2028" });
  });

  it("cut at every byte, it holds the entries before, and takes new ones", () => {
    const disk = new MemoryDisk().process();
    openJournal<Entry>(disk, JOURNAL).append([{ n: 1 }, { n: 2 }]);
    const whole = textOf(disk, JOURNAL);
    for (let length = 0; length < whole.length; length += 1) {
      const fresh = new MemoryDisk().process();
      fresh.open(JOURNAL, "append").append(Buffer.from(whole.slice(0, length)));
      openJournal<Entry>(fresh, JOURNAL).append([{ n: 9 }]);
      expect(numbers(fresh)).toEqual(length < whole.indexOf("\n") + 1 ? [9] : [1, 9]);
    }
  });

  it("drops everything from a hole on, and skips and counts a line that is no JSON", () => {
    const disk = new MemoryDisk().process();
    const file = disk.open(JOURNAL, "append");
    file.append(Buffer.from('{"n":1}\n{"n":\n{"n":2}\n{"n":3}\n{"n'));
    file.append(new Uint8Array(5));
    file.append(Buffer.from('":4}\n{"n":5}\n'));
    const journal = openJournal<Entry>(disk, JOURNAL);
    expect([...journal.read()].map(({ entry }) => entry.n)).toEqual([1, 2, 3]);
    expect(journal.damaged).toBe(1);
  });

  it.each(["crash", "EIO", "ENOSPC"] as const)(
    "a batch is acknowledged and there, or refused and never half there: %s at every operation",
    (fault) => {
      for (const power of ["none", "drop", "keep", "tear"] as const) {
        for (let at = 1; at < 12; at += 1) {
          const world = new MemoryDisk({ seed: at });
          const disk = world.process();
          disk.failAt(at, fault);
          const acknowledged: number[] = [];
          for (let batch = 0; batch < 3; batch += 1) {
            try {
              const journal = openJournal<Entry>(disk, JOURNAL);
              const entries = [1, 2, 3].map((n) => ({ n: batch * 3 + n }));
              journal.append(entries);
              acknowledged.push(...entries.map(({ n }) => n));
            } catch (error) {
              if (!(error instanceof Crashed) && !(error instanceof StorageError)) throw error;
            }
          }
          disk.kill();
          if (power !== "none") world.powerCut(power);
          const found = numbers(world.process());
          expect(found.filter((n) => acknowledged.includes(n))).toEqual(acknowledged);
          expect(found).toEqual(found.toSorted((a, b) => a - b));
        }
      }
    },
  );
});

describe("the quarantine", () => {
  const entry = (
    n: number,
    line = "x",
  ): Parameters<ReturnType<typeof openQuarantine>["add"]>[0] => [
    {
      at: "now",
      file: "a.jsonl",
      offset: n,
      reason: "schema",
      detail: "",
      line: Buffer.from(line),
    },
  ];

  it("keeps entries with their line cut at 4 KiB, whatever bytes it has", () => {
    const disk = new MemoryDisk().process();
    const quarantine = openQuarantine(disk, "/q.jsonl");
    quarantine.add(entry(1, "y".repeat(10_000)));
    quarantine.add([{ ...entry(2)[0], line: Uint8Array.of(0xff, 0x41) } as never]);
    const lines = textOf(disk, "/q.jsonl").trimEnd().split("\n");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ offset: 1, line: "y".repeat(4_096) });
    expect(JSON.parse(lines[1] ?? "")).toMatchObject({ offset: 2, line: "\ufffdA" });
  });

  it("stays below 16 MiB, keeps the newest, and counts what it dropped, over restarts", () => {
    const disk = new MemoryDisk().process();
    let quarantine = openQuarantine(disk, "/q.jsonl");
    const total = 7_000;
    for (let n = 0; n < total; n += 100) {
      quarantine.add(Array.from({ length: 100 }, (_, i) => entry(n + i, "z".repeat(4_096))).flat());
      if (n === 4_000) {
        quarantine.close();
        quarantine = openQuarantine(disk, "/q.jsonl");
      }
    }
    const sizes = ["/q.jsonl", "/q.1.jsonl"].map((path) => disk.stat(path)?.size ?? 0);
    expect(sizes[0]! + sizes[1]!).toBeLessThanOrEqual(MAX_QUARANTINE_BYTES);
    const kept = ["/q.1.jsonl", "/q.jsonl"].flatMap((path) =>
      textOf(disk, path)
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as { offset?: number })
        .flatMap(({ offset }) => (offset === undefined ? [] : [offset])),
    );
    expect(quarantine.dropped).toBe(total - kept.length);
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, i) => total - kept.length + i));
    expect(kept.length).toBeGreaterThan(1_900);
  });
});

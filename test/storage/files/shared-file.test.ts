import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { StorageError, type Disk } from "../../../src/storage/disk/disk.ts";
import { wholeLogs } from "../../../src/storage/archive/whole-logs.ts";
import { appendShared } from "../../../src/storage/files/shared-file.ts";
import { builtForChildren } from "../../support/processes/child-modules.ts";
import { Crashed, MemoryDisk, type MemoryProcess } from "../../support/disk/memory-disk.ts";

const PATH = "/decisions.jsonl";

function record(disk: Disk, id: string) {
  const line = Buffer.from(`{"id":"${id}"}`);
  return appendShared(wholeLogs(disk, "/"), PATH, line, {
    find: (present) => line.equals(present),
  });
}

function textOf(disk: MemoryProcess, path = PATH): string {
  const file = disk.open(path, "read");
  return Buffer.from(file.read(file.stat().size, 0)).toString();
}

describe("a file that every agent writes", () => {
  it("takes a line once, archived segments included", () => {
    const disk = new MemoryDisk().process();
    expect(record(disk, "one").outcome).toBe("appended");
    expect(record(disk, "one")).toMatchObject({ outcome: "found" });
    disk.makeFolder("/archive/2025", 0o700);
    disk.renameExclusive(PATH, "/archive/2025/decisions.jsonl");
    expect(record(disk, "one").outcome).toBe("found");
    expect(record(disk, "two").outcome).toBe("appended");
    expect(textOf(disk)).toBe('{"id":"two"}\n');
    expect(textOf(disk, "/archive/2025/decisions.jsonl")).toBe('{"id":"one"}\n');
  });

  it("finds a line that was archived while it waited for the lock", () => {
    const world = new MemoryDisk();
    const archiving = world.process();
    record(archiving, "one");
    archiving.makeFolder("/archive/2025", 0o700);
    const disk = world.process();
    // The archive is moved after the call began and before the lock is taken.
    const openLate: Disk["open"] = (path, how, mode) => {
      const file = disk.open(path, how, mode);
      const isFirst = archiving.stat("/archive/2025/decisions.jsonl") === undefined;
      if (how !== "append" || !isFirst) return file;
      const lock = file.lock.bind(file);
      return Object.assign(file, {
        lock: (waitMs: number) => {
          archiving.renameExclusive(PATH, "/archive/2025/decisions.jsonl");
          return lock(waitMs);
        },
      });
    };
    const late: Disk = {
      ...({} as Disk),
      open: openLate,
      stat: (path) => disk.stat(path),
      list: (path) => disk.list(path),
    };
    expect(record(late, "one").outcome).toBe("found");
    expect(disk.stat(PATH)?.size).toBe(0);
  });

  it("ends an unterminated last line with a newline and never cuts it", () => {
    const disk = new MemoryDisk().process();
    disk.open(PATH, "append").append(Buffer.from('{"id":"torn'));
    expect(record(disk, "one")).toEqual({ outcome: "appended", end: 25 });
    expect(textOf(disk)).toBe('{"id":"torn\n{"id":"one"}\n');
  });

  it("finds a line whose writer died before its newline, and ends it", () => {
    const disk = new MemoryDisk().process();
    disk.open(PATH, "append").append(Buffer.from('{"id":"one"}'));
    expect(record(disk, "one").outcome).toBe("found");
    expect(textOf(disk)).toBe('{"id":"one"}\n');
  });

  it("a full disk leaves nothing of ours behind", () => {
    for (let seed = 1; seed < 6; seed += 1) {
      const disk = new MemoryDisk({ seed }).process();
      record(disk, "one");
      // open, lock, read the last byte, read to find, append
      disk.failAt(5, "ENOSPC");
      expect(() => record(disk, "two")).toThrow("disk full");
      expect(textOf(disk)).toBe('{"id":"one"}\n');
    }
  });

  it("waits for nobody forever", () => {
    const world = new MemoryDisk();
    const other = world.process().open(PATH, "append");
    other.lock(0);
    expect(() => record(world.process(), "one")).toThrow("keeps it locked");
    other.close();
    expect(record(world.process(), "one").outcome).toBe("appended");
  });

  it.each(["crash", "EIO", "ENOSPC"] as const)(
    "exactly once and only whole lines: %s at every operation",
    (fault) => {
      for (const power of ["none", "drop", "keep", "tear"] as const) {
        for (let at = 1; at < 15; at += 1) {
          const world = new MemoryDisk({ seed: at });
          record(world.process(), "before");
          const disk = world.process();
          disk.failAt(at, fault);
          let acknowledged = false;
          try {
            record(disk, "one");
            acknowledged = true;
          } catch (error) {
            if (!(error instanceof Crashed) && !(error instanceof StorageError)) throw error;
          }
          disk.kill();
          if (power !== "none") world.powerCut(power);
          const last = world.process();
          expect(textOf(last).startsWith('{"id":"before"}\n')).toBe(true);
          expect(record(last, "one").outcome === "found" || !acknowledged).toBe(true);
          expect(
            textOf(last)
              .split("\n")
              .filter((line) => line === '{"id":"one"}'),
          ).toHaveLength(1);
        }
      }
    },
  );

  it("four processes record the same twenty decisions: each stands there once", async () => {
    const folder = mkdtempSync(join(tmpdir(), "deaddrop-shared-"));
    const path = join(folder, "decisions.jsonl");
    const script = `
      const { nodeDisk } = await import(process.argv[1] + "/storage/disk/node-disk.js");
      const { appendShared } = await import(process.argv[1] + "/storage/files/shared-file.js");
      for (let n = 0; n < 20; n += 1) {
        const line = Buffer.from(JSON.stringify({ n }));
        appendShared(nodeDisk(), process.argv[2], line, { find: (present) => line.equals(present), waitMs: 20000 });
      }`;
    const args = ["--input-type=module", "-e", script, builtForChildren(), path];
    const ends = [1, 2, 3, 4].map(() => {
      const child = spawn(process.execPath, args, { stdio: "inherit" });
      return new Promise((resolve) => child.once("exit", resolve));
    });
    expect(await Promise.all(ends)).toEqual([0, 0, 0, 0]);
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    rmSync(folder, { recursive: true });
    expect(
      lines.map((line) => (JSON.parse(line) as { n: number }).n).toSorted((a, b) => a - b),
    ).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });
});

import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { wayOfLocking } from "../../../src/storage/disk/kernel-lock.ts";
import { lockHolder, takeLock, type LockNote } from "../../../src/storage/disk/lock.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { CONDITION_LIMIT_MS } from "../../support/hang-guard.ts";
import { builtForChildren } from "../../support/processes/child-modules.ts";
import { WAYS_TO_LOCK, type WayToLock } from "../../support/processes/ways-to-lock.ts";

const disk = nodeDisk();
const NOTE: LockNote = { pid: 42, role: "daemon", since: "2026-05-05T15:00:00Z" };
const hasPython = spawnSync("python3", ["-c", "import fcntl"]).status === 0;

const HOLD = `
  const [modules, path, outlived] = process.argv.slice(1);
  const { spawn } = await import("node:child_process");
  const { nodeDisk } = await import(modules + "/storage/disk/node-disk.js");
  const { takeLock } = await import(modules + "/storage/disk/lock.js");
  const note = { pid: process.pid, role: "command", since: "now" };
  const attempt = takeLock(nodeDisk(), path, note, 600000);
  const child = outlived ? spawn("sleep", ["600"], { stdio: "ignore", detached: true }) : undefined;
  console.log(attempt.ok ? "ready " + (child?.pid ?? "") : "busy");
  process.stdin.resume();`;

const PYTHON_HOLD = `
import fcntl, sys
f = open(sys.argv[1], "a")
fcntl.flock(f, fcntl.LOCK_EX)
print("ready", flush=True)
sys.stdin.read()`;

const PYTHON_TRY = `
import fcntl, sys
f = open(sys.argv[1], "a")
try:
    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit(9)`;

const children: ChildProcess[] = [];

/** Starts a child and waits until it has said something, which is returned. */
async function startChild(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ child: ChildProcess; said: string }> {
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  children.push(child);
  const said = await new Promise<string>((resolve, reject) => {
    child.stdout.once("data", (bytes: Buffer) => resolve(bytes.toString()));
    child.once("exit", (code) => reject(new Error(`${program} ended with ${code}`)));
  });
  child.removeAllListeners("exit");
  return { child, said };
}

function killed(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}

/** What a lock promises, however this process takes it. The caller sees to the way. */
export function lockSuite(way: WayToLock): void {
  let folder: string;
  let path: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "deaddrop-lock-"));
    path = join(folder, "identity.lock");
  });
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });

  function startHolder(env: NodeJS.ProcessEnv, outlived = "") {
    const args = ["--input-type=module", "-e", HOLD, builtForChildren(), path, outlived];
    return startChild(process.execPath, args, env);
  }

  function takeAndRelease(waitMs: number): boolean {
    const taken = takeLock(disk, path, NOTE, waitMs);
    if (taken.ok) taken.lock.release();
    return taken.ok;
  }

  describe(`the identity's lock, by ${way.name}`, () => {
    it("is taken the way that is tested here", () => {
      expect(wayOfLocking().startsWith("flock(2)")).toBe(way.name === "flock(2)");
    });

    it("is held once, names its holder, and is free after release", () => {
      const first = takeLock(disk, path, NOTE, 0);
      expect(first.ok).toBe(true);
      expect(takeLock(disk, path, NOTE, 0)).toEqual({ ok: false, holder: NOTE });
      expect(takeLock(disk, path, NOTE, 60)).toEqual({ ok: false, holder: NOTE });
      expect(lockHolder(disk, path)).toEqual(NOTE);
      if (first.ok) first.lock.release();
      expect(lockHolder(disk, path)).toBeUndefined();
      expect(takeAndRelease(0)).toBe(true);
    });

    it.each(WAYS_TO_LOCK)("is not ours while a process holds it by $name", async ({ env }) => {
      const { child } = await startHolder(env);
      expect(lockHolder(disk, path)).toMatchObject({ pid: child.pid, role: "command" });
      expect(takeLock(disk, path, NOTE, 0).ok).toBe(false);
      await killed(child);
      expect(readFileSync(path, "utf8")).toContain(String(child.pid));
      expect(lockHolder(disk, path)).toBeUndefined();
      expect(takeAndRelease(0)).toBe(true);
    });

    it("waits for a holder that ends", async () => {
      const { child } = await startHolder(way.env);
      children.push(spawn("sh", ["-c", `sleep 0.3; kill -9 ${child.pid}`]));
      expect(takeAndRelease(CONDITION_LIMIT_MS)).toBe(true);
    });

    it("is free when its holder is killed, though a child of that one lives on", async () => {
      const { child, said } = await startHolder(way.env, "outlived");
      const outlived = Number(said.replace("ready", ""));
      expect(outlived).toBeGreaterThan(1);
      try {
        await killed(child);
        expect(takeAndRelease(0)).toBe(true);
        process.kill(outlived, 0);
      } finally {
        process.kill(outlived, "SIGKILL");
      }
    });

    it("is refused when its file was replaced between the open and the lock", () => {
      const replacing = nodeDisk();
      replacing.open = (...args) => {
        const file = disk.open(...args);
        renameSync(path, `${path}.old`);
        writeFileSync(path, "");
        return file;
      };
      expect(() => takeLock(replacing, path, NOTE, 0)).toThrow("removed or replaced");
    });

    it("can be taken on a descriptor for reading", () => {
      writeFileSync(path, "");
      const [reading, appending] = [disk.open(path, "read"), disk.open(path, "append")];
      expect(reading.lock(0)).toBe(true);
      expect(appending.lock(0)).toBe(false);
      reading.close();
      expect(appending.lock(0)).toBe(true);
      appending.close();
    });
  });

  describe.skipIf(!hasPython)(
    `${way.name} beside python3's fcntl.flock (skipped without python3)`,
    () => {
      it("what we hold, Python cannot take", () => {
        const file = disk.open(path, "append");
        expect(file.lock(0)).toBe(true);
        expect(spawnSync("python3", ["-c", PYTHON_TRY, path]).status).toBe(9);
        file.close();
        expect(spawnSync("python3", ["-c", PYTHON_TRY, path]).status).toBe(0);
      });

      it("what Python holds, we cannot take, until it is killed", async () => {
        writeFileSync(path, "");
        const { child } = await startChild("python3", ["-c", PYTHON_HOLD, path]);
        const file = disk.open(path, "append");
        expect(file.lock(0)).toBe(false);
        expect(file.lock(100)).toBe(false);
        await killed(child);
        expect(file.lock(CONDITION_LIMIT_MS)).toBe(true);
        file.close();
      });
    },
  );
}

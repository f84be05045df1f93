import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lockBy, withFlock, withPerl } from "../../../src/storage/disk/kernel-lock.ts";
import { lockHolder, takeLock, type LockNote } from "../../../src/storage/disk/lock.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { builtForChildren } from "../../support/processes/child-modules.ts";
import { CONDITION_LIMIT_MS } from "../../support/hang-guard.ts";

const disk = nodeDisk();
const NOTE: LockNote = { pid: 42, role: "daemon", since: "2026-05-05T15:00:00Z" };
const hasPython = spawnSync("python3", ["-c", "import fcntl"]).status === 0;
let folder: string;
let path: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-lock-"));
  path = join(folder, "identity.lock");
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a child and waits until it has said "ready". */
async function startChild(program: string, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  children.push(child);
  await new Promise<void>((resolve, reject) => {
    child.stdout.once("data", () => resolve());
    child.once("exit", (code) => reject(new Error(`${program} ended with ${code}`)));
  });
  child.removeAllListeners("exit");
  return child;
}

function killed(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}

const HOLD = `
  const [modules, path] = process.argv.slice(1);
  const { nodeDisk } = await import(modules + "/storage/disk/node-disk.js");
  const { takeLock } = await import(modules + "/storage/disk/lock.js");
  const note = { pid: process.pid, role: "command", since: "now" };
  const attempt = takeLock(nodeDisk(), path, note, 600000);
  console.log(attempt.ok ? "ready" : "busy");
  process.stdin.resume();`;

function startHolder(): Promise<ChildProcess> {
  const args = ["--input-type=module", "-e", HOLD, builtForChildren(), path];
  return startChild(process.execPath, args);
}

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

describe("the identity's lock", () => {
  it("is held once, names its holder, and is free after release", () => {
    const first = takeLock(disk, path, NOTE, 0);
    expect(first.ok).toBe(true);
    expect(takeLock(disk, path, NOTE, 0)).toEqual({ ok: false, holder: NOTE });
    expect(lockHolder(disk, path)).toEqual(NOTE);
    if (first.ok) first.lock.release();
    expect(lockHolder(disk, path)).toBeUndefined();
    const second = takeLock(disk, path, NOTE, 0);
    expect(second.ok).toBe(true);
    if (second.ok) second.lock.release();
  });

  it("a note left by a killed holder is no lock", async () => {
    const holder = await startHolder();
    expect(lockHolder(disk, path)).toMatchObject({ pid: holder.pid, role: "command" });
    expect(takeLock(disk, path, NOTE, 0).ok).toBe(false);
    await killed(holder);
    expect(readFileSync(path, "utf8")).toContain(String(holder.pid));
    expect(lockHolder(disk, path)).toBeUndefined();
    const taken = takeLock(disk, path, NOTE, 0);
    expect(taken.ok).toBe(true);
    if (taken.ok) taken.lock.release();
  });

  it("waits for a holder that ends", async () => {
    const holder = await startHolder();
    setTimeout(() => holder.kill("SIGKILL"), 0);
    const helper = spawn("sh", ["-c", `sleep 0.3; kill -9 ${holder.pid}`]);
    children.push(helper);
    const taken = takeLock(disk, path, NOTE, CONDITION_LIMIT_MS);
    expect(taken.ok).toBe(true);
    if (taken.ok) taken.lock.release();
  });
});

describe.skipIf(!hasPython)("beside python3's fcntl.flock (skipped without python3)", () => {
  it("what we hold, Python cannot take", () => {
    const file = disk.open(path, "append");
    expect(file.lock(0)).toBe(true);
    expect(spawnSync("python3", ["-c", PYTHON_TRY, path]).status).toBe(9);
    file.close();
    expect(spawnSync("python3", ["-c", PYTHON_TRY, path]).status).toBe(0);
  });

  it("what Python holds, we cannot take, until it is killed", async () => {
    writeFileSync(path, "");
    const holder = await startChild("python3", ["-c", PYTHON_HOLD, path]);
    const file = disk.open(path, "append");
    expect(file.lock(0)).toBe(false);
    expect(file.lock(100)).toBe(false);
    await killed(holder);
    expect(file.lock(CONDITION_LIMIT_MS)).toBe(true);
    file.close();
  });
});

describe("both ways to the kernel's lock", () => {
  it.each([
    ["flock(1)", withFlock],
    ["perl", withPerl],
  ])("%s locks, refuses and frees, also through a descriptor for reading", (_, way) => {
    writeFileSync(path, "");
    const first = openSync(path, "r");
    const second = openSync(path, "r+");
    const outcome = way(first, 0);
    if (outcome === "no_such_program") return console.log("skipped: that program is not here");
    expect(outcome).toBe("locked");
    expect(way(second, 0)).toBe("conflict");
    expect(way(second, 60)).toBe("conflict");
    closeSync(first);
    expect(way(second, 0)).toBe("locked");
    closeSync(second);
  });

  it("falls through to the next way when a program is missing, and says so when none is left", () => {
    const missing = (): "no_such_program" => "no_such_program";
    expect(lockBy([missing, () => "locked"], 0, 0)).toBe(true);
    expect(() => lockBy([missing], 0, 0)).toThrow("neither flock(1) nor perl");
  });
});

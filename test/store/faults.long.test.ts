import { execFile, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { StorageError } from "../../src/storage/disk/disk.ts";
import { Checkpointer } from "../../src/store/checkpointer.ts";
import { Database } from "../../src/store/database.ts";
import { Store, type NewLine } from "../../src/store/store.ts";
import { amount } from "../support/amounts.ts";

const folder = mkdtempSync(join(tmpdir(), "deaddrop-store-"));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const CHECKOUT = resolve(import.meta.dirname, "../..");
const TYPESCRIPT = ["--import", join(CHECKOUT, "test/support/typescript.js")];
const WRITER = [...TYPESCRIPT, join(import.meta.dirname, "writer-process.ts")];

function line(seq: number, body = "x"): NewLine {
  return {
    ...{ author: "forge", seq, id: seq.toString(16).padStart(64, "0"), thread: "t" },
    ...{
      type: "ship",
      sentMs: seq,
      receivedMs: seq,
      isLive: true,
      isOurs: true,
      isUrgent: false,
      keyId: null,
      isVerified: true,
      prev: null,
      names: [],
    },
    bytes: Buffer.from(body),
  };
}

/** A writer that is killed once it has printed some lines; the numbers of its lines that it has printed. */
async function killedWriter(path: string, name: string, printed: number): Promise<number[]> {
  const child = spawn(process.execPath, [...WRITER, path, name], { cwd: CHECKOUT });
  let said = "";
  for await (const part of child.stdout) {
    said += String(part);
    if (said.split("\n").length > printed) child.kill("SIGKILL");
  }
  return said
    .split("\n")
    .slice(0, -1)
    .map((each) => Number(each.split(" ")[0]));
}

test("a process that is killed at any moment: each line that it called committed is there", async () => {
  const path = join(folder, "killed.db");
  for (let life = 1; life <= amount(8, 200); life += 1) {
    const name = `life${String(life).padStart(4, "0")}`;
    const printed = await killedWriter(path, name, 1 + ((life * 7) % 40));
    expect(printed.length).toBeGreaterThan(0);
    const store = Store.open(path);
    const chain = store.chain(name, { after: 0, limit: 1_000 });
    expect(chain.map(({ seq }) => seq).slice(0, printed.length)).toEqual(printed);
    for (const { n, seq } of chain) expect(store.sends.find(`${name} ${seq}`, 0)?.ns).toEqual([n]);
    expect(store.search(name, { before: Infinity, limit: 1_000 })).toHaveLength(chain.length);
    store.close();
  }
});

test("two processes that write at once: no line fails, and each has its own n", async () => {
  const path = join(folder, "two.db");
  const run = async (name: string): Promise<number[]> => {
    const { stdout } = await promisify(execFile)(process.execPath, [...WRITER, path, name, "200"], {
      cwd: CHECKOUT,
    });
    return stdout
      .trim()
      .split("\n")
      .map((each) => Number(each.split(" ")[1]));
  };
  const [one, other] = await Promise.all([run("one"), run("other")]);
  expect(new Set([...one, ...other]).size).toBe(400);
  const store = Store.open(path);
  expect(store.lines({ after: 0, limit: 1_000 })).toHaveLength(400);
  store.close();
});

test("a full disk: nothing of that transaction is there, and the same store goes on", () => {
  const database = Database.open(join(folder, "full.db"));
  const store = new Store(database);
  store.write((into) => into.hold(line(1)));
  database.write(() => {
    database.get("pragma max_page_count = 40");
  });
  const large = line(3, "x".repeat(1_000_000));
  const failing = (): unknown =>
    store.write((into) => {
      into.hold(line(2));
      into.hold(large);
    });
  expect(failing).toThrow(expect.objectContaining({ code: "disk_full" }) as StorageError);
  expect(store.lines({ after: 0, limit: 9 }).map(({ seq }) => seq)).toEqual([1]);
  store.write((into) => into.hold(line(2)));
  database.get("pragma max_page_count = 100000");
  store.write((into) => into.hold(large));
  expect(store.lines({ after: 0, limit: 9 }).map(({ seq }) => seq)).toEqual([1, 2, 3]);
  store.close();
});

test("what is no store is named, with what to do", () => {
  const text = join(folder, "text.db");
  writeFileSync(text, "no database\n".repeat(400));
  const missing = join(folder, "no-folder", "store.db");
  for (const [path, code] of [
    [text, "corrupt"],
    [missing, "missing"],
  ] as const) {
    let failure: unknown;
    try {
      Store.open(path);
    } catch (error) {
      failure = error;
    }
    expect(failure).toBeInstanceOf(StorageError);
    expect(failure).toMatchObject({ code, path });
    expect((failure as StorageError).hint).not.toBe("");
  }
  const newer = join(folder, "newer.db");
  const store = Store.open(newer);
  store.write((into) => into.setMeta("version", "999"));
  store.close();
  expect(() => Store.open(newer)).toThrow("version 999");
});

test("it is read beside a writer, after a clean end, and as a copy that has no WAL", () => {
  // SQLite is given it as an address, where some characters mean something.
  const path = join(folder, "read 100%25?#.db");
  const store = Store.open(path);
  store.write((into) => into.hold(line(1)));
  const beside = Store.openToRead(path);
  store.write((into) => into.hold(line(2)));
  expect(beside.lastN()).toBe(2);
  expect(() => beside.write((into) => into.hold(line(3)))).toThrow(StorageError);
  beside.close();
  store.close();
  const copy = join(folder, "copy 100%25?#.db");
  copyFileSync(path, copy);
  for (const each of [path, copy]) {
    const reader = Store.openToRead(each);
    expect(reader.lastN()).toBe(2);
    reader.close();
  }
});

test("nobody else reads it, whatever the umask says", () => {
  const path = join(folder, "private.db");
  const store = Store.open(path);
  store.write((into) => into.hold(line(1)));
  Store.copy(path, `${path}.copy`);
  for (const end of ["", "-wal", "-shm", ".copy"])
    expect(statSync(path + end).mode & 0o777, end).toBe(0o600);
  store.close();
});

test("a checkpoint on its own thread loses nothing, and empties the WAL in the end", async () => {
  const path = join(folder, "checkpoint.db");
  const store = Store.open(path);
  const checkpointer = new Checkpointer(TYPESCRIPT);
  for (let seq = 1; seq <= 300; seq += 1) {
    store.write((into) => into.hold(line(seq, "x".repeat(100_000))));
    checkpointer.look(path, false);
    if (seq % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await checkpointer.stop();
  expect(statSync(path).size).toBeGreaterThan(8 * 1024 * 1024);
  checkpointer.look(path, true);
  await checkpointer.stop();
  expect(statSync(`${path}-wal`).size).toBe(0);
  store.close();
  const again = Store.openToRead(path);
  expect(again.chain("forge", { after: 0, limit: 1_000 })).toHaveLength(300);
  again.close();
});

test("a process that has nothing else to do ends after the checkpoint, not in the middle of it", async () => {
  const path = join(folder, "ending.db");
  const store = Store.open(path);
  for (let seq = 1; seq <= 30; seq += 1) {
    store.write((into) => into.hold(line(seq, "x".repeat(100_000))));
  }
  const source = pathToFileURL(join(CHECKOUT, "src/store/checkpointer.ts")).href;
  const script = `const { Checkpointer } = await import(${JSON.stringify(source)});
    const checkpointer = new Checkpointer(${JSON.stringify(TYPESCRIPT)});
    checkpointer.look(process.argv[1], true);
    await checkpointer.stop();
    console.log("stopped");`;
  const args = [...TYPESCRIPT, "--input-type=module", "-e", script, path];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toBe("stopped\n");
  expect(statSync(`${path}-wal`).size).toBe(0);
  store.close();
});

test("it is read by a user who can write neither it nor its folder", async ({ skip }) => {
  skip(process.getuid?.() !== 0, "only root can run a process as another user");
  const look = `require("node:fs").readFileSync(${JSON.stringify(join(CHECKOUT, "package.json"))})`;
  const looked = spawnSync(process.execPath, ["-e", look], { uid: 65_534, cwd: "/" });
  skip(looked.status !== 0, "another user cannot read this checkout");
  const closed = mkdtempSync(join(tmpdir(), "deaddrop store 100%25-"));
  try {
    const path = join(closed, "store.db");
    const store = Store.open(path);
    store.write((into) => into.hold(line(1)));
    store.close();
    for (const name of readdirSync(closed)) if (name !== "store.db") rmSync(join(closed, name));
    chmodSync(path, 0o444);
    chmodSync(closed, 0o555);
    const source = pathToFileURL(join(CHECKOUT, "src/store/store.ts")).href;
    const script = `const { Store } = await import(${JSON.stringify(source)});
      console.log(Store.openToRead(process.argv[1]).lastN());`;
    const args = [...TYPESCRIPT, "--input-type=module", "-e", script, path];
    const { stdout } = await promisify(execFile)(process.execPath, args, { uid: 65_534, cwd: "/" });
    expect(stdout.trim()).toBe("1");
  } finally {
    rmSync(closed, { recursive: true, force: true });
  }
});

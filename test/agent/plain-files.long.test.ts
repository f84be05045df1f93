import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  inboxRows,
  mailId,
  PlainFile,
  type PlainRow,
  type Written,
} from "../../src/agent/plain-files.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { Store } from "../../src/store/store.ts";
import { amount } from "../support/amounts.ts";

const folder = mkdtempSync(join(tmpdir(), "deaddrop-plain-"));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const CHECKOUT = resolve(import.meta.dirname, "../..");
const WRITER = [
  ...["--import", join(CHECKOUT, "test/support/typescript.js")],
  join(import.meta.dirname, "plain-files-process.ts"),
];

/** A writer that is killed some time after it has printed a number of lines; the last line that it printed. */
async function killedWriter(args: readonly string[], lines: number): Promise<number> {
  const child = spawn(process.execPath, [...WRITER, ...args], { cwd: CHECKOUT });
  let said = "";
  for await (const part of child.stdout) {
    said += String(part);
    if (said.split("\n").length > lines) child.kill("SIGKILL");
  }
  return Number(said.split("\n").at(-2));
}

/** Every whole line of the inbox and the parts that are kept. */
function linesOf(inbox: string): string[] {
  const stem = inbox.replace(/jsonl$/, "");
  const parts = readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => path.startsWith(stem) && /\d{16}\.jsonl$/.test(path))
    .toSorted();
  const texts = [...parts, inbox].map((path) => readFileSync(path, "latin1"));
  return texts.flatMap((text) => text.split("\n").slice(0, -1));
}

test("a process that is killed at any moment: each line of mail is in the inbox once, in order", async () => {
  const [path, inbox] = [join(folder, "killed.db"), join(folder, "killed.jsonl")];
  for (let life = 1; life <= amount(5, 200); life += 1) {
    const written = await killedWriter([path, inbox], 1 + ((life * 13) % 60));
    const store = Store.open(path);
    const ns = store.mail.after({}, 0, 1e6);
    const all = ns.map((n) => Buffer.from(store.line(n)?.bytes ?? []).toString("latin1"));
    const before = linesOf(inbox);
    expect(before.length).toBeGreaterThan(0);
    const first = all.indexOf(before[0] ?? "");
    expect(before).toEqual(all.slice(first, first + before.length));
    expect(first + before.length).toBeGreaterThanOrEqual(written);
    if (life % 4 === 0) rmSync(inbox);
    const file = new PlainFile(nodeDisk(), inbox, inboxRows(store), mailId, 200_000);
    file.write();
    file.close();
    const after = linesOf(inbox);
    expect(after).toEqual(all.slice(-after.length));
    expect(after.length).toBeGreaterThanOrEqual(before.length);
    expect(inboxRows(store).oldestUnread() ?? Infinity).toBeGreaterThan(all.length - after.length);
    store.close();
  }
});

test("a million lines are written, and read after the store was lost, within bounded memory", () => {
  const count = amount(400_000, 1_000_000);
  const body = "x".repeat(240);
  const idFor = (m: number): string => m.toString(16).padStart(64, "0");
  const rows = (last: number) => {
    let written: Written | undefined;
    return {
      after: (m: number, limit: number): PlainRow[] =>
        Array.from({ length: Math.max(0, Math.min(limit, last - m)) }, (_, at) => {
          const id = idFor(m + at + 1);
          return { m: m + at + 1, id, bytes: Buffer.from(`{"event_id":"${id}","body":"${body}"}`) };
        }),
      numberOf: (id: string) =>
        Number.parseInt(id, 16) <= last ? Number.parseInt(id, 16) : undefined,
      oldestUnread: () => 1,
      loadWritten: () => written,
      saveWritten: (next: Written) => (written = next),
    };
  };
  const inbox = join(folder, "million.jsonl");
  const sizes = (): number[] =>
    readdirSync(folder)
      .filter((name) => name.startsWith("million."))
      .map((name) => statSync(join(folder, name)).size);
  const file = new PlainFile(nodeDisk(), inbox, rows(count), mailId, 4 * 1024 * 1024);
  file.write();
  file.close();
  const before = sizes();
  expect(before.reduce((sum, size) => sum + size)).toBe(count * (240 + 64 + 26));
  // An older store, which lacks the second half, gets it again.
  const older = new PlainFile(nodeDisk(), inbox, rows(count / 2), mailId, 4 * 1024 * 1024);
  const heap = process.memoryUsage().rss;
  older.write();
  // The file has 330 bytes a line: this allows 100 for each, and what garbage a process of this size may have.
  expect(process.memoryUsage().rss - heap).toBeLessThan(count * 100 + 64 * 1024 * 1024);
  older.close();
  const again = new PlainFile(nodeDisk(), inbox, rows(count), mailId, 4 * 1024 * 1024);
  again.write();
  again.close();
  expect(sizes()).toEqual(before);
});

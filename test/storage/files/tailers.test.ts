import { spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { builtForChildren } from "../../support/processes/child-modules.ts";

const LOG = "forge_to_scribe";
const TAILERS = 10;
const LINES = 400;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-tailers-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Appends lines of odd lengths, now and then one that no pipe or page takes whole, some in groups. */
const WRITER = `
  const [modules, wire, state, name, count] = process.argv.slice(1);
  const load = (file) => import(modules + "/storage/" + file + ".js");
  const [{ nodeDisk }, { openLogWriter }, { openHeads }, { openQuarantine }] =
    await Promise.all(["disk/node-disk", "own-log/log-writer", "own-log/heads", "files/quarantine"].map(load));
  const disk = nodeDisk();
  const writer = openLogWriter({
    disk,
    logs: [{ name, path: wire + "/" + name + ".jsonl", mode: 0o600 }],
    pendingPath: state + "/pending.jsonl",
    copyPath: (log) => state + "/own-" + log + ".jsonl",
    heads: openHeads(disk, state + "/heads.json"),
    quarantine: openQuarantine(disk, state + "/quarantine.jsonl"),
    ownLine: (log, line) => { try { return JSON.parse(Buffer.from(line)); } catch { return undefined; } },
    at: () => "",
  });
  writer.recover();
  for (let seq = 1; seq <= Number(count);) {
    const group = [];
    for (let more = 1 + (seq % 3); more > 0 && seq <= Number(count); more -= 1, seq += 1) {
      const text = "x".repeat(seq % 20 === 0 ? 300_007 : (seq * 977) % 9_973);
      const value = { seq, id: "id-" + seq, text };
      group.push({ log: name, seq, id: value.id, line: Buffer.from(JSON.stringify(value)) });
    }
    for (const { answer } of writer.append(group)) if (answer !== "sent") process.exit(4);
  }
  writer.close();`;

/** Reads on, so many bytes at once, until it has all lines; prints a digest of them. */
const TAILER = `
  const { createHash } = await import("node:crypto");
  const [modules, path, count, maxBytes] = process.argv.slice(1);
  const { nodeDisk } = await import(modules + "/storage/disk/node-disk.js");
  const { readNewLines } = await import(modules + "/storage/files/tail.js");
  const disk = nodeDisk();
  const digest = createHash("sha256");
  let [lines, cursor] = [0, undefined];
  process.stdout.write("ready\\n");
  while (lines < Number(count)) {
    const tail = readNewLines(disk, path, cursor, Number(maxBytes));
    if (tail.anomaly !== undefined) { console.error(tail.anomaly); process.exit(5); }
    for (const line of tail.lines) {
      if (line.kind !== "line" || line.line !== lines + 1) process.exit(6);
      digest.update(line.bytes).update("\\n");
      lines += 1;
    }
    cursor = tail.cursor;
    if (tail.lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  process.stdout.write(digest.digest("hex") + "\\n");`;

interface Running {
  readonly ready: Promise<void>;
  readonly ended: Promise<{ readonly code: number | null; readonly said: string }>;
}

const running = new Set<ChildProcess>();
afterEach(() => {
  // Tailers wait for lines that a writer which failed never writes.
  for (const child of running) child.kill("SIGKILL");
  running.clear();
});

function run(script: string, ...args: readonly string[]): Running {
  const all = ["--input-type=module", "-e", script, builtForChildren(), ...args];
  const child = spawn(process.execPath, all, { stdio: ["ignore", "pipe", "inherit"] });
  running.add(child);
  let said = "";
  const ready = new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  const ended = new Promise<{ code: number | null; said: string }>((resolve) =>
    child.once("close", (code) => resolve({ code, said })),
  );
  return { ready, ended };
}

it("ten tailers during writes: each reads every line once, whole and in order", async () => {
  const [wire, state] = [join(folder, "wire"), join(folder, "state")];
  for (const path of [wire, state]) mkdirSync(path);
  const path = join(wire, `${LOG}.jsonl`);
  const tailers = Array.from({ length: TAILERS }, (_, at) =>
    run(TAILER, path, String(LINES), String(1 + at * 40_009)),
  );
  await Promise.all(tailers.map(({ ready }) => ready));
  const writer = run(WRITER, wire, state, LOG, String(LINES));
  expect((await writer.ended).code).toBe(0);

  const written = readFileSync(path);
  const seqs = written
    .toString("utf8")
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { seq: number }).seq);
  expect(seqs).toEqual(Array.from({ length: LINES }, (_, at) => at + 1));
  const digest = createHash("sha256").update(written).digest("hex");
  for (const { ended } of tailers) {
    expect(await ended).toEqual({ code: 0, said: `ready\n${digest}\n` });
  }
});

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { readNewLines, type Cursor } from "../../../src/storage/files/tail.ts";
import { builtForChildren } from "../../support/processes/child-modules.ts";
import { ownLine, startWriter } from "../own-log/own-lines.ts";

const LOG = "forge_to_scribe";
const disk = nodeDisk();
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-appenders-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function ended(program: string, args: readonly string[]): Promise<number | null> {
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "inherit"] });
  return new Promise((resolve) => child.once("exit", (code) => resolve(code)));
}

describe("several programs on one log", () => {
  it("a flock(1) writer at the same time: nothing torn, nothing lost, read while it grows", async () => {
    const place = { wire: join(folder, "wire"), state: join(folder, "state") };
    const writer = startWriter(disk, place);
    writer.recover();
    const path = join(place.wire, `${LOG}.jsonl`);
    const script = `for i in $(seq 1 150); do flock "$0" sh -c "echo '{\\"by\\":\\"hand\\",\\"n\\":'$i'}' >> '$0'"; done`;
    let othersRunning = true;
    const other = ended("sh", ["-c", script, path]).finally(() => (othersRunning = false));
    let sent = 0;
    let cursor: Cursor | undefined;
    const read: string[] = [];
    while (othersRunning || sent < 200) {
      sent += 1;
      const [answer] = writer.append([ownLine(LOG, sent, "x".repeat((sent * 37) % 5_000))]);
      expect(answer?.answer).toBe("sent");
      if (sent % 10 === 0) {
        const tail = readNewLines(disk, path, cursor, 1_000_000);
        expect(tail.anomaly).toBeUndefined();
        cursor = tail.cursor;
        for (const line of tail.lines) {
          if (line.kind === "line") read.push(Buffer.from(line.bytes).toString());
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
    expect(await other).toBe(0);
    writer.close();
    const last = readNewLines(disk, path, cursor, 100_000_000);
    for (const line of last.lines) {
      if (line.kind === "line") read.push(Buffer.from(line.bytes).toString());
    }
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    expect(read).toEqual(lines);
    const parsed = lines.map((line) => JSON.parse(line) as { seq?: number; n?: number });
    const ours = parsed.flatMap((line) => (line.seq === undefined ? [] : [line.seq]));
    const theirs = parsed.flatMap((line) => (line.n === undefined ? [] : [line.n]));
    expect(ours).toEqual(Array.from({ length: sent }, (_, index) => index + 1));
    expect(theirs).toEqual(Array.from({ length: 150 }, (_, index) => index + 1));
  });

  it("three processes of one identity, taking turns by its lock: one chain, no gap, no repetition", async () => {
    const script = `
      const [modules, wire, state, name] = process.argv.slice(1);
      const load = (file) => import(modules + "/storage/" + file + ".js");
      const [{ nodeDisk }, { takeLock }, { openLogWriter }, { openHeads }, { openQuarantine }] =
        await Promise.all(["disk/node-disk", "disk/lock", "own-log/log-writer", "own-log/heads", "files/quarantine"].map(load));
      const disk = nodeDisk();
      for (let sent = 0; sent < 15; sent += 1) {
        const attempt = takeLock(disk, state + "/lock", { pid: process.pid, role: "command", since: "" }, 600000);
        if (!attempt.ok) process.exit(3);
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
        const seq = (writer.head(name)?.seq ?? 0) + 1;
        const id = process.pid + "-" + sent;
        const [answer] = writer.append([{ log: name, seq, id, line: Buffer.from(JSON.stringify({ seq, id })) }]);
        if (answer.answer !== "sent") process.exit(4);
        if (sent % 4 === 0) writer.flush();
        writer.close();
        attempt.lock.release();
      }`;
    const [wire, state] = [join(folder, "wire"), join(folder, "state")];
    for (const path of [wire, state]) mkdirSync(path);
    const args = ["--input-type=module", "-e", script, builtForChildren(), wire, state, LOG];
    const codes = await Promise.all([1, 2, 3].map(() => ended(process.execPath, args)));
    expect(codes).toEqual([0, 0, 0]);
    const lines = readFileSync(join(wire, `${LOG}.jsonl`), "utf8")
      .trimEnd()
      .split("\n");
    const seqs = lines.map((line) => (JSON.parse(line) as { seq: number }).seq);
    expect(seqs).toEqual(Array.from({ length: 45 }, (_, index) => index + 1));
  });
});

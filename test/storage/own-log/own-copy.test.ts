import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { LogWriter } from "../../../src/storage/own-log/log-writer.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { MemoryDisk } from "../../support/disk/memory-disk.ts";
import { ownLine, startWriter, type WriterPlace } from "./own-lines.ts";

// A private copy that is itself damaged, older or newer than the rest: no line is lost for that, no
// hole is written, and no number is signed twice.

const LOG = "forge_to_scribe";
const disk = nodeDisk();
let folder: string;
let place: WriterPlace;
let log: string;
let copy: string;
let heads: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-copy-"));
  place = { wire: join(folder, "wire"), state: join(folder, "state") };
  log = join(place.wire, `${LOG}.jsonl`);
  copy = join(place.state, "own", `${LOG}.jsonl`);
  heads = join(place.state, "heads.json");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function text(...seqs: number[]): string {
  return seqs.map((seq) => `${Buffer.from(ownLine(LOG, seq).line).toString()}\n`).join("");
}

/** Lines `from` to `to`, each durable; the process is gone then. */
function write(from: number, to: number): void {
  const writer = startWriter(disk, place);
  writer.recover();
  for (let seq = from; seq <= to; seq += 1) {
    writer.append([ownLine(LOG, seq)]);
    writer.flush();
  }
  writer.close();
}

function expectStopped(writer: LogWriter, left: string): void {
  expect(writer.recover().damaged).toHaveLength(1);
  expect(writer.blocked(LOG)?.code).toBe("log_damaged");
  expect(readFileSync(log, "utf8")).toBe(left);
  writer.close();
}

it.each([
  ["in the middle of what the log lacks", 4, [1, 2]],
  ["first of what the log lacks", 3, [1, 2]],
  ["that the log has last", 3, [1, 2, 3]],
])("never leaves a line out because it is damaged in the copy: one %s", (_where, seq, left) => {
  write(1, 6);
  const broken = text(seq).replace("hello", "hallo");
  writeFileSync(copy, text(1, 2, 3, 4, 5, 6).replace(text(seq), broken));
  writeFileSync(log, text(...left));
  const writer = startWriter(disk, place);
  if (left.includes(seq)) {
    writer.recover();
    expect(readFileSync(log, "utf8")).toBe(text(1, 2, 3, 4, 5, 6));
    writer.close();
  } else expectStopped(writer, text(...left));
});

it.each([["older"], ["gone"]])(
  "signs no number again when heads.json is %s and the log cannot be opened",
  (how) => {
    const memory = new MemoryDisk().process();
    const at = { wire: "/wire", state: "/state" };
    const first = startWriter(memory, at);
    first.recover();
    first.append([ownLine(LOG, 1)]);
    first.flush();
    const older = memory.open("/state/heads.json", "read").read(10_000, 0);
    first.append([ownLine(LOG, 2)]);
    first.flush();
    first.close();
    if (how === "older") memory.replace("/state/heads.json", older, 0o600);
    else memory.remove("/state/heads.json");
    memory.standing = (path) => (path === `/wire/${LOG}.jsonl` ? "EIO" : undefined);
    const second = startWriter(memory, at);
    second.recover();
    expect(second.stuck(LOG)?.code).toBe("io");
    expect(second.head(LOG)?.seq).toBe(2);
    expect(second.append([ownLine(LOG, 3)])).toMatchObject([{ answer: "queued" }]);
    memory.standing = undefined;
    second.recover();
    second.close();
    const whole = memory.open(`/wire/${LOG}.jsonl`, "read").read(10_000, 0);
    expect(Buffer.from(whole).toString()).toBe(text(1, 2, 3));
  },
);

it.each([
  ["older", text(1, 2), [4, 5, 6]],
  ["older, and the copy has a damaged line", text(1, 2), [1, 2, 3, 5, 6]],
])("signs no number again when heads.json is gone and the log is %s", (_how, left, copied) => {
  write(1, 6);
  writeFileSync(copy, text(...copied));
  writeFileSync(log, left);
  rmSync(heads);
  expectStopped(startWriter(disk, place), left);
});

it("takes from the log what it has missed, and keeps what it had, however much that is", () => {
  const large = [1, 2, 3, 4, 5].map((seq) => ownLine(LOG, seq, "x".repeat(900_000)));
  const writer = startWriter(disk, place);
  writer.recover();
  for (const line of large) {
    writer.append([line]);
    writer.flush();
  }
  const older = readFileSync(copy);
  writer.append([ownLine(LOG, 6)]);
  writer.flush();
  writer.close();
  writeFileSync(copy, older);
  write(7, 7);
  expect(readFileSync(copy, "utf8") === readFileSync(log, "utf8")).toBe(true);
});

it("begins again behind lines that are not of the log's chain", () => {
  write(1, 5);
  const other = Buffer.from(ownLine(LOG, 2, "elsewhere").line).toString();
  writeFileSync(copy, `${text(1)}${other}\n`);
  write(6, 6);
  expect(readFileSync(copy, "utf8")).toBe(text(1, 2, 3, 4, 5, 6));
});

it("gives back what was overwritten in place before the log was synced", () => {
  const writer = startWriter(disk, place);
  writer.recover();
  writer.append([1, 2, 3].map((seq) => ownLine(LOG, seq)));
  writeFileSync(log, text(1, 2, 3).replace(text(2), text(2).replace("hello", "hallo")));
  writer.flush();
  expect(writer.recover("anyway").again).toEqual([{ log: LOG, lines: 2 }]);
  expect(readFileSync(log, "utf8")).toBe(text(1, 2, 3));
  writer.close();
});

import {
  mkdirSync,
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LogWriter } from "../../../src/storage/own-log/log-writer.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { wholeLogs } from "../../../src/storage/archive/whole-logs.ts";
import { countedDisk } from "../../support/disk/counted-disk.ts";
import { MemoryDisk } from "../../support/disk/memory-disk.ts";
import { ownLine, startWriter, type WriterPlace } from "./own-lines.ts";

const LOG = "forge_to_scribe";
const disk = nodeDisk();
let folder: string;
let place: WriterPlace;
let log: string;
let pending: string;
let copy: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-writer-"));
  place = { wire: join(folder, "wire"), state: join(folder, "state") };
  log = join(place.wire, `${LOG}.jsonl`);
  pending = join(place.state, "pending.jsonl");
  copy = join(place.state, "own", `${LOG}.jsonl`);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function started(): LogWriter {
  const writer = startWriter(disk, place);
  writer.recover();
  return writer;
}

function text(...seqs: number[]): string {
  return seqs.map((seq) => `${Buffer.from(ownLine(LOG, seq).line).toString()}\n`).join("");
}

function read(): string {
  return readFileSync(log, "utf8");
}

/** Lines 1 and 2 durable, 3 and 4 promised in one group, and the process gone. */
function killedAfterFour(): void {
  const writer = started();
  writer.append([ownLine(LOG, 1), ownLine(LOG, 2)]);
  writer.flush();
  writer.append([ownLine(LOG, 3), ownLine(LOG, 4)]);
  writer.close();
}

describe("append", () => {
  it("answers sent, writes the lines as they are, and counts on after a restart", () => {
    const first = started();
    expect(first.head(LOG)).toBeUndefined();
    expect(first.append([ownLine(LOG, 1)])).toMatchObject([{ answer: "sent", seq: 1 }]);
    first.close();
    const second = started();
    expect(second.head(LOG)).toEqual({ seq: 1, id: ownLine(LOG, 1).id });
    expect(second.append([ownLine(LOG, 2)])).toMatchObject([{ answer: "sent", seq: 2 }]);
    second.close();
    expect(read()).toBe(text(1, 2));
  });

  it("writes a group over several logs with one promise", () => {
    const writer = startWriter(disk, place, ["a", "b"]);
    writer.recover();
    const answers = writer.append([ownLine("a", 1), ownLine("b", 1), ownLine("a", 2)]);
    expect(answers.map((answer) => answer.answer)).toEqual(["sent", "sent", "sent"]);
    expect(readFileSync(pending, "utf8").split("\n")).toHaveLength(2);
    expect(readFileSync(join(place.wire, "a.jsonl"), "utf8").split("\n")).toHaveLength(3);
    writer.close();
  });

  it("costs one sync, two writes, four looks at the log and no open", () => {
    const { disk: watched, taken } = countedDisk(disk);
    const writer = startWriter(watched, place);
    writer.recover();
    writer.append([ownLine(LOG, 1)]);
    taken();
    // As a send does: is the log as we left it? Then the line.
    writer.recover();
    expect(writer.append([ownLine(LOG, 2)])).toMatchObject([{ answer: "sent" }]);
    expect(taken()).toEqual({
      "disk stat": 2,
      "file stat": 2,
      "file read": 1,
      "file append": 2,
      "file datasync": 1,
    });
    expect(read()).toBe(text(1, 2));
  });

  it("empties pending only at a flush, and flushes by itself after 1 MiB", () => {
    const writer = started();
    writer.append([ownLine(LOG, 1, "x".repeat(900_000))]);
    writer.append([ownLine(LOG, 2, "x".repeat(900_000))]);
    expect(writer.pendingBytes).toBeGreaterThan(1_800_000);
    writer.append([ownLine(LOG, 3)]);
    expect(writer.pendingBytes).toBeLessThan(2_000);
    writer.flush();
    expect(writer.pendingBytes).toBe(0);
    expect(statSync(pending).size).toBe(0);
    writer.close();
  });

  it("ends the unterminated line of another program before its own", () => {
    const writer = started();
    writer.append([ownLine(LOG, 1)]);
    appendFileSync(log, '{"half":');
    writer.append([ownLine(LOG, 2)]);
    writer.close();
    expect(read()).toBe(`${text(1)}{"half":\n${text(2)}`);
  });

  it("does not write into a log that was put in the place of ours", () => {
    const writer = started();
    writer.append([ownLine(LOG, 1)]);
    renameSync(log, `${log}.away`);
    writeFileSync(log, "");
    expect(writer.append([ownLine(LOG, 2)])).toMatchObject([
      { answer: "not sent", error: { code: "replaced" } },
    ]);
    expect(read()).toBe("");
    writer.close();
  });

  it("finds the head of a log that has history when heads.json is gone", () => {
    killedAfterFour();
    rmSync(join(place.state, "heads.json"));
    const writer = started();
    expect(writer.head(LOG)?.seq).toBe(4);
    expect(read()).toBe(text(1, 2, 3, 4));
    writer.close();
  });

  it("knows its own lines and no others", () => {
    killedAfterFour();
    const writer = started();
    writer.append([ownLine(LOG, 5)]);
    expect(writer.knows(LOG, 5, ownLine(LOG, 5).id)).toBe(true);
    expect(writer.knows(LOG, 5, ownLine(LOG, 5, "other").id)).toBe(false);
    expect(writer.knows(LOG, 6, ownLine(LOG, 6).id)).toBe(false);
    expect(writer.knows(LOG, 2, ownLine(LOG, 2).id)).toBe(true);
    writer.close();
  });
});

describe("our private copy of a log", () => {
  const BY_HAND = '{"from":"forge","by":"hand"}\n';

  /** Lines 1 to 5 durable in the log, 6 promised, and the process gone. */
  function killedAfterSix(): void {
    const writer = started();
    writer.append([1, 2, 3].map((seq) => ownLine(LOG, seq)));
    writer.flush();
    writer.append([4, 5].map((seq) => ownLine(LOG, seq)));
    writer.flush();
    writer.append([ownLine(LOG, 6)]);
    writer.close();
  }

  it("holds what is durable, byte for byte", () => {
    killedAfterSix();
    expect(readFileSync(copy, "utf8")).toBe(text(1, 2, 3, 4, 5));
  });

  it.each([
    ["is missing", undefined],
    ["is empty", ""],
    ["is an older copy", text(1, 2)],
    ["is an older copy with a torn end", text(1, 2) + text(3).slice(0, 50)],
    ["lacks a line in the middle", text(1, 2, 4, 5)],
    ["lacks its first line", text(2, 3, 4, 5)],
    ["has its lines in another order", text(2, 1, 3, 5, 4)],
    ["holds a damaged line", text(1, 2) + text(3).replace("hello", "hallo") + text(4, 5)],
  ])("gives all of it back to a log that %s", (_how, left) => {
    killedAfterSix();
    if (left === undefined) rmSync(log);
    else writeFileSync(log, left);
    const writer = startWriter(disk, place);
    expect(writer.recover()).toMatchObject({ damaged: [], unknown: [], again: [{ log: LOG }] });
    expect(read()).toBe(text(1, 2, 3, 4, 5, 6));
    expect(writer.head(LOG)?.seq).toBe(6);
    expect(writer.append([ownLine(LOG, 7)])).toMatchObject([{ answer: "sent" }]);
    writer.close();
  });

  it("gives back what pending still names, when a crash came before pending forgot it", () => {
    const before = started();
    before.append([ownLine(LOG, 1)]);
    const promised = readFileSync(pending);
    before.flush();
    before.close();
    writeFileSync(pending, promised);
    writeFileSync(log, "");
    const writer = startWriter(disk, place);
    expect(writer.recover()).toMatchObject({ damaged: [], again: [{ log: LOG }] });
    expect(read()).toBe(text(1));
    writer.close();
  });

  it("keeps what others wrote into the older copy", () => {
    killedAfterSix();
    writeFileSync(log, text(1) + BY_HAND + text(2) + BY_HAND);
    started().close();
    expect(read()).toBe(text(1) + BY_HAND + text(2) + BY_HAND + text(3, 4, 5, 6));
  });

  it("gives back while the process runs, whether the file is cut or replaced", () => {
    const writer = started();
    writer.append([1, 2, 3].map((seq) => ownLine(LOG, seq)));
    writer.flush();
    truncateSync(log, text(1).length);
    expect(writer.recover().again).toEqual([{ log: LOG, lines: 2 }]);
    rmSync(log);
    writeFileSync(log, text(1, 2));
    expect(writer.recover().again).toEqual([{ log: LOG, lines: 1 }]);
    expect(read()).toBe(text(1, 2, 3));
    expect(writer.recover().again).toEqual([]);
    writer.close();
  });

  it("knows what heads.json has forgotten", () => {
    killedAfterSix();
    rmSync(join(place.state, "heads.json"));
    writeFileSync(log, text(1, 2));
    const writer = started();
    expect(read()).toBe(text(1, 2, 3, 4, 5, 6));
    expect(writer.head(LOG)?.seq).toBe(6);
    writer.close();
  });

  it("does not go on in a log in which our key has written another line", () => {
    killedAfterSix();
    const other = `${Buffer.from(ownLine(LOG, 3, "elsewhere").line).toString()}\n`;
    writeFileSync(log, text(1, 2) + other);
    const writer = startWriter(disk, place);
    expect(writer.recover().unknown).toMatchObject([{ seq: 3 }]);
    expect(writer.blocked(LOG)?.code).toBe("identity_in_use");
    expect(read()).toBe(text(1, 2) + other);
    writer.close();
  });

  it("does not go on past a hole: a copy that is older than the log was gives nothing back", () => {
    killedAfterSix();
    writeFileSync(copy, text(1, 2, 3));
    writeFileSync(log, text(1, 2));
    const writer = startWriter(disk, place);
    expect(writer.recover().damaged).toHaveLength(1);
    expect(read()).toBe(text(1, 2));
    expect(writer.append([ownLine(LOG, 7)])).toMatchObject([{ answer: "not sent" }]);
    writer.close();
  });

  it("takes over the end of a log that is older than it", () => {
    killedAfterSix();
    rmSync(copy);
    const writer = started();
    writer.flush();
    expect(readFileSync(copy, "utf8")).toBe(text(1, 2, 3, 4, 5, 6));
    writer.close();
  });

  it("costs no sync of a send", () => {
    const memory = new MemoryDisk().process();
    const writer = startWriter(memory, { wire: "/wire", state: "/state" });
    writer.recover();
    writer.append([ownLine(LOG, 1)]);
    const syncs: string[] = [];
    memory.standing = (path, how) => {
      if (how === "sync") syncs.push(path);
      return undefined;
    };
    writer.append([ownLine(LOG, 2)]);
    expect(syncs).toEqual(["/state/pending.jsonl"]);
    writer.close();
  });
});

describe("a log that takes nothing", () => {
  /** A writer whose log has no room from now on; `room` ends that. */
  function fullLog() {
    const memory = new MemoryDisk().process();
    const writer = startWriter(memory, { wire: "/wire", state: "/state" });
    writer.recover();
    writer.append([ownLine(LOG, 1)]);
    writer.flush();
    memory.standing = (path, how) =>
      path.startsWith("/wire") && how === "write" ? "ENOSPC" : undefined;
    return { memory, writer, room: () => (memory.standing = undefined) };
  }

  it("queues what is promised, however often it is tried, and takes all of it when there is room", () => {
    const { memory, writer, room } = fullLog();
    for (const seq of [2, 3]) {
      expect(writer.append([ownLine(LOG, seq)])).toMatchObject([
        { answer: "queued", error: { code: "disk_full" } },
      ]);
      expect(writer.recover().stuck).toMatchObject([{ code: "disk_full" }]);
    }
    expect(writer.waiting.lines).toBe(2);
    const sizes = [memory.stat("/wire/forge_to_scribe.jsonl")?.size];
    for (let tries = 0; tries < 3; tries += 1) {
      writer.recover();
      sizes.push(memory.stat("/wire/forge_to_scribe.jsonl")?.size);
    }
    expect(sizes.toSorted((a = 0, b = 0) => a - b)).toEqual(sizes);
    expect(memory.stat("/state/quarantine.jsonl")).toBeUndefined();
    room();
    expect(writer.recover().restored.map(({ seq }) => seq)).toEqual([2, 3]);
    expect(writer.append([ownLine(LOG, 4)])).toMatchObject([{ answer: "sent" }]);
    writer.flush();
    expect(writer.pendingBytes).toBe(0);
    const file = memory.open("/wire/forge_to_scribe.jsonl", "read");
    expect(Buffer.from(file.read(10_000, 0)).toString()).toBe(text(1, 2, 3, 4));
  });

  it("promises no more than a bounded amount", () => {
    const { writer } = fullLog();
    const big = "x".repeat(1_000_000);
    const answers = new Set<string>();
    for (let seq = 2; seq < 22; seq += 1) {
      for (const { answer } of writer.append([ownLine(LOG, seq, big)])) answers.add(answer);
    }
    expect([...answers]).toEqual(["queued", "not sent"]);
    expect(writer.pendingBytes).toBeLessThan(20 * 1_048_576);
  });

  it("keeps the lines of the other logs going", () => {
    const memory = new MemoryDisk().process();
    const writer = startWriter(memory, { wire: "/wire", state: "/state" }, ["a", "b"]);
    writer.recover();
    memory.standing = (path, how) =>
      path === "/wire/a.jsonl" && how === "write" ? "EIO" : undefined;
    expect(writer.append([ownLine("a", 1), ownLine("b", 1)])).toMatchObject([
      { log: "a", answer: "queued" },
      { log: "b", answer: "sent" },
    ]);
    expect(writer.recover().stuck).toHaveLength(1);
    expect(writer.append([ownLine("b", 2)])).toMatchObject([{ answer: "sent" }]);
  });

  it("is not written to after another program has cut it", () => {
    const writer = started();
    writer.append([ownLine(LOG, 1), ownLine(LOG, 2)]);
    truncateSync(log, text(1).length);
    expect(writer.append([ownLine(LOG, 3)])).toMatchObject([
      { answer: "not sent", error: { code: "replaced" } },
    ]);
    // Its lines are in pending still.
    expect(writer.recover().restored).toMatchObject([{ seq: 2 }]);
    expect(read()).toBe(text(1, 2));
    writer.close();
  });
});

describe("recovery of our own log", () => {
  it("restores a log cut at every byte of its last two lines as identical bytes", () => {
    const durable = text(1, 2).length;
    const whole = Buffer.from(text(1, 2, 3, 4));
    killedAfterFour();
    const promised = readFileSync(pending);
    const heads = readFileSync(join(place.state, "heads.json"));
    for (let length = durable; length < whole.length; length += 1) {
      const memory = new MemoryDisk().process();
      for (const at of [place.wire, place.state]) memory.makeFolder(at, 0o700);
      memory.open(log, "append").append(whole.subarray(0, length));
      memory.open(pending, "append").append(promised);
      memory.open(join(place.state, "heads.json"), "append").append(heads);
      const writer = startWriter(memory, place);
      expect(writer.recover().damaged).toEqual([]);
      expect(Buffer.from(memory.open(log, "read").read(10_000, 0))).toEqual(whole);
      expect(writer.head(LOG)?.seq).toBe(4);
    }
  });

  it.each([0, 1, 2, 150, 300, 462])("restores a real file cut after %i more bytes", (more) => {
    killedAfterFour();
    truncateSync(log, text(1, 2).length + more);
    started().close();
    expect(read()).toBe(text(1, 2, 3, 4));
  });

  it("goes on where a write of ours ended: nothing is cut, and nothing copied", () => {
    killedAfterFour();
    truncateSync(log, text(1, 2, 3).length + 20);
    const writer = startWriter(disk, place);
    expect(writer.recover()).toMatchObject({ cut: [], restored: [{ seq: 4 }] });
    writer.close();
    expect(read()).toBe(text(1, 2, 3, 4));
    expect(existsSync(join(place.state, "quarantine.jsonl"))).toBe(false);
  });

  it("keeps in the quarantine what it cut and pending does not have", () => {
    killedAfterFour();
    writeFileSync(log, `${text(1, 2)}${text(3).slice(0, 200)}and what is no line of ours`);
    const writer = startWriter(disk, place);
    expect(writer.recover()).toMatchObject({
      cut: [{ log: LOG, offset: text(1, 2).length, bytes: 227 }],
      restored: [{ seq: 3 }, { seq: 4 }],
    });
    writer.close();
    const evidence = readFileSync(join(place.state, "quarantine.jsonl"), "utf8");
    expect(JSON.parse(evidence)).toMatchObject({
      reason: "torn",
      line: expect.stringContaining("no line of ours") as unknown,
    });
  });

  it("restores a group torn in the middle: the first line lost, the second there", () => {
    killedAfterFour();
    writeFileSync(log, text(1, 2) + text(4));
    started().close();
    expect(read()).toBe(text(1, 2, 3, 4));
  });

  it.each([0, 1, 40, 200])(
    "restores a run of zero bytes that begins at byte %i of line 3",
    (at) => {
      killedAfterFour();
      const bytes = Buffer.from(text(1, 2, 3, 4));
      const start = text(1, 2).length + at;
      bytes.fill(0, start, start + 90);
      writeFileSync(log, bytes);
      started().close();
      expect(read()).toBe(text(1, 2, 3, 4));
    },
  );

  it("restores a flipped bit in a line that was not durable yet", () => {
    killedAfterFour();
    const bytes = Buffer.from(text(1, 2, 3, 4));
    const at = text(1, 2).length + text(3).indexOf("hello");
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(log, bytes);
    started().close();
    expect(read()).toBe(text(1, 2, 3, 4));
  });

  it("refuses to write after a flipped bit that it cannot repair, and leaves the log alone", () => {
    killedAfterFour();
    rmSync(copy);
    const bytes = Buffer.from(text(1, 2, 3, 4));
    const at = text(1).indexOf("hello");
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(log, bytes);
    const writer = startWriter(disk, place);
    expect(writer.recover().damaged).toMatchObject([{ log: LOG }]);
    expect(writer.append([ownLine(LOG, 5)])).toMatchObject([
      { answer: "not sent", error: { code: "log_damaged" } },
    ]);
    writer.close();
    expect(readFileSync(log).equals(bytes)).toBe(true);
    // What was promised and cannot be written yet is not thrown away.
    expect(statSync(pending).size).toBeGreaterThan(0);
    writeFileSync(log, text(1, 2));
    started().close();
    expect(read()).toBe(text(1, 2, 3, 4));
  });

  it.each(["shorter than it was durable", "missing"])(
    "refuses a log that is %s, when our copy of it is lost too",
    (how) => {
      killedAfterFour();
      rmSync(copy);
      if (how === "missing") rmSync(log);
      else truncateSync(log, text(1).length + 10);
      const writer = startWriter(disk, place);
      expect(writer.recover().damaged).toHaveLength(1);
      expect(writer.blocked(LOG)).toMatchObject({ code: "log_damaged" });
      expect(writer.blocked(LOG)?.hint).toContain("deaddrop reclaim --from FILE");
      writer.close();
      expect(existsSync(log)).toBe(how !== "missing");
    },
  );

  const BY_HAND = '{"from":"forge","by":"hand"}\n';
  const hole = (...seqs: number[]) => "\0".repeat(text(...seqs).length);
  it.each([
    ["a torn line", text(1, 2) + `${text(3).slice(0, 100)}\n${BY_HAND}`],
    ["a hole", text(1, 2) + hole(3) + BY_HAND],
    ["a hole, and the line after it is there", text(1, 2) + hole(3) + BY_HAND + text(4)],
    ["a line that is missing, and the one after it is there", text(1, 2) + BY_HAND + text(4)],
  ])("fixes our damage and keeps what others wrote behind it: %s", (how, damaged) => {
    killedAfterFour();
    writeFileSync(log, damaged);
    started().close();
    const isBefore = how.startsWith("a line");
    expect(read()).toBe(text(1, 2) + (isBefore ? BY_HAND + text(3) : text(3) + BY_HAND) + text(4));
  });

  it("fills a hole with as many lines of ours as it has room for", () => {
    killedAfterFour();
    writeFileSync(log, text(1, 2) + hole(3, 4) + BY_HAND);
    started().close();
    expect(read()).toBe(text(1, 2, 3, 4) + BY_HAND);
  });

  it("refuses to cut our damage when others wrote megabytes behind it", () => {
    killedAfterFour();
    const flood = `{"text":"${"x".repeat(900_000)}"}\n`.repeat(5);
    const damaged = `${text(1, 2) + text(3).slice(0, 100)}\n${flood}`;
    writeFileSync(log, damaged);
    const writer = startWriter(disk, place);
    expect(writer.recover().damaged).toMatchObject([{ offset: text(1, 2).length }]);
    writer.close();
    expect(read()).toBe(damaged);
  });

  it("keeps lines and fragments of other programs between ours", () => {
    killedAfterFour();
    const mixed = `${text(1, 2)}{"from":"forge","by":"hand"}\nnot json\n${text(3)}\n{"from":"x"}\n`;
    writeFileSync(log, mixed);
    started().close();
    expect(read()).toBe(mixed + text(4));
  });

  it("stops when the log has a line with our signature that we did not write", () => {
    killedAfterFour();
    writeFileSync(
      log,
      text(1, 2) + `${Buffer.from(ownLine(LOG, 3, "elsewhere").line).toString()}\n`,
    );
    const before = read();
    const writer = startWriter(disk, place);
    expect(writer.recover().unknown).toEqual([
      { log: LOG, seq: 3, id: ownLine(LOG, 3, "elsewhere").id },
    ]);
    expect(writer.append([ownLine(LOG, 5)])).toMatchObject([
      { answer: "not sent", error: { code: "identity_in_use" } },
    ]);
    expect(read()).toBe(before);
    // The operator's decision: it was ours after all. What it replaced is not sent.
    expect(writer.unplaced(LOG).map(({ seq }) => seq)).toEqual([3, 4]);
    writer.adopt(LOG, { seq: 3, id: ownLine(LOG, 3, "elsewhere").id });
    expect(writer.head(LOG)?.id).toBe(ownLine(LOG, 3, "elsewhere").id);
    writer.append([ownLine(LOG, 4, "after")]);
    writer.close();
    expect(read()).toBe(`${before}${Buffer.from(ownLine(LOG, 4, "after").line).toString()}\n`);
  });

  it("knows an archived log by its segment when the note of it was lost", () => {
    killedAfterFour();
    started().close();
    mkdirSync(join(place.wire, "archive", "2026"), { recursive: true });
    renameSync(log, join(place.wire, "archive", "2026", `${LOG}.jsonl`));
    const writer = startWriter(wholeLogs(disk, place.wire), place, [LOG]);
    expect(writer.recover().damaged).toEqual([]);
    expect(writer.head(LOG)?.seq).toBe(4);
    writer.append([ownLine(LOG, 5)]);
    writer.close();
    expect(read()).toBe(text(5));
  });
});

import { beforeEach, describe, expect, it } from "vitest";
import { rowsWithText } from "../../../src/agent/views/search-bytes.ts";
import { SearchedRows } from "../../../src/agent/views/searched-rows.ts";
import type { Session } from "../../../src/agent/session/session.ts";
import { openInbox, type Inbox } from "../../../src/storage/files/inbox.ts";
import { MemoryDisk, type MemoryProcess } from "../../support/disk/memory-disk.ts";

const WIRE = "/wire";
const NOT_IN_INBOX = -1;

let disk: MemoryProcess;
let inbox: Inbox;

beforeEach(() => {
  disk = new MemoryDisk().process();
  for (const folder of [WIRE, "/state"]) disk.makeFolder(folder, 0o700);
  inbox = openInbox(disk, "/state/inbox.jsonl", 1);
});

/** The first log of the layout, with lines of which the inbox has some or all, the newest row first. */
function rowsOf(texts: readonly string[], isDelivered: (at: number) => boolean): SearchedRows {
  const rows = new SearchedRows();
  rows.count = texts.length;
  const log = disk.open(`${WIRE}/a.jsonl`, "append");
  let start = 0;
  for (const [at, text] of texts.entries()) {
    const row = texts.length - 1 - at;
    const line = Buffer.from(`${text}\n`);
    rows.starts[row] = start;
    rows.lengths[row] = line.length;
    rows.inboxes[row] = NOT_IN_INBOX;
    if (isDelivered(at)) rows.inboxes[row] = deliver(line.subarray(0, -1));
    log.append(line);
    start += line.length;
  }
  log.close();
  return rows;
}

function deliver(line: Uint8Array): number {
  const [offset = 0] = inbox.place([line]);
  inbox.append([line]);
  return offset;
}

function found(rows: SearchedRows, needle: string): number[] {
  const session = {
    world: { disk },
    place: { layout: { logs: new Map([["a", { path: "a.jsonl" }]]) }, wire: { folder: WIRE } },
    files: { inbox },
  } as unknown as Pick<Session, "world" | "place" | "files">;
  return rowsWithText(session, rows, needle).map((row) => rows.count - 1 - row);
}

const HERONS = ["a heron", "nothing", "two Herons, one heron", "a her", "on"];

describe("messages that hold a text", () => {
  it.each([
    ["in the inbox", () => true],
    ["only in their log", () => false],
    ["in either", (at: number) => at % 2 === 0],
  ] as const)("are found once each, the newest first: %s", (_, isDelivered) => {
    expect(found(rowsOf(HERONS, isDelivered), "heron")).toEqual([2, 0]);
  });

  it("are found when they are as long as a line may be", () => {
    const long = `${"x".repeat(1_048_000)} heron`;
    expect(
      found(
        rowsOf([long, "nothing", long], () => true),
        "heron",
      ),
    ).toEqual([2, 0]);
  });

  it("are found on both sides of where a file of the inbox ends", () => {
    const first = rowsOf(HERONS, () => true);
    expect(inbox.rotate(() => 0)).toBe(true);
    const rows = new SearchedRows();
    rows.count = first.count + 1;
    for (const name of ["starts", "lengths", "inboxes"] as const) {
      rows[name].set(first[name].subarray(0, first.count), 1);
    }
    rows.inboxes[0] = deliver(Buffer.from("the last heron"));
    rows.lengths[0] = "the last heron\n".length;
    expect(found(rows, "heron")).toEqual([5, 2, 0]);
  });

  it("are found in their log when their file of the inbox was removed since they were read", () => {
    const rows = rowsOf(HERONS, () => true);
    for (let round = 0; round < 4; round += 1) {
      inbox.rotate(() => inbox.end);
      deliver(Buffer.from("later"));
    }
    expect(inbox.read(0, 1)).toBeUndefined();
    expect(found(rows, "heron")).toEqual([2, 0]);
  });

  it("are not found where their log was removed as well", () => {
    const rows = rowsOf(HERONS, () => false);
    disk.remove(`${WIRE}/a.jsonl`);
    expect(found(rows, "heron")).toEqual([]);
  });
});

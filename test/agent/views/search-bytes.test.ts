import { beforeEach, describe, expect, it } from "vitest";
import { entriesWithText, type SearchedRow } from "../../../src/agent/views/search-bytes.ts";
import type { Session } from "../../../src/agent/session/session.ts";
import { logNumber } from "../../../src/storage/files/line-row.ts";
import { openInbox, type Inbox } from "../../../src/storage/files/inbox.ts";
import { MemoryDisk, type MemoryProcess } from "../../support/disk/memory-disk.ts";

const WIRE = "/wire";

let disk: MemoryProcess;
let inbox: Inbox;

beforeEach(() => {
  disk = new MemoryDisk().process();
  for (const folder of [WIRE, "/state"]) disk.makeFolder(folder, 0o700);
  inbox = openInbox(disk, "/state/inbox.jsonl", 1);
});

/** A log of the layout, with lines of which the inbox has some or all, the newest row first. */
function rowsOf(texts: readonly string[], isDelivered: (at: number) => boolean): SearchedRow[] {
  const log = disk.open(`${WIRE}/a.jsonl`, "append");
  let start = 0;
  const rows = texts.map((text, entry) => {
    const line = Buffer.from(`${text}\n`);
    const inbox = isDelivered(entry) ? deliver(line.subarray(0, -1)) : undefined;
    const row = { entry, log: logNumber("a"), start, length: line.length, inbox };
    log.append(line);
    start += line.length;
    return row;
  });
  log.close();
  return rows.toReversed();
}

function deliver(line: Uint8Array): number {
  const [offset = 0] = inbox.place([line]);
  inbox.append([line]);
  return offset;
}

function found(rows: readonly SearchedRow[], needle: string): number[] {
  const session = {
    world: { disk },
    place: { layout: { logs: new Map([["a", { path: "a.jsonl" }]]) }, wire: { folder: WIRE } },
    files: { inbox },
  } as unknown as Pick<Session, "world" | "place" | "files">;
  return entriesWithText(session, rows, needle);
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
    const last = { entry: 5, log: 0, start: 0, length: "the last heron\n".length };
    const rows = [{ ...last, inbox: deliver(Buffer.from("the last heron")) }, ...first];
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

  it.each([
    ["heron", [2, 1, 0]],
    ['ron" gris', [1]],
    ['"é"', [2, 1]],
    ["(a|b).*", [3]],
    ["", [3, 2, 1, 0]],
  ])("may have %j where their bytes may mean it, whatever JSON escapes", (needle, expected) => {
    const texts = ["a heron", 'un "heron" gris', "HERON é", "(A|b).*"];
    const lines = texts.map((text) => JSON.stringify(text));
    expect(
      found(
        rowsOf(lines, () => true),
        needle,
      ),
    ).toEqual(expected);
  });
});

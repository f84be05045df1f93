import { expect, test } from "vitest";
import {
  NOTHING_INDEXED,
  openIndexedJournal,
  type Indexed,
} from "../../../src/agent/state/indexed-journal.ts";
import type { LineEntry } from "../../../src/agent/state/journal-entries.ts";
import { MemoryDisk } from "../../support/disk/memory-disk.ts";

const PATHS = { journal: "/journal.jsonl", lineIndex: "/lines.index" };

/** A journal of lines with these places in the inbox. */
function stage() {
  const disk = new MemoryDisk();
  const open = (durable = 0, indexed: Indexed = NOTHING_INDEXED) =>
    openIndexedJournal(disk.process(), PATHS, durable, indexed);
  let lines = 0;
  const entry = (inbox: number | undefined): LineEntry => {
    lines += 1;
    const at = { at: lines, log: "a", line: lines, start: lines * 100, end: lines * 100 + 90 };
    const id = lines.toString(16).padStart(64, "0");
    const place = inbox === undefined ? {} : { inbox };
    return { k: "line", ...at, verdict: "accepted", id, ...place };
  };
  return { disk, open, entries: (...places: (number | undefined)[]) => places.map(entry) };
}

test("messages in the inbox are counted as they are noted, also behind a saved index", () => {
  const { open, entries } = stage();
  const journal = open();
  journal.append(entries(0, undefined, 90, 180));
  const saved = journal.saveIndex();
  expect(saved.inbox).toEqual({ count: 3, next: 181, isInOrder: true });
  const durable = journal.end;
  journal.append(entries(270, undefined));
  expect(journal.inboxRows()).toEqual({ count: 4, next: 271, isInOrder: true });
  journal.close();

  // What was noted after the index was saved is counted again, and nothing of it twice.
  for (const indexed of [saved, NOTHING_INDEXED]) {
    const again = open(durable, indexed);
    expect(again.inboxRows()).toEqual({ count: 4, next: 271, isInOrder: true });
    again.close();
  }
});

test("a line that is noted a second time with its place is said, and not counted", () => {
  const { open, entries } = stage();
  const journal = open();
  journal.append(entries(0, 90, 180, 90, 270));
  expect(journal.inboxRows()).toEqual({ count: 4, next: 271, isInOrder: false });
});

test("an index that is damaged is counted again from the journal", () => {
  const { disk, open, entries } = stage();
  const first = open();
  first.append(entries(0, 90, 180));
  const saved = first.saveIndex();
  first.close();
  disk.process().replace(PATHS.lineIndex, Buffer.alloc(saved.rows * 44), 0o600);
  const journal = open(0, { ...saved, inbox: { count: 9, next: 1_000, isInOrder: true } });
  expect(journal.find(() => true)).toHaveLength(3);
  expect(journal.inboxRows()).toEqual({ count: 3, next: 181, isInOrder: true });
});

test.each(["oldest first", "newest first"] as const)(
  "each row is shown once and all are found when the index is damaged on the way, %s",
  (order) => {
    const { disk, open, entries } = stage();
    const first = open();
    const starts = first.append(entries(...Array.from({ length: 9_000 }, (_, at) => at * 90)));
    const saved = first.saveIndex();
    first.close();
    const bytes = Buffer.from(disk.process().open(PATHS.lineIndex, "read").read(1_000_000, 0));
    // Row 5,000, behind the summary of the first part.
    bytes.fill(0, 5_000 * 44 + 8_193, 5_001 * 44 + 8_193);
    disk.process().replace(PATHS.lineIndex, bytes, 0o600);

    const journal = open(0, saved);
    const shown: number[] = [];
    const found = journal.find(({ entry }) => shown.push(entry) % 2 === 0, { order, most: 4_400 });
    const inOrder = order === "oldest first" ? starts : starts.toReversed();
    expect(shown).toEqual(inOrder.slice(0, 8_800));
    expect(found).toEqual(shown.filter((_entry, at) => at % 2 === 1));
  },
);

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { archiveYear, compressArchive } from "../../src/carriers/archive-year.ts";
import { makeWireLayout } from "../../src/carriers/folder.ts";
import { unownedLogs } from "../../src/agent/answers/unowned-logs.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";

// Spec 1.10: what an agent archives of a wire, and what it compresses.

const disk = nodeDisk();
const handles = ["forge", "scribe", "ann"];
const members = new Map(handles.map((handle) => [handle, true]));
const layout = makeWireLayout({ handle: "forge", handles, members });
let wireDir: string;
beforeEach(() => {
  wireDir = mkdtempSync(join(tmpdir(), "deaddrop-year-"));
  mkdirSync(join(wireDir, "outbox"));
});
afterEach(() => {
  rmSync(wireDir, { recursive: true });
});
const place = () => ({ wireDir, handle: "forge", layout });

function write(path: string, ...lines: readonly object[]): void {
  writeFileSync(join(wireDir, path), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

function line(from: string, year: number): object {
  return { from, timestamp: `${year}-06-01T10:00:00Z`, text: "x".repeat(2_000) };
}

describe("a year", () => {
  test("takes our carriers, those of an earlier roster too, and the shared files; nobody else's", () => {
    write("outbox/forge.jsonl", line("scribe", 2020), line("forge", 2026));
    write("forge_to_scribe.jsonl", line("forge", 2025));
    write("outbox/scribe.jsonl", line("scribe", 2025));
    write("decisions.jsonl", { ratified_at: "2025-01-01T00:00:00Z" });
    expect(archiveYear(disk, place(), 2025)).toEqual([
      {
        file: "forge_to_scribe.jsonl",
        outcome: "archived",
        to: "archive/2025/forge_to_scribe.jsonl",
        bytes: 2_062,
      },
      { file: "outbox/forge.jsonl", outcome: "not due" },
      {
        file: "decisions.jsonl",
        outcome: "archived",
        to: "archive/2025/decisions.jsonl",
        bytes: 39,
      },
      { file: "incident_log.jsonl", outcome: "empty" },
    ]);
    expect(archiveYear(disk, place(), 2026)).toContainEqual({
      ...{ file: "outbox/forge.jsonl", outcome: "archived", to: "archive/2026/forge.jsonl" },
      bytes: 4_125,
    });
  });

  test("leaves a file that another program keeps locked, and names it", () => {
    write("outbox/forge.jsonl", line("forge", 2025));
    write("decisions.jsonl", { ratified_at: "2025-01-01T00:00:00Z" });
    const holder = disk.open(join(wireDir, "outbox/forge.jsonl"), "append");
    expect(holder.lock(0)).toBe(true);
    const [own, decisions] = archiveYear(disk, place(), 2025);
    holder.close();
    expect(own).toMatchObject({ file: "outbox/forge.jsonl", outcome: "failed" });
    expect(decisions).toMatchObject({ outcome: "archived" });
  });

  test("is compressed afterwards, each part once", () => {
    write("outbox/forge.jsonl", line("forge", 2025), line("forge", 2025));
    write("decisions.jsonl", { ratified_at: "2025-01-01T00:00:00Z" });
    mkdirSync(join(wireDir, "archive/2024"), { recursive: true });
    write("archive/2024/scribe.jsonl", line("scribe", 2024));
    archiveYear(disk, place(), 2025);
    const rows = compressArchive(disk, place());
    expect(rows.map(({ file }) => file)).toEqual([
      "archive/2025/decisions.jsonl.gz",
      "archive/2025/forge.jsonl.gz",
    ]);
    expect(readdirSync(join(wireDir, "archive/2025"))).toEqual([
      "decisions.jsonl.gz",
      "forge.jsonl.gz",
    ]);
    expect(existsSync(join(wireDir, "archive/2024/scribe.jsonl"))).toBe(true);
    expect(compressArchive(disk, place())).toEqual([]);
  });
});

test("files of lines that nobody owns are named, quoted where they have strange names, and not when they are empty", () => {
  const strange = 'a\n"b.jsonl';
  for (const name of ["x_to_y.jsonl", strange]) writeFileSync(join(wireDir, name), "{}\n");
  writeFileSync(join(wireDir, "empty.jsonl"), "");
  const many = Array.from({ length: 30 }, (_, at) => `u${at}.jsonl`);
  for (const name of many) writeFileSync(join(wireDir, name), "{}\n");
  const found = unownedLogs(disk, wireDir, [
    "x_to_y.jsonl",
    strange,
    "empty.jsonl",
    "gone.jsonl",
    ...many,
  ]);
  expect(found.more).toBe(12);
  expect(found.names).toHaveLength(20);
  expect(found.names.slice(0, 2)).toEqual(["x_to_y.jsonl", String.raw`"a\n\"b.jsonl"`]);
});

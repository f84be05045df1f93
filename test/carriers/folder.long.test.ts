import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { listWire, makeWireLayout } from "../../src/carriers/folder.ts";
import { readCarrier } from "../../src/carriers/reader.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { amount } from "../support/amounts.ts";

const CHECKOUT = resolve(import.meta.dirname, "../..");
const WRITER = [
  ...["--import", join(CHECKOUT, "test/support/typescript.js")],
  join(import.meta.dirname, "folder-process.ts"),
];

/** A publisher that is killed once it has printed so many numbers; the last of them. */
async function killedPublisher(args: readonly string[], numbers: number): Promise<number> {
  const child = spawn(process.execPath, [...WRITER, ...args], { cwd: CHECKOUT });
  let said = "";
  for await (const part of child.stdout) {
    said += String(part);
    if (said.split("\n").length > numbers) child.kill("SIGKILL");
  }
  return Number(said.split("\n").at(-2));
}

/** Numbers of the lines of a carrier. */
function numbersIn(wireDir: string, name: string): number[] {
  const disk = nodeDisk({ wireDir });
  const lines: Uint8Array[] = [];
  let cursor: string | undefined;
  for (let hasMore = true; hasMore;) {
    const read = readCarrier(disk, join(wireDir, name), cursor, { bytes: 64 * 1024, lines: 64 });
    expect(read.unreadable).toBeUndefined();
    lines.push(...read.lines);
    ({ cursor, hasMore } = read);
  }
  const texts = lines.map((line) => Buffer.from(line).toString());
  // Lines that a killed process has torn are followed by their copies.
  return texts.flatMap((text) =>
    text.endsWith("}") && text.startsWith("{") ? [(JSON.parse(text) as { seq: number }).seq] : [],
  );
}

test("a publisher that is killed at any moment: its carriers hold each line that it called published, once", async () => {
  const root = mkdtempSync(join(tmpdir(), "deaddrop-folder-"));
  try {
    const [wireDir, count] = [join(root, "wire"), join(root, "count")];
    mkdirSync(wireDir);
    writeFileSync(count, "");
    const handles = ["forge", "scribe", "ann"];
    const layout = makeWireLayout({ handle: "forge", handles, members: new Map() });
    for (let life = 1; life <= amount(5, 200); life += 1) {
      const published = await killedPublisher([wireDir, count], 1 + ((life * 13) % 60));
      expect(published).toBeGreaterThan(0);
      const listing = listWire(nodeDisk({ wireDir }), wireDir, layout);
      expect(listing).toMatchObject({ unowned: [], passedOver: [] });
      const of = (reader: string | undefined): number[] =>
        listing.carriers
          .filter((carrier) => carrier.reader === reader)
          .flatMap(({ name }) => numbersIn(wireDir, name))
          .toSorted((a, b) => a - b);
      const [all, copies] = [of(undefined), of("ann")];
      expect(all).toEqual(all.map((_, at) => at + 1));
      expect(copies).toEqual(copies.map((_, at) => 2 * (at + 1)));
      expect(all.length).toBeGreaterThanOrEqual(published);
      expect(2 * copies.length).toBeGreaterThanOrEqual(published - 1);
      expect(all.length).toBeLessThanOrEqual(statSync(count).size);
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

import { mkdtempSync, rmSync, writeFileSync, appendFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { Allowances } from "../../../src/agent/lines/allowances.ts";
import { CarrierReading, type ReadingNow } from "../../../src/agent/lines/carrier-reading.ts";
import { Intake } from "../../../src/agent/lines/intake.ts";
import type { Transport } from "../../../src/carriers/carrier.ts";
import { parseCursor, readCarrier } from "../../../src/carriers/reader.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { Database } from "../../../src/store/database.ts";
import { Store } from "../../../src/store/store.ts";
import { DEFAULT_LIMITS } from "../../../src/wire/limits.ts";
import { verifyEach } from "../../../src/wire/signature.ts";

const folder = mkdtempSync(join(tmpdir(), "deaddrop-reading-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A transport over one file; a fetch of it ends when it is told to. */
class FetchedFile {
  fetchedMs = 1_000;
  readonly path = join(folder, "scribe.jsonl");
  readonly transport: Transport = {
    kind: "git",
    list: () => [{ name: "outbox/scribe.jsonl", owner: "scribe", reader: undefined }],
    read: (_carrier, cursor, budget) => {
      const read = readCarrier(nodeDisk(), this.path, parseCursor(cursor), budget);
      return { ...read, cursor: read.cursor && JSON.stringify(read.cursor) };
    },
    knownMs: () => this.fetchedMs,
    publish: () => undefined,
    onChange: () => undefined,
    refresh: () => undefined,
    health: () => {
      throw new Error("not asked for");
    },
    start: () => undefined,
    stop: () => Promise.resolve(),
  };

  fetch(line: string): void {
    appendFileSync(this.path, `${line}\n`);
    this.fetchedMs += 1_000;
  }
}

function readingNow(nextTurn: () => void): ReadingNow {
  return {
    by: {
      ...{ self: "forge", wireId: "0d4be1a97725c83f", limits: DEFAULT_LIMITS },
      ...{ isFirstReading: false, mark: { seq: 0, id: null } },
      signing: { enforceSigned: true, allowUnsignedFrom: [] },
      believed: () => ({
        ...{ tier: "VERIFIED", isBlocked: false, allowsUnchained: false },
        ...{ allowsUnsigned: false, keys: [] },
      }),
      isMember: () => true,
    },
    now: () => ({ wallMs: 10_000, monoMs: 0 }),
    fold: () => undefined,
    nextTurn: () => Promise.resolve(nextTurn()),
  };
}

test("a fetch that ends while its file is read counts from the next pass on", async () => {
  const store = new Store(Database.open(":memory:"));
  const intake = new Intake(store, (items) => Promise.resolve(verifyEach(items)));
  const reading = new CarrierReading(store, intake, new Allowances());
  const file = new FetchedFile();
  writeFileSync(file.path, "one\n");
  await reading.pass(
    [file.transport],
    readingNow(() => file.fetch("two")),
  );
  expect(reading.knownMs("scribe")).toBe(1_000);
  await reading.pass(
    [file.transport],
    readingNow(() => undefined),
  );
  expect(reading.knownMs("scribe")).toBe(2_000);
});

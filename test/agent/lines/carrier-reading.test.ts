import { mkdtempSync, rmSync, writeFileSync, appendFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { CarrierReading, type ReadingNow } from "../../../src/agent/lines/carrier-reading.ts";
import type { Transport } from "../../../src/carriers/carrier.ts";
import { readCarrier } from "../../../src/carriers/reader.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { Database } from "../../../src/store/database.ts";
import { Store } from "../../../src/store/store.ts";
import { composeLine } from "../../../src/wire/compose.ts";
import { DEFAULT_LIMITS } from "../../../src/wire/limits.ts";
import { makeSigner, publicKeyOf, verifyEach, type Signer } from "../../../src/wire/signature.ts";

const folder = mkdtempSync(join(tmpdir(), "deaddrop-reading-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A transport over one file; a fetch of it ends when it is told to. */
class FetchedFile {
  fetchedMs = 1_000;
  readonly path: string;
  readonly transport: Transport = {
    kind: "git",
    list: () => [{ name: "outbox/scribe.jsonl", owner: "scribe", reader: undefined }],
    read: (_carrier, cursor, budget) => readCarrier(nodeDisk(), this.path, cursor, budget),
    knownMs: () => this.fetchedMs,
    publish: () => undefined,
    publishedThrough: 0,
    onChange: () => undefined,
    refresh: () => undefined,
    health: () => ({
      ...{ remote: this.path, isMover: false, fetchedMs: this.fetchedMs, pushedMs: undefined },
      ...{ waiting: 0, problem: undefined, troubles: [] },
    }),
    start: () => undefined,
    stop: () => Promise.resolve(),
  };

  constructor(name: string) {
    this.path = join(folder, name);
  }

  fetch(line: string): void {
    appendFileSync(this.path, `${line}\n`);
    this.fetchedMs += 1_000;
  }
}

type PeerKeys = ReturnType<ReadingNow["by"]["believed"]>["keys"];

function readingNow(nextTurn: () => void, keys: PeerKeys = []): ReadingNow {
  return {
    by: {
      ...{ self: "forge", wireId: "0d4be1a97725c83f", limits: DEFAULT_LIMITS },
      ...{ isFirstReading: false, mark: { seq: 0, id: null } },
      signing: { enforceSigned: true, allowUnsignedFrom: [] },
      believed: () => ({
        ...{ tier: "VERIFIED", blocked: false, held: undefined, allowUnchained: false },
        ...{ mayBeUnsigned: false, keys },
      }),
      isMember: () => true,
    },
    handles: ["forge", "scribe"],
    now: () => ({ wallMs: 10_000, monoMs: 0 }),
    fold: () => undefined,
    nextTurn: () => Promise.resolve(nextTurn()),
  };
}

test("a fetch that ends while its file is read counts from the next pass on", async () => {
  const store = new Store(Database.open(":memory:"));
  const reading = new CarrierReading(store, (items) => Promise.resolve(verifyEach(items)));
  const file = new FetchedFile("scribe.jsonl");
  writeFileSync(file.path, "one\n");
  await reading.pass(
    [file.transport],
    readingNow(() => file.fetch("two")),
  );
  expect(reading.knownMs("scribe")).toBe(1_000);
  const lacked: unknown[] = [];
  const fold = (): unknown => lacked.push(reading.lackedMs("scribe"));
  await reading.pass([file.transport], { ...readingNow(() => undefined), fold });
  expect(reading.knownMs("scribe")).toBe(2_000);
  // What the second fetch has brought the first one lacked.
  expect(new Set(lacked)).toEqual(new Set([1_000]));
});

test("lines too large to wait unproven are linked when their carrier is read again", async () => {
  const store = new Store(Database.open(":memory:"));
  const reading = new CarrierReading(store, (items) => Promise.resolve(verifyEach(items)));
  const file = new FetchedFile("rotated.jsonl");
  const [before, after] = [1, 2].map((byte) => new Uint8Array(32).fill(byte));
  const [old, pinned] = [before, after].map((secret) => makeSigner("scribe", secret as Uint8Array));
  let head: { seq: number; id: string } | undefined;
  const count = 20;
  for (let seq = 1; seq <= count; seq += 1) {
    const draft = { to: ["forge"], type: "ship", subject: `${seq}`, body: "x".repeat(60_000) };
    const timestamp = `2026-06-01T12:00:00.${String(seq).padStart(6, "0")}+00:00`;
    const place = { timestamp, wireId: "0d4be1a97725c83f", version: "v3.1" as const, head };
    const { line, id } = composeLine(draft, place, (seq < count ? old : pinned) as Signer);
    file.fetch(Buffer.from(line).toString());
    head = { seq, id };
  }
  const key = publicKeyOf(after as Uint8Array);
  const keys = [{ keyId: (pinned as Signer).keyId, key, active: true }];
  const at = readingNow(() => undefined, keys);
  for (let pass = 0; pass < 400; pass += 1) {
    const now = { wallMs: Date.parse("2026-06-02T12:00:00Z"), monoMs: pass * 60_000 };
    await reading.pass([file.transport], { ...at, now: () => now });
  }
  expect(store.chains.whole("scribe").seq).toBe(count);
});

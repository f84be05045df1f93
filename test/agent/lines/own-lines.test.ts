import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readMark, writeMark, type Mark } from "../../../src/agent/lines/mark.ts";
import { OwnLines, type Signing } from "../../../src/agent/lines/own-lines.ts";
import { publish } from "../../../src/carriers/publisher.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { Database } from "../../../src/store/database.ts";
import { Store } from "../../../src/store/store.ts";
import type { Draft } from "../../../src/wire/compose.ts";
import { fromPlain, parseObject } from "../../../src/wire/json/json.ts";
import { makeSigner } from "../../../src/wire/signature.ts";

// The store is the log: what is signed is committed first and published from there.

const folder = mkdtempSync(join(tmpdir(), "deaddrop-own-"));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const WIRE = "0d4be1a97725c83f";
const disk = nodeDisk();
const signing: Signing = {
  signer: makeSigner("forge", createHash("sha256").update("forge").digest()),
  ...{ wireId: WIRE, version: "v3.1", nowMs: Date.parse("2026-06-01T12:00:00Z"), micros: 0 },
};

function draft(subject: string, body: unknown = ""): Draft {
  return { to: ["scribe"], type: "ship", subject, body: fromPlain(body) };
}

function makeOwn(): { store: Store; own: OwnLines } {
  const store = new Store(Database.open(":memory:"));
  return { store, own: new OwnLines(store, "forge") };
}

test("lines follow one another, and a carrier gets them all, once", () => {
  const { store, own } = makeOwn();
  const sent = ["one", "two", "three"].map((each) =>
    store.write((into) => own.append(into, draft(each), signing)),
  );
  expect(sent.map(({ seq, prev }) => [seq, prev])).toEqual([
    [1, null],
    [2, sent[0]?.id],
    [3, sent[1]?.id],
  ]);
  const path = join(folder, "forge.jsonl");
  const marks: Mark[] = [];
  const carrier = { path, others: [], mode: 0o600 };
  const known = publish(disk, carrier, own.chain(), undefined, ({ seq }) => {
    marks.push({ seq, id: sent[seq - 1]?.id ?? null });
  });
  publish(disk, carrier, own.chain(), known, () => expect.unreachable());
  const lines = readFileSync(path, "utf8").trim().split("\n");
  expect(lines).toEqual(sent.map(({ bytes }) => Buffer.from(bytes).toString()));
  expect(marks).toEqual([{ seq: 3, id: sent[2]?.id }]);
  const fields = parseObject(Buffer.from(lines[2] ?? ""));
  expect(fields).toMatchObject({ ok: true, value: { seq: 3, wire: WIRE, prev: sent[1]?.id } });
  expect(lines[2]).not.toContain('"log"');
});

test("nothing is signed that names a place which is not held", () => {
  const { store, own } = makeOwn();
  const held = store.write((into) => own.append(into, draft("one"), signing));
  const unheld = { author: "forge", seq: 2, id: "ab".repeat(32) };
  expect(own.unheldPlace(draft("ok", { about: ["forge", 1, held.id] }))).toBeUndefined();
  expect(own.unheldPlace(draft("no", { about: ["forge", 2, unheld.id] }))).toEqual(unheld);
  expect(own.unheldPlace(draft("no", { about: ["forge", 2, held.id] }))).toBeDefined();
});

test("without a mark, or behind it, or on another branch than it, nothing is signed", () => {
  const { store, own } = makeOwn();
  expect(own.readiness(undefined)).toEqual({ is: "unmarked" });
  expect(own.readiness({ seq: 0, id: null })).toEqual({ is: "ready" });
  const other = "cd".repeat(32);
  expect(own.readiness({ seq: 1, id: other })).toEqual({ is: "behind", whole: 0, mark: 1 });
  const { id } = store.write((into) => own.append(into, draft("one"), signing));
  expect(own.readiness({ seq: 1, id })).toEqual({ is: "ready" });
  expect(own.readiness({ seq: 0, id: null })).toEqual({ is: "ready" });
  expect(own.readiness({ seq: 1, id: other })).toEqual({ is: "in use", at: 1 });
});

test("a mark is read back as it was written; anything else is refused", () => {
  const path = join(folder, "mark");
  expect(readMark(disk, path)).toBeUndefined();
  for (const mark of [
    { seq: 0, id: null },
    { seq: 63, id: "f6".repeat(32) },
  ]) {
    writeMark(disk, path, mark);
    expect(readMark(disk, path)).toEqual(mark);
  }
  for (const text of ["", "[]", "[1,null]", "[0,1]", "[-1,null]", `{"seq":1}`, `[1,"ab"]`]) {
    writeFileSync(path, text);
    expect(() => readMark(disk, path)).toThrow(/no mark of a key/u);
  }
});

test("an answer in the very microsecond that names its thread is dated behind it", () => {
  const { store, own } = makeOwn();
  const thread = "2026-06-01T12:00:00.000000Z";
  const ack: Draft = {
    ...{ to: ["scribe"], type: "ack", subject: "yes", correlationId: thread },
    body: fromPlain({ approve: true }),
  };
  const { bytes } = store.write((into) => own.append(into, ack, signing));
  expect(parseObject(bytes)).toMatchObject({
    value: { correlation_id: thread, timestamp: "2026-06-01T12:00:00.000001Z" },
  });
});

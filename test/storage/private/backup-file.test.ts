import { describe, expect, it } from "vitest";
import {
  boundsProblem,
  isBackupName,
  parseBackup,
  serialiseBackup,
  type Backup,
} from "../../../src/storage/private/backup-file.ts";

const BACKUP: Backup = {
  handle: "forge",
  wireKey: "7c3a91e2b4d05f16",
  wireId: "7c3a91e2b4d05f16",
  wireDir: "/wire",
  madeAt: "2026-06-01T09:00:00.000Z",
  storeVersion: 7,
  files: [
    { place: "identity", name: "forge.key", bytes: new Uint8Array(32).fill(7) },
    { place: "config", name: "signing.key", bytes: new Uint8Array(32).fill(8) },
    { place: "config", name: "empty.json", bytes: new Uint8Array(0) },
    { place: "state", name: "trust_seen.json", bytes: Buffer.from('{"version":7}\n') },
  ],
};

type Document = Record<string, unknown> & { files: Record<string, unknown>[] };

function changed(change: (document: Document) => void): ReturnType<typeof parseBackup> {
  const document = JSON.parse(Buffer.from(serialiseBackup(BACKUP)).toString()) as Document;
  change(document);
  return parseBackup(Buffer.from(JSON.stringify(document)));
}

describe("the document of a backup", () => {
  it("reads back as it was written, with and without a wire id", () => {
    for (const wireId of [BACKUP.wireId, undefined]) {
      const parsed = parseBackup(serialiseBackup({ ...BACKUP, wireId }));
      expect(parsed.ok && serialiseBackup(parsed.backup)).toEqual(
        serialiseBackup({ ...BACKUP, wireId }),
      );
      expect(parsed.ok && parsed.backup.wireId).toBe(wireId);
    }
  });

  it.each<[string, (document: Document) => void, string]>([
    ["another format", (d) => (d["format"] = "x"), "no backup of deaddrop"],
    ["a later version", (d) => (d["version"] = 2), "version 2; this deaddrop reads 1"],
    ["no handle", (d) => delete d["handle"], "handle is missing"],
    ["what is no handle", (d) => (d["handle"] = "../x"), "handle is not a handle"],
    ["a key that leads out", (d) => (d["wire_key"] = "../x"), "wire_key is"],
    ["no time", (d) => (d["made_at"] = "soon"), "made_at is no time"],
    ["no store version", (d) => delete d["store_version"], "store_version is missing"],
    ["a name that leads out", (d) => rename(d, "../x"), "which no backup holds"],
    ["a lock", (d) => rename(d, "trust.lock", "config"), "which no backup holds"],
    ["somebody else's key", (d) => rename(d, "scribe.key"), "which no backup holds"],
    ["an inbox", (d) => rename(d, "inbox.jsonl", "state"), "which no backup holds"],
    ["a place that is none", (d) => rename(d, "forge.key", "etc"), "lacks its name, its data"],
    ["other bytes", (d) => put(d, "data", "AAAA"), "(forge.key) is damaged"],
    ["base64 that is spelled otherwise", (d) => put(d, "data", "AA==\n"), "is damaged"],
    ["a file twice", (d) => d.files.push(d.files[0] ?? {}), "names identity/forge.key a second"],
    ["too many files", (d) => (d.files = Array<never>(300).fill({} as never)), "at most 256"],
  ])("with %s is refused", (_what, change, detail) => {
    const parsed = changed(change);
    expect(parsed).toMatchObject({ ok: false, detail: expect.stringContaining(detail) });
  });

  it.each([[""], ["{"], ["[]"], ['{"format":"deaddrop-backup","version":1}'], ["\ufeff{}"]])(
    "%j is refused with words",
    (text) => {
      expect(parseBackup(Buffer.from(text))).toMatchObject({ ok: false });
    },
  );
});

function rename(document: Document, name: string, place = "identity"): void {
  document.files[0] = { ...document.files[0], name, place };
}

function put(document: Document, field: string, value: unknown): void {
  document.files[0] = { ...document.files[0], [field]: value };
}

describe("what a backup holds", () => {
  it("is every file of the private folder, known or not, but no lock and nothing half-written", () => {
    const names = ["trust.json", "signing.key", "next.key", "signing.key.1a2b3c4d.old", "notes"];
    expect(names.filter((name) => !isBackupName("forge", "config", name))).toEqual([]);
    const strange = ["trust.lock", ".trust.json.a1b2", "a/b", "..", "", "x.new", "x\n"];
    expect(strange.filter((name) => isBackupName("forge", "config", name))).toEqual([]);
  });

  it("is the agent's own key, its public half and its former ones", () => {
    const names = ["forge.key", "forge.pub.json", "forge.key.1a2b3c4d.old"];
    expect(names.filter((name) => !isBackupName("forge", "identity", name))).toEqual([]);
    const others = ["forger.key", "forge.key.1a2b3c4d.new", "forge.key.x.key.1a.old", "7c3a"];
    expect(others.filter((name) => isBackupName("forge", "identity", name))).toEqual([]);
  });

  it("is bounded in number and in size", () => {
    const file = (bytes: number) => ({ name: "x", bytes: new Uint8Array(bytes) });
    expect(boundsProblem([file(16 * 1024 * 1024), file(1)])).toBeUndefined();
    expect(boundsProblem([file(16 * 1024 * 1024 + 1)])).toContain("x has 16777217 bytes");
    expect(boundsProblem(Array.from({ length: 257 }, () => file(0)))).toContain("257 files");
    const large = file(16 * 1024 * 1024);
    expect(boundsProblem([large, large, file(1)])).toContain("bytes in all");
  });
});

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { wholeLogs } from "../../../src/storage/archive/whole-logs.ts";
import { Replica, type ReplicaOptions } from "../../../src/transport/copies/replica.ts";
import type { RemoteFile } from "../../../src/transport/copies/remote-files.ts";
import { wireFiles } from "../../../src/transport/copies/wire-files.ts";
import { MemoryDisk } from "../../support/disk/memory-disk.ts";

const OURS = "forge_to_scribe.jsonl";
const THEIRS = "scribe_to_forge.jsonl";

const idOf = (bytes: Uint8Array): string => createHash("sha1").update(bytes).digest("hex");

/** A remote whose files are in memory, and which of them were read. */
function remoteIn() {
  const files = new Map<string, RemoteFile>();
  const bytesOf = new Map<string, Uint8Array>();
  const reads: string[] = [];
  return {
    ...{ files, idOf, reads },
    put(path: string, bytes: Uint8Array): void {
      const id = idOf(bytes);
      bytesOf.set(id, bytes);
      files.set(path, { id, bytes: bytes.length });
    },
    read(id: string, into: (chunk: Uint8Array) => void): Promise<void> {
      for (const [path, file] of files) if (file.id === id) reads.push(path);
      into(bytesOf.get(id) ?? new Uint8Array(0));
      return Promise.resolve();
    },
  };
}

const text = (lines: string) => Buffer.from(lines, "utf8");

/** The side of forge, on a disk in memory. */
function forge({ isSigned }: Pick<ReplicaOptions, "isSigned">) {
  const disk = new MemoryDisk().process();
  disk.makeFolder("/wire", 0o700);
  const replica = new Replica({
    folder: {
      ...{ disk, whole: wholeLogs(disk, "/wire"), wireDir: "/wire", handle: "forge" },
      wire: wireFiles("pairwise", ["forge", "scribe"]),
      local: () => new Set(["forge"]),
    },
    agreed: new Map(),
    isSigned,
    grown: new Map(),
    today: () => "2026-06-01",
    isWhole: () => true,
    keep: () => "kept",
  });
  return { disk, replica };
}

test("what we have pushed of our log is not read back; what others make of it is", async () => {
  const { disk, replica } = forge({ isSigned: () => false });
  const remote = remoteIn();
  for (const lines of ["f1\n", "f1\nf2\n"]) {
    disk.replace(`/wire/${OURS}`, text(lines), 0o600);
    const changes = await replica.changes(remote, true);
    expect(changes.map(({ path }) => path)).toEqual([OURS]);
    for (const { path, bytes } of changes) remote.put(path, bytes);
    replica.notePushed(remote, new Set([OURS]));
    remote.put(THEIRS, text(`for ${lines}`));
    await replica.bring(remote, true);
    expect(remote.reads.splice(0)).toEqual([THEIRS]);
  }
  remote.put(OURS, text("f1\nnot ours\n"));
  const { troubles } = await replica.bring(remote, true);
  expect(remote.reads).toEqual([OURS]);
  expect(troubles.map(({ cause }) => cause)).toEqual(["wire_tampered"]);
});

test("a log of ours that lacked what the remote has is pushed once it has it again", async () => {
  const { disk, replica } = forge({ isSigned: (_log, line) => line.at(0) === 0x66 });
  const remote = remoteIn();
  remote.put(OURS, text("f1\nf2\n"));
  // Put back to what it was before: the agent has not seen it yet.
  disk.replace(`/wire/${OURS}`, text("f1\n"), 0o600);
  const { troubles } = await replica.bring(remote, true);
  expect(troubles.map(({ cause }) => cause)).toEqual(["own_log_ahead"]);
  expect(await replica.changes(remote, true)).toEqual([]);
  expect(replica.held).toEqual(["forge_to_scribe"]);
  disk.replace(`/wire/${OURS}`, text("f1\nf3\n"), 0o600);
  expect(await replica.changes(remote, true)).toEqual([]);
  disk.replace(`/wire/${OURS}`, text("f1\nf2\nf3\n"), 0o600);
  const changes = await replica.changes(remote, true);
  expect(changes.map(({ path }) => path)).toEqual([OURS]);
  expect(replica.held).toEqual([]);
});

// A process that publishes its chain in a folder, and archives and compresses what it has published. It prints the
// number of the last line that is published. Arguments: the wire's folder, a file with a byte for each line sent.
import { appendFileSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { archiveFile, compressPart } from "../../src/carriers/archive.ts";
import { FolderTransport, makeWireLayout } from "../../src/carriers/folder.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";

const [wireDir = "", count = ""] = process.argv.slice(2);
const disk = nodeDisk({ wireDir });
const handles = ["forge", "scribe", "ann"];
const members = new Map(handles.map((handle) => [handle, handle !== "ann"]));
const layout = makeWireLayout({ handle: "forge", handles, members });
let last = statSync(count).size;

function line(seq: number) {
  const to = seq % 2 === 0 ? ["ann"] : ["scribe"];
  const fields = { from: "forge", seq, timestamp: "2026-06-01T10:00:00Z", to };
  return {
    seq,
    bytes: Buffer.from(JSON.stringify({ ...fields, x: "x".repeat((seq * 997) % 9_001) })),
  };
}

const folder = new FolderTransport({
  ...{ disk, wireDir, mode: 0o600, layout: () => layout },
  world: {
    clock: { wallMs: () => Date.now() },
    after: () => () => undefined,
    watch: () => () => undefined,
  },
  ours: {
    handle: "forge",
    chain: () => ({
      last,
      after: (seq, limit) =>
        Array.from({ length: Math.max(0, Math.min(limit, last - seq)) }, (_, at) =>
          line(seq + at + 1),
        ),
    }),
    beforeAppend: () => undefined,
  },
});

for (let turn = 1; ; turn += 1) {
  last += turn % 4;
  // What is sent is never forgotten, as in a store.
  appendFileSync(count, ".".repeat(turn % 4));
  folder.publish();
  if (folder.health().problem !== undefined) throw new Error(folder.health().problem?.detail);
  writeSync(1, `${last}\n`);
  for (const { name } of folder.list()) {
    const isLive = !name.startsWith("archive/");
    if (isLive && turn % 5 === 0) archiveFile(disk, wireDir, layout.parts, name, { year: 2026 });
    if (!isLive && turn % 7 === 0 && !name.endsWith(".gz")) compressPart(disk, join(wireDir, name));
  }
}

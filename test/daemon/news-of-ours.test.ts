import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { watchNews, type NewsOfOurs } from "../../src/daemon/transport/news-of-ours.ts";
import { wireFiles } from "../../src/transport/copies/wire-files.ts";
import { MemoryDisk, type MemoryProcess } from "../support/disk/memory-disk.ts";

const WIRE = "/wire";
const OWN = "forge_to_scribe.jsonl";

let disk: MemoryProcess;
let news: NewsOfOurs;

function append(line: object): void {
  const file = disk.open(join(WIRE, OWN), "append");
  file.append(Buffer.from(`${JSON.stringify(line)}\n`, "utf8"));
  file.close();
}

function line(type: string): object {
  return {
    ...{ from: "forge", to: ["scribe"], type, subject: "s", body: {} },
    ...{ timestamp: "2026-06-01T09:00:00.000Z", correlation_id: "c", protocol_version: "v3.1" },
  };
}

beforeEach(() => {
  disk = new MemoryDisk().process();
  disk.makeFolder(WIRE, 0o700);
  const wire = wireFiles("pairwise", ["forge", "scribe"]);
  const local = (): Set<string> => new Set(["forge"]);
  news = watchNews(disk, { disk, whole: disk, wireDir: WIRE, wire, handle: "forge", local });
});

it("a heartbeat waits for the cadence, anything else goes at once", () => {
  append(line("heartbeat"));
  expect(news.changed(OWN)).toBe("at the cadence");
  append(line("ship"));
  append(line("heartbeat"));
  expect(news.changed(OWN)).toBe("soon");
  expect(news.changed(OWN)).toBeUndefined();
});

it("what others write, and our own state, is not pushed", () => {
  for (const name of ["scribe_to_forge.jsonl", "forge_state.json", "SAFE_MODE", "README.md"]) {
    expect(news.changed(name)).toBeUndefined();
  }
  expect(news.changed("decisions.jsonl")).toBe("soon");
});

it("what a folder in trouble does not show may be news, and ends nothing", () => {
  append(line("heartbeat"));
  disk.standing = () => "EIO";
  expect(news.changed(OWN)).toBe("soon");
});

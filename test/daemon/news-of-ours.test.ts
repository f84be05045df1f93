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

function line(type: string, body: object = {}, second = 0): object {
  const timestamp = new Date(Date.UTC(2026, 5, 1, 9, 0, second)).toISOString();
  return {
    ...{ from: "forge", to: ["scribe"], type, subject: "s", body },
    ...{ timestamp, correlation_id: "c", protocol_version: "v3.1" },
  };
}

/** A heartbeat that promises the next one 90 s later. */
function beatAt(second: number): object {
  const next = new Date(Date.UTC(2026, 5, 1, 9, 0, second + 90)).toISOString();
  return line("heartbeat", { next_eta: next }, second);
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

it("a heartbeat that comes before its time is a receipt, and does not wait for the cadence", () => {
  const told = [0, 90, 95, 181, 271].map((second) => {
    append(beatAt(second));
    return news.changed(OWN);
  });
  // The fourth comes 86 s after the third: jitter, and no reason.
  const later = "at the cadence";
  expect(told).toEqual([later, later, "receipt", later, later]);
  append(beatAt(300));
  append(line("ship"));
  expect(news.changed(OWN)).toBe("soon");
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

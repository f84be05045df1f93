import { expect, test } from "vitest";
import { integrationRecord } from "../../../src/agents/integrate/record.ts";
import { MemoryDisk } from "../../support/disk/memory-disk.ts";

const PATH = "/state/integrations.json";

test.each([
  "",
  "null",
  "7",
  "[]",
  "{}",
  '{"files":null,"folders":[]}',
  '{"files":{}}',
  '{"files":{},"folders":[]}',
  "{",
])("a record that holds %j counts as none", (damaged) => {
  const disk = new MemoryDisk().process();
  disk.makeFolder("/state", 0o700);
  disk.replace(PATH, Buffer.from(damaged, "utf8"), 0o600);
  expect(integrationRecord(disk, PATH).read()).toEqual({ files: {}, folders: [], joined: [] });
});

test("what was written is read again", () => {
  const record = integrationRecord(new MemoryDisk().process(), PATH);
  const written = {
    files: { "/a": { before: null, after: "b", users: ["codex user"] } },
    folders: ["/f"],
    joined: [{ tool: "codex", scope: "user", project: "/p" } as const],
  };
  record.write(written);
  expect(record.read()).toEqual(written);
});

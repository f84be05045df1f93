import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { filesystemKind, fuseKind, typeOfMount } from "../../src/storage/disk/fs-kind.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { createWire, isWire, requireWire, type NewWire } from "../../src/storage/wire-folder.ts";

const WIRE: NewWire = {
  config: '{"wire_id":"7c3a"}\n',
  tiers: "{}\n",
  protocol: "# Protocol\n",
  logs: ["forge_to_scribe.jsonl"],
  hasOutbox: false,
};
const ONE_USER = { folderMode: 0o700, sharedMode: 0o600, logMode: 0o600, groupId: undefined };
const disk = nodeDisk();
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-wire-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("a wire's folder", () => {
  it("is made whole, once, and stays as it is when made again", () => {
    const at = join(folder, "_coordination");
    const { created } = createWire(disk, at, WIRE, ONE_USER);
    expect(created.at(-1)).toBe(join(at, "config.json"));
    expect(disk.list(at)).toEqual([
      "PROTOCOL.md",
      "archive",
      "config.json",
      "decisions.jsonl",
      "forge_to_scribe.jsonl",
      "incident_log.jsonl",
      "tiers.json",
      "trust",
    ]);
    expect(disk.stat(at)?.mode).toBe(0o700);
    expect(createWire(disk, at, { ...WIRE, config: "other" }, ONE_USER).created).toEqual([]);
  });

  it("shared by a group: setgid folders, files for the group, a log for its agent alone", () => {
    const at = join(folder, "_coordination");
    const groupId = process.getgid?.() ?? 0;
    const sharing = { folderMode: 0o2770, sharedMode: 0o660, logMode: 0o640, groupId };
    createWire(disk, at, { ...WIRE, hasOutbox: true, logs: ["outbox/forge.jsonl"] }, sharing);
    const modeOf = (name: string): number | undefined => disk.stat(join(at, name))?.mode;
    expect(["", "trust", "archive", "outbox"].map(modeOf)).toEqual([
      0o2770, 0o2770, 0o2770, 0o2770,
    ]);
    expect(["config.json", "decisions.jsonl"].map(modeOf)).toEqual([0o660, 0o660]);
    expect(modeOf("outbox/forge.jsonl")).toBe(0o640);
  });

  it("is not made inside a folder that is in use for something else", () => {
    disk.replace(join(folder, "package.json"), Buffer.from("{}"), 0o600);
    expect(() => createWire(disk, folder, WIRE, ONE_USER)).toThrow('"package.json"');
    expect(disk.list(folder)).toEqual(["package.json"]);
  });

  it("is recognised by its configuration or its logs, and anything else is named", () => {
    expect(() => requireWire(disk, join(folder, "no"))).toThrow("no such folder");
    expect(() => requireWire(disk, folder)).toThrow("a folder that is not a wire");
    disk.open(join(folder, "forge_to_scribe.jsonl"), "append").close();
    expect(isWire(disk, folder)).toBe(true);
    expect(() => requireWire(disk, join(folder, "forge_to_scribe.jsonl"))).toThrow("not a folder");
  });
});

describe("the kind of filesystem", () => {
  it("here is a local one with events", () => {
    expect(filesystemKind(folder)).toMatchObject({ events: true, network: false });
    expect(() => filesystemKind(join(folder, "no"))).toThrow("no such file");
  });

  it("below FUSE is named by the mount table", () => {
    const table = [
      "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw",
      "90 22 0:45 / /mnt/with\\040space rw - fuse.sshfs host:/x rw",
    ].join("\n");
    expect(typeOfMount(table, "/mnt/with space/wire")).toBe("fuse.sshfs");
    expect(typeOfMount(table, "/home/x")).toBe("ext4");
    expect(fuseKind("fuse.sshfs")).toEqual({ name: "SSHFS", events: false, network: true });
    expect(fuseKind("fuse.rclone")).toMatchObject({ name: "FUSE (rclone)", events: false });
    expect(fuseKind(undefined)).toMatchObject({ name: "FUSE", events: false });
  });
});

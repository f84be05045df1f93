import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StorageError, type StorageCode } from "../../../src/storage/disk/disk.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { builtForChildren } from "../../support/processes/child-modules.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-disk-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function codeOf(action: () => unknown): StorageCode | "no error" {
  try {
    action();
  } catch (error) {
    if (error instanceof StorageError) return error.code;
    throw error;
  }
  return "no error";
}

describe("what may stand in the place of a log", () => {
  const cases: [string, StorageCode, (path: string) => void][] = [
    ["a FIFO", "not_a_file", (path) => execFileSync("mkfifo", [path])],
    ["a folder", "not_a_file", (path) => mkdirSync(path)],
    ["a symlink", "not_a_file", (path) => symlinkSync("/etc/hostname", path)],
    ["a symlink to nothing", "not_a_file", (path) => symlinkSync("/nowhere", path)],
    [
      "a hard link",
      "not_a_file",
      (path) => {
        writeFileSync(`${path}.other`, "x\n");
        linkSync(`${path}.other`, path);
      },
    ],
  ];
  it.each(cases)("refuses %s, for reading and appending, without waiting", (_, code, make) => {
    const path = join(folder, "a_to_b.jsonl");
    make(path);
    const disk = nodeDisk({ wireDir: folder });
    expect(codeOf(() => disk.open(path, "read"))).toBe(code);
    expect(codeOf(() => disk.open(path, "append"))).toBe(code);
  });

  it.each(["/dev/null", "/dev/full", "/dev/zero"])("refuses the device %s", (path) => {
    expect(codeOf(() => nodeDisk().open(path, "append"))).toBe("not_a_file");
  });

  it("refuses a socket", () => {
    const path = join(folder, "s");
    const bind = spawnSync("python3", [
      "-c",
      `import socket; socket.socket(socket.AF_UNIX).bind(${JSON.stringify(path)})`,
    ]);
    if (bind.status !== 0) return console.log("skipped: no python3 to make a socket with");
    expect(codeOf(() => nodeDisk().open(path, "read"))).toBe("not_a_file");
  });

  it("refuses a parent inside the wire that is a symlink, and allows one on the way to it", () => {
    mkdirSync(join(folder, "elsewhere"));
    mkdirSync(join(folder, "real", "outbox"), { recursive: true });
    writeFileSync(join(folder, "elsewhere", "a.jsonl"), "stolen\n");
    symlinkSync(join(folder, "real"), join(folder, "wire"));
    const disk = nodeDisk({ wireDir: join(folder, "wire") });
    const path = join(folder, "wire", "outbox", "a.jsonl");
    disk.open(path, "append").close();
    expect(existsSync(join(folder, "real", "outbox", "a.jsonl"))).toBe(true);
    renameSync(join(folder, "real", "outbox"), join(folder, "real", "before"));
    symlinkSync(join(folder, "elsewhere"), join(folder, "real", "outbox"));
    for (const action of [
      () => disk.open(path, "read"),
      () => disk.open(path, "append"),
      () => disk.replace(path, Buffer.from("x"), 0o600),
      () => disk.remove(path),
      () => disk.list(join(path, "..", "below")),
    ]) {
      expect(codeOf(action)).toBe("not_a_file");
    }
    expect(readFileSync(join(folder, "elsewhere", "a.jsonl"), "utf8")).toBe("stolen\n");
  });

  it("says that a file is missing, and nothing else with that code", () => {
    expect(codeOf(() => nodeDisk().open(join(folder, "no"), "read"))).toBe("missing");
    expect(codeOf(() => nodeDisk().open(join(folder, "no", "no"), "append"))).toBe("missing");
  });
});

describe("writing", () => {
  it("makes files with the mode asked for, whatever the umask", () => {
    const before = process.umask(0o077);
    try {
      const disk = nodeDisk();
      disk.open(join(folder, "log"), "append", 0o640).close();
      disk.replace(join(folder, "file"), Buffer.from("x"), 0o660);
      disk.makeFolder(join(folder, "shared"), 0o2770);
      expect(disk.stat(join(folder, "log"))?.mode).toBe(0o640);
      expect(disk.stat(join(folder, "file"))?.mode).toBe(0o660);
      expect(disk.stat(join(folder, "shared"))?.mode).toBe(0o2770);
    } finally {
      process.umask(before);
    }
  });

  it("replaces at once and leaves no temporary file, also when it fails", () => {
    const disk = nodeDisk();
    const path = join(folder, "heads.json");
    disk.replace(path, Buffer.from("one"), 0o600);
    disk.replace(path, Buffer.from("two"), 0o600);
    expect(readFileSync(path, "utf8")).toBe("two");
    mkdirSync(join(folder, "taken"));
    expect(codeOf(() => disk.replace(join(folder, "taken"), Buffer.from("x"), 0o600))).toBe(
      "not_a_file",
    );
    expect(readdirSync(folder)).toEqual(["heads.json", "taken"]);
  });

  it("renames without replacing, and takes over the empty file of a crashed attempt", () => {
    const disk = nodeDisk();
    const [from, to] = [join(folder, "from"), join(folder, "to")];
    writeFileSync(from, "new");
    writeFileSync(to, "there");
    expect(codeOf(() => disk.renameExclusive(from, to))).toBe("exists");
    expect(readFileSync(to, "utf8")).toBe("there");
    writeFileSync(to, "");
    disk.renameExclusive(from, to);
    expect(readFileSync(to, "utf8")).toBe("new");
    expect(existsSync(from)).toBe(false);
  });

  it("writes bytes again where they are already", () => {
    const path = join(folder, "log");
    const file = nodeDisk().open(path, "append");
    file.append(Buffer.from("one\ntwo\n"));
    file.writeAgain(4, 8);
    expect(readFileSync(path, "utf8")).toBe("one\ntwo\n");
    file.close();
  });

  it("a small filesystem that is full: a clear error, and the log can be cut back", () => {
    const mount = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]);
    if (mount.status !== 0) return console.log("skipped: mounting a tmpfs is not permitted here");
    try {
      const file = nodeDisk().open(join(folder, "log"), "append");
      file.append(Buffer.from("first\n"));
      let failed: unknown;
      try {
        file.append(Buffer.alloc(200_000, "x"));
      } catch (error) {
        failed = error;
      }
      expect(failed).toMatchObject({ code: "disk_full", hint: expect.stringContaining("free") });
      file.truncate(6);
      file.append(Buffer.from("second\n"));
      file.datasync();
      file.close();
      expect(readFileSync(join(folder, "log"), "utf8")).toBe("first\nsecond\n");
    } finally {
      spawnSync("umount", [folder]);
    }
  });

  it("the name of a new file is durable before anything is written to it", () => {
    const path = join(folder, "log");
    const script = `
      const { nodeDisk } = await import(process.argv[1]);
      nodeDisk().open(process.argv[2], "append").append(Buffer.from("x"));`;
    const trace = spawnSync("strace", [
      ...["-f", "-qq", "-y", "-e", "trace=fsync,write", "-o", join(folder, "trace")],
      ...[process.execPath, "--input-type=module", "-e", script],
      ...[join(builtForChildren(), "storage", "disk", "node-disk.js"), path],
    ]);
    if (trace.error !== undefined) return console.log("skipped: no strace to look with");
    const calls = readFileSync(join(folder, "trace"), "utf8");
    const synced = calls.search(new RegExp(`fsync\\([0-9]+<${folder}>`));
    expect(synced).toBeGreaterThan(-1);
    expect(calls.search(new RegExp(`write\\([0-9]+<${path}>`))).toBeGreaterThan(synced);
  });

  it("a failed sync is final: nothing more is written through that file", () => {
    const path = join(folder, "log");
    const script = `
      const { nodeDisk } = await import(process.argv[1]);
      const file = nodeDisk().open(process.argv[2], "append");
      file.append(Buffer.from("first\\n"));
      const codes = [];
      for (const action of [() => file.datasync(), () => file.datasync(), () => file.append(Buffer.from("x"))]) {
        try { action(); codes.push("fine"); } catch (error) { codes.push(error.code); }
      }
      console.log(codes.join(" "));`;
    writeFileSync(path, "");
    const trace = spawnSync("strace", [
      ...["-f", "-qq", "-o", "/dev/null", "-e", "inject=fdatasync:error=EIO:when=1"],
      ...[process.execPath, "--input-type=module", "-e", script],
      ...[join(builtForChildren(), "storage", "disk", "node-disk.js"), path],
    ]);
    if (trace.error !== undefined)
      return console.log("skipped: no strace to inject the fault with");
    expect(trace.stdout.toString().trim()).toBe("io io io");
    expect(statSync(path).size).toBe(6);
  });
});

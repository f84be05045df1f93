import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, type TestContext } from "vitest";
import { brokenPlaces } from "../../support/chain-check.ts";
import { BIN, killChildren, pause, start, until } from "../../support/processes/real-processes.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";

const mounts: string[] = [];

afterEach(async () => {
  await killChildren();
  for (const mount of mounts.splice(0)) {
    spawnSync("umount", ["-l", mount]);
    if (mount.startsWith(tmpdir())) rmSync(mount, { recursive: true, force: true });
  }
  await removeWires();
});

/** Mounts something; where that is not permitted the test is skipped, and says so. */
function mount({ skip }: TestContext, folder: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync("mount", [...args, folder], { encoding: "utf8" });
  if (status !== 0) skip(`mount is not permitted here: ${(stderr ?? "no mount(8)").trim()}`);
  mounts.push(folder);
}

function smallDisk(context: TestContext, size: string): string {
  const folder = mkdtempSync(join(tmpdir(), "deaddrop-small-"));
  mount(context, folder, "-t", "tmpfs", "-o", `size=${size}`, "none");
  return folder;
}

const inboxSubjects = (wire: LiveWire, handle: string) =>
  wire.privateLines(handle, "inbox").map(({ subject }) => subject);

const goesOut = (wire: LiveWire, subject: string) =>
  until(`"${subject}" is sent`, async () => {
    const { code } = await wire.run("forge", "send", subject);
    // 3: on a busy machine it may be sent without an answer in time.
    const log = () => readFileSync(join(wire.dir, "forge_to_scribe.jsonl"), "utf8");
    return code === 0 || (code === 3 && log().includes(JSON.stringify(subject)));
  });

describe("a disk in trouble", () => {
  it("full, with the daemon up: said, nothing half-sent; it goes on by itself when there is room", async (context) => {
    const wire = makeWire({ cadenceSeconds: 1, under: smallDisk(context, "2m") });
    const daemon = await wire.daemon("forge");
    await wire.json("forge", "send", "before");
    const ballast = join(wire.folder, "ballast");
    spawnSync("dd", ["if=/dev/zero", `of=${ballast}`, "bs=4k"]);
    const full = await wire.run("forge", "send", "x".repeat(400), "y".repeat(20_000));
    expect(full.code).toBe(6);
    expect(full.stderr).toMatch(/not sent: .*disk full/);
    expect(full.stderr).toContain("free space");
    // Longer than it waits before it looks again for the first times.
    await pause(4_000);
    expect(daemon.child.exitCode).toBeNull();
    rmSync(ballast);
    await goesOut(wire, "after");
    await daemon.stop();
    expect(brokenPlaces(wire, "forge", "forge_to_scribe.jsonl")).toEqual([]);
    const said = wire.lines("forge_to_scribe.jsonl").filter(({ type }) => type === "feedback");
    expect(said.map(({ subject }) => subject)).toEqual(["before", "after"]);
  });

  it("full as the daemon begins: status says so, and it begins by itself when there is room", async (context) => {
    const wire = makeWire({ cadenceSeconds: 20 });
    await wire.json("forge", "send", "before");
    const { stateDir } = wire.paths("forge");
    const kept = join(wire.folder, "kept");
    cpSync(stateDir, kept, { recursive: true });
    mount(context, stateDir, "-t", "tmpfs", "-o", "size=2m,mode=700", "none");
    cpSync(kept, stateDir, { recursive: true });
    const ballast = join(stateDir, "ballast");
    spawnSync("dd", ["if=/dev/zero", `of=${ballast}`, "bs=512"]);
    const args = ["daemon", "--wire", wire.dir, "--as", "forge"];
    const daemon = start(process.execPath, [BIN, ...args], { env: wire.env });
    await until("it says so", () =>
      daemon.stdout().includes("the daemon cannot open its store yet"),
    );
    const status = await wire.run("forge", "status");
    expect([status.code, status.stdout]).toEqual([0, expect.stringContaining("disk full")]);
    rmSync(ballast);
    await until("it runs", async () => {
      const { stdout } = await wire.run("forge", "status", "--json");
      return (JSON.parse(stdout) as { daemon: { running: boolean } }).daemon.running;
    });
    await wire.json("forge", "send", "after");
    const said = wire.lines("forge_to_scribe.jsonl").filter(({ type }) => type === "feedback");
    expect(said.map(({ subject }) => subject)).toEqual(["before", "after"]);
  });

  it("full where we note what arrives: nothing is delivered twice or lost when there is room", async (context) => {
    const wire = makeWire({ cadenceSeconds: 20 });
    const { stateDir } = wire.paths("forge");
    const seen = readFileSync(join(stateDir, "trust_seen.json"));
    mount(context, stateDir, "-t", "tmpfs", "-o", "size=4m,mode=700", "none");
    writeFileSync(join(stateDir, "trust_seen.json"), seen, { mode: 0o600 });
    const daemon = await wire.daemon("forge");
    await wire.json("scribe", "send", "one");
    await until("it is there", () => inboxSubjects(wire, "forge").length === 1);
    const ballast = join(stateDir, "ballast");
    spawnSync("dd", ["if=/dev/zero", `of=${ballast}`, "bs=4k"]);
    const subjects = ["two", "three", "four", "five"];
    for (const subject of subjects) {
      await wire.json("scribe", "send", subject, "z".repeat(30_000));
    }
    await until("it says that the disk is full", () => daemon.stdout().includes("disk full"));
    rmSync(ballast);
    await until("all of it is there", () => inboxSubjects(wire, "forge").length === 5);
    expect(inboxSubjects(wire, "forge")).toEqual(["one", ...subjects]);
    expect((await daemon.stop()).code).toBe(0);
  });

  it("read-only wire: sent, shown, and published when it is writable again", async (context) => {
    const wire = makeWire();
    await wire.json("forge", "send", "before");
    mount(context, wire.dir, "--bind", wire.dir);
    const remount = (how: string) =>
      spawnSync("mount", ["-o", `remount,bind,${how}`, wire.dir]).status === 0;
    if (!remount("ro")) context.skip("a read-only bind mount is not permitted here");
    await wire.json("forge", "send", "meanwhile");
    const status = await wire.run("forge", "status");
    expect([status.code, status.stdout]).toEqual([0, expect.stringContaining("read-only")]);
    const doctor = await wire.run("forge", "doctor");
    expect([doctor.code, doctor.stdout]).toEqual([
      1,
      expect.stringMatching(/error +storage .*the filesystem is read-only[^]*→ mount it writable/),
    ]);
    expect(remount("rw")).toBe(true);
    expect((await wire.run("forge", "send", "after")).code).toBe(0);
    expect(brokenPlaces(wire, "forge", "forge_to_scribe.jsonl")).toEqual([]);
    const said = wire.lines("forge_to_scribe.jsonl").map(({ subject }) => subject);
    expect(said).toEqual(["before", "meanwhile", "after"]);
  });

  it("the wire full under two daemons, and nothing else: what is sent arrives once when there is room", async (context) => {
    const wire = makeWire();
    const kept = join(wire.folder, "kept");
    cpSync(wire.dir, kept, { recursive: true });
    mount(context, wire.dir, "-t", "tmpfs", "-o", "size=256k", "none");
    cpSync(kept, wire.dir, { recursive: true });
    const daemons = [await wire.daemon("forge"), await wire.daemon("scribe")];
    const told: string[] = ["before"];
    await wire.json("forge", "send", "before");
    const ballast = join(wire.dir, "ballast");
    spawnSync("dd", ["if=/dev/zero", `of=${ballast}`, "bs=1k"]);
    for (const subject of ["full 1", "full 2", "full 3"]) {
      const { code, stderr } = await wire.run("forge", "send", subject, "x".repeat(9_000));
      expect({ code, stderr }).toEqual(
        code === 0
          ? { code, stderr: "" }
          : { code: 6, stderr: expect.stringContaining("free space") as unknown },
      );
      if (code === 0) told.push(subject);
    }
    rmSync(ballast);
    await goesOut(wire, "room again");
    told.push("room again");
    await until("all of it has arrived", () => {
      const there = inboxSubjects(wire, "scribe");
      return told.every((subject) => there.includes(subject));
    });
    for (const daemon of daemons) expect((await daemon.stop()).code).toBe(0);
    expect(inboxSubjects(wire, "scribe")).toEqual(told);
    // What the full disk took of a line stays there, and is nobody's line.
    for (const broken of brokenPlaces(wire, "forge", "forge_to_scribe.jsonl"))
      expect(broken).toContain("malformed");
  });

  it("full where its own output goes: rows of its log are lost, and nothing else", async (context) => {
    const wire = makeWire();
    const logs = smallDisk(context, "16k");
    const out = join(logs, "out");
    writeFileSync(out, "");
    spawnSync("dd", ["if=/dev/zero", `of=${join(logs, "ballast")}`, "bs=1k"]);
    const command = `exec "$0" "$@" >> "${out}" 2>&1`;
    const args = [BIN, "daemon", "--wire", wire.dir, "--as", "forge", "--log-level", "debug"];
    const daemon = start("sh", ["-c", command, process.execPath, ...args], { env: wire.env });
    const status = async () => {
      const { stdout } = await wire.run("forge", "status", "--json");
      return JSON.parse(stdout) as { daemon: { running: boolean } };
    };
    await until("it runs", async () => (await status()).daemon.running);
    await wire.daemon("scribe");
    await wire.json("scribe", "send", "one");
    await until("it is there", () => inboxSubjects(wire, "forge").length === 1);
    await wire.json("forge", "send", "two");
    await until("it has arrived", () => inboxSubjects(wire, "scribe").length === 1);
    daemon.child.kill("SIGTERM");
    expect((await daemon.ended).code).toBe(0);
    expect(readFileSync(out, "utf8")).toBe("");
  });

  it("a FIFO in the place of one peer's log does not keep the others waiting", async () => {
    const wire = makeWire({ handles: ["forge", "scribe", "mallory"] });
    await wire.daemon("forge");
    const log = join(wire.dir, "outbox", "mallory.jsonl");
    rmSync(log);
    expect(spawnSync("mkfifo", [log]).status).toBe(0);
    const beats = () => wire.lines("outbox/forge.jsonl").length;
    await until("it beats", () => beats() > 2);
    const before = beats();
    await wire.json("scribe", "send", "--to", "forge", "hello");
    await until("scribe is heard", () => inboxSubjects(wire, "forge").length === 1);
    await until("beats go on", () => beats() > before + 2);
    expect((await wire.run("forge", "send", "--to", "scribe", "hello yourself")).code).toBe(0);
  });
});

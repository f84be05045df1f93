import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { ownLine, startWriter } from "../storage/own-log/own-lines.ts";
import { MINUTE, SECOND } from "../support/scenes/fault-scene.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

test("a link in the place of one own log is refused at start, and the other log goes on", () => {
  const folder = mkdtempSync(join(tmpdir(), "deaddrop-link-"));
  try {
    const place = { wire: join(folder, "wire"), state: join(folder, "state") };
    const disk = nodeDisk();
    disk.makeFolder(place.wire, 0o700);
    const elsewhere = join(folder, "elsewhere");
    writeFileSync(elsewhere, "not ours\n");
    symlinkSync(elsewhere, join(place.wire, "a.jsonl"));
    const writer = startWriter(disk, place, ["a", "b"]);
    const { obstructed } = writer.recover();
    expect(obstructed).toMatchObject([{ log: "a", problem: { code: "symlink" } }]);
    expect(writer.append([ownLine("a", 1)])).toMatchObject([{ answer: "not sent" }]);
    writer.recover();
    expect(writer.append([ownLine("b", 1)])).toMatchObject([{ answer: "sent" }]);
    rmSync(join(place.wire, "a.jsonl"));
    writer.recover();
    expect(writer.append([ownLine("a", 1)])).toMatchObject([{ answer: "sent" }]);
    writer.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a daemon that finds something else in the place of one of its logs serves the other peer", async () => {
  for (const when of ["before it starts", "while it runs"] as const) {
    const wire = new SimulatedWire(["forge", "quill", "scribe"], { withFaults: true });
    await wire.start();
    await wire.send("forge", { to: ["*"], type: "feedback", subject: "before", body: "x" });
    await wire.pass(5 * SECOND);
    await wire.rest();
    const text = wire.read("forge_to_scribe.jsonl");
    if (when === "before it starts") await wire.stop("forge");
    const path = join(wire.wirePath, "forge_to_scribe.jsonl");
    const stood = wire.read("forge_to_scribe.jsonl");
    wire.disk.process().remove(path);
    wire.disk.process().makeFolder(path, 0o700);
    if (when === "before it starts") await wire.start("forge");
    await wire.send("quill", { to: ["forge"], type: "feedback", subject: "hello", body: "x" });
    await wire.send("forge", { to: ["quill"], type: "feedback", subject: "still here", body: "x" });
    await wire.pass(3 * MINUTE);
    const heard = await wire.agent("quill").view("inbox", {});
    expect(
      heard.map(({ subject }) => subject),
      when,
    ).toContain("still here");
    const beats = wire.lines("forge_to_quill.jsonl").filter((line) => line.includes('"alive"'));
    expect(beats.length, when).toBeGreaterThan(2);
    await expect(
      wire.send("forge", { to: ["scribe"], type: "feedback", subject: "to nobody", body: "x" }),
    ).rejects.toThrow("not sent");
    const causes = (await wire.agent("forge").view("notices", undefined)).map(({ cause }) => cause);
    expect(causes, when).toContain("log_unreadable");
    // It does not spin: nothing is due in a log that takes nothing.
    expect(wire.agent("forge").nextDueMs(), when).toBeGreaterThan(wire.elapsedMs);
    wire.disk.process().remove(path);
    wire.replace("forge_to_scribe.jsonl", stood);
    expect(stood.startsWith(text), when).toBe(true);
    await wire.pass(2 * MINUTE);
    await wire.send("forge", { to: ["scribe"], type: "feedback", subject: "again", body: "x" });
    const scribes = await wire.agent("scribe").view("inbox", {});
    expect(
      scribes.map(({ subject }) => subject),
      when,
    ).toEqual(["before", "again"]);
  }
});

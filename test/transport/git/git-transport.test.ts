import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { git, GitScene } from "./git-scene.ts";

const FORGE = "forge_to_scribe.jsonl";
const SCRIBE = "scribe_to_forge.jsonl";
const CONFIG = JSON.stringify({ wire_id: "aa" });

let scene: GitScene;
afterEach(() => scene.remove());

/** Two machines that have exchanged one line each. */
async function pair(...options: readonly string[]) {
  scene = new GitScene(...options);
  const [forge, scribe] = [scene.host("forge"), scene.host("scribe")];
  forge.write("config.json", CONFIG);
  forge.write(FORGE, "f1\n");
  scribe.write(SCRIBE, "s1\n");
  expect(await forge.turn()).toBeUndefined();
  expect(await scribe.turn()).toBeUndefined();
  expect(await forge.turn()).toBeUndefined();
  return { forge, scribe };
}

/** Commits of a growing log, each as one that was pushed leaves it. */
function importVersions(repository: string, count: number): void {
  const version = (at: number): string => {
    const log = Array.from({ length: at }, (_, line) => `${line}\n`).join("");
    const parent = at === 1 ? "from refs/deaddrop/fetched^0\n" : "";
    const person = "committer forge <forge@deaddrop.invalid> 1780000000 +0000\ndata 1\nx\n";
    const file = `M 100644 inline ${FORGE}\ndata ${log.length}\n${log}\n`;
    return `commit refs/deaddrop/ours\n${person}${parent}${file}`;
  };
  const versions = Array.from({ length: count }, (_, at) => version(at + 1));
  const single = ["-c", "fastimport.unpackLimit=100000"];
  execFileSync("git", ["-C", repository, ...single, "fast-import", "--quiet", "--force"], {
    input: versions.join(""),
  });
}

function looseIn(repository: string): number {
  return Number(/^\d+/.exec(git(repository, "count-objects"))?.[0]);
}

describe("two machines", () => {
  it.each([[[]], [["--object-format=sha256"]]])("have the same logs %j", async (options) => {
    const { forge, scribe } = await pair(...options);
    for (const host of [forge, scribe]) {
      expect([host.read(FORGE), host.read(SCRIBE)]).toEqual(["f1\n", "s1\n"]);
      expect(host.read("config.json")).toBe(CONFIG);
      expect(host.troubles()).toEqual([]);
    }
  });

  it("push nothing when there is nothing, and one commit for all that came together", async () => {
    const { forge, scribe } = await pair();
    const before = git(scene.remote, "rev-parse", "main");
    for (let turn = 0; turn < 3; turn += 1) {
      await forge.turn();
      await scribe.turn();
    }
    expect(git(scene.remote, "rev-parse", "main")).toBe(before);
    forge.append(FORGE, "f2\nf3\n");
    forge.write("trust/forge.card.json", "{}");
    await forge.turn();
    expect(git(scene.remote, "rev-list", "--count", `${before.trim()}..main`).trim()).toBe("1");
  });

  it("push at the same time, for 30 rounds, and lose nothing", async () => {
    const { forge, scribe } = await pair();
    for (let round = 2; round <= 31; round += 1) {
      forge.append(FORGE, `f${round}\n`);
      scribe.append(SCRIBE, `s${round}\n`);
      const ends = await Promise.all([forge.turn(), scribe.turn()]);
      expect(ends).toEqual([undefined, undefined]);
    }
    await forge.turn();
    await scribe.turn();
    const lines = (of: string) =>
      Array.from({ length: 31 }, (_, at) => `${of}${at + 1}\n`).join("");
    for (const host of [forge, scribe]) {
      expect([host.read(FORGE), host.read(SCRIBE)]).toEqual([lines("f"), lines("s")]);
    }
  });

  it("write on while the remote is gone, and have all when it is back", async () => {
    const { forge, scribe } = await pair();
    renameSync(scene.remote, `${scene.remote}.away`);
    forge.append(FORGE, "f2\n");
    scribe.append(SCRIBE, "s2\n");
    expect(await forge.turn()).toContain("no_remote");
    expect(await scribe.turn()).toContain("no_remote");
    expect(forge.pulls.at(-1)?.beganMs).toBeGreaterThan(0);
    const pulls = forge.pulls.length;
    await forge.turn();
    expect(forge.pulls).toHaveLength(pulls);
    renameSync(`${scene.remote}.away`, scene.remote);
    await forge.turn();
    await scribe.turn();
    await forge.turn();
    expect([forge.read(SCRIBE), scribe.read(FORGE)]).toEqual(["s1\ns2\n", "f1\nf2\n"]);
  });

  it("unite what both have written into a shared file", async () => {
    const { forge, scribe } = await pair();
    forge.write("decisions.jsonl", "d1\n");
    scribe.write("decisions.jsonl", "d2\nd1\n");
    for (let turn = 0; turn < 2; turn += 1) {
      await forge.turn();
      await scribe.turn();
    }
    await forge.turn();
    expect(forge.read("decisions.jsonl").split("\n").toSorted()).toEqual(["", "d1", "d2"]);
    expect(scribe.read("decisions.jsonl")).toBe("d2\nd1\n");
  });

  it("agree on a document that one of them has changed", async () => {
    const { forge, scribe } = await pair();
    scribe.write("PROTOCOL.md", "one\n");
    await scribe.turn();
    await forge.turn();
    expect(forge.read("PROTOCOL.md")).toBe("one\n");
    forge.write("PROTOCOL.md", "two\n");
    await forge.turn();
    await scribe.turn();
    expect(scribe.read("PROTOCOL.md")).toBe("two\n");
  });

  it("see a log whose year was archived on the other machine as one log", async () => {
    const { forge, scribe } = await pair();
    forge.append(FORGE, "f2\n");
    mkdirSync(join(forge.wire, "archive", "2025"), { recursive: true });
    renameSync(join(forge.wire, FORGE), join(forge.wire, "archive/2025", FORGE));
    forge.write(FORGE, "f3\n");
    await forge.turn();
    await scribe.turn();
    expect(scribe.read(FORGE)).toBe("f1\nf2\nf3\n");
    expect(scene.inRemote(FORGE)).toBe("f3\n");
    expect(scene.inRemote(`archive/2025/${FORGE}`)).toBe("f1\nf2\n");
    forge.append(FORGE, "f4\n");
    await forge.turn();
    await scribe.turn();
    expect(scribe.read(FORGE)).toBe("f1\nf2\nf3\nf4\n");
    expect([...forge.troubles(), ...scribe.troubles()]).toEqual([]);
  });

  it("push nothing of a log that waits for its repair", async () => {
    const { forge } = await pair();
    await forge.close();
    let isWhole = false;
    const again = scene.host("forge", "forge", { isWhole: () => isWhole });
    again.write(FORGE, "f1\nf2 with \0\0\nf3\n");
    await again.turn();
    expect(scene.inRemote(FORGE)).toBe("f1\n");
    expect(again.transport.health().heldLogs).toEqual(["forge_to_scribe"]);
    isWhole = true;
    again.write(FORGE, "f1\nf2\nf3\n");
    await again.turn();
    expect(scene.inRemote(FORGE)).toBe("f1\nf2\nf3\n");
  });

  it("say nothing of lines that a log lacks until its repair, and then of those that it lacks still", async () => {
    const { forge } = await pair();
    forge.append(FORGE, "f2\nf3\n");
    await forge.turn();
    await forge.close();
    let isWhole = false;
    const isOurs = (): boolean => true;
    const again = scene.host("forge", "forge", { isWhole: () => isWhole, isOurs });
    again.write(FORGE, "f1\n");
    await again.turn();
    await again.turn();
    expect(again.troubles()).toEqual([]);
    expect(again.transport.health().heldLogs).toEqual(["forge_to_scribe"]);
    isWhole = true;
    again.write(FORGE, "f1\nf2\n");
    await again.turn();
    expect(again.troubles()).toEqual([expect.stringContaining("own_log_ahead")]);
    again.write(FORGE, "f1\nf2\nf3\nf4\n");
    await again.turn();
    expect(scene.inRemote(FORGE)).toBe("f1\nf2\nf3\nf4\n");
    expect(again.troubles()).toHaveLength(1);
  });

  it("push whole lines only", async () => {
    const { forge, scribe } = await pair();
    forge.append(FORGE, "f2\nhalf a li");
    await forge.turn();
    expect(scene.inRemote(FORGE)).toBe("f1\nf2\n");
    forge.append(FORGE, "ne\n");
    await forge.turn();
    await scribe.turn();
    expect(scribe.read(FORGE)).toBe("f1\nf2\nhalf a line\n");
  });
});

describe("the private repository", () => {
  it("is packed when very many versions of a log are in it", async () => {
    const { forge } = await pair();
    await forge.close();
    const repository = join(scene.root, "forge", "transport.git");
    importVersions(repository, 150);
    const before = looseIn(repository);
    expect(before).toBeGreaterThan(400);
    const again = scene.host("forge");
    again.append(FORGE, "f2\n");
    expect(await again.turn()).toBeUndefined();
    expect(looseIn(repository)).toBeLessThan(20);
    expect(git(repository, "rev-list", "--count", "refs/deaddrop/fetched").trim()).not.toBe("0");
    expect(scene.inRemote(FORGE)).toBe("f1\nf2\n");
  });

  it("is made again when it is damaged or gone", async () => {
    const { forge, scribe } = await pair();
    const repository = join(scene.root, "forge", "transport.git");
    for (const name of readdirSync(join(repository, "objects"))) {
      if (/^[0-9a-f]{2}$/.test(name))
        renameSync(join(repository, "objects", name), join(scene.root, `x${name}`));
    }
    scribe.append(SCRIBE, "s2\n");
    await scribe.turn();
    forge.append(FORGE, "f2\n");
    for (let turn = 0; turn < 3; turn += 1) await forge.turn();
    expect(forge.transport.health().problem).toBeUndefined();
    expect(forge.read(SCRIBE)).toBe("s1\ns2\n");
    expect(scene.inRemote(FORGE)).toBe("f1\nf2\n");
    expect(forge.troubles()).toEqual([]);
  });

  it("is opened although a process that was killed has left its locks", async () => {
    await pair();
    const repository = join(scene.root, "forge", "transport.git");
    for (const name of ["HEAD.lock", "config.lock", "refs/deaddrop/fetched.lock"]) {
      writeFileSync(join(repository, name), "");
    }
    const again = scene.host("forge");
    again.append(FORGE, "f2\n");
    // The first one holds the lock of the machine: this one pushes its own log.
    expect(await again.turn()).toBeUndefined();
    expect(scene.inRemote(FORGE)).toBe("f1\nf2\n");
    expect(existsSync(join(repository, "HEAD.lock"))).toBe(false);
  });
});

it("of two daemons of one machine one writes the copies, and the other goes on when it ends", async () => {
  const { forge, scribe } = await pair();
  const second = scene.host("forge");
  scribe.append(SCRIBE, "s2\n");
  await scribe.turn();
  await second.turn();
  expect(second.transport.health().isMover).toBe(false);
  expect(second.read(SCRIBE)).toBe("s1\n");
  await forge.close();
  await second.turn();
  expect(second.transport.health().isMover).toBe(true);
  expect(second.read(SCRIBE)).toBe("s1\ns2\n");
});

it("a folder that takes no more bytes is named, stops nothing, and is tried again", async () => {
  const { forge, scribe } = await pair();
  scribe.append(SCRIBE, "s2\n");
  await scribe.turn();
  // In the place of the copy is something that cannot be written.
  renameSync(join(forge.wire, SCRIBE), join(forge.wire, "away"));
  mkdirSync(join(forge.wire, SCRIBE));
  forge.append(FORGE, "f2\n");
  expect(await forge.turn()).toContain("local");
  expect(forge.pulls.at(-1)?.beganMs).toBeUndefined();
  expect(scene.inRemote(FORGE)).toBe("f1\nf2\n");
  rmdirSync(join(forge.wire, SCRIBE));
  renameSync(join(forge.wire, "away"), join(forge.wire, SCRIBE));
  expect(await forge.turn()).toBeUndefined();
  expect(forge.read(SCRIBE)).toBe("s1\ns2\n");
  expect(scene.inRemote(FORGE)).toBe("f1\nf2\n");
});

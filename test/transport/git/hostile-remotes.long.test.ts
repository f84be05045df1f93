import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { git, GitScene, type GitHost } from "./git-scene.ts";

// What members of a wire, and owners of the repository, can do to the others by git alone.

const FORGE = "forge_to_scribe.jsonl";
const SCRIBE = "scribe_to_forge.jsonl";

/** More than the list of them may be long. */
const FILES = process.env["DEADDROP_NIGHTLY"] === "1" ? 1_000_000 : 150_000;

let scene: GitScene;
let forge: GitHost;
let scribe: GitHost;
beforeEach(async () => {
  scene = new GitScene();
  [forge, scribe] = [scene.host("forge"), scene.host("scribe")];
  forge.write("config.json", JSON.stringify({ wire_id: "aa" }));
  forge.write(FORGE, "f1\n");
  scribe.write(SCRIBE, "s1\n");
  await forge.turn();
  await scribe.turn();
  await forge.turn();
});
afterEach(() => scene.remove());

/** The other log goes on, whatever was done. */
async function othersAreServed(): Promise<void> {
  scribe.append(SCRIBE, "s2\n");
  await scribe.turn();
  await forge.turn();
  expect(forge.read(SCRIBE)).toBe("s1\ns2\n");
}

describe("a tree", () => {
  it.each([
    [
      "a link in the place of a document",
      "tiers.json",
      (at: string) => symlinkSync("/etc/passwd", at),
      "symbolic link",
    ],
    [
      "a link in the place of a log",
      FORGE,
      (at: string) => (rmSync(at), symlinkSync("/etc/passwd", at)),
      "symbolic link",
    ],
    [
      "a program in the place of a card",
      "trust/forge.card.json",
      (at: string) => (writeFileSync(at, "{}"), chmodSync(at, 0o755)),
      "may be executed",
    ],
    [
      "a file that no wire has",
      "run-me.sh",
      (at: string) => writeFileSync(at, "rm -rf /"),
      "no file of a wire",
    ],
    [
      "a deep folder",
      "a/b/c/d/e/f/g/h.jsonl",
      (at: string) => writeFileSync(at, "x\n"),
      "no file of a wire",
    ],
    [
      "a file named like a peer's",
      "mallory_to_scribe.jsonl",
      (at: string) => writeFileSync(at, "x\n"),
      "no file of a wire",
    ],
    [
      "a document that is too large",
      "PROTOCOL.md",
      (at: string) => {
        writeFileSync(at, "");
        truncateSync(at, 5 << 20);
      },
      "too large",
    ],
    [
      "a log that is too large",
      SCRIBE,
      (at: string) => truncateSync(at, 257 << 20),
      "larger than 256 MiB",
    ],
    [
      "100 MB in a file that no wire has",
      "model.bin",
      (at: string) => (writeFileSync(at, ""), truncateSync(at, 100_000_000)),
      "no file of a wire",
    ],
  ])("with %s", async (_what, path, put, named) => {
    scene.tamper((clone) => {
      mkdirSync(join(clone, path, ".."), { recursive: true });
      put(join(clone, path));
    });
    await forge.turn();
    await scribe.turn();
    const told = [...forge.troubles(), ...scribe.troubles()].join("\n");
    expect(told).toContain("wire_tampered");
    expect(told).toContain(named);
    for (const host of [forge, scribe]) {
      const known = [FORGE, SCRIBE, "config.json"].includes(path);
      if (!known) expect(existsSync(join(host.wire, path))).toBe(false);
    }
    if (path !== SCRIBE) await othersAreServed();
  });

  it("with a submodule", async () => {
    const clone = scene.clone();
    git(
      clone,
      "-c",
      "protocol.file.allow=always",
      "submodule",
      "--quiet",
      "add",
      scene.remote,
      "outbox",
    );
    git(clone, "commit", "--quiet", "-m", "x");
    git(clone, "push", "--quiet", "origin", "HEAD:main");
    await forge.turn();
    expect(forge.troubles().join()).toContain("a submodule");
    expect(existsSync(join(forge.wire, "outbox"))).toBe(false);
    await othersAreServed();
  });

  it(`with ${FILES} files`, async () => {
    const clone = scene.clone();
    const id = git(clone, "rev-parse", `HEAD:${FORGE}`).trim();
    const rows = Array.from({ length: FILES }, (_, at) => `100644 blob ${id}\tj${at}.jsonl`);
    const input = `${rows.join("\n")}\n${git(clone, "ls-tree", "HEAD")}`;
    const tree = execFileSync("git", ["-C", clone, "mktree"], { input, encoding: "utf8" }).trim();
    const commit = git(clone, "commit-tree", tree, "-p", "HEAD", "-m", "x").trim();
    git(clone, "push", "--quiet", "origin", `${commit}:main`);
    await forge.turn();
    expect(forge.troubles().join()).toContain("far more files than a wire");
    await othersAreServed();
  });
});

describe("a history", () => {
  it("that was rewritten stops both ways until the operator decides", async () => {
    const clone = scene.clone();
    git(clone, "checkout", "--quiet", "--orphan", "other");
    git(clone, "commit", "--quiet", "-m", "rewritten");
    git(clone, "push", "--quiet", "--force", "origin", "other:main");
    const before = git(scene.remote, "rev-parse", "main");
    forge.append(FORGE, "f2\n");
    expect(await forge.turn()).toContain("stopped");
    expect(forge.troubles().join()).toContain("history_rewritten");
    expect(git(scene.remote, "rev-parse", "main")).toBe(before);
    forge.transport.acceptHistory();
    expect(await forge.turn()).toBeUndefined();
    expect(scene.inRemote(FORGE)).toBe("f1\nf2\n");
  });

  it("whose branch is gone stops as well", async () => {
    git(scene.remote, "update-ref", "-d", "refs/heads/main");
    expect(await forge.turn()).toContain("the branch is gone");
    expect(git(scene.remote, "branch", "--list")).toBe("");
  });

  it("that was swapped for another wire's is not taken", async () => {
    scene.tamper((clone) => {
      writeFileSync(join(clone, "config.json"), JSON.stringify({ wire_id: "bb" }));
    });
    expect(await forge.turn()).toContain("stopped");
    expect(forge.troubles().join()).toContain("foreign_wire");
    expect(forge.read("config.json")).toContain("aa");
  });

  it("of another origin than the pinned one is not looked at", async () => {
    await forge.close();
    const other = join(scene.root, "other.git");
    git(scene.root, "init", "--quiet", "--bare", other);
    const moved = scene.host("forge", "forge", { remote: other });
    expect(await moved.turn()).toContain("was pinned here");
    expect(git(other, "branch", "--list")).toBe("");
  });
});

describe("a log of ours in the remote", () => {
  it("with lines of others is pushed as we wrote it, and they are kept", async () => {
    scene.tamper((clone) => writeFileSync(join(clone, FORGE), "f1\nnot ours\n"));
    expect(await forge.turn()).toBeUndefined();
    expect(forge.troubles().join()).toContain("somebody has written lines");
    expect(forge.kept).toEqual(["not ours\n"]);
    expect(forge.read(FORGE)).toBe("f1\n");
    expect(scene.inRemote(FORGE)).toBe("f1\n");
  });

  it("with lines that we signed and do not know is not pushed any more", async () => {
    await forge.close();
    const again = scene.host("forge", "forge", { isOurs: (line) => line === "f2" });
    scene.tamper((clone) => writeFileSync(join(clone, FORGE), "f1\nf2\n"));
    again.append(FORGE, "f3\n");
    await again.turn();
    expect(again.troubles().join()).toContain("own_log_ahead");
    expect(again.kept).toEqual(["f2\n"]);
    expect(scene.inRemote(FORGE)).toBe("f1\nf2\n");
    await scribe.turn();
    // Once it has them, it goes on.
    again.write(FORGE, "f1\nf2\nf3\n");
    scribe.append(SCRIBE, "s2\n");
    await scribe.turn();
    await again.turn();
    scene.tamper((clone) => writeFileSync(join(clone, FORGE), "f1\nf2\n\n"));
    await again.turn();
    expect(scene.inRemote(FORGE)).toBe("f1\nf2\nf3\n");
  });

  it("with such lines is pushed again once the operator has accepted ours", async () => {
    await forge.close();
    const again = scene.host("forge", "forge", { isOurs: (line) => line === "f2" });
    scene.tamper((clone) => writeFileSync(join(clone, FORGE), "f1\nf2\n"));
    await again.turn();
    again.transport.acceptHistory();
    again.append(FORGE, "f3\n");
    expect(await again.turn()).toBeUndefined();
    expect(scene.inRemote(FORGE)).toBe("f1\nf3\n");
  });

  it("that is gone from the tree, with all that is beside it, is there again", async () => {
    forge.append(FORGE, "f2\n");
    await forge.turn();
    scene.tamper((clone) => {
      for (const name of readdirSync(clone)) {
        if (name !== ".git") rmSync(join(clone, name), { recursive: true });
      }
    });
    await forge.turn();
    await scribe.turn();
    expect(scene.inRemote(FORGE)).toBe("f1\nf2\n");
    expect(scene.inRemote(SCRIBE)).toBe("s1\n");
    await othersAreServed();
  });

  it("that was cut is made whole again", async () => {
    forge.append(FORGE, "f2\n");
    await forge.turn();
    scene.tamper((clone) => writeFileSync(join(clone, FORGE), ""));
    await forge.turn();
    expect(scene.inRemote(FORGE)).toBe("f1\nf2\n");
  });
});

it("a line of 100 MB without an end is not taken, and what the peer writes later is", async () => {
  scene.tamper((clone) => writeFileSync(join(clone, SCRIBE), `s1\n${"x".repeat(100_000_000)}`));
  await forge.turn();
  expect(forge.read(SCRIBE)).toBe("s1\n");
  await othersAreServed();
});

it("the log of a peer that forks shows both of its sides here", async () => {
  scene.tamper((clone) => writeFileSync(join(clone, SCRIBE), "another s1\ns2\n"));
  await forge.turn();
  expect(forge.read(SCRIBE)).toBe("s1\nanother s1\ns2\n");
});

it("converted line ends are named, and no line is taken twice", async () => {
  scene.tamper((clone) => writeFileSync(join(clone, SCRIBE), "s1\r\ns2\r\n"));
  await forge.turn();
  expect(forge.read(SCRIBE)).toBe("s1\ns2\n");
  expect(forge.troubles().join()).toContain("CR LF");
});

describe("nothing runs", () => {
  it("of hooks, filters, monitors and aliases that the user or a commit configures", async () => {
    await forge.close();
    const marks = join(scene.root, "marks");
    mkdirSync(marks);
    const hooks = join(scene.root, "hooks");
    mkdirSync(hooks);
    for (const name of ["pre-push", "reference-transaction", "post-checkout", "pre-commit"]) {
      writeFileSync(join(hooks, name), `#!/bin/sh\ntouch ${marks}/${name}\n`, { mode: 0o755 });
    }
    writeFileSync(
      join(scene.root, "forge", "home", ".gitconfig"),
      [
        `[core]\n\thooksPath = ${hooks}\n\tfsmonitor = touch ${marks}/monitor\n\tpager = touch ${marks}/pager`,
        `[filter "evil"]\n\tclean = touch ${marks}/clean\n\tsmudge = touch ${marks}/smudge`,
        `[alias]\n\tfetch = !touch ${marks}/alias`,
        `[url "${scene.root}/elsewhere"]\n\tinsteadOf = ${scene.remote}`,
        `[init]\n\ttemplateDir = ${hooks}`,
        "",
      ].join("\n"),
    );
    const again = scene.host("forge");
    again.append(FORGE, "f2\n");
    expect(await again.turn()).toBeUndefined();
    expect(scene.inRemote(FORGE)).toBe("f1\nf2\n");
    scene.tamper((clone) => writeFileSync(join(clone, ".gitattributes"), "* filter=evil\n"));
    again.append(FORGE, "f3\n");
    expect(await again.turn()).toBeUndefined();
    expect(scene.inRemote(FORGE)).toBe("f1\nf2\nf3\n");
    expect(readdirSync(marks)).toEqual([]);
  });

  it("of a submodule whose URL is a command; it is named", async () => {
    const mark = join(scene.root, "mark");
    scene.tamper((clone) =>
      writeFileSync(
        join(clone, ".gitmodules"),
        `[submodule "x"]\n\tpath = x\n\turl = ext::touch ${mark}\n`,
      ),
    );
    const problem = await forge.turn();
    expect([problem, ...forge.troubles()].join()).toContain(".gitmodules");
    expect(existsSync(join(forge.wire, ".gitmodules"))).toBe(false);
    expect(existsSync(mark)).toBe(false);
  });

  it("where git is missing or too old; it is named", async () => {
    const bin = join(scene.root, "bin");
    mkdirSync(bin);
    const none = scene.host("forge", "third", { env: { PATH: bin } });
    expect(await none.turn()).toContain("no_git");
    writeFileSync(join(bin, "git"), "#!/bin/sh\necho git version 2.20.1\n", { mode: 0o755 });
    const old = scene.host("forge", "fourth", { env: { PATH: bin } });
    expect(await old.turn()).toBe("no_git: git 2.20 is too old");
  });
});

it("a repository that refuses pushes is named, and what it has is taken", async () => {
  const hook = join(scene.remote, "hooks", "pre-receive");
  mkdirSync(join(scene.remote, "hooks"), { recursive: true });
  scribe.append(SCRIBE, "s2\n");
  await scribe.turn();
  writeFileSync(hook, "#!/bin/sh\necho $'\\033[31mgo away' >&2\nexit 1\n", { mode: 0o755 });
  forge.append(FORGE, "f2\n");
  const problem = (await forge.turn()) ?? "";
  expect(problem).toContain("read_only");
  expect(problem).not.toMatch(/\u001b/);
  expect(forge.read(SCRIBE)).toBe("s1\ns2\n");
  expect(readFileSync(join(forge.wire, FORGE), "utf8")).toBe("f1\nf2\n");
  rmSync(hook);
  expect(await forge.turn()).toBeUndefined();
  expect(scene.inRemote(FORGE)).toBe("f1\nf2\n");
});

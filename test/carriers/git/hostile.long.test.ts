import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { amount } from "../../support/amounts.ts";
import { CONFIG, git, GitScene, type GitAgent } from "./git-scene.ts";

// What members of a wire, and the owners of its repository, can do to the others by git alone: lines of those
// who are not concerned go on, and what is not taken is named.

const [FORGE, SCRIBE] = ["outbox/forge.jsonl", "outbox/scribe.jsonl"];

let scene: GitScene;
let forge: GitAgent;
let scribe: GitAgent;
async function begin(): Promise<void> {
  scene = new GitScene();
  [forge, scribe] = [scene.agent("forge"), scene.agent("scribe")];
  forge.write("config.json", CONFIG);
  forge.say("f1");
  scribe.say("s1");
  await turns(forge, scribe, forge);
}

async function turns(...agents: readonly GitAgent[]): Promise<void> {
  for (const agent of agents) expect(await agent.turn()).toBeUndefined();
}

/** Both go on: each has every line of the other, and the repository has all. */
async function linesGoOn(): Promise<void> {
  forge.say(`f${forge.chain.length + 1}`);
  scribe.say(`s${scribe.chain.length + 1}`);
  await turns(forge, scribe, forge);
  for (const [path, agent, reader] of [
    [FORGE, forge, scribe],
    [SCRIBE, scribe, forge],
  ] as const) {
    const lines = new Set(scene.inRemote(path).split("\n"));
    for (const { bytes } of agent.chain) {
      expect(lines).toContain(Buffer.from(bytes).toString());
      expect(reader.held).toContain(Buffer.from(bytes).toString());
    }
  }
}

const put =
  (work: (at: string) => void) =>
  (at: string): void => {
    const above = dirname(at);
    if (existsSync(above) && !statSync(above).isDirectory()) rmSync(above);
    else rmSync(at, { force: true, recursive: true });
    mkdirSync(above, { recursive: true });
    work(at);
  };
const text = (content: string): ((at: string) => void) => put((at) => writeFileSync(at, content));
const link = put((at) => symlinkSync("/etc/passwd", at));
/** As a clone with `core.autocrlf` may leave them. */
const convert = (at: string): void => {
  for (const name of readdirSync(dirname(at))) {
    const path = join(dirname(at), name);
    writeFileSync(path, readFileSync(path, "utf8").replaceAll("\n", "\r\n"));
  }
};
const huge = (bytes: number): ((at: string) => void) =>
  put((at) => {
    writeFileSync(at, "");
    truncateSync(at, bytes);
  });

/** Who can push puts it there; what operators are told of it, if anything. */
type Case = readonly [name: string, path: string, change: (at: string) => void, told: string];

/** Each costs gigabytes of memory traffic, so they are for the night. */
const TOO_LARGE = [FORGE, "outbox/ann.jsonl"]
  .slice(0, amount(0, 2))
  .map((path): Case => [`too much in ${path}`, path, huge(257 << 20), "larger than 256 MiB"]);

const CASES: readonly Case[] = [
  ["a link as a document", "tiers.json", link, "a symbolic link"],
  ["a link as a file of ours", FORGE, link, "a symbolic link"],
  ["a link as the folder of all", "outbox", link, "a symbolic link"],
  ["a file as the folder of all", "outbox", text("x\n"), "no path of a wire"],
  ["a folder as a file of ours", `${FORGE}/x`, text("x\n"), "no path of a wire"],
  [
    "a program as a card",
    "trust/ann.card.json",
    put((at) => {
      writeFileSync(at, "{}");
      chmodSync(at, 0o755);
    }),
    "may be executed",
  ],
  ["a path that no wire has", "run-me.sh", text("rm -rf /"), "no path of a wire"],
  ["another case of a path", "Outbox/forge.jsonl", text("x\n"), "no path of a wire"],
  ["a deep path", "a/b/c/d/e/f/g/h.jsonl", text("x\n"), "no path of a wire"],
  ["an owner that nobody knows", "outbox/mallory.jsonl", text("x\n"), "no path of a wire"],
  ["a document that is too large", "PROTOCOL.md", huge(5 << 20), "larger than 4 MiB"],
  ...TOO_LARGE,
  [
    "attributes that convert",
    ".gitattributes",
    text("*.jsonl text eol=crlf filter=x ident\noutbox/ann.jsonl working-tree-encoding=UTF-16LE\n"),
    "",
  ],
  ["junk in a file of ours", FORGE, text('junk\n{"from":"forge","seq":1}\n\0\0\n{"tor'), ""],
  ["nothing in a file of ours", FORGE, text(""), ""],
  ["other line ends in all files", SCRIBE, convert, ""],
];

describe("a tree with", () => {
  let good = "";
  beforeAll(async () => {
    await begin();
    good = git(scene.remote, "rev-parse", "main").trim();
  });
  afterAll(() => scene.remove());

  test.each(CASES)("%s", async (_what, path, change, named) => {
    scene.tamper((clone) => {
      // What the one before has left is gone.
      git(clone, "rm", "-r", "-f", "--quiet", ".");
      git(clone, "checkout", "--quiet", good, "--", ".");
      change(join(clone, path));
    });
    await turns(scribe);
    const told = scribe.troubles();
    await linesGoOn();
    if (named === "") expect(told).toBe("");
    else expect(told).toContain(named);
    const mirror = join(scribe.state, "mirror");
    for (const name of readdirSync(mirror, { recursive: true, withFileTypes: true }))
      expect(name.isFile() || name.isDirectory()).toBe(true);
    if (named === "no path of a wire" && !path.startsWith("outbox"))
      expect(existsSync(join(mirror, path))).toBe(false);
  });
});

describe("a repository", () => {
  beforeEach(begin);
  afterEach(() => scene.remove());

  test("a shared file that is too large is left as it is", async () => {
    forge.write("decisions.jsonl", "d1\n");
    await turns(forge, scribe);
    scene.tamper((clone) => huge(65 << 20)(join(clone, "decisions.jsonl")));
    forge.append("decisions.jsonl", "d2\n");
    await turns(forge);
    expect(forge.troubles()).toContain("larger than 64 MiB");
    await linesGoOn();
    expect(git(scene.remote, "cat-file", "-s", "main:decisions.jsonl").trim()).toBe(`${65 << 20}`);
    expect(scribe.read("decisions.jsonl")).toBe("d1\n");
  });

  test("what somebody added by hand to a file of ours is there after that was replaced", async () => {
    const note = '{"from":"forge","by":"hand"}';
    scene.tamper((clone) => appendFileSync(join(clone, FORGE), `${note}\n`));
    await turns(forge);
    scene.tamper((clone) => chmodSync(join(clone, FORGE), 0o755));
    await turns(forge);
    expect(scene.inRemote(FORGE)).toContain(note);
    expect(git(scene.remote, "ls-tree", "main", FORGE)).toMatch(/^100644/);
    await linesGoOn();
  });

  test("an owner whose file cannot be taken is not known to its end; others are", async () => {
    scene.tamper((clone) => link(join(clone, "outbox/ann.jsonl")));
    await turns(forge);
    expect(forge.transport.knownMs("ann", forge.wallMs)).toBeUndefined();
    expect(forge.transport.knownMs("scribe", forge.wallMs)).toBe(forge.wallMs);
  });

  test("a submodule as the folder of all", async () => {
    scene.tamper((clone) => {
      git(clone, "rm", "-r", "--quiet", "outbox");
      const add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
      git(clone, ...add, scene.remote, "outbox");
    });
    await turns(forge);
    expect(forge.troubles()).toContain("a submodule");
    expect(forge.transport.knownMs("ann", forge.wallMs)).toBeUndefined();
    await linesGoOn();
  });

  test("names that lead elsewhere, in a tree that git would not check out", async () => {
    const clone = scene.clone();
    const run = (input: string | Buffer, ...args: readonly string[]): string =>
      execFileSync("git", ["-C", clone, ...args], { input, encoding: "utf8" }).trim();
    const blob = run("x\n", "hash-object", "-w", "--stdin");
    const entry = (name: string): Buffer =>
      Buffer.concat([Buffer.from(`100644 ${name}\0`), Buffer.from(blob, "hex")]);
    const names = ["\u001b[31m", "..", ".git", "a\nb", "outbox/../../x"];
    const bytes = Buffer.concat(names.map(entry));
    const odd = run(bytes, "hash-object", "-w", "-t", "tree", "--literally", "--stdin");
    const listed = git(clone, "ls-tree", "HEAD");
    const tree = run(`${listed}040000 tree ${odd}\ttrust\n`, "mktree");
    const commit = run("", "commit-tree", tree, "-p", "HEAD", "-m", "x");
    git(clone, "push", "--quiet", "origin", `${commit}:main`);
    await turns(forge, scribe);
    expect(forge.troubles()).toContain("no path of a wire");
    expect(forge.troubles()).not.toContain("\u001b");
    await linesGoOn();
  });

  test("far more files than a wire has", async () => {
    const clone = scene.clone();
    const blob = git(clone, "rev-parse", `HEAD:${FORGE}`).trim();
    const rows = Array.from({ length: 150_000 }, (_, at) => `100644 blob ${blob}\tj${at}.jsonl`);
    const input = `${rows.join("\n")}\n${git(clone, "ls-tree", "HEAD")}`;
    const tree = execFileSync("git", ["-C", clone, "mktree"], { input, encoding: "utf8" }).trim();
    const commit = git(clone, "commit-tree", tree, "-p", "HEAD", "-m", "x").trim();
    git(clone, "push", "--quiet", "origin", `${commit}:main`);
    await turns(forge);
    expect(forge.troubles()).toContain("far more files");
    await linesGoOn();
  });

  test("a history that was rewritten: lines are taken, nothing is pushed until that is accepted", async () => {
    scribe.say("s2");
    await turns(scribe);
    const knownMs = forge.transport.knownMs("scribe", forge.wallMs);
    const clone = scene.clone();
    git(clone, "checkout", "--quiet", "--orphan", "other");
    writeFileSync(join(clone, SCRIBE), '{"from":"scribe","seq":9,"body":"s9"}\n');
    git(clone, "rm", "--cached", "--quiet", FORGE);
    git(clone, "add", SCRIBE);
    git(clone, "commit", "--quiet", "-m", "rewritten");
    git(clone, "push", "--quiet", "--force", "origin", "other:main");
    const head = git(scene.remote, "rev-parse", "main");
    forge.say("f2");
    await turns(forge, forge);
    expect(forge.troubles()).toContain("history_rewritten");
    expect(forge.bodies("scribe")).toEqual(["s1", "s9"]);
    expect(forge.transport.knownMs("scribe", forge.wallMs)).toBe(knownMs);
    expect(git(scene.remote, "rev-parse", "main")).toBe(head);
    forge.transport.acceptHistory();
    await turns(forge);
    expect(forge.troubles()).toBe("");
    expect(scene.inRemote(FORGE)).toContain("f2");
    // Who has not accepted it reads on.
    await turns(scribe);
    expect(scribe.troubles()).toContain("history_rewritten");
    expect(scribe.bodies("forge")).toEqual(["f1", "f2"]);
    scribe.transport.acceptHistory();
    await turns(scribe);
    await linesGoOn();
  });

  test("a history that was rewritten and put back is none", async () => {
    const head = git(scene.remote, "rev-parse", "main").trim();
    const first = git(scene.remote, "rev-list", "--max-parents=0", "main").trim();
    git(scene.remote, "update-ref", "refs/heads/main", first);
    await turns(forge);
    expect(forge.troubles()).toContain("history_rewritten");
    git(scene.remote, "update-ref", "refs/heads/main", head);
    await turns(forge);
    expect(forge.troubles()).toBe("");
    await linesGoOn();
  });

  test("a branch that was removed is a history that was rewritten", async () => {
    git(scene.remote, "update-ref", "-d", "refs/heads/main");
    await turns(forge, scribe);
    for (const agent of [forge, scribe]) {
      expect(agent.troubles()).toContain("the branch is gone");
      agent.transport.acceptHistory();
    }
    await turns(forge);
    await linesGoOn();
  });

  test("another wire: nothing is taken or pushed until ours is back", async () => {
    const head = git(scene.remote, "rev-parse", "main").trim();
    scene.tamper((clone) => {
      writeFileSync(join(clone, "config.json"), JSON.stringify({ wire_id: "another" }));
      writeFileSync(join(clone, SCRIBE), '{"from":"scribe","seq":9,"body":"s9"}\n');
    });
    const foreign = git(scene.remote, "rev-parse", "main");
    forge.say("f2");
    expect(await forge.turn()).toMatch(/^stopped: .*another/);
    expect(forge.troubles()).toContain("foreign_wire");
    expect(forge.bodies("scribe")).toEqual(["s1"]);
    expect(git(scene.remote, "rev-parse", "main")).toBe(foreign);
    expect(forge.read("config.json")).toBe(CONFIG);
    scene.tamper((clone) => git(clone, "checkout", "--quiet", head, "--", "."));
    await linesGoOn();
  });

  test("another remote than the pinned one is not used", async () => {
    const other = new GitScene();
    try {
      const moved = scene.agent("forge", "forge", { remote: other.remote });
      expect(await moved.turn()).toMatch(/^stopped: .*was pinned here/);
      expect(git(other.remote, "for-each-ref")).toBe("");
    } finally {
      await other.remove();
    }
  });

  test("objects that the repository has lost stop fetching, and are named", async () => {
    const id = git(scene.remote, "rev-parse", "main:outbox/scribe.jsonl").trim();
    git(scene.remote, "repack", "-a", "-d", "-q");
    const packs = join(scene.remote, "objects/pack");
    const [pack = ""] = readdirSync(packs).filter((name) => name.endsWith(".pack"));
    const bytes = readFileSync(join(packs, pack));
    for (const name of readdirSync(packs)) rmSync(join(packs, name));
    execFileSync("git", ["-C", scene.remote, "unpack-objects", "-q"], { input: bytes });
    rmSync(join(scene.remote, "objects", id.slice(0, 2), id.slice(2)), { force: true });
    const late = scene.agent("ann");
    const problems = [await late.turn(), await late.turn()];
    expect(problems.join("\n")).toMatch(
      new RegExp(`${id.slice(0, 8)}|unable|missing|bad object|pack`),
    );
    expect(late.transport.knownMs("scribe", late.wallMs)).toBeUndefined();
    expect(late.bodies("scribe")).toEqual([]);
  });

  test("objects that git refuses stop fetching, and are named", async () => {
    const clone = scene.clone();
    const parent = git(clone, "rev-parse", "HEAD").trim();
    const tree = git(clone, "rev-parse", "HEAD^{tree}").trim();
    const input = `tree ${tree}\nparent ${parent}\nauthor x\n\nno committer\n`;
    const args = ["-C", clone, "hash-object", "-w", "-t", "commit", "--literally", "--stdin"];
    const commit = execFileSync("git", args, { input, encoding: "utf8" }).trim();
    git(clone, "push", "--quiet", "origin", `${commit}:main`);
    expect(await forge.turn()).toMatch(/^stopped: .*git refuses/);
    expect(forge.troubles()).toContain("wire_tampered");
  });

  test("a mirror or a repository that is deleted or damaged while in use is made again", async () => {
    rmSync(join(forge.state, "mirror"), { recursive: true });
    forge.say("f2");
    await turns(forge, scribe);
    expect(scribe.bodies("forge")).toEqual(["f1", "f2"]);
    expect(forge.mirrored(SCRIBE)).toContain("s1");
    rmSync(join(forge.state, "repository"), { recursive: true });
    forge.say("f3");
    await forge.turn();
    await turns(forge, scribe);
    const objects = join(forge.state, "repository/objects");
    for (const name of readdirSync(objects)) rmSync(join(objects, name), { recursive: true });
    writeFileSync(join(forge.state, "mirror", SCRIBE), "torn");
    forge.say("f4");
    await forge.turn();
    await turns(forge, scribe);
    rmSync(forge.state, { recursive: true });
    forge.say("f5");
    await forge.turn();
    await turns(forge, scribe);
    expect(scribe.bodies("forge")).toEqual(["f1", "f2", "f3", "f4", "f5"]);
    expect(forge.mirrored(SCRIBE)).toContain("s1");
    await linesGoOn();
  });
});

import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { claimWire } from "../../../src/carriers/git/look-at-remote.ts";
import { Repository } from "../../../src/carriers/git/repository.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { CONDITION_LIMIT_MS } from "../../support/hang-guard.ts";
import { CONFIG, git, GitScene, layoutOf, type GitAgent } from "./git-scene.ts";

// Spec 5.2: what machines that share a repository get to see of each other.

const DECISIONS = "decisions.jsonl";
const [FORGE, ANN] = ["outbox/forge.jsonl", "outbox/ann.jsonl"];

let scene: GitScene;
let forge: GitAgent;
let scribe: GitAgent;
beforeEach(() => {
  scene = new GitScene();
  [forge, scribe] = [scene.agent("forge"), scene.agent("scribe")];
  forge.write("config.json", CONFIG);
});
afterEach(() => scene.remove());

/** A git that notes the commands which it is called with, but not those that git calls itself. */
function notingGit(root: string) {
  const [bin, log] = [join(root, "bin"), join(root, "calls")];
  mkdirSync(bin, { recursive: true });
  const path = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  const script = `#!/bin/sh\n[ "$PPID" = ${process.pid} ] && echo "$1" >>"${log}"\nexec "${path}" "$@"\n`;
  writeFileSync(join(bin, "git"), script);
  chmodSync(join(bin, "git"), 0o755);
  return {
    env: { PATH: [bin, process.env["PATH"]].join(delimiter) },
    /** Since the last time, sorted. */
    calls(): string[] {
      const calls = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
      rmSync(log, { force: true });
      return calls.toSorted();
    },
  };
}

async function turns(...agents: readonly GitAgent[]): Promise<void> {
  for (const agent of agents) expect(await agent.turn()).toBeUndefined();
}

describe("lines", () => {
  test("of each reach the other, and their marks are on disk first", async () => {
    forge.say("f1", "f2");
    scribe.say("s1");
    await turns(forge, scribe, forge);
    expect(scribe.bodies("forge")).toEqual(["f1", "f2"]);
    expect(forge.bodies("scribe")).toEqual(["s1"]);
    expect([forge.marked, scribe.marked]).toEqual([2, 1]);
    expect(scribe.read("config.json")).toBe(CONFIG);
    expect(scene.inRemote(".gitattributes")).toBe("*.jsonl merge=union -text\n");
    const head = git(scene.remote, "rev-parse", "main");
    await turns(forge, scribe);
    expect(git(scene.remote, "rev-parse", "main")).toBe(head);
  });

  test("in no chain reach the other when nothing chained was ever said", async () => {
    const beat = forge.beat();
    await turns(forge, scribe);
    expect([...scribe.held]).toEqual([beat]);
  });

  test("are pushed once, also when the chain is taken in from there after a push", async () => {
    forge.say("f1", "f2", "f3");
    await turns(forge);
    const before = scene.inRemote(FORGE);
    const again = scene.agent("forge", "another machine");
    again.beat();
    await turns(again);
    again.chain.push(...forge.chain);
    again.adopted += 1;
    await turns(again);
    const lines = scene
      .inRemote(FORGE)
      .split("\n")
      .filter((line) => line.includes('"seq"'));
    expect(lines).toEqual(before.trimEnd().split("\n"));
  });

  test("of three that push at once are all there in the end", async () => {
    const agents = [forge, scribe, scene.agent("ann")];
    await turns(forge);
    for (let round = 1; round <= 3; round += 1) {
      for (const agent of agents) agent.say(`${agent.handle}${round}`);
      await Promise.all(agents.map((agent) => agent.turn()));
    }
    await turns(...agents, ...agents);
    for (const reader of agents)
      for (const { handle } of agents)
        expect(reader.bodies(handle)).toEqual([1, 2, 3].map((round) => `${handle}${round}`));
  });

  test("of a person's clone are merged with ours by git itself", async () => {
    const ann = scene.agent("ann");
    forge.say("f1");
    await turns(forge, scribe);
    const clone = scene.clone();
    mkdirSync(join(clone, "outbox"), { recursive: true });
    appendFileSync(join(clone, ANN), '{"from":"ann","seq":1,"body":"by hand"}\n');
    // She repairs a file of forge's as well, while forge goes on.
    appendFileSync(join(clone, FORGE), "a note of hers\n");
    appendFileSync(join(clone, DECISIONS), '{"n":"hers"}\n');
    git(clone, "add", "--all");
    git(clone, "commit", "--quiet", "-m", "by hand");
    forge.say("f2");
    forge.write(DECISIONS, '{"n":"ours"}\n');
    await turns(forge);
    git(clone, "pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main");
    git(clone, "push", "--quiet", "origin", "HEAD:main");
    forge.say("f3");
    await turns(forge, scribe, ann);
    expect(scribe.bodies("forge")).toEqual(["f1", "f2", "f3"]);
    expect(scribe.bodies("ann")).toEqual(["by hand"]);
    expect(scribe.held).toContain("a note of hers");
    const lines = forge.read(DECISIONS).trim().split("\n");
    expect(lines.toSorted()).toEqual(['{"n":"hers"}', '{"n":"ours"}']);
    expect(ann.read(DECISIONS).trim().split("\n").toSorted()).toEqual(lines.toSorted());
  });

  test("said while the remote is away are pushed when it is back", async () => {
    forge.say("f1");
    await turns(forge, scribe);
    renameSync(scene.remote, `${scene.remote}.away`);
    forge.say("f2");
    expect(await forge.turn()).toMatch(/^no_remote: /);
    const { fetchedMs } = scribe.transport.health();
    expect(await scribe.turn()).toMatch(/^no_remote: /);
    expect(scribe.transport.knownMs("forge", scribe.wallMs)).toBe(fetchedMs);
    forge.say("f3");
    renameSync(`${scene.remote}.away`, scene.remote);
    await turns(forge, scribe);
    expect(scribe.bodies("forge")).toEqual(["f1", "f2", "f3"]);
  });

  test("of a file that has grown long go into archived parts, and none is lost", async () => {
    const body = "x".repeat(900_000);
    forge.say(...Array.from({ length: 20 }, () => body), "f21");
    await turns(forge);
    forge.say("f22");
    await turns(forge, forge, scribe);
    expect(scribe.bodies("forge").slice(-2)).toEqual(["f21", "f22"]);
    expect(scribe.bodies("forge")).toHaveLength(22);
    expect(scene.inRemote(FORGE).split("\n")).toHaveLength(2);
    expect(scene.inRemote("archive/2026/forge.jsonl").split("\n")).toHaveLength(22);
    expect(git(scene.remote, "ls-tree", "--name-only", "main", "archive/2026/")).toBe(
      "archive/2026/forge.jsonl\n",
    );
  });

  test("reach a member that does not chain by copies in its own file", async () => {
    const layout = layoutOf("forge");
    const takes = ({ seq }: { seq: number }): boolean => seq % 2 === 0;
    const ours = [{ path: FORGE }, { path: "forge_to_ann.jsonl", takes }];
    const chained = scene.agent("forge", "other", { layout: { ...layout, ours } });
    chained.write("config.json", CONFIG);
    chained.say("f1", "f2", "f3", "f4");
    await turns(chained, scribe);
    expect(scribe.mirrored("forge_to_ann.jsonl").match(/f\d/gu)).toEqual(["f2", "f4"]);
    expect(scribe.mirrored(FORGE).match(/f\d/gu)).toEqual(["f1", "f2", "f3", "f4"]);
  });

  test("live in a folder of a repository that has other things", async () => {
    scene.tamper((clone) => writeFileSync(join(clone, "README.md"), "ours\n"));
    const inFolder = { prefix: "wire/" };
    const [one, two] = [scene.agent("forge", "a", inFolder), scene.agent("scribe", "b", inFolder)];
    one.write("config.json", CONFIG);
    one.say("f1");
    await turns(one, two);
    expect(two.bodies("forge")).toEqual(["f1"]);
    expect(two.troubles()).toBe("");
    expect(scene.inRemote(`wire/${FORGE}`)).toContain("f1");
  });

  test("are pushed to a repository with SHA-256 ids", async () => {
    const other = new GitScene("--object-format=sha256");
    try {
      const [one, two] = [other.agent("forge"), other.agent("scribe")];
      one.write("config.json", CONFIG);
      one.say("f1");
      await turns(one, two);
      expect(two.bodies("forge")).toEqual(["f1"]);
    } finally {
      await other.remove();
    }
  });
});

test("a line costs two calls of git to send and four to receive, whatever the repository holds", async () => {
  const noting = notingGit(scene.root);
  const [one, two] = [scene.agent("forge", "a", noting), scene.agent("scribe", "b", noting)];
  one.write("config.json", CONFIG);
  one.say("f1");
  two.say("s1");
  await turns(one, two, one);
  noting.calls();
  one.say("f2");
  await one.turn({ fetch: false, push: true });
  expect(noting.calls()).toEqual(["fast-import", "push"]);
  await turns(two);
  expect(two.bodies("forge")).toEqual(["f1", "f2"]);
  expect(noting.calls()).toEqual(["cat-file", "fetch", "ls-tree", "merge-base"]);
  await turns(two);
  expect(noting.calls()).toEqual(["fetch"]);
});

test("daemons that run push and fetch by themselves", async () => {
  const machine = "host";
  const [here, there] = [scene.agent("forge", machine), scene.agent("ann", machine)];
  here.write("config.json", CONFIG);
  for (const agent of [here, there, scribe]) agent.transport.start();
  here.say("f1");
  scribe.say("s1");
  for (const agent of [here, scribe]) agent.transport.publish("soon");
  await vi.waitUntil(
    () => {
      scribe.transport.refresh();
      for (const agent of [here, there, scribe]) agent.readAll();
      const isThere = [here, there].every((agent) => agent.bodies("scribe").length === 1);
      return isThere && scribe.bodies("forge").length === 1;
    },
    { timeout: CONDITION_LIMIT_MS, interval: 100 },
  );
  for (const { transport } of [here, there, scribe])
    expect(transport.health().problem).toBeUndefined();
});

describe("two daemons of one machine", () => {
  test("share a mirror: a fetch of one serves both, and each pushes its own", async () => {
    const [here, there] = [scene.agent("forge", "host"), scene.agent("ann", "host")];
    here.write("config.json", CONFIG);
    scribe.say("s1");
    here.say("f1");
    there.say("a1");
    await turns(here, there, scribe, here);
    expect(here.bodies("scribe")).toEqual(["s1"]);
    expect(here.transport.health().isMover).toBe(true);
    expect(there.transport.health().isMover).toBe(false);
    // It finds what the other one has fetched, without a fetch of its own.
    await turns(scribe);
    renameSync(scene.remote, `${scene.remote}.away`);
    const before = here.transport.knownMs("scribe", here.wallMs);
    there.wallMs = here.wallMs;
    await there.transport.turn({ fetch: true, push: false, maxAgeMs: 30_000 });
    there.readAll();
    expect(there.transport.health().problem).toBeUndefined();
    expect(there.bodies("scribe")).toEqual(["s1"]);
    expect(there.transport.knownMs("scribe", there.wallMs)).toBe(before);
    renameSync(`${scene.remote}.away`, scene.remote);
    await Promise.all([here.turn(), there.turn()]);
    expect(scene.inRemote(ANN)).toContain("a1");
    await here.transport.stop();
    await turns(there);
    expect(there.transport.health().isMover).toBe(true);
  });
});

describe("documents", () => {
  beforeEach(async () => {
    forge.write("tiers.json", "1");
    await turns(forge, scribe);
  });

  test("follow the side that changed since both were the same", async () => {
    expect(scribe.read("tiers.json")).toBe("1");
    scribe.write("tiers.json", "2");
    await turns(scribe, forge);
    expect(forge.read("tiers.json")).toBe("2");
  });

  test("that both sides changed are as the remote has them", async () => {
    scribe.write("tiers.json", "scribe's");
    forge.write("tiers.json", "forge's");
    await turns(scribe, forge, scribe);
    for (const agent of [forge, scribe]) expect(agent.read("tiers.json")).toBe("scribe's");
  });

  test("of an agent are as that agent has them", async () => {
    forge.write("trust/forge.card.json", "card");
    await turns(forge, scribe);
    expect(scribe.read("trust/forge.card.json")).toBe("card");
    scribe.write("trust/forge.card.json", "forged here");
    scene.tamper((clone) => writeFileSync(join(clone, "trust/forge.card.json"), "forged there"));
    await turns(scribe, forge, scribe);
    for (const agent of [forge, scribe]) expect(agent.read("trust/forge.card.json")).toBe("card");
  });
});

test("shared files get the lines that they lack, also those that are archived", async () => {
  forge.write(DECISIONS, "d1\n");
  await turns(forge, scribe);
  forge.write("archive/2025/decisions.jsonl", "d1\n");
  forge.write(DECISIONS, "d2\nunterminated");
  scribe.append(DECISIONS, "d3\r\n\n");
  await turns(scribe, forge, scribe, forge);
  expect(scribe.read(DECISIONS)).toBe("d1\nd3\r\n\nd2\n");
  expect(forge.read(DECISIONS)).toBe("d2\nunterminated\nd3\n");
  // The line that was not ended is one since another was appended behind it.
  expect(scene.inRemote(DECISIONS)).toBe("d1\nd3\nd2\nunterminated\n");
});

test("the id of a wire is that whose config.json was pushed first", async () => {
  const configs = ["one", "two", "three"].map((id) => JSON.stringify({ wire_id: id }));
  const claimed = await Promise.all(
    configs.map(async (config, at) => {
      const place = {
        folder: join(scene.root, `claim-${at}`),
        remote: { url: scene.remote, scheme: "file" as const },
        ...{ branch: "main", prefix: "", handle: "forge", wallMs: () => 0 },
      };
      const repository = await Repository.open(nodeDisk(), place, process.env);
      const bytes = await claimWire(repository, Buffer.from(config), () => Promise.resolve());
      return Buffer.from(bytes).toString();
    }),
  );
  expect(new Set(claimed)).toEqual(new Set([scene.inRemote("config.json")]));
  expect(configs).toContain(claimed[0]);
});

test("commits are signed where the user has configured that", async () => {
  const home = join(scene.root, "forge/home");
  const key = join(home, "key");
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
  const config = `[commit]\n\tgpgsign = true\n[gpg]\n\tformat = ssh\n[user]\n\tsigningkey = ${key}.pub\n`;
  writeFileSync(join(home, ".gitconfig"), config);
  await turns(forge);
  expect(git(scene.remote, "cat-file", "commit", "main")).toContain("BEGIN SSH SIGNATURE");
});

test("an owner is known as of when the fetch began; once a clock was set back, that proves nothing", async () => {
  await turns(forge, scribe);
  const knownMs = scribe.transport.knownMs("forge", scribe.wallMs);
  expect(knownMs).toBe(scribe.wallMs);
  expect(scribe.transport.knownMs("forge", scribe.wallMs - 1)).toBeUndefined();
  expect(scribe.transport.knownMs("forge", scribe.wallMs)).toBeUndefined();
  await turns(scribe);
  expect(scribe.transport.knownMs("forge", scribe.wallMs)).toBe(scribe.wallMs);
  expect(scribe.transport.knownMs("scribe", 7)).toBe(7);
});

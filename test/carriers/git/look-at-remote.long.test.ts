import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fetchRemote, type LookedRemote } from "../../../src/carriers/git/look-at-remote.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { CONFIG, git, GitScene, layoutOf } from "./git-scene.ts";

// Spec 1.1, 5.2: what an operator is shown of a repository before a wire is shared through it.

let scene: GitScene;
let looked: LookedRemote[];
beforeEach(() => {
  scene = new GitScene();
  looked = [];
});
afterEach(async () => {
  for (const each of looked) each.close();
  await scene.remove();
});

async function look(branch?: string, remote = scene.remote): Promise<LookedRemote> {
  const env = { PATH: process.env["PATH"], HOME: scene.root };
  const looking = { disk: nodeDisk(), env, wallMs: () => Date.parse("2026-06-01T10:00:00Z") };
  const found = await fetchRemote(looking, { url: remote, scheme: "file" }, branch);
  looked.push(found);
  return found;
}

function put(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

test("an empty repository has no wire, and whoever claims it first has made it", async () => {
  const [one, other] = [await look(), await look()];
  expect([one.branch, one.head, one.prefix, one.config]).toEqual([
    "main",
    undefined,
    undefined,
    undefined,
  ]);
  expect(Buffer.from(await one.claim(Buffer.from(CONFIG))).toString()).toBe(CONFIG);
  const late = await other.claim(Buffer.from('{"wire_id":"later"}\n'));
  expect(Buffer.from(late).toString()).toBe(CONFIG);
});

test("a wire is found at the top or beside a project, on the branch that the repository names", async () => {
  scene.tamper((clone) => put(clone, { "config.json": "{}", "README.md": "a project" }));
  expect((await look()).prefix).toBeUndefined();
  scene.tamper((clone) =>
    put(clone, { "_coordination/config.json": CONFIG, "_coordination/PROTOCOL.md": "" }),
  );
  const beside = await look();
  expect([beside.prefix, Buffer.from(beside.config ?? []).toString()]).toEqual([
    "_coordination/",
    CONFIG,
  ]);
  expect(beside.head).toBe(git(scene.remote, "rev-parse", "main").trim());
  git(scene.remote, "branch", "deaddrop", "main");
  git(scene.remote, "symbolic-ref", "HEAD", "refs/heads/deaddrop");
  expect((await look()).branch).toBe("deaddrop");
  expect((await look("none")).head).toBeUndefined();
});

test("documents and carriers of a wire are copied, nothing else, and none that is there is replaced", async () => {
  scene.tamper((clone) => {
    put(clone, {
      ...{
        "config.json": CONFIG,
        "PROTOCOL.md": "made",
        "tiers.json": "{}\n",
        "trust.json": "{}\n",
      },
      ...{ "trust/ann.card.json": "{}\n", "trust/eve.card.json": "{}\n", "ann_state.json": "{}\n" },
      ...{ "outbox/ann.jsonl": "{}\n", "outbox/eve.jsonl": "{}\n", "decisions.jsonl": "{}\n" },
    });
    symlinkSync("/etc/passwd", join(clone, "forge_state.json"));
  });
  const wireDir = mkdtempSync(join(scene.root, "made-"));
  put(wireDir, { "tiers.json": "ours" });
  const found = await look();
  await found.copyWire(nodeDisk(), wireDir, layoutOf("forge"));
  expect(readdirSync(wireDir, { recursive: true, encoding: "utf8" }).toSorted()).toEqual([
    ...["PROTOCOL.md", "ann_state.json", "config.json", "outbox", "outbox/ann.jsonl"],
    ...["tiers.json", "trust"],
    ...["trust.json", "trust/ann.card.json"],
  ]);
  expect(readFileSync(join(wireDir, "config.json"), "utf8")).toBe(CONFIG);
  expect(readFileSync(join(wireDir, "tiers.json"), "utf8")).toBe("ours");
});

test("what cannot be reached is said in words", async () => {
  await expect(look(undefined, join(scene.root, "nowhere.git"))).rejects.toMatchObject({
    ...{ name: "TransportError", code: "no_remote" },
  });
});

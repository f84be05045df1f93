import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ObjectReader } from "../../../src/transport/git/object-reader.ts";
import { readCommit } from "../../../src/transport/git/read-commit.ts";
import { gitIn } from "../../../src/transport/git/run-git.ts";
import { readTree } from "../../../src/transport/git/tree.ts";
import { git } from "./git-scene.ts";

const NOTHING = { id: undefined, sizes: new Map<string, number>() };
const KIB = 1_024;

let folder: string;
const readers: ObjectReader[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-commits-"));
  git(folder, "init", "--quiet", "--bare");
});
afterEach(() => {
  for (const reader of readers.splice(0)) reader.close();
  rmSync(folder, { recursive: true, force: true });
});

const run = () => gitIn({ folder, env: process.env, settings: [] });

function reader(): ObjectReader {
  const made = new ObjectReader(run());
  readers.push(made);
  return made;
}

/** The bytes of that blob, as git gives them. */
function blobOf(id: string): Buffer {
  return execFileSync("git", ["-C", folder, "cat-file", "blob", id]);
}

function asked(args: readonly string[], input: string | Buffer = ""): string {
  return execFileSync("git", ["-C", folder, ...args], { input, encoding: "utf8" }).trim();
}

function stored(type: "blob" | "commit" | "tree", bytes: string | Buffer): string {
  return asked(["hash-object", "-w", "--literally", "-t", type, "--stdin"], bytes);
}

/** A tree of these entries: mode, id, name. */
function treeOf(entries: readonly (readonly [mode: string, id: string, name: string])[]): string {
  const type = (mode: string) => ({ "040000": "tree", "160000": "commit" })[mode] ?? "blob";
  const rows = entries.map(([mode, id, name]) => `${mode} ${type(mode)} ${id}\t${name}\0`);
  return asked(["mktree", "-z", "--missing"], rows.join(""));
}

function commitOf(tree: string, ...parents: readonly string[]): string {
  const who = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
  const after = parents.flatMap((parent) => ["-p", parent]);
  return asked([
    ...who,
    "commit-tree",
    tree,
    "-m",
    `tree ${"0".repeat(40)}\n\nparent of all`,
    ...after,
  ]);
}

test("finds what git lists, whatever is in a repository", async () => {
  const name = fc.constantFrom("a", "b", "outbox", "é x", "z.jsonl", "a b\nc");
  const mode = fc.constantFrom("100644", "100644", "100755", "120000", "160000");
  const { tree } = fc.letrec<{ tree: object; entry: object }>((tie) => ({
    entry: fc.oneof({ maxDepth: 3 }, fc.record({ mode, text: fc.string() }), tie("tree")),
    tree: fc.dictionary(name, tie("entry"), { maxKeys: 4 }).map((entries) => ({ entries })),
  }));
  const made = (value: object): string => {
    const { entries } = value as { entries: Record<string, object> };
    return treeOf(
      Object.entries(entries).map(([each, entry]) => {
        if ("entries" in entry) return ["040000", made(entry), each];
        const { mode: of, text } = entry as { mode: string; text: string };
        return [of, of === "160000" ? "1".repeat(40) : stored("blob", text), each];
      }),
    );
  };
  await fc.assert(
    fc.asyncProperty(tree, async (value) => {
      const id = commitOf(made(value));
      const read = await readCommit(reader(), id, NOTHING);
      const listed = await readTree(run(), id, []);
      expect(read?.tree).toEqual(listed);
      expect([...(read?.tree.files.keys() ?? [])]).toEqual([...listed.files.keys()]);
      for (const { id: blob } of listed.files.values()) {
        expect(read?.blobs.get(blob)).toEqual(blobOf(blob));
      }
    }),
    { numRuns: 20 },
  );
});

test("reads nothing again that is known, and finds what came after it was begun", async () => {
  const before = reader();
  const known = stored("blob", "known");
  const fresh = stored("blob", "new");
  const id = commitOf(
    treeOf([
      ["100644", known, "a"],
      ["100644", fresh, "b"],
    ]),
  );
  const read = await readCommit(before, id, { id: undefined, sizes: new Map([[known, 5]]) });
  expect([...(read?.blobs.keys() ?? [])]).toEqual([fresh]);
  expect(read?.tree.files.get("a")).toEqual({ id: known, bytes: 5 });
});

test("says whether the commit that was known is near, and leaves the rest to git", async () => {
  const empty = treeOf([]);
  const first = commitOf(empty);
  let last = first;
  const at = async (id: string, older: string) =>
    (await readCommit(reader(), id, { ...NOTHING, id: older }))?.isAfterKnown;
  const strange = commitOf(empty, commitOf(treeOf([["100644", stored("blob", "x"), "x"]])));
  for (let count = 0; count < 5; count += 1) last = commitOf(empty, last);
  expect(await at(last, first)).toBe(true);
  expect(await at(commitOf(empty, strange, last), first)).toBe(true);
  expect(await at(last, strange)).toBe(false);
  for (let count = 0; count < 32; count += 1) last = commitOf(empty, last);
  expect(await at(last, first)).toBe(false);
});

test("takes no words of an author for a parent", async () => {
  const empty = treeOf([]);
  const wanted = commitOf(empty);
  const rows = (author: string, ...more: readonly string[]) => [
    `tree ${empty}`,
    `author ${author} 1700000000 +0000`,
    "committer x <x@y> 1700000000 +0000",
    ...more,
  ];
  const hostile = [
    rows(`x\rparent ${wanted}\r <x@y>`),
    rows("x <x@y>", `parent ${wanted}`),
    rows("x <x@y>", "gpgsig a", ` parent ${wanted}`),
    rows("x <x@y>", "", `parent ${wanted}`),
  ];
  for (const each of hostile) {
    const id = stored("commit", `${each.join("\n")}\n\nwords\n`);
    const read = await readCommit(reader(), id, { ...NOTHING, id: wanted });
    expect(read?.isAfterKnown).toBe(false);
  }
});

test("sees the modes of files that git lists, whatever a tree says", async () => {
  const blob = stored("blob", "x");
  const modes = ["100600", "100664", "100775", "0100644", "120777", "140000", "7"];
  const entries = modes.flatMap((mode, at) => [
    Buffer.from(`${mode} ${at}\0`),
    Buffer.from(blob, "hex"),
  ]);
  const id = commitOf(stored("tree", Buffer.concat(entries)));
  expect((await readCommit(reader(), id, NOTHING))?.tree).toEqual(await readTree(run(), id, []));
});

test("passes over a large file, and ends where there is too much", async () => {
  const large = stored("blob", Buffer.alloc(513 * KIB));
  const small = stored("blob", "small");
  const tree = treeOf([
    ["100644", large, "large"],
    ["100644", small, "small"],
  ]);
  const read = await readCommit(reader(), commitOf(tree), NOTHING);
  expect(read?.tree.files.get("large")).toEqual({ id: large, bytes: 513 * KIB });
  expect([...(read?.blobs.keys() ?? [])]).toEqual([small]);
  const huge = stored("blob", Buffer.alloc(4_097 * KIB));
  const ended = reader();
  const much = commitOf(
    treeOf([
      ["100644", huge, "huge"],
      ["100644", small, "small"],
    ]),
  );
  expect(await readCommit(ended, much, NOTHING)).toBeUndefined();
  expect(await ended.read(small)).toBeUndefined();
});

test("takes no tree for a file, nothing that is missing, and no deep folders", async () => {
  // A name in a tree may hold newlines, and so what looks like a row of the answer.
  const line = stored("blob", "a line\n");
  const name = `x\n${line} blob 6\nforged\n`;
  const hash = createHash("sha1").update("any").digest();
  const tree = stored("tree", Buffer.concat([Buffer.from(`100644 ${name}\0`), hash]));
  const missing = "0".repeat(40);
  const at = reader();
  const [asTree, none, after] = await Promise.all([tree, missing, line].map((id) => at.read(id)));
  expect([asTree?.type, none, after?.bytes?.toString("utf8")]).toEqual([
    "tree",
    undefined,
    "a line\n",
  ]);
  const row = Buffer.concat([Buffer.from("100644 file\0"), Buffer.from(tree, "hex")]);
  const wrong = commitOf(stored("tree", row));
  expect(await readCommit(reader(), wrong, NOTHING)).toBeUndefined();
  expect(await readCommit(reader(), missing, NOTHING)).toBeUndefined();
  expect(await readCommit(reader(), line, NOTHING)).toBeUndefined();
  let deep = treeOf([["100644", line, "file"]]);
  for (let depth = 0; depth < 9; depth += 1) deep = treeOf([["040000", deep, "folder"]]);
  expect(await readCommit(reader(), commitOf(deep), NOTHING)).toBeUndefined();
});

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { gitIn } from "../../../src/transport/git/run-git.ts";
import { readBlobs } from "../../../src/transport/git/small-blobs.ts";
import { git } from "./git-scene.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-blobs-"));
  git(folder, "init", "--quiet", "--bare");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function stored(type: "blob" | "tree", bytes: Buffer): string {
  const args = ["-C", folder, "hash-object", "-w", "--literally", "-t", type, "--stdin"];
  return execFileSync("git", args, { input: bytes, encoding: "utf8" }).trim();
}

test("a tree that is named as a file cannot say what a file holds", async () => {
  const line = stored("blob", Buffer.from("a line\n"));
  const empty = stored("blob", Buffer.alloc(0));
  // A name in a tree may hold newlines, and so what looks like a row of the answer.
  const name = `x\n${line} blob 6\nforged\n`;
  const entry = Buffer.concat([
    Buffer.from(`100644 ${name}\0`),
    createHash("sha1").update("any").digest(),
  ]);
  const tree = stored("tree", entry);
  const missing = "0".repeat(40);
  const blobs = await readBlobs(gitIn({ folder, env: process.env, settings: [] }), [
    ...[line, tree, missing, empty],
  ]);
  expect([...blobs].map(([id, bytes]) => [id, bytes.toString("utf8")])).toEqual([
    [line, "a line\n"],
    [empty, ""],
  ]);
});

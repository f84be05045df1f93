import { mkdtempSync, rmSync } from "node:fs";
import { Readable } from "node:stream";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import { GitFailed, gitIn } from "../../../src/carriers/git/run-git.ts";

const folder = mkdtempSync(join(tmpdir(), "deaddrop-run-git-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const git = gitIn({ folder, env: { PATH: process.env["PATH"] } });

it("input that cannot be read fails with its own error", async () => {
  const broken = new StorageError("io", "/x", "no such sector", { hint: "" });
  const input = Readable.from(
    (function* () {
      yield Buffer.from("some");
      throw broken;
    })(),
  );
  await expect(git(["hash-object", "--stdin"], { input })).rejects.toBe(broken);
});

it("a program that fails says why, without control characters and in few rows", async () => {
  const error: unknown = await git(["rev-parse", "no\u001b[31msuch"]).catch(
    (each: unknown) => each,
  );
  expect(error).toBeInstanceOf(GitFailed);
  expect(String(error)).not.toMatch(/\u001b/);
});

it("the end of the transport ends a call that runs, and lets none begin", async () => {
  const ended = new AbortController();
  const mortal = gitIn({
    ...{ folder, env: { PATH: process.env["PATH"] } },
    ...{ program: "sleep", signal: ended.signal },
  });
  const running = mortal(["3600"]);
  ended.abort();
  await expect(running).rejects.toMatchObject({ code: "stopped" });
  await expect(mortal(["0"])).rejects.toMatchObject({ code: "stopped" });
});

it("an answer that is too long ends the call", async () => {
  await expect(git(["--version"], { maxBytes: 3 })).rejects.toMatchObject({ why: "too much" });
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { GitFailed, gitIn } from "../../../src/transport/git/run-git.ts";

const folder = mkdtempSync(join(tmpdir(), "deaddrop-run-git-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const git = gitIn({ folder, env: { PATH: process.env["PATH"] }, settings: [] });

it("what takes the bytes as they come may fail: its error is the caller's", async () => {
  const full = new Error("no room");
  const into = (): void => {
    throw full;
  };
  await expect(git(["--version"], { into })).rejects.toBe(full);
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
    ...{ folder, env: { PATH: process.env["PATH"] }, settings: [] },
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

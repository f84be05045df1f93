import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { GitScene } from "./git-scene.ts";

const FORGE = "forge_to_scribe.jsonl";
const SCRIBE = "scribe_to_forge.jsonl";
const GIT = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();

let scene: GitScene;
afterEach(() => scene.remove());

/** A git that notes the commands which our transport gives it; each of those begins with settings. */
function notingGit(folder: string) {
  const [bin, log] = [join(folder, "bin"), join(folder, "calls")];
  mkdirSync(bin, { recursive: true });
  const note = `[ "$1" = -c ] && for arg; do [ "$was" = -c ] || [ "$arg" = -c ] || { echo "$arg" >>"${log}"; break; }; was=$arg; done`;
  writeFileSync(join(bin, "git"), `#!/bin/sh\n${note}\nexec "${GIT}" "$@"\n`);
  chmodSync(join(bin, "git"), 0o755);
  return {
    env: { PATH: [bin, process.env["PATH"]].join(delimiter) },
    /** The commands since the last time, in any order. */
    calls(): string[] {
      const calls = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
      rmSync(log, { force: true });
      return calls.toSorted();
    },
  };
}

it("a message takes two calls of git to send and two to receive, however many files have changed", async () => {
  scene = new GitScene();
  const noting = {
    forge: notingGit(join(scene.root, "a")),
    scribe: notingGit(join(scene.root, "b")),
  };
  const forge = scene.host("forge", "forge", noting.forge);
  const scribe = scene.host("scribe", "scribe", noting.scribe);
  forge.write("config.json", JSON.stringify({ wire_id: "aa" }));
  forge.write(FORGE, "f1\n");
  scribe.write(SCRIBE, "s1\n");
  for (const host of [forge, scribe, forge]) expect(await host.turn()).toBeUndefined();
  noting.forge.calls();
  noting.scribe.calls();

  forge.append(FORGE, "f2\n");
  forge.write("decisions.jsonl", '{"proposal_id":"one"}\n');
  forge.write("trust/forge.card.json", "{}");
  await forge.transport.turn({ fetch: false, push: true });
  expect(noting.forge.calls()).toEqual(["fast-import", "push"]);
  expect(await scribe.turn()).toBeUndefined();
  expect(scribe.read(FORGE)).toBe("f1\nf2\n");
  expect(scribe.read("trust/forge.card.json")).toBe("{}");
  expect(noting.scribe.calls()).toEqual(["cat-file", "fetch"]);

  expect(await scribe.turn()).toBeUndefined();
  expect(noting.scribe.calls()).toEqual(["cat-file", "fetch"]);

  // Another process reads all of it again, by one call too.
  await scribe.close();
  const again = scene.host("scribe", "scribe", noting.scribe);
  expect(await again.turn()).toBeUndefined();
  const calls = noting.scribe.calls();
  expect(calls.filter((each) => ["cat-file", "ls-tree"].includes(each))).toEqual(["cat-file"]);
});

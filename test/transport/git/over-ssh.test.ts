import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { GitScene, type GitHost } from "./git-scene.ts";

// What ssh says or does is played by a stand-in that the user's `core.sshCommand` names.

const FORGE = "forge_to_scribe.jsonl";

let scene: GitScene;
let host: GitHost;
beforeEach(() => {
  scene = new GitScene();
  host = scene.host("forge", "forge", { remote: `ssh://git@wire.example${scene.remote}` });
  host.write("config.json", JSON.stringify({ wire_id: "aa" }));
  host.write(FORGE, "f1\n");
});
afterEach(() => scene.remove());

/** `$what` is the program that git asks for on the other side. */
function sshDoes(script: string): void {
  const command = join(scene.root, "ssh");
  // git gives options first; the last argument is the command.
  writeFileSync(command, `#!/bin/sh\nfor what; do :; done\n${script}\n`);
  chmodSync(command, 0o755);
  writeFileSync(join(host.home, ".gitconfig"), `[core]\n\tsshCommand = ${command}\n`);
}

it.each([
  ["a private repository", "git@wire.example: Permission denied (publickey).", "denied"],
  ["an unknown host key", "Host key verification failed.", "denied"],
  ["one that is not there, or not shown to us", "ERROR: Repository not found.", "no_remote"],
  ["a name that nobody knows", "ssh: Could not resolve hostname wire.example", "unreachable"],
  [
    "a host that does not answer",
    "ssh: connect to host wire.example port 22: timed out",
    "unreachable",
  ],
])("%s is named, and the folder goes on", async (_what, said, code) => {
  sshDoes(`echo '${said}' >&2\nexit 255`);
  expect(await host.turn()).toMatch(new RegExp(`^${code}: `));
  expect(host.read(FORGE)).toBe("f1\n");
  expect(host.troubles()).toEqual([]);
  sshDoes('eval "exec $what"');
  expect(await host.turn()).toBeUndefined();
  expect(scene.inRemote(FORGE)).toBe("f1\n");
});

it("a slow remote is waited for", async () => {
  sshDoes('sleep 0.2\neval "exec $what"');
  expect(await host.turn()).toBeUndefined();
  expect(scene.inRemote(FORGE)).toBe("f1\n");
});

it("a remote that can store nothing more is named, keeps what it has, and gets the rest later", async () => {
  sshDoes('eval "exec $what"');
  expect(await host.turn()).toBeUndefined();
  host.append(FORGE, "f2\n");
  // As a full disk does: no file of the other side takes another byte.
  sshDoes('ulimit -f 0\neval "exec $what"');
  expect(await host.turn()).toMatch(/^(?:unreachable|read_only): /);
  expect(scene.inRemote(FORGE)).toBe("f1\n");
  sshDoes('eval "exec $what"');
  expect(await host.turn()).toBeUndefined();
  expect(scene.inRemote(FORGE)).toBe("f1\nf2\n");
});

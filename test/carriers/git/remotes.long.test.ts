import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CONFIG, GitScene, type GitAgent } from "./git-scene.ts";

// What git is configured with, what a remote answers, and what ssh does: a stand-in that the user's
// `core.sshCommand` names.

const FORGE = "outbox/forge.jsonl";

let scene: GitScene;
beforeEach(() => {
  scene = new GitScene();
});
afterEach(() => scene.remove());

function begin(handle: string, ...change: Parameters<GitScene["agent"]>[2][]): GitAgent {
  const agent = scene.agent(handle, handle, ...change);
  agent.write("config.json", CONFIG);
  agent.say(`${handle}1`);
  return agent;
}

describe("over ssh", () => {
  /** `$command` is the program that git asks for on the other side: the last argument. */
  function sshDoes(script: string): void {
    const ssh = join(scene.root, "ssh");
    writeFileSync(ssh, `#!/bin/sh\nfor command; do :; done\n${script}\n`);
    chmodSync(ssh, 0o755);
    const config = join(scene.root, "forge/home/.gitconfig");
    writeFileSync(config, `[core]\n\tsshCommand = ${ssh}\n`);
  }
  const beginOverSsh = (): GitAgent =>
    begin("forge", { remote: `ssh://git@wire.example${scene.remote}` });
  const WORKS = 'eval "exec $command"';

  test.each([
    ["git@wire.example: Permission denied (publickey).", "denied"],
    ["Host key verification failed.", "denied"],
    ["ERROR: Repository not found.", "no_remote"],
    ["ssh: Could not resolve hostname wire.example", "unreachable"],
    ["ssh: connect to host wire.example port 22: timed out", "unreachable"],
  ])("%s", async (printed, code) => {
    const forge = beginOverSsh();
    sshDoes(`echo '${printed}' >&2\nexit 255`);
    expect(await forge.turn()).toMatch(new RegExp(`^${code}: `));
    expect(forge.troubles()).toBe("");
    sshDoes(WORKS);
    expect(await forge.turn()).toBeUndefined();
    expect(scene.inRemote(FORGE)).toContain("forge1");
  });

  test("a remote that can store nothing more gets the rest later", async () => {
    const forge = beginOverSsh();
    sshDoes(WORKS);
    expect(await forge.turn()).toBeUndefined();
    forge.say("forge2");
    sshDoes(`ulimit -f 0\n${WORKS}`);
    expect(await forge.turn()).toMatch(/^(?:unreachable|read_only): /);
    expect(scene.inRemote(FORGE)).not.toContain("forge2");
    sshDoes(WORKS);
    expect(await forge.turn()).toBeUndefined();
    expect(scene.inRemote(FORGE)).toContain("forge2");
  });
});

describe("nothing runs", () => {
  test("of hooks, filters, monitors and aliases that the user or a commit configures", async () => {
    const [marks, hooks] = [join(scene.root, "marks"), join(scene.root, "hooks")];
    const forge = begin("forge");
    for (const folder of [marks, hooks]) mkdirSync(folder);
    for (const name of ["pre-push", "reference-transaction", "post-checkout", "pre-commit"])
      writeFileSync(join(hooks, name), `#!/bin/sh\ntouch ${marks}/${name}\n`, { mode: 0o755 });
    const config = [
      `[core]\n\thooksPath = ${hooks}\n\tfsmonitor = touch ${marks}/monitor`,
      `\tpager = touch ${marks}/pager`,
      `[filter "evil"]\n\tclean = touch ${marks}/clean\n\tsmudge = touch ${marks}/smudge`,
      `[alias]\n\tfetch = !touch ${marks}/alias`,
      `[url "${scene.root}/elsewhere"]\n\tinsteadOf = ${scene.remote}`,
      `[init]\n\ttemplateDir = ${hooks}\n`,
    ];
    writeFileSync(join(scene.root, "forge/home/.gitconfig"), config.join("\n"));
    expect(await forge.turn()).toBeUndefined();
    scene.tamper((clone) => writeFileSync(join(clone, ".gitattributes"), "* filter=evil\n"));
    forge.say("forge2");
    expect(await forge.turn()).toBeUndefined();
    expect(scene.inRemote(FORGE)).toContain("forge2");
    expect(readdirSync(marks)).toEqual([]);
  });

  test("of a submodule whose URL is a command; it is named", async () => {
    const forge = begin("forge");
    expect(await forge.turn()).toBeUndefined();
    const mark = join(scene.root, "mark");
    const modules = `[submodule "x"]\n\tpath = x\n\turl = ext::touch ${mark}\n`;
    scene.tamper((clone) => writeFileSync(join(clone, ".gitmodules"), modules));
    expect(await forge.turn()).toBeUndefined();
    expect(forge.troubles()).toContain(".gitmodules");
    expect(forge.mirrored(".gitmodules")).toBe("");
    expect(existsSync(mark)).toBe(false);
  });

  test("where git is missing or too old; it is named", async () => {
    const bin = join(scene.root, "bin");
    mkdirSync(bin);
    const none = begin("forge", { env: { PATH: bin } });
    expect(await none.turn()).toMatch(/^no_git: /);
    writeFileSync(join(bin, "git"), "#!/bin/sh\necho git version 2.20.1\n", { mode: 0o755 });
    expect(await none.turn()).toBe("no_git: git 2.20 is too old");
  });
});

test("a repository that refuses pushes is named, and what it has is taken", async () => {
  const [forge, scribe] = [begin("forge"), begin("scribe")];
  for (const agent of [scribe, forge]) expect(await agent.turn()).toBeUndefined();
  scribe.say("scribe2");
  expect(await scribe.turn()).toBeUndefined();
  const hook = join(scene.remote, "hooks/pre-receive");
  mkdirSync(join(scene.remote, "hooks"), { recursive: true });
  writeFileSync(hook, "#!/bin/sh\necho protected branch >&2\nexit 1\n", { mode: 0o755 });
  forge.say("forge2");
  expect(await forge.turn()).toMatch(/^read_only: /);
  expect(forge.bodies("scribe")).toEqual(["scribe1", "scribe2"]);
  expect(forge.transport.health().waiting).toBe(1);
});

import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { amount } from "../../support/amounts.ts";
import { CONFIG, GitScene } from "./git-scene.ts";

// A daemon is killed before and after each command of git: between these it fetches, writes its mirror, appends,
// commits and pushes. The next one finds what was left, and every line arrives once it is back.

const CHECKOUT = resolve(import.meta.dirname, "../../..");
const CHILD = [
  ...["--import", join(CHECKOUT, "test/support/typescript.js")],
  join(import.meta.dirname, "git-turns.ts"),
];
const GIT = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();

/** A git that kills the daemon before or after its command of a number; it counts those in a file. */
function killingGit(root: string): string {
  const bin = join(root, "bin");
  mkdirSync(bin, { recursive: true });
  // git calls itself too.
  const script = `#!/bin/sh
grep -q git-turns "/proc/$PPID/cmdline" || exec "${GIT}" "$@"
echo x >>"${root}/count"
n=$(($(wc -l <"${root}/count")))
[ "before $n" = "$(cat "${root}/kill")" ] && { kill -9 $PPID; exit 1; }
"${GIT}" "$@"
rc=$?
[ "after $n" = "$(cat "${root}/kill")" ] && kill -9 $PPID
exit $rc
`;
  writeFileSync(join(bin, "git"), script);
  chmodSync(join(bin, "git"), 0o755);
  return bin;
}

async function runChild(args: object, env: NodeJS.ProcessEnv): Promise<NodeJS.Signals | null> {
  const child = spawn(process.execPath, [...CHILD, JSON.stringify(args)], {
    cwd: CHECKOUT,
    env: { ...process.env, ...env },
    stdio: "inherit",
  });
  return new Promise((end) => child.once("exit", (_code, signal) => end(signal)));
}

test("a daemon that is killed at any step loses nothing and leaves nothing in the way", async () => {
  const scene = new GitScene();
  try {
    const [forge, scribe] = [scene.agent("forge"), scene.agent("scribe")];
    scribe.write("config.json", CONFIG);
    scribe.say("s1");
    expect(await scribe.turn()).toBeUndefined();
    const bin = killingGit(scene.root);
    const say: string[] = [];
    let isOver = false;
    for (let step = 1; !isOver; step += amount(3, 1)) {
      for (const when of ["before", "after"]) {
        say.push(`f${say.length + 1}`);
        scribe.say(`s${say.length + 1}`);
        expect(await scribe.turn()).toBeUndefined();
        writeFileSync(join(scene.root, "count"), "");
        writeFileSync(join(scene.root, "kill"), `${when} ${step}`);
        const args = {
          machine: join(scene.root, "forge"),
          handle: "forge",
          remote: scene.remote,
          say,
        };
        const path = [bin, process.env["PATH"]].join(delimiter);
        const signal = await runChild(args, { PATH: path });
        const steps = readFileSync(join(scene.root, "count"), "utf8").split("\n").length - 1;
        expect(signal).toBe(steps >= step ? "SIGKILL" : null);
        isOver ||= steps < step;
      }
    }
    forge.say(...say);
    for (const agent of [forge, scribe, forge]) expect(await agent.turn()).toBeUndefined();
    expect(scribe.bodies("forge")).toEqual(say);
    expect(forge.bodies("scribe")).toEqual(scribe.bodies("scribe"));
    expect(forge.bodies("scribe")).toHaveLength(say.length + 1);
    expect(existsSync(join(forge.wire, "config.json"))).toBe(true);
  } finally {
    await scene.remove();
  }
});

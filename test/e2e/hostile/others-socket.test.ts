import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { BIN, killChildren, until } from "../../support/processes/real-processes.ts";
import {
  makeTeam,
  whyNoUsers,
  type UnixTeam,
  type UnixUser,
} from "../../support/processes/unix-users.ts";

const WHY_NOT = whyNoUsers();

let team: UnixTeam | undefined;
afterEach(async () => {
  await killChildren();
  team?.remove();
  team = undefined;
});

/** Answers every request with invented mail, and prints what it was asked. */
const IMPOSTOR = `
  const fs = require("fs"), path = require("path");
  const folder = process.argv[1], socket = path.join(folder, process.argv[2]);
  fs.mkdirSync(folder, { recursive: true });
  for (let at = folder; at.length > process.argv[3].length; at = path.dirname(at)) fs.chmodSync(at, 0o777);
  process.chdir(folder);
  require("net").createServer((client) => client.on("data", (bytes) => {
    console.log("asked", String(bytes));
    const { id } = JSON.parse(bytes);
    client.write(JSON.stringify({ id, ok: true, result: [] }) + "\\n");
  })).listen(process.argv[2], () => { fs.chmodSync(process.argv[2], 0o777); console.log("listens"); });
`;

/** With a state folder of that path. */
async function anna(user: UnixUser, state: string, ...args: readonly string[]) {
  const words = [`XDG_STATE_HOME=${state}`, process.execPath, BIN, ...args];
  const started = user.start("env", ...words);
  started.child.stdin?.end();
  return started.ended;
}

async function impostor(user: UnixUser, folder: string, name: string, upTo: string) {
  const started = user.start(process.execPath, "-e", IMPOSTOR, folder, name, upTo);
  await until(`it listens: ${started.stderr()}`, () => started.stdout().includes("listens"));
  return started;
}

test("a socket that another user has made in the temporary folder is never talked to", async ({
  skip,
}) => {
  skip(WHY_NOT !== undefined, WHY_NOT);
  team = makeTeam(["022", "022"]);
  const [me, other] = team.users as readonly [UnixUser, UnixUser];
  const wire = join(me.home, "_coordination");
  const state = join(me.home, "long".repeat(30));
  const init = ["init", "--me", "anna", "--peer", "bela", "--wire", wire];
  expect(await anna(me, state, ...init)).toMatchObject({ code: 0, stderr: "" });
  const who = JSON.parse((await anna(me, state, "whoami", "--json", "--wire", wire)).stdout) as {
    wire: string;
    inbox_path: string;
  };
  const stateDir = join(who.inbox_path, "..");
  // Where earlier versions looked when the path was too long.
  const hash = createHash("sha256").update(stateDir).digest("hex").slice(0, 16);
  const folder = join(tmpdir(), `deaddrop-${hash}`);
  const started = await impostor(other, folder, "s", tmpdir());
  const sent = await anna(me, state, "send", "secret", "the body", "--wire", wire);
  expect(sent).toMatchObject({ code: 0, stderr: "" });
  expect((await anna(me, state, "inbox", "--wire", wire)).stdout).toContain("Nothing here.");
  expect(started.stdout()).toBe("listens\n");

  // The daemon and its clients meet inside the private folder, however long its path is.
  const words = [`XDG_STATE_HOME=${state}`, process.execPath, BIN, "daemon", "--wire", wire];
  const daemon = me.start("env", ...words);
  await until("it runs", () => daemon.stdout().includes('"the daemon runs"'));
  expect(existsSync(join(stateDir, "daemon.sock"))).toBe(true);
  const status = await anna(me, state, "whoami", "--json", "--wire", wire);
  expect(JSON.parse(status.stdout)).toMatchObject({ daemon: { running: true, pid: daemon.pid } });
  daemon.child.kill("SIGTERM");
  await daemon.ended;
  expect(existsSync(join(stateDir, "daemon.sock"))).toBe(false);
  started.child.kill("SIGKILL");
  await started.ended;
  await other.start("rm", "-r", folder).ended;
});

test("private state that another user has made first is refused, and nothing is told to it", async ({
  skip,
}) => {
  skip(WHY_NOT !== undefined, WHY_NOT);
  team = makeTeam(["022", "022"]);
  const [me, other] = team.users as readonly [UnixUser, UnixUser];
  const wire = join(me.home, "_coordination");
  const init = ["init", "--me", "anna", "--peer", "bela", "--wire", wire];
  expect(await me.run(...init)).toMatchObject({ code: 0 });
  const { wire: key } = JSON.parse((await me.run("whoami", "--json", "--wire", wire)).stdout) as {
    wire: string;
  };
  const state = join(team.folder, "state");
  mkdirSync(state);
  chmodSync(state, 0o1777);
  const folder = join(state, "inter-agent-deaddrop", key, "anna");
  const started = await impostor(other, folder, "daemon.sock", state);
  for (const args of [["inbox"], ["send", "secret", "the body"]]) {
    const ended = await anna(me, state, ...args, "--wire", wire);
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toContain("the folder of the socket is not our own");
  }
  expect(started.stdout()).toBe("listens\n");
});

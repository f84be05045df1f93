import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { bareIn } from "../support/processes/hosts.ts";
import { jsonLines, type Line } from "../support/processes/live-wire.ts";
import { startSshd, whyNoSshd } from "../support/processes/own-sshd.ts";
import { BIN, killChildren, start, type Started } from "../support/processes/real-processes.ts";
import { givePolicy } from "../support/processes/two-machines.ts";
import {
  makeTeam,
  whyNoUsers,
  type UnixTeam,
  type UnixUser,
} from "../support/processes/unix-users.ts";

// install.sh alone joins two homes over SSH; the daemons run in the sandbox of the real service unit.

const MANAGER = fileURLToPath(new URL("../support/processes/user-manager.sh", import.meta.url));
const INSTALL = join(dirname(dirname(BIN)), "install.sh");

/** What a person types. The folder $DESK is the telephone: what one reads out, the other types. */
const SESSION = `
set -eu
PATH="$HOME/.local/bin:$PATH"
again() { attempts=0; until "$@"; do
  attempts=$((attempts + 1)); [ "$attempts" -lt 300 ] || { echo "not: $*"; exit 1; }; sleep 1
done; }
"$@" >"$HOME/installed.txt"
digits() { deaddrop trust sas "$PEER" --wire "$WIRE" >"$HOME/sas.txt" 2>&1 && grep -q '^[0-9]\\{6\\}  with' "$HOME/sas.txt"; }
again digits
sed -n 's/^\\([0-9]\\{6\\}\\)  with.*/\\1/p' "$HOME/sas.txt" >"$DESK/$ME.new"
mv "$DESK/$ME.new" "$DESK/$ME.digits"
again test -e "$DESK/$PEER.digits"
deaddrop trust verify "$PEER" "$(cat "$DESK/$PEER.digits")" --wire "$WIRE" --yes --reason phone >/dev/null
heard() { deaddrop peers --wire "$WIRE" --json | grep -q '"presence": *"online"'; }
again heard
shown() { systemctl --user show "deaddrop@*" --property="$1" --value; }
echo "service $(shown ActiveState) $(shown ProtectHome) $(shown NRestarts)"
deaddrop transport status --wire "$WIRE" --json >"$DESK/$ME.status"
touch "$DESK/$ME.done"
again test -e "$DESK/$PEER.done"
deaddrop service stop --wire "$WIRE" >/dev/null
deaddrop audit --wire "$WIRE" >/dev/null
echo ended
`;

let team: UnixTeam | undefined;
afterEach(async () => {
  await killChildren();
  team?.remove();
  team = undefined;
});

/** `~/.ssh` as somebody has it who has signed in at that host before. */
function giveAccess(user: UnixUser, keys: string, port: number, hostKey: string): void {
  const folder = join(user.home, ".ssh");
  mkdirSync(folder);
  writeFileSync(join(folder, "login"), readFileSync(join(keys, "login")));
  writeFileSync(join(folder, "known_hosts"), `[127.0.0.1]:${port} ${hostKey}`);
  writeFileSync(join(folder, "config"), `Host 127.0.0.1\n  IdentityFile ${folder}/login\n`);
  for (const name of ["login", "config"]) chmodSync(join(folder, name), 0o600);
  chmodSync(folder, 0o700);
  spawnSync("chown", ["-R", user.name, folder]);
}

test("install.sh joins two homes through a repository over SSH, under the unit's sandbox", async ({
  skip,
}) => {
  const whyNot = whyNoUsers() ?? whyNoSshd();
  skip(whyNot !== undefined, whyNot);
  team = makeTeam(["022", "022", "022"]);
  const [forge, scribe, host] = team.users;
  if (forge === undefined || scribe === undefined || host === undefined) throw new Error("three");
  const tried = spawnSync("sh", [MANAGER, forge.name, "true"], { encoding: "utf8" });
  skip(tried.status !== 0, `no user manager can be started here: ${tried.stderr.trim()}`);

  const keys = join(host.home, "keys");
  const { port } = await startSshd(host, keys);
  const repository = bareIn(host.home);
  spawnSync("chown", ["-R", host.name, repository]);
  const hostKey = readFileSync(join(keys, "host.pub"), "utf8");
  for (const user of [forge, scribe]) giveAccess(user, keys, port, hostKey);
  const remote = `ssh://${host.name}@127.0.0.1:${port}${repository}`;

  const script = join(team.folder, "session.sh");
  writeFileSync(script, SESSION, { mode: 0o644 });
  const desk = team.folder;
  const wireOf = (user: UnixUser): string => join(user.home, "_coordination");
  const session = (user: UnixUser, me: string, peer: string, args: readonly string[]): Started => {
    const env = { PATH: process.env["PATH"], HOME: user.home, TZ: "UTC", USER: user.name };
    const names = { ME: me, PEER: peer, WIRE: wireOf(user), DESK: desk };
    const command = ["sh", INSTALL, ...args, "--my-handle", me, "--peer-handle", peer];
    return start("sh", [MANAGER, user.name, "sh", script, ...command, "--wire", wireOf(user)], {
      env: { ...env, ...names },
      cwd: user.home,
      input: "",
    });
  };
  for (const user of [forge, scribe]) mkdirSync(wireOf(user));
  givePolicy({ wire: wireOf(forge) });
  spawnSync("chown", ["-R", `${forge.name}:`, wireOf(forge)]);
  spawnSync("chown", ["-R", `${scribe.name}:`, wireOf(scribe)]);
  const first = session(forge, "forge", "scribe", ["init", "--remote", remote]);
  const pushed = ["-c", `safe.directory=${repository}`, "-C", repository, "rev-parse", "main"];
  while (spawnSync("git", pushed).status !== 0) {
    if (first.child.exitCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const second = session(scribe, "scribe", "forge", ["join", remote]);
  for (const { ended } of [first, second]) {
    const { code, stdout, stderr } = await ended;
    expect([code, stdout, stderr]).toEqual([0, "service active read-only 0\nended\n", ""]);
  }
  for (const me of ["forge", "scribe"]) {
    const status = JSON.parse(readFileSync(join(desk, `${me}.status`), "utf8")) as object;
    expect(status).toMatchObject({ transport: "git", remote, health: { problem: null } });
  }
  for (const [user, log] of [
    [forge, "scribe_to_forge.jsonl"],
    [scribe, "forge_to_scribe.jsonl"],
  ] as const) {
    const [beat] = jsonLines(readFileSync(join(wireOf(user), log), "utf8")) as Line[];
    expect(beat).toMatchObject({ type: "heartbeat" });
  }
});

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { jsonLines, type Line } from "../support/processes/live-wire.ts";
import { BIN, killChildren, start } from "../support/processes/real-processes.ts";
import { makeTeam, whyNoUsers, type UnixTeam } from "../support/processes/unix-users.ts";

const MANAGER = fileURLToPath(new URL("../support/processes/user-manager.sh", import.meta.url));

let team: UnixTeam | undefined;
afterEach(async () => {
  await killChildren();
  team?.remove();
  team = undefined;
});

/** What a person types, and what it should show; each line begins with the name of its step. */
const SESSION = `
set -eu
program() { node "$BIN" "$@"; }
unit=$(echo "deaddrop@*")
shown() { systemctl --user show "$unit" --property="$1" --value; }
program service install --wire "$WIRE" --as anna >/dev/null
echo "installed $(shown ActiveState) $(shown Type) $(shown StatusText)"
echo "watchdog $(shown WatchdogTimestamp | wc -w)"
echo "sent $(program send hello --wire "$WIRE")"
systemctl --user reload "$unit"
echo "reloaded $(shown ActiveState)"
before=$(shown MainPID)
program service install --all >/dev/null
[ "$before" != "$(shown MainPID)" ]
echo "again $(shown ActiveState) $(shown NRestarts)"
program service status --wire "$WIRE" | head -n 1
mkdir "$HOME/busy"
cat >"$HOME/busy/systemd-notify" <<SHIM
#!/bin/sh
kill -STOP $(pgrep -u "$(id -u)" -x systemd)
(sleep 1; kill -CONT $(pgrep -u "$(id -u)" -x systemd)) &
exec $(command -v systemd-notify) "\\$@"
SHIM
chmod +x "$HOME/busy/systemd-notify"
PATH="$HOME/busy:$PATH" timeout 300 node "$BIN" service install --all >/dev/null
echo "busy $(shown ActiveState) $(shown StatusText)"
program service stop --wire "$WIRE" >/dev/null
echo "stopped $(program service status --wire "$WIRE" | grep -c "installed, not running")"
program service start --wire "$WIRE" >/dev/null
echo "started $(shown ActiveState) $(shown StatusText)"
kill -STOP "$(shown MainPID)"
before=$(shown MainPID)
program service restart --wire "$WIRE" >/dev/null
[ "$before" != "$(shown MainPID)" ]
echo "restarted $(shown ActiveState) $(program whoami --wire "$WIRE" | grep -c running)"
program service stop --all >/dev/null
program service status --wire "$WIRE" --json
program service install --wire "$WIRE" >/dev/null
program service uninstall --all >/dev/null
echo "left $(systemctl --user list-units --all --plain --no-legend "$unit" | wc -l)"
`;

test("a real user manager runs the real daemon: ready, watched, reloaded, restarted, stopped", async ({
  skip,
}) => {
  const whyNot = whyNoUsers();
  skip(whyNot !== undefined, whyNot);
  team = makeTeam(["022"]);
  const [anna] = team.users;
  if (anna === undefined) throw new Error("no user");
  const env = { PATH: process.env["PATH"], HOME: anna.home };
  const tried = spawnSync("sh", [MANAGER, anna.name, "true"], { encoding: "utf8", env });
  skip(tried.status !== 0, `no user manager can be started here: ${tried.stderr.trim()}`);

  const wire = join(team.folder, "_coordination");
  const init = ["init", "--me", "anna", "--peer", "bela", "--wire", wire];
  expect(await anna.run(...init)).toMatchObject({ code: 0, stderr: "" });
  const script = join(team.folder, "session.sh");
  writeFileSync(script, SESSION, { mode: 0o644 });
  const session = start("sh", [MANAGER, anna.name, "sh", script], {
    env: { ...env, BIN, WIRE: wire },
    cwd: anna.home,
    input: "",
  });
  const { code, stdout, stderr } = await session.ended;
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain(`installed active notify anna on ${wire}\n`);
  expect(stdout).toMatch(/^watchdog [1-9]/m);
  expect(stdout).toMatch(/^sent sent [0-9a-f]{10} to bela/m);
  expect(stdout).toContain("reloaded active\nagain active 0\n");
  // A manager that is busy as word comes in cannot tell whose it was unless the sender waits.
  expect(stdout).toContain(`busy active anna on ${wire}\n`);
  expect(stdout).toMatch(/^deaddrop@[0-9a-f]{16}:anna\.service: installed, running, process \d+$/m);
  expect(stdout).toContain("stopped 1\n");
  expect(stdout).toContain(`started active anna on ${wire}\n`);
  expect(stdout).toContain("restarted active 1\n");
  expect(stdout).toMatch(/"running": ?false/);
  expect(stdout).toMatch(/"last_exit_code": ?0/);
  expect(stdout).toContain("left 0\n");
  const log = jsonLines(readFileSync(join(wire, "anna_to_bela.jsonl"), "utf8")) as Line[];
  const chain = log.filter(({ seq }) => seq !== undefined);
  expect(chain.map(({ seq }) => seq)).toEqual(chain.map((_line, index) => index + 1));
  expect(log.at(-1)).toMatchObject({ type: "heartbeat", body: { state: "paused" } });
});

import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { TransportView } from "../../../src/api/transport.ts";
import { makeWire, type LiveWire } from "../../support/processes/live-wire.ts";
import { killChildren, until } from "../../support/processes/real-processes.ts";

// Two agents of one user on one machine, both with a daemon: one command moves the wire for both.

const REASON = ["--yes", "--reason", "a test"];
const LOGS = ["forge_to_scribe.jsonl", "scribe_to_forge.jsonl"];
const made: string[] = [];
afterEach(async () => {
  await killChildren();
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function bare(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-switch-")));
  made.push(folder);
  const remote = join(folder, "wire.git");
  execFileSync("git", ["init", "--quiet", "--bare", "--initial-branch=main", remote]);
  return remote;
}

/** Both daemons use that remote, without trouble, and it has the message of that subject of each. */
async function expectShared(wire: LiveWire, remote: string, subject: string): Promise<void> {
  for (const handle of ["forge", "scribe"] as const) {
    const healthy = await until(`${handle} pushes to ${remote}`, async () => {
      const { health } = await wire.json<{ health: TransportView | null }>(
        handle,
        ...["transport", "status"],
      );
      return health?.pushed_at === null || health === null ? undefined : health;
    });
    expect(healthy).toMatchObject({ remote, problem: null });
  }
  // Their newest beats may be on the way forever: a new one comes before the last one is there.
  await until("all is in the remote", () =>
    LOGS.every((log) => inRemote(remote, log).includes(subject)),
  );
}

function inRemote(remote: string, log: string): string {
  return execFileSync("git", ["-C", remote, "show", `main:${log}`], { encoding: "utf8" });
}

test("switch tells every daemon of the machine, and none goes on with the old remote", async () => {
  // Each beat is a push.
  const wire = makeWire({ cadenceSeconds: 4 });
  await wire.daemon("forge");
  await wire.daemon("scribe");
  for (const remote of [bare(), bare()]) {
    await wire.json("forge", "transport", "switch", "git", "--remote", remote, ...REASON);
    const subject = `by ${remote}`;
    await wire.json("forge", "send", subject, "--to", "scribe");
    await wire.json("scribe", "send", subject, "--to", "forge");
    await expectShared(wire, remote, subject);
  }
  await wire.json("scribe", "transport", "switch", "folder", ...REASON);
  for (const handle of ["forge", "scribe"] as const) {
    expect(await wire.json(handle, "transport", "status")).toMatchObject({ health: null });
  }
});

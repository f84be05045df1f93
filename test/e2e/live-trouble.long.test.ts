import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { TroubleView } from "../../src/api/troubles.ts";
import { until } from "../support/processes/real-processes.ts";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";

afterEach(removeWires);

interface Checked {
  readonly ok: boolean;
  readonly troubles: readonly TroubleView[];
}

/** `status --check` and `doctor` say the same: exit code, and the command that ends each. */
async function checked(wire: LiveWire) {
  const status = await wire.run("forge", "status", "--check", "--json");
  const doctor = await wire.run("forge", "doctor", "--json");
  expect([doctor.code, doctor.stderr]).toEqual([status.code, ""]);
  const { ok, troubles } = JSON.parse(status.stdout) as Checked;
  expect(ok).toBe(status.code === 0);
  for (const { end } of troubles) expect(doctor.stdout).toContain(JSON.stringify(end).slice(1, -1));
  return { code: status.code, troubles: troubles.map(({ code, end }) => [code, end]) };
}

it("the daemon's log says when, in a form that people read", async () => {
  const wire = makeWire();
  const daemon = await wire.daemon("forge");
  const [first] = daemon.log();
  expect(first?.["time"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  await daemon.stop();
});

it("status --check and doctor exit 0 only when nothing is wrong now, else 1 with what ends it", async () => {
  const wire = makeWire();
  const [noDaemon] = (await checked(wire)).troubles;
  expect(noDaemon).toEqual(["no_daemon", expect.stringContaining("deaddrop daemon")]);

  const daemon = await wire.daemon("forge");
  await wire.daemon("scribe");
  await until("all is well", async () => (await checked(wire)).code === 0);
  const { stdout } = await wire.run("forge", "status", "--check");
  expect(stdout).toBe("Nothing is wrong.\n");

  const tiers = wire.text("tiers.json");
  // The daemon must not read half of it: that would be one more matter.
  const writeTiers = (text: string): void => {
    const path = join(wire.dir, "tiers.json");
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  writeTiers(tiers.replaceAll('_seconds":1', '_seconds":2'));
  // The operator is told of it once, and has read that.
  const isTold = async () =>
    (await checked(wire)).troubles.some(([code]) => code === "incident_notices");
  await until("the operator is told", isTold);
  await wire.run("forge", "incident", "notices", "--mark-read");
  expect(await checked(wire)).toEqual({
    code: 1,
    troubles: [["config_drift", "deaddrop config accept"]],
  });
  const lines = (await wire.run("forge", "status", "--check")).stdout.trimEnd().split("\n");
  expect(lines).toEqual([
    expect.stringMatching(/^config_drift: .*tiers\.json differs.* → deaddrop config accept$/),
  ]);
  writeTiers(tiers);
  let now = await checked(wire);
  const isWell = async () => (now = await checked(wire)).code === 0;
  // Says what is still wrong.
  await until("all is well again", isWell).catch(() => expect(now.troubles).toEqual([]));

  daemon.child.kill("SIGSTOP");
  const silent = await wire.run("forge", "status", "--check");
  expect(silent.code).toBe(1);
  expect(silent.stdout).toContain(`the daemon (process ${daemon.pid}) did not answer within 10 s`);
  expect(silent.stdout).toContain(`kill -9 ${daemon.pid}`);
  const { stdout: doctor } = await wire.run("forge", "doctor", "--json");
  const { checks, troubles } = JSON.parse(doctor) as Checked & { checks: { check: string }[] };
  expect(checks.filter(({ check }) => check === "daemon")).toEqual([]);
  expect(troubles.map(({ code }) => code)).toContain("daemon_failed");
});

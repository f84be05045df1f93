import { readFileSync } from "node:fs";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { brokenPlaces } from "../../support/chain-check.ts";
import {
  jsonLines,
  makeWire,
  removeWires,
  type LiveWire,
} from "../../support/processes/live-wire.ts";
import {
  BIN,
  LIBRARY,
  pause,
  start,
  until,
  type Started,
} from "../../support/processes/real-processes.ts";
import { WAYS_TO_LOCK } from "../../support/processes/ways-to-lock.ts";

const SENDER = fileURLToPath(new URL("../../support/processes/sender-process.js", import.meta.url));
/** Takes the lock of a file, says so, and is stopped with it; continued, it ends. */
const LOCKER = 'exec 9>>"$0"; flock -x 9; echo held; kill -STOP $$';
const LOG = "forge_to_scribe";

afterEach(removeWires);

const subjects = (wire: LiveWire, handle: string) =>
  wire.privateLines(handle, "inbox").map(({ subject }) => subject);

const said = (wire: LiveWire) =>
  wire.lines(`${LOG}.jsonl`).filter(({ type }) => type !== "heartbeat");

function begin(wire: LiveWire, handle: string, command: string, ...rest: string[]): Started {
  const args = [BIN, command, "--wire", wire.dir, "--as", handle, ...rest];
  return start(process.execPath, args, { env: wire.env, input: "" });
}

const isRunning = ({ child }: Started) => child.exitCode === null;

describe.each(WAYS_TO_LOCK)("a process that is stopped while it holds a lock, by $name", (way) => {
  const makeLocking = (options: Parameters<typeof makeWire>[0] = {}) =>
    makeWire({ ...options, env: () => way.env });

  it("the daemon: its commands wait, for ten seconds, and say so with exit 3; a second one is refused, peers go on; then each message goes out once", async () => {
    const wire = makeLocking();
    const daemon = await wire.daemon("forge");
    const peer = await wire.daemon("scribe");
    daemon.child.kill("SIGSTOP");
    const sends = ["one", "two", "three"].map((subject) => begin(wire, "forge", "send", subject));
    const second = await wire.run("forge", "daemon");
    expect(second.code).toBe(5);
    expect(second.stdout).toContain(`the daemon with process id ${daemon.pid}`);
    await wire.json("scribe", "send", "meanwhile");
    const beats = wire.lines("scribe_to_forge.jsonl").length;
    await until("the peer beats on", () => wire.lines("scribe_to_forge.jsonl").length > beats + 1);
    for (const { ended } of sends) {
      const { code, stderr } = await ended;
      expect(code).toBe(3);
      expect(stderr).toContain(`the daemon (process ${daemon.pid}) did not answer within 10 s`);
      expect(stderr).toContain("nothing was sent or changed");
    }
    expect(said(wire)).toEqual([]);

    daemon.child.kill("SIGCONT");
    for (const subject of ["one", "two", "three"]) await wire.json("forge", "send", subject);
    await until("the peer has it", () => subjects(wire, "scribe").length === 3);
    await until("it has the peer's", () => subjects(wire, "forge").length === 1);
    await Promise.all([daemon.stop(), peer.stop()]);
    expect(said(wire).map(({ subject }) => subject)).toEqual(["one", "two", "three"]);
    expect(subjects(wire, "scribe")).toEqual(["one", "two", "three"]);
    expect(brokenPlaces(wire, "forge", `${LOG}.jsonl`)).toEqual([]);
  });

  it("a command: another one and a daemon wait for it, and every answer stands in one chain", async () => {
    const wire = makeLocking();
    const args = [SENDER, LIBRARY, wire.dir, "forge", "scribe", "stopped", "100000"];
    const holder = start(process.execPath, args, { env: wire.env });
    await until("it sends", () => holder.stdout().length > 500);
    await until("it is stopped with the lock", async () => {
      holder.child.kill("SIGSTOP");
      await pause(20);
      if (readFileSync(wire.paths("forge").lock, "utf8").includes(`"pid":${holder.pid},`)) {
        // A note that is complete is written under the lock, and emptied before the lock is freed.
        return true;
      }
      holder.child.kill("SIGCONT");
      return false;
    });
    const lines = said(wire).length;
    const send = begin(wire, "forge", "send", "patient", "--json");
    const daemon = begin(wire, "forge", "daemon");
    await pause(2_000);
    expect([send, daemon].map(isRunning)).toEqual([true, true]);
    expect(said(wire).length).toBe(lines);

    holder.child.kill("SIGCONT");
    const { code, stderr } = await send.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    await until("the daemon runs", () => daemon.stdout().includes('"the daemon runs"'));
    holder.child.kill("SIGKILL");
    await holder.ended;
    daemon.child.kill("SIGTERM");
    expect((await daemon.ended).code).toBe(0);
    expect(brokenPlaces(wire, "forge", `${LOG}.jsonl`)).toEqual([]);
    const standing = said(wire).map(({ event_id }) => event_id);
    const answered = (jsonLines(holder.stdout()) as { event_id: string }[]).map((a) => a.event_id);
    expect(answered.filter((id) => !standing.includes(id))).toEqual([]);
    expect(said(wire).filter(({ subject }) => subject === "patient")).toHaveLength(1);
  });

  it("somebody else with decisions.jsonl: mail and beats go on, the decision is recorded once it is free", async (context) => {
    if (spawnSync("sh", ["-c", "command -v flock"]).status !== 0) context.skip("no flock(1) here");
    const wire = makeLocking({ deadlineSeconds: 600 });
    const daemons = [await wire.daemon("forge"), await wire.daemon("scribe")];
    const locker = start("sh", ["-c", LOCKER, join(wire.dir, "decisions.jsonl")], {
      env: wire.env,
    });
    await until("it holds the lock", () => locker.stdout().includes("held"));
    await wire.json("forge", "propose", "the plan", "in words");
    const proposal = await until("it is there", () =>
      wire.privateLines("scribe", "inbox").find(({ type }) => type === "proposal"),
    );
    await wire.json("scribe", "ack", proposal.event_id);
    await until("it says that it waits", () =>
      daemons.some((daemon) => daemon.stdout().includes("another program keeps it locked")),
    );
    const beats = wire.lines(`${LOG}.jsonl`).length;
    const beganMs = Date.now();
    for (const subject of ["a", "b", "c"]) await wire.json("forge", "send", subject);
    await until("mail goes on", () => subjects(wire, "scribe").includes("c"));
    const tookMs = Date.now() - beganMs;
    await until("beats go on", () => wire.lines(`${LOG}.jsonl`).length > beats + 3);
    process.stdout.write(`three messages beside a stopped lock holder: ${tookMs} ms\n`);
    expect(wire.lines("decisions.jsonl")).toEqual([]);

    locker.child.kill("SIGCONT");
    await locker.ended;
    await until("it is recorded", () => wire.lines("decisions.jsonl").length > 0);
    for (const log of [LOG, "scribe_to_forge"]) {
      const { length } = wire.lines(`${log}.jsonl`);
      await until("beats go on", () => wire.lines(`${log}.jsonl`).length > length + 2);
    }
    await Promise.all(daemons.map((daemon) => daemon.stop()));
    expect(wire.lines("decisions.jsonl")).toHaveLength(1);
    expect((await wire.run("forge", "audit", "--json")).code).toBe(0);
  });
});

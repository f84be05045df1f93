import { connect, type Socket } from "node:net";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { LIBRARY, start, until } from "../support/processes/real-processes.ts";
import { brokenPlaces } from "../support/chain-check.ts";
import { jsonLines, makeWire, removeWires, type Daemon } from "../support/processes/live-wire.ts";

const SENDER = fileURLToPath(new URL("../support/processes/sender-process.js", import.meta.url));

afterEach(removeWires);

async function endsByItself(daemon: Daemon): Promise<void> {
  const { code, stderr } = await daemon.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
}

describe("signals", () => {
  it("SIGTERM under load: what was answered is there, the last beat says paused, exit 0", async () => {
    const wire = makeWire();
    const daemon = await wire.daemon("forge");
    const senders = [1, 2, 3].map((name) => {
      const args = [SENDER, LIBRARY, wire.dir, "forge", "scribe", `s${name}`, "100000"];
      return start(process.execPath, args, { env: wire.env });
    });
    await until("senders send", () => senders.every((each) => each.stdout().length > 2_000));
    daemon.child.kill("SIGTERM");
    await endsByItself(daemon);
    for (const sender of senders) sender.child.kill("SIGKILL");
    await Promise.all(senders.map(({ ended }) => ended));

    const lines = wire.lines("forge_to_scribe.jsonl");
    expect(brokenPlaces(wire, "forge", "forge_to_scribe.jsonl")).toEqual([]);
    const standing = new Set(lines.map(({ event_id }) => event_id));
    const answered = senders.flatMap(({ stdout }) => jsonLines(stdout()) as { event_id: string }[]);
    expect(answered.filter(({ event_id }) => !standing.has(event_id))).toEqual([]);
    expect(lines.findLast(({ type }) => type === "heartbeat")?.body["state"]).toBe("paused");
    expect(existsSync(wire.paths("forge").socket)).toBe(false);
  });

  it("SIGINT ends it the same way; its last line is the beat", async () => {
    const wire = makeWire();
    const daemon = await wire.daemon("forge");
    daemon.child.kill("SIGINT");
    await endsByItself(daemon);
    const last = wire.lines("forge_to_scribe.jsonl").at(-1);
    expect(last).toMatchObject({ type: "heartbeat", body: { state: "paused" } });
  });

  it("ends in the same way while a client keeps its connection open and does not answer", async () => {
    const wire = makeWire();
    const daemon = await wire.daemon("forge");
    const open = await new Promise<Socket>((resolve) => {
      const socket = connect({ path: wire.paths("forge").socket, allowHalfOpen: true }, () =>
        resolve(socket),
      );
    });
    daemon.child.kill("SIGTERM");
    await endsByItself(daemon);
    open.destroy();
    const last = wire.lines("forge_to_scribe.jsonl").at(-1);
    expect(last).toMatchObject({ type: "heartbeat", body: { state: "paused" } });
  });

  it("a second signal ends it at once, and the next start finds everything", async () => {
    const wire = makeWire();
    const daemon = await wire.daemon("forge");
    await wire.json("forge", "send", "before");
    daemon.child.kill("SIGTERM");
    daemon.child.kill("SIGINT");
    await daemon.ended;
    const again = await wire.daemon("forge");
    await wire.json("forge", "send", "after");
    await again.stop();
    expect(brokenPlaces(wire, "forge", "forge_to_scribe.jsonl")).toEqual([]);
    const said = wire.lines("forge_to_scribe.jsonl").filter(({ type }) => type === "feedback");
    expect(said.map(({ subject }) => subject)).toEqual(["before", "after"]);
  });

  it("SIGHUP reads pins and tiers again; what cannot be read leaves the old ones", async () => {
    const wire = makeWire();
    const daemon = await wire.daemon("scribe");
    const { trust } = wire.paths("scribe");
    const store = JSON.parse(readFileSync(trust, "utf8")) as {
      version: number;
      agents: Record<string, { tier: string }>;
    };
    writeFileSync(trust, "{");
    daemon.child.kill("SIGHUP");
    await until("it says that it did not reload", () =>
      daemon.log().some(({ msg }) => msg.includes("not reloaded")),
    );
    await wire.json("forge", "send", "first");
    await until("forge is still trusted", () => wire.privateLines("scribe", "inbox").length === 1);

    (store.agents["forge"] as { tier: string }).tier = "UNTRUSTED";
    writeFileSync(trust, JSON.stringify({ ...store, version: store.version + 1 }));
    daemon.child.kill("SIGHUP");
    await until("it has read them", async () => {
      const peers = await wire.json<{ trust_tier: string }[]>("scribe", "peers");
      return peers[0]?.trust_tier === "UNTRUSTED";
    });
    await wire.json("forge", "send", "second");
    await until("it waits now", async () => {
      const peers = await wire.json<{ waits: { code: string }[] }[]>("scribe", "peers");
      return peers[0]?.waits[0]?.code === "not_compared";
    });
    expect(wire.privateLines("scribe", "inbox").map(({ subject }) => subject)).toEqual(["first"]);
  });

  it("SIGUSR1 makes it look at once", async () => {
    const wire = makeWire({ cadenceSeconds: 600 });
    const daemon = await wire.daemon("scribe");
    await until("its first beat", () => wire.lines("scribe_to_forge.jsonl").length === 1);
    await wire.json("forge", "send", "look");
    daemon.child.kill("SIGUSR1");
    await until("it is there", () => wire.privateLines("scribe", "inbox").length === 1);
    expect(daemon.child.exitCode).toBeNull();
  });

  it("--once: one round, one beat, exit 0", async () => {
    const wire = makeWire();
    await wire.json("forge", "send", "hello");
    const { code, stderr } = await wire.run("scribe", "daemon", "--once");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(wire.privateLines("scribe", "inbox")).toHaveLength(1);
    const beats = wire.lines("scribe_to_forge.jsonl");
    const [sent] = wire.lines("forge_to_scribe.jsonl");
    expect(beats).toMatchObject([
      { type: "heartbeat", body: { heads: { forge: [sent?.seq, sent?.event_id, 0] } } },
    ]);
    expect((await wire.run("scribe", "daemon", "--once")).code).toBe(0);
    expect(wire.privateLines("scribe", "inbox")).toHaveLength(1);
  });
});

describe("the socket", () => {
  it("that a killed daemon left: commands work without it, and the next daemon takes its place", async () => {
    const wire = makeWire();
    const daemon = await wire.daemon("forge");
    daemon.child.kill("SIGKILL");
    await daemon.ended;
    expect(statSync(wire.paths("forge").socket).isSocket()).toBe(true);
    await wire.json("forge", "send", "without");
    await wire.daemon("forge");
    const { daemon: shown } = await wire.json<{ daemon: { running: boolean } }>("forge", "whoami");
    expect(shown.running).toBe(true);
    await wire.json("forge", "send", "with");
    expect(brokenPlaces(wire, "forge", "forge_to_scribe.jsonl")).toEqual([]);
  });

  it("is in the private folder when the path of that is too long for a socket", async () => {
    const wire = makeWire({
      env: (home) => ({ XDG_STATE_HOME: join(home, "s".repeat(120)) }),
    });
    const { socket, stateDir } = wire.paths("forge");
    expect(socket.startsWith(stateDir)).toBe(true);
    expect(socket.length).toBeGreaterThan(108);
    await wire.daemon("forge");
    expect(statSync(socket).isSocket()).toBe(true);
    const { daemon } = await wire.json<{ daemon: { running: boolean } }>("forge", "whoami");
    expect(daemon.running).toBe(true);
    await wire.json("forge", "send", "through it");
  });

  it("cuts off who talks nonsense, and goes on", async () => {
    const wire = makeWire();
    await wire.daemon("forge");
    const answers = await new Promise<string>((resolve) => {
      let text = "";
      const socket = connect(wire.paths("forge").socket, () =>
        socket.write('nonsense\n{"id":1,"op":"nothing"}\n'),
      );
      socket.on("data", (chunk) => {
        text += String(chunk);
        if (text.split("\n").length > 2) socket.end();
      });
      socket.on("close", () => resolve(text));
    });
    expect(jsonLines(answers)).toMatchObject([
      { ok: false, error: { code: "usage" } },
      { id: 1, ok: false, error: { code: "usage" } },
    ]);
    await wire.json("forge", "send", "and on");
  });
});

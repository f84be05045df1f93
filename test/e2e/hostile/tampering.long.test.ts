import {
  appendFileSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { brokenPlaces } from "../../support/chain-check.ts";
import { until } from "../../support/processes/real-processes.ts";
import {
  makeWire,
  removeWires,
  tiersText,
  type LiveWire,
} from "../../support/processes/live-wire.ts";

interface Notice {
  readonly cause: string;
  readonly peer: string | null;
}

afterEach(removeWires);

async function causes(wire: LiveWire, handle: string): Promise<string[]> {
  const notices = await wire.json<Notice[]>(handle, "incident", "notices");
  return notices.map(({ cause }) => cause);
}

const told = (wire: LiveWire, handle: string, cause: string) =>
  until(`${handle} is told of ${cause}`, async () => (await causes(wire, handle)).includes(cause));

const inboxSubjects = (wire: LiveWire, handle: string) =>
  wire.privateLines(handle, "inbox").map(({ subject }) => subject);

const arrived = (wire: LiveWire, handle: string, subject: string) =>
  until(`"${subject}" reaches ${handle}`, () => inboxSubjects(wire, handle).includes(subject));

/** At once: a half-written file is another change, and would be told as one. */
function replace(wire: LiveWire, name: string, text: string): void {
  const temporary = join(wire.folder, name);
  writeFileSync(temporary, text);
  renameSync(temporary, join(wire.dir, name));
}

function edit(wire: LiveWire, name: string, change: (text: string) => string): void {
  replace(wire, name, change(wire.text(name)));
}

/** A daemon that has sent two messages, all of it durable. */
async function twoSent() {
  const wire = makeWire({ cadenceSeconds: 20 });
  const daemon = await wire.daemon("forge");
  await wire.json("forge", "send", "one");
  await wire.json("forge", "send", "two");
  await until("both are published", () => feedback(wire).length === 2);
  return { wire, daemon, log: join(wire.dir, "forge_to_scribe.jsonl") };
}

function feedback(wire: LiveWire): unknown[] {
  const said = wire.lines("forge_to_scribe.jsonl").filter(({ type }) => type === "feedback");
  return said.map(({ subject }) => subject);
}

describe("files that peers can write", () => {
  it("config, tiers and advertised keys that change are told, and change nothing", async () => {
    const wire = makeWire({ cadenceSeconds: 2 });
    const log = join(wire.dir, "scribe_to_forge.jsonl");
    const daemon = await wire.daemon("forge");
    await wire.daemon("scribe");
    edit(wire, "config.json", (text) =>
      text.replace("{", '{"v3_signing":{"enforce_signed":false,"allow_unsigned_from":["scribe"]},'),
    );
    await told(wire, "forge", "config_drift");
    replace(wire, "tiers.json", tiersText(3_600));
    edit(wire, "trust.json", (text) =>
      text.replaceAll(/"key": "[^"]+"/g, `"key": "${"A".repeat(42)}0="`),
    );
    writeFileSync(join(wire.dir, "SAFE_MODE"), "stop!\n");
    await told(wire, "forge", "trust_drift");
    await told(wire, "forge", "safe_mode_sign");

    const unsigned = { timestamp: new Date().toISOString(), from: "scribe", type: "feedback" };
    const rest = { subject: "unsigned", body: "x", correlation_id: "free" };
    appendFileSync(log, `${JSON.stringify({ ...unsigned, ...rest })}\n`);
    await until("it is refused", () => wire.privateLines("forge", "quarantine").length > 0);
    expect(wire.privateLines("forge", "quarantine")[0]?.["reason"]).toBe("unsigned");
    expect((await wire.run("forge", "send", "no safe mode")).code).toBe(0);
    await wire.json("scribe", "send", "signed as before");
    await arrived(wire, "forge", "signed as before");
    const beats = wire.lines("forge_to_scribe.jsonl").filter(({ type }) => type === "heartbeat");
    await until("beats go on at the pinned pace", () => {
      const now = wire.lines("forge_to_scribe.jsonl").filter(({ type }) => type === "heartbeat");
      return now.length >= beats.length + 2;
    });
    const drifts = (await causes(wire, "forge")).filter((cause) => cause === "config_drift");
    expect(drifts).toHaveLength(2);

    // The same after a restart, and nothing is told twice.
    await daemon.stop();
    await wire.daemon("forge");
    await wire.json("scribe", "send", "and again");
    await arrived(wire, "forge", "and again");
    expect((await causes(wire, "forge")).filter((cause) => cause === "config_drift")).toEqual(
      drifts,
    );
  });
});

describe("a log that somebody else writes to", () => {
  it("forged and foreign lines in either log are counted, and neither side takes them for true", async () => {
    const wire = makeWire();
    await wire.daemon("forge");
    await wire.daemon("scribe");
    await wire.json("forge", "send", "true");
    await arrived(wire, "scribe", "true");
    const line = wire
      .text("forge_to_scribe.jsonl")
      .split("\n")
      .find((each) => each.includes('"true"'));
    for (const name of ["forge_to_scribe", "scribe_to_forge"]) {
      const path = join(wire.dir, `${name}.jsonl`);
      appendFileSync(path, `${String(line).replace('"subject":"true"', '"subject":"false"')}\n`);
      appendFileSync(path, "no json at all\n");
      appendFileSync(path, `${String(line)}\n`);
    }
    const refused = (handle: string, file: string) =>
      wire
        .privateLines(handle, "quarantine")
        .filter((each) => each["file"] === file)
        .map((each) => each["reason"]);
    await wire.json("forge", "send", "after");
    await arrived(wire, "scribe", "after");
    await wire.json("scribe", "send", "back");
    await arrived(wire, "forge", "back");
    expect(inboxSubjects(wire, "scribe")).toEqual(["true", "after"]);
    expect(inboxSubjects(wire, "forge")).toEqual(["back"]);
    for (const handle of ["forge", "scribe"]) {
      // The true line once more is a copy, in whatever file.
      for (const file of ["forge_to_scribe.jsonl", "scribe_to_forge.jsonl"])
        expect(refused(handle, file)).toEqual(["event_id_mismatch", "malformed"]);
    }
  });

  it("our own carrier cut by somebody: what it lacks is put back by itself", async () => {
    const { wire, log } = await twoSent();
    const whole = readFileSync(log, "utf8");
    truncateSync(log, whole.indexOf("\n") + 1);
    await wire.json("forge", "send", "three");
    await until("it is whole", () => feedback(wire).length === 3);
    expect(feedback(wire)).toEqual(["one", "two", "three"]);
    expect(brokenPlaces(wire, "forge", "forge_to_scribe.jsonl")).toEqual([]);
  });

  it("an agent that lost its store and its carrier gets its lines from its peer, and goes on", async () => {
    const wire = makeWire();
    await wire.daemon("forge");
    for (const subject of ["one", "two"]) await wire.json("scribe", "send", subject);
    await arrived(wire, "forge", "two");
    const { stateDir } = wire.paths("scribe");
    for (const path of [stateDir, join(wire.dir, "scribe_to_forge.jsonl")])
      rmSync(path, { recursive: true });
    await wire.daemon("scribe");
    await until("scribe can send", async () => {
      return (await wire.run("scribe", "send", "other words")).code === 0;
    });
    await arrived(wire, "forge", "other words");
    expect(inboxSubjects(wire, "forge")).toEqual(["one", "two", "other words"]);
    expect(await wire.json("forge", "peers")).toMatchObject([{ handle: "scribe", held: false }]);
    expect(brokenPlaces(wire, "scribe", "scribe_to_forge.jsonl")).toEqual([]);
  });

  it("a peer's log that only lost its end is waited for", async () => {
    const wire = makeWire();
    const daemon = await wire.daemon("forge");
    for (const subject of ["one", "two"]) await wire.json("scribe", "send", subject);
    await arrived(wire, "forge", "two");
    const log = join(wire.dir, "scribe_to_forge.jsonl");
    const whole = readFileSync(log);
    truncateSync(log, whole.indexOf("\n") + 1);
    await wire.json("forge", "send", "goes on");
    await daemon.stop();
    await wire.daemon("forge");
    writeFileSync(log, whole);
    await wire.json("scribe", "send", "three");
    await arrived(wire, "forge", "three");
    expect(inboxSubjects(wire, "forge")).toEqual(["one", "two", "three"]);
    const told = (await causes(wire, "forge")).filter((cause) => cause !== "log_behind");
    expect(told).toEqual([]);
  });
});

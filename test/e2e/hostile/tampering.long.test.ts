import {
  appendFileSync,
  copyFileSync,
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
  await until("it is quiet", () => readFileSync(wire.paths("forge").pending, "utf8") === "");
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
      // The true line once more in its own log is no refusal but a duplicate.
      const inItsLog = ["event_id_mismatch", "malformed"];
      expect(refused(handle, "forge_to_scribe.jsonl")).toEqual(inItsLog);
      const elsewhere = ["wrong_file", "malformed", "wrong_file"];
      expect(refused(handle, "scribe_to_forge.jsonl")).toEqual(elsewhere);
    }
  });

  it("our own log cut by somebody: what it lacks is put back by itself, and told", async () => {
    const { wire, log } = await twoSent();
    const whole = readFileSync(log, "utf8");
    truncateSync(log, whole.indexOf("\n") + 1);
    await told(wire, "forge", "log_restored");
    expect(readFileSync(log, "utf8").startsWith(whole)).toBe(true);
    await wire.json("forge", "send", "three");
    expect(feedback(wire)).toEqual(["one", "two", "three"]);
  });

  it("our own log and our copy of it cut: sending stops and says why; the bytes put back heal it", async () => {
    const { wire, log, daemon } = await twoSent();
    const kept = join(wire.folder, "kept.jsonl");
    copyFileSync(log, kept);
    truncateSync(join(wire.paths("forge").ownCopies, "forge_to_scribe.jsonl"), 0);
    truncateSync(log, readFileSync(log, "utf8").indexOf("\n") + 1);
    await told(wire, "forge", "log_damaged");
    const refused = await wire.run("forge", "send", "three");
    expect(refused.code).toBe(6);
    expect(refused.stderr).toContain("not sent");
    expect(refused.stderr).toContain("forge_to_scribe.jsonl");
    expect(refused.stderr).toContain("deaddrop reclaim --from FILE");
    const cut = readFileSync(log, "utf8");

    // A restart does not talk it away.
    await daemon.stop();
    const again = await wire.daemon("forge");
    expect((await wire.run("forge", "send", "three")).code).toBe(6);
    expect(readFileSync(log, "utf8")).toBe(cut);

    copyFileSync(kept, log);
    await until(
      "it sends again",
      async () => (await wire.run("forge", "send", "three")).code === 0,
    );
    await again.stop();
    expect(brokenPlaces(wire, "forge", "forge_to_scribe")).toEqual([]);
    expect(feedback(wire)).toEqual(["one", "two", "three"]);
  });

  it("a peer that rewrites its log is held; the bytes put back and the rest are not delivered twice", async () => {
    const wire = makeWire();
    await wire.daemon("forge");
    for (const subject of ["one", "two"]) await wire.json("scribe", "send", subject);
    await arrived(wire, "forge", "two");
    const log = join(wire.dir, "scribe_to_forge.jsonl");
    // Scribe loses its memory, and says something else in the place of what it had said.
    const { stateDir, heads } = wire.paths("scribe");
    for (const path of [stateDir, heads, log]) rmSync(path, { recursive: true, force: true });
    await wire.json("scribe", "send", "other words");
    await told(wire, "forge", "log_rewritten");
    const peers = await wire.json<{ handle: string; held: boolean }[]>("forge", "peers");
    expect(peers).toMatchObject([{ handle: "scribe", held: true }]);
    expect(inboxSubjects(wire, "forge")).toEqual(["one", "two"]);
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
    expect(await causes(wire, "forge")).toEqual([]);
  });
});

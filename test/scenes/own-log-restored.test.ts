import { join } from "node:path";
import { expect, test } from "vitest";
import { DeaddropError } from "../../src/api/errors.ts";
import { PromiseChecker } from "../support/scenes/promise-checker.ts";
import { SimulatedWire, type PlainDraft } from "../support/scenes/simulated-wire.ts";
import { MINUTE, say, SECOND } from "../support/scenes/fault-scene.ts";

// Spec 1.6, "Our own log shrunk or was replaced": docs/incidents-of-a-log.md says the same in words.

const LOG = "forge_to_scribe";
const FILE = `${LOG}.jsonl`;

const draft = (subject: string): PlainDraft => ({ ...say(subject), body: { text: subject } });

interface Scene {
  readonly wire: SimulatedWire;
  readonly checker: PromiseChecker;
  /** The files as they were after "one". */
  readonly older: ReadonlyMap<string, string>;
}

const SHARED = [FILE, "scribe_to_forge.jsonl", "decisions.jsonl", "incident_log.jsonl"];

const privateFiles = (wire: SimulatedWire): string[] => {
  const { heads, journal, inbox, pending, ownCopies } = wire.paths("forge");
  return [heads, journal, inbox, pending, join(ownCopies, FILE)];
};

/** forge has said "one", then a copy of everything is made, then it says "two" and "three". */
async function scene(): Promise<Scene> {
  const wire = new SimulatedWire(["forge", "scribe"]);
  const checker = new PromiseChecker(wire);
  await wire.start();
  await wire.send("forge", draft("one"));
  await wire.pass(5 * SECOND);
  await wire.rest();
  const older = new Map<string, string>();
  for (const path of [...SHARED, ...privateFiles(wire)]) {
    if (wire.disk.lookUp(join(wire.wirePath, path)) ?? wire.disk.lookUp(path)) {
      older.set(path, wire.read(path));
    }
  }
  for (const subject of ["two", "three"]) {
    await wire.send("forge", draft(subject));
    await wire.pass(3 * MINUTE);
  }
  await wire.rest();
  checker.look();
  return { wire, checker, older };
}

/** Puts files back as they were; a name without a copy is removed. */
function putBack({ wire, older }: Scene, paths: readonly string[]): void {
  const process = wire.disk.process();
  for (const path of paths) {
    const whole = path.startsWith("/") ? path : join(wire.wirePath, path);
    const text = older.get(path);
    if (text === undefined) process.remove(whole);
    else process.replace(whole, Buffer.from(text, "utf8"), 0o600);
  }
}

async function seen({ wire }: Scene, handle: string): Promise<string[]> {
  return (await wire.agent(handle).view("inbox", {})).map(({ subject }) => subject);
}

async function causes({ wire }: Scene, handle = "forge"): Promise<string[]> {
  return (await wire.agent(handle).view("notices", undefined)).map(({ cause }) => cause);
}

/** All is as if nothing had happened, and it goes on. */
async function expectWhole(it: Scene, before: string, told: "told" | "" = ""): Promise<void> {
  const { wire, checker } = it;
  expect(wire.read(FILE).startsWith(before)).toBe(true);
  const troubles = await wire.agent("forge").view("troubles", undefined);
  expect(troubles.filter(({ what }) => what !== "incident_notices")).toEqual([]);
  await wire.send("forge", draft("four"));
  await wire.pass(15 * MINUTE);
  expect(await seen(it, "scribe")).toEqual(["one", "two", "three", "four"]);
  expect((await causes(it, "scribe")).filter((cause) => cause !== "peer_silent")).toEqual([]);
  await wire.expectReplayEqualsLive("forge");
  if (told === "") await checker.check();
  else checker.look();
}

for (const [what, change] of [
  ["cut", (it: Scene) => putBack(it, [FILE])],
  ["deleted", ({ wire }: Scene) => wire.disk.process().remove(join(wire.wirePath, FILE))],
  ["replaced by a rename", ({ wire, older }: Scene) => wire.replace(FILE, older.get(FILE) ?? "")],
  ["emptied", ({ wire }: Scene) => wire.replace(FILE, "")],
] as const) {
  for (const isUp of [true, false]) {
    test(`our log is ${what} while the daemon ${isUp ? "runs" : "is down"}: it heals by itself, and is told once`, async () => {
      const it = await scene();
      const { wire } = it;
      const before = wire.read(FILE);
      if (!isUp) wire.kill("forge");
      change(it);
      if (!isUp) await wire.start("forge");
      await wire.pass(5 * SECOND);
      expect(await causes(it)).toEqual(["log_restored"]);
      await expectWhole(it, before);
      expect(await causes(it)).toEqual(["log_restored"]);
    });
  }
}

test("a message that is sent right after our log was cut follows what it lacks", async () => {
  const it = await scene();
  const before = it.wire.read(FILE);
  putBack(it, [FILE]);
  await it.wire.post("forge", draft("right after"));
  expect(it.wire.read(FILE).startsWith(before)).toBe(true);
  await it.wire.pass(5 * SECOND);
  expect(await seen(it, "scribe")).toEqual(["one", "two", "three", "right after"]);
  await it.checker.check();
});

test("the wire is restored from an older copy: every agent puts back its own lines", async () => {
  const it = await scene();
  const { wire } = it;
  await wire.send("scribe", draft("an answer"));
  await wire.pass(5 * SECOND);
  await wire.rest();
  const before = wire.read(FILE);
  putBack(it, SHARED);
  await wire.pass(30 * SECOND);
  expect(await seen(it, "forge")).toEqual(["an answer"]);
  expect(await causes(it, "scribe")).toEqual(["log_restored"]);
  expect(wire.read(FILE).startsWith(before)).toBe(true);
  await wire.pass(15 * MINUTE);
  expect(await causes(it)).toEqual(["log_restored"]);
  await it.checker.check();
});

test("the private state is restored from an older copy, the wire is not: nothing is sent before the operator has said that no other copy of the key writes", async () => {
  const it = await scene();
  const { wire } = it;
  wire.kill("forge");
  putBack(it, privateFiles(wire));
  wire.disk.process().remove(wire.paths("forge").checkpoint);
  await wire.start("forge");
  await wire.pass(5 * SECOND);
  expect(await causes(it)).toEqual(["identity_in_use"]);
  expect(await wire.agent("forge").view("troubles", undefined)).toMatchObject([
    { what: "sending", end: "deaddrop reclaim" },
    { what: "incident_notices" },
  ]);
  await wire.agent("forge").reclaim();
  await wire.send("forge", draft("four"));
  await wire.pass(5 * SECOND);
  expect(await seen(it, "scribe")).toEqual(["one", "two", "three", "four"]);
  it.checker.look();
});

/** The wire is put back as it was, and our copy of our lines is gone with the private state. */
async function damaged(): Promise<Scene & { readonly whole: string }> {
  const it = await scene();
  const { wire } = it;
  const whole = wire.read(FILE);
  wire.kill("forge");
  putBack(it, [FILE, join(wire.paths("forge").ownCopies, FILE)]);
  await wire.start("forge");
  await wire.pass(5 * SECOND);
  return { ...it, whole };
}

test("when our own copy is older too, writing stops, and everybody who asks is told the way out", async () => {
  const it = await damaged();
  const { wire, older } = it;
  expect(await causes(it)).toContain("log_damaged");
  expect(wire.read(FILE)).toBe(older.get(FILE));
  const [wrong] = await wire.agent("forge").view("troubles", undefined);
  expect(wrong).toMatchObject({ what: "sending" });
  expect(wrong?.end).toContain("deaddrop reclaim --from FILE");
  const refused = await wire.post("forge", draft("refused")).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(DeaddropError);
  expect((refused as DeaddropError).message).toContain("not sent");
  expect((refused as DeaddropError).hint).toContain("deaddrop reclaim --from FILE");
  expect(wire.read(FILE)).toBe(older.get(FILE));
});

/** A file somewhere else, as the operator has found it. */
function copyAt({ wire }: Scene, path: string, text: string): string {
  wire.disk.process().makeFolder("/found", 0o700);
  wire.disk.process().replace(path, Buffer.from(text, "utf8"), 0o600);
  return path;
}

for (const isUp of [true, false]) {
  test(`reclaim --from takes our lines from a copy of the wire, and goes on after the last (daemon ${isUp ? "up" : "down"})`, async () => {
    const it = await damaged();
    const { wire, whole } = it;
    const copy = copyAt(it, "/found/copy.jsonl", `not a line\n${whole}`);
    if (!isUp) await wire.stop("forge");
    const agent = isUp ? wire.agent("forge") : wire.command("forge", wire.disk.process());
    const answer = await agent.reclaim([copy]);
    expect(answer.logs).toMatchObject([{ log: LOG, seq: whole.split("\n").length - 1 }]);
    if (!isUp) {
      agent.close();
      await wire.start("forge");
    }
    await wire.pass(5 * SECOND);
    expect(wire.read(FILE).startsWith(whole)).toBe(true);
    await expectWhole(it, whole, "told");
  });
}

test("reclaim --from goes on past no hole: it says which lines are missing, and takes them from two files", async () => {
  const it = await damaged();
  const { wire, whole, older } = it;
  const lines = whole.split("\n").slice(0, -1);
  const seqOf = (line: string) => (JSON.parse(line) as { seq: number }).seq;
  const isMail = (line: string) => !line.includes('"type":"heartbeat"');
  const inbox = copyAt(it, "/found/inbox.jsonl", `${lines.filter(isMail).join("\n")}\n`);
  const agent = wire.agent("forge");
  const refused = await agent.reclaim([inbox]).catch((error: unknown) => error);
  const lost = lines.filter((line) => !isMail(line) && !(older.get(FILE) ?? "").includes(line));
  expect(lost.length).toBeGreaterThan(0);
  expect(String(refused)).toContain("are missing");
  expect(String(refused)).toContain(`${seqOf(lost[0] ?? "")}`);
  expect(wire.read(FILE)).toBe(older.get(FILE));
  const beats = copyAt(it, "/found/beats.jsonl", `${lost.join("\n")}\n`);
  await agent.reclaim([inbox, beats]);
  await wire.pass(5 * SECOND);
  await expectWhole(it, whole, "told");
});

test("reclaim --from takes no line that our key has not signed, and none of another log", async () => {
  const it = await damaged();
  const { wire, whole, older } = it;
  const forged = copyAt(it, "/found/forged.jsonl", whole.replaceAll("three", "fower"));
  await expect(wire.agent("forge").reclaim([forged])).rejects.toThrow("missing");
  const others = copyAt(it, "/found/others.jsonl", wire.read("scribe_to_forge.jsonl"));
  await expect(wire.agent("forge").reclaim([others])).rejects.toThrow("missing");
  await expect(wire.agent("forge").reclaim(["/found/nothing"])).rejects.toThrow("no such file");
  expect(wire.read(FILE)).toBe(older.get(FILE));
});

test("the whole machine is restored as it was, and a peer has read more: the newest copy of our log is taken before anything is sent", async () => {
  const it = await scene();
  const { wire } = it;
  const whole = wire.read(FILE);
  wire.kill("forge");
  putBack(it, [FILE, ...privateFiles(wire)]);
  wire.disk.process().remove(wire.paths("forge").checkpoint);
  const copy = copyAt(it, "/found/copy.jsonl", whole);
  const agent = wire.command("forge", wire.disk.process());
  await agent.reclaim([copy]);
  agent.close();
  await wire.start("forge");
  await wire.pass(5 * SECOND);
  expect(await wire.agent("forge").view("troubles", undefined)).toMatchObject([
    { what: "incident_notices" },
  ]);
  expect(wire.read(FILE).startsWith(whole)).toBe(true);
  await wire.send("forge", draft("four"));
  await wire.pass(15 * MINUTE);
  expect(await seen(it, "scribe")).toEqual(["one", "two", "three", "four"]);
  await it.checker.check();
});

test("reclaim --from says that the beginning is missing, too, and changes nothing", async () => {
  const it = await damaged();
  const { wire, whole } = it;
  putBack({ ...it, older: new Map() }, [FILE]);
  wire.kill("forge");
  putBack({ ...it, older: new Map() }, [join(wire.paths("forge").ownCopies, FILE)]);
  await wire.start("forge");
  await wire.pass(5 * SECOND);
  const lines = whole.split("\n").slice(0, -1);
  const end = copyAt(it, "/found/end.jsonl", `${lines.slice(2).join("\n")}\n`);
  const agent = wire.agent("forge");
  await expect(agent.reclaim([end])).rejects.toThrow("lines 1 to 2 are missing");
  const beginning = copyAt(it, "/found/beginning.jsonl", `${lines.slice(0, 2).join("\n")}\n`);
  await agent.reclaim([end, beginning]);
  await wire.pass(5 * SECOND);
  await expectWhole(it, whole, "told");
});

test("a file for reclaim --from that cannot be read stops no sending", async () => {
  const it = await scene();
  const { wire } = it;
  wire.disk.process().makeFolder("/found", 0o700);
  const refused = await wire
    .agent("forge")
    .reclaim(["/found"])
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(DeaddropError);
  expect(String(refused)).toContain("nothing was changed");
  expect(await wire.agent("forge").view("troubles", undefined)).toEqual([]);
  await wire.post("forge", draft("right after"));
  await wire.pass(5 * SECOND);
  expect(await seen(it, "scribe")).toEqual(["one", "two", "three", "right after"]);
});

test("reclaim --from takes a line whose body names another log of ours", async () => {
  const wire = new SimulatedWire(["forge", "quill", "scribe"]);
  await wire.start();
  const body = { log: "forge_to_quill" };
  await wire.send("forge", { ...say("one"), to: ["scribe"], body });
  await wire.pass(5 * SECOND);
  await wire.rest();
  const whole = wire.read(FILE);
  wire.kill("forge");
  wire.replace(FILE, "");
  wire.disk.process().remove(join(wire.paths("forge").ownCopies, FILE));
  await wire.start("forge");
  wire.disk.process().makeFolder("/found", 0o700);
  wire.disk.process().replace("/found/copy.jsonl", Buffer.from(whole), 0o600);
  await wire.agent("forge").reclaim(["/found/copy.jsonl"]);
  expect(wire.read(FILE)).toBe(whole);
});

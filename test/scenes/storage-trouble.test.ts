import { expect, test } from "vitest";
import type { Logger } from "../../src/agent/session/world.ts";
import type { ViewName } from "../../src/api/views.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import { DeaddropError } from "../../src/api/errors.ts";
import { PromiseChecker } from "../support/scenes/promise-checker.ts";
import { SimulatedWire, type PlainDraft } from "../support/scenes/simulated-wire.ts";
import type { How, Refusal } from "../support/disk/memory-disk.ts";
import { MINUTE, say, SECOND } from "../support/scenes/fault-scene.ts";

// Spec 4.11: a backoff that no watcher event shortens, and everything that reads goes on.

/** All that a person can ask while nothing can be written. */
const VIEWS: readonly ViewName[] = [
  ...(["whoami", "status", "peers", "inbox", "sent", "pending", "decisions", "proposals"] as const),
  ...(["incidents", "notices", "safe_mode", "stats", "keys", "troubles"] as const),
];

interface Scene {
  readonly wire: SimulatedWire;
  readonly checker: PromiseChecker;
  /** What the daemons have logged. */
  readonly said: string[];
}

async function scene(): Promise<Scene> {
  const said: string[] = [];
  const say = (_facts: object, message: string): void => {
    said.push(message);
  };
  const log: Logger = { debug: () => undefined, info: say, warn: say, error: say };
  const wire = new SimulatedWire(["forge", "scribe"], { log });
  const checker = new PromiseChecker(wire);
  await wire.start();
  for (const handle of wire.roster) await wire.post(handle, draft("before"));
  await wire.pass(5 * SECOND);
  said.length = 0;
  return { wire, checker, said };
}

const draft = (subject: string): PlainDraft => ({ ...say(subject), body: { text: subject } });

async function send({ wire, checker }: Scene, subject: string): Promise<string> {
  try {
    const body = fromPlain({ text: subject });
    const [answer] = await wire.agent("forge").send([[{ ...say(subject), body }]]);
    checker.promised(answer?.messages ?? []);
    return answer?.outcome ?? "no answer";
  } catch (error) {
    if (error instanceof DeaddropError) return error.message.slice(0, error.message.indexOf(":"));
    throw error;
  }
}

/** From now on forge's disk refuses this; the call that it returns ends that. */
function refuses(
  { wire }: Scene,
  standing: (path: string, how: How) => Refusal | undefined,
): { end(): void; attempts(): number } {
  const process = wire.process("forge");
  process.standing = standing;
  return {
    end: () => (process.standing = undefined),
    attempts: () => [...process.refused.values()].reduce((sum, count) => sum + count, 0),
  };
}

/** Ten minutes in which something in the folder changes every second. */
async function tenBusyMinutes({ wire }: Scene): Promise<void> {
  for (let at = 0; at < 10 * 60; at += 1) {
    wire.suspend(SECOND);
    await wire.agent("forge").tick();
  }
}

async function expectAllViews({ wire }: Scene): Promise<void> {
  for (const name of VIEWS) {
    await expect(wire.agent("forge").view(name, undefined as never), name).resolves.toBeDefined();
  }
}

const quarantined = ({ wire }: Scene): number =>
  wire.process("forge").stat(wire.paths("forge").quarantine)?.size ?? 0;

const subjectsOf = async ({ wire }: Scene, handle: string): Promise<string[]> =>
  (await wire.agent(handle).view("inbox", {})).messages.map(({ subject }) => subject);

const isWire = (path: string): boolean => path.startsWith("/wire/");
const FULL_WIRE = (path: string, how: How): Refusal | undefined =>
  isWire(path) && (how === "write" || how === "name") ? "ENOSPC" : undefined;
const READ_ONLY_WIRE = (path: string, how: How): Refusal | undefined =>
  isWire(path) && how !== "read" && how !== "sync" ? "EROFS" : undefined;

for (const [what, standing] of [
  ["full", FULL_WIRE],
  ["read-only", READ_ONLY_WIRE],
] as const) {
  test(`a ${what} wire for ten busy minutes: few attempts, few words, no copies, all reads, and everything through at the end`, async () => {
    const it = await scene();
    const { wire, checker, said } = it;
    const trouble = refuses(it, standing);
    expect(await send(it, "waits")).toBe("sent");
    await tenBusyMinutes(it);
    expect(trouble.attempts()).toBeLessThanOrEqual(22);
    expect(said.length).toBeLessThanOrEqual(5);
    expect(quarantined(it)).toBe(0);
    await expectAllViews(it);
    const status = await wire.agent("forge").view("status", undefined);
    const since = new Date(wire.nowMs - 10 * MINUTE).toISOString();
    const detail = expect.stringContaining("own files") as string;
    expect(status.troubles).toMatchObject([{ code: "storage", detail, since }]);
    expect(status.waiting).toBeGreaterThan(0);
    const [wrong] = await wire.agent("forge").view("troubles", undefined);
    expect(wrong).toMatchObject({ code: "storage" });
    expect(await send(it, "waits too")).toBe("sent");
    // Peers are heard all the while.
    await wire.post("scribe", draft("from scribe"));
    await wire.agent("forge").tick();
    expect(await subjectsOf(it, "forge")).toContain("from scribe");
    trouble.end();
    await wire.pass(30 * SECOND);
    expect(await wire.agent("forge").view("status", undefined)).toMatchObject({
      troubles: [],
      waiting: 0,
    });
    expect(await subjectsOf(it, "scribe")).toEqual(["before", "waits", "waits too"]);
    await checker.check();
  });
}

test("a full wire is written again soon after there is room", async () => {
  const it = await scene();
  const trouble = refuses(it, FULL_WIRE);
  expect(await send(it, "waits")).toBe("sent");
  await it.wire.pass(MINUTE);
  trouble.end();
  await it.wire.pass(5 * SECOND);
  expect(await subjectsOf(it, "scribe")).toEqual(["before", "waits"]);
});

test("a peer's file that cannot be read waits alone: our sends and other peers do not", async () => {
  const said: string[] = [];
  const note = (_facts: object, message: string): void => {
    said.push(message);
  };
  const log: Logger = { debug: () => undefined, info: note, warn: note, error: note };
  const wire = new SimulatedWire(["forge", "scribe", "tester"], { log });
  const it = { wire, checker: new PromiseChecker(wire), said };
  await wire.start();
  await wire.pass(5 * SECOND);
  said.length = 0;
  const trouble = refuses(it, (path, how) =>
    path.endsWith("outbox/scribe.jsonl") && how === "read" ? "EIO" : undefined,
  );
  await wire.post("scribe", draft("from scribe"));
  await tenBusyMinutes(it);
  expect(said.length).toBeLessThanOrEqual(5);
  await wire.post("tester", draft("from tester"));
  await wire.agent("forge").tick();
  expect(await subjectsOf(it, "forge")).toEqual(["from tester"]);
  expect(await send(it, "sent meanwhile")).toBe("sent");
  await expectAllViews(it);
  const peers = await wire.agent("forge").view("peers", undefined);
  expect(peers.find(({ handle }) => handle === "scribe")?.waits).toMatchObject([
    { code: "log_unreadable" },
  ]);
  trouble.end();
  await wire.pass(31 * SECOND);
  expect((await subjectsOf(it, "forge")).toSorted()).toEqual(["from scribe", "from tester"]);
  await it.checker.check();
});

const isOurs = (path: string): boolean => !isWire(path);
const FULL_HOME = (path: string, how: How): Refusal | undefined =>
  isOurs(path) && (how === "write" || how === "name") ? "ENOSPC" : undefined;

test("full where plain files are: all reads, and the files follow when there is room", async () => {
  const it = await scene();
  const { wire, checker, said } = it;
  const trouble = refuses(it, FULL_HOME);
  await wire.post("scribe", draft("from scribe"));
  await tenBusyMinutes(it);
  expect(said.length).toBeLessThanOrEqual(5);
  expect(await send(it, "waits")).toBe("sent");
  const before = trouble.attempts();
  await expectAllViews(it);
  expect(trouble.attempts()).toBe(before);
  expect(await subjectsOf(it, "forge")).toEqual(["before", "from scribe"]);
  const { troubles } = await wire.agent("forge").view("status", undefined);
  const detail = expect.stringMatching(/private files.*disk full/) as string;
  expect(troubles).toContainEqual(expect.objectContaining({ code: "storage", detail }));
  trouble.end();
  await wire.pass(MINUTE);
  expect(await subjectsOf(it, "scribe")).toEqual(["before", "waits"]);
  await checker.check();
});

for (const [what, standing] of [
  ["full", (_path: string, how: How) => (how === "write" || how === "name" ? "ENOSPC" : undefined)],
  [
    "read-only",
    (_path: string, how: How) => (how === "read" || how === "sync" ? undefined : "EROFS"),
  ],
] as const) {
  test(`a daemon that starts on a ${what} disk runs, answers, and goes on by itself`, async () => {
    const it = await scene();
    const { wire, checker } = it;
    wire.kill("forge");
    await wire.post("scribe", draft("while it was down"));
    const process = wire.disk.process();
    process.standing = standing;
    await wire.begin("forge", process);
    await wire.agent("forge").tick();
    await expectAllViews(it);
    expect(await subjectsOf(it, "forge")).toEqual(["before", "while it was down"]);
    expect(await send(it, "waits")).toBe("sent");
    process.standing = undefined;
    await wire.pass(30 * SECOND);
    expect(await send(it, "after")).toBe("sent");
    await wire.pass(5 * MINUTE);
    expect(await subjectsOf(it, "scribe")).toEqual(["before", "waits", "after"]);
    await checker.check();
  });
}

test("a command without a daemon reads and sends on a full disk; what it sent is published later", async () => {
  const it = await scene();
  const { wire } = it;
  await wire.stop("forge");
  const process = wire.disk.process();
  process.standing = FULL_WIRE;
  const agent = wire.command("forge", process);
  for (const name of VIEWS) {
    await expect(agent.view(name, undefined as never), name).resolves.toBeDefined();
  }
  expect(await agent.send([[say("waits")]])).toMatchObject([
    { outcome: "sent", unpublished: expect.stringContaining("full") as string },
  ]);
  process.standing = undefined;
  const [later] = await agent.send([[say("is there")]]);
  expect(later).not.toHaveProperty("unpublished");
  agent.close();
  await wire.start("forge");
  await wire.pass(5 * SECOND);
  expect(await subjectsOf(it, "scribe")).toEqual(["before", "waits", "is there"]);
});

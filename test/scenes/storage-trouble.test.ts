import { expect, test } from "vitest";
import type { Logger } from "../../src/agent/session/world.ts";
import type { ViewName } from "../../src/api/views.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import { DeaddropError } from "../../src/api/errors.ts";
import { PromiseChecker } from "../support/scenes/promise-checker.ts";
import { SimulatedWire, type PlainDraft } from "../support/scenes/simulated-wire.ts";
import type { How, Refusal } from "../support/disk/memory-disk.ts";
import { MINUTE, say, SECOND } from "../support/scenes/fault-scene.ts";

// Spec 4.1, Storage trouble: one owner, a backoff that no watcher event shortens, and everything that
// reads goes on.

const LOG = "forge_to_scribe.jsonl";
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
  await wire.rest();
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

/** Ten minutes in which something in the folder changes ten times a second. */
async function tenBusyMinutes({ wire }: Scene): Promise<void> {
  for (let at = 0; at < 10 * 60 * 10; at += 1) {
    wire.suspend(100);
    await wire.agent("forge").tick();
    if (at % 20 === 0) await wire.agent("forge").sync();
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
  (await wire.agent(handle).view("inbox", {})).map(({ subject }) => subject);

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
    expect(await send(it, "queued")).toBe("queued");
    await tenBusyMinutes(it);
    expect(trouble.attempts()).toBeLessThanOrEqual(20);
    expect(said.length).toBeLessThanOrEqual(5);
    expect(quarantined(it)).toBe(0);
    await expectAllViews(it);
    const { storage } = await wire.agent("forge").view("status", undefined);
    const since = new Date(wire.nowMs - 10 * MINUTE).toISOString();
    expect(storage).toMatchObject({ waiting: 1, troubles: [{ area: "own logs", since }] });
    const [wrong] = await wire.agent("forge").view("troubles", undefined);
    expect(wrong).toMatchObject({ what: "storage" });
    expect(wrong?.detail).toContain("(waiting: 1)");
    expect(await send(it, "queued too")).toBe("queued");
    // Peers are heard all the while.
    await wire.post("scribe", draft("from scribe"));
    await wire.agent("forge").tick();
    expect(await subjectsOf(it, "forge")).toContain("from scribe");
    trouble.end();
    await wire.pass(5 * SECOND);
    expect((await wire.agent("forge").view("status", undefined)).storage).toEqual({
      troubles: [],
      waiting: 0,
    });
    expect(await subjectsOf(it, "scribe")).toEqual(["before", "queued", "queued too"]);
    expect(await send(it, "after")).toBe("sent");
    await wire.pass(5 * MINUTE);
    expect(said.filter((text) => text === "the trouble with storage is over")).toHaveLength(1);
    await checker.check();
  });
}

test("a failing wire, of which nobody can say when it works again, is tried every 30 s", async () => {
  const it = await scene();
  const trouble = refuses(it, (path, how) =>
    path.endsWith(LOG) && how === "write" ? "EIO" : undefined,
  );
  expect(await send(it, "queued")).toBe("queued");
  const [before] = [trouble.attempts()];
  await tenBusyMinutes(it);
  expect(trouble.attempts() - before).toBeLessThanOrEqual(20);
  expect(it.said.length).toBeLessThanOrEqual(5);
  trouble.end();
  await it.wire.pass(30 * SECOND);
  expect(await subjectsOf(it, "scribe")).toEqual(["before", "queued"]);
  await it.checker.check();
});

test("a peer's log that cannot be made durable waits alone: our sends and other peers do not", async () => {
  const said: string[] = [];
  const note = (_facts: object, message: string): void => {
    said.push(message);
  };
  const log: Logger = { debug: () => undefined, info: note, warn: note, error: note };
  const wire = new SimulatedWire(["forge", "scribe", "tester"], {
    layout: "outbox",
    log,
  });
  const it = { wire, checker: new PromiseChecker(wire, "outbox"), said };
  await wire.start();
  await wire.pass(5 * SECOND);
  said.length = 0;
  const trouble = refuses(it, (path, how) =>
    path.endsWith("scribe.jsonl") && how === "sync" ? "EIO" : undefined,
  );
  await wire.post("scribe", draft("from scribe"));
  await tenBusyMinutes(it);
  const failures = trouble.attempts();
  expect(failures).toBeGreaterThan(1);
  expect(failures).toBeLessThanOrEqual(21);
  expect(said.length).toBeLessThanOrEqual(5);
  await wire.post("tester", draft("from tester"));
  await wire.agent("forge").tick();
  expect(await subjectsOf(it, "forge")).toEqual(["from tester"]);
  expect(await send(it, "sent meanwhile")).toBe("sent");
  await expectAllViews(it);
  expect((await wire.agent("forge").view("status", undefined)).storage).toMatchObject({
    troubles: [{ area: "log scribe", code: "sync_failed" }],
  });
  trouble.end();
  await wire.pass(31 * SECOND);
  expect((await subjectsOf(it, "forge")).toSorted()).toEqual(["from scribe", "from tester"]);
  await it.checker.check();
});

const isOurs = (path: string): boolean => !isWire(path);
const FULL_HOME = (path: string, how: How): Refusal | undefined =>
  isOurs(path) && (how === "write" || how === "name") ? "ENOSPC" : undefined;

test("full where we note what arrives: not sent, all reads without a byte, and on when there is room", async () => {
  const it = await scene();
  const { wire, checker, said } = it;
  const trouble = refuses(it, FULL_HOME);
  await wire.post("scribe", draft("from scribe"));
  await tenBusyMinutes(it);
  expect(trouble.attempts()).toBeLessThanOrEqual(20);
  expect(said.length).toBeLessThanOrEqual(5);
  expect(await send(it, "never")).toBe("not sent");
  const before = trouble.attempts();
  await expectAllViews(it);
  // Not a byte was even tried; what has arrived is shown all the same.
  expect(trouble.attempts()).toBe(before);
  expect(await subjectsOf(it, "forge")).toEqual(["before", "from scribe"]);
  expect((await wire.agent("forge").view("status", undefined)).storage).toMatchObject({
    troubles: [{ area: "private files", code: "disk_full" }],
  });
  trouble.end();
  await wire.pass(5 * SECOND);
  expect(await subjectsOf(it, "forge")).toEqual(["before", "from scribe"]);
  expect(await send(it, "after")).toBe("sent");
  await wire.pass(5 * MINUTE);
  expect(await subjectsOf(it, "scribe")).toEqual(["before", "after"]);
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
    expect(await send(it, "never")).toBe("not sent");
    process.standing = undefined;
    await wire.pass(5 * SECOND);
    expect(await send(it, "after")).toBe("sent");
    await wire.pass(5 * MINUTE);
    expect(await subjectsOf(it, "scribe")).toEqual(["before", "after"]);
    await checker.check();
  });
}

test("a command without a daemon reads on a full disk, and sends nothing that it cannot promise", async () => {
  const it = await scene();
  const { wire } = it;
  await wire.stop("forge");
  const process = wire.disk.process();
  process.standing = FULL_HOME;
  const agent = wire.command("forge", process);
  for (const name of VIEWS) {
    await expect(agent.view(name, undefined as never), name).resolves.toBeDefined();
  }
  await expect(agent.send([[say("never")]])).rejects.toThrow("not sent");
});

test("lines that wait for a failing log count for the time of the next one, also after a restart", async () => {
  const it = await scene();
  const { wire, checker } = it;
  refuses(it, (path, how) => (path.endsWith(LOG) && how === "write" ? "EIO" : undefined));
  expect(await send(it, "first")).toBe("queued");
  wire.kill("forge");
  const process = wire.disk.process();
  process.standing = (path, how) => (path.endsWith(LOG) && how === "write" ? "EIO" : undefined);
  // The clock stands still: only the line before says what is later.
  await wire.begin("forge", process);
  expect(await send(it, "second")).toBe("queued");
  process.standing = undefined;
  await wire.pass(MINUTE);
  expect(await subjectsOf(it, "scribe")).toEqual(["before", "first", "second"]);
  const stamps = wire
    .lines(LOG)
    .map((line) => (JSON.parse(line) as { timestamp: string }).timestamp);
  expect(stamps).toEqual([...new Set(stamps)].toSorted());
  await checker.check();
});

test("a log that is put back while another one fails is repaired later, and not called damaged", async () => {
  const wire = new SimulatedWire(["forge", "quill", "scribe"]);
  await wire.start();
  const older = wire.read(LOG);
  await wire.post("forge", draft("one"));
  await wire.pass(5 * SECOND);
  await wire.rest();
  const process = wire.process("forge");
  process.standing = (path, how) =>
    path.endsWith("forge_to_quill.jsonl") && how !== "read" ? "EIO" : undefined;
  await wire.attempt("forge", (agent) =>
    agent.send([[{ to: ["quill"], type: "feedback", subject: "x", body: fromPlain({}) }]]),
  );
  wire.replace(LOG, older);
  // Nothing is due yet.
  await wire.agent("forge").tick();
  await wire.pass(10 * SECOND);
  process.standing = undefined;
  await wire.pass(5 * MINUTE);
  const notices = await wire.agent("forge").view("notices", undefined);
  expect(notices.map(({ cause }) => cause)).not.toContain("log_damaged");
  const subjects = (await wire.agent("scribe").view("inbox", {})).map(({ subject }) => subject);
  expect(subjects).toEqual(["one"]);
  expect(wire.lines(LOG).filter((line) => line.includes('"one"'))).toHaveLength(1);
});

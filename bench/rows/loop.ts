import { searchAll } from "../../src/client/search-all.ts";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "../../src/api/client.ts";
import { amount, type Plan } from "../plan.ts";
import { percentile, rowAlone, type Row, type Side } from "../row.ts";
import { keepDecidedWire } from "../stage/decided-wire.ts";
import { keepWire, LINE_BYTES, type KeptWire } from "../stage/kept-wire.ts";
import { openLogAuthor } from "../stage/log-author.ts";
import { modulePath, nodeArgs, pause, startNode, type Running } from "../stage/processes.ts";
import { PEER, READER, type Wire } from "../stage/wire.ts";
import { lastThread } from "./history.ts";
import { takenIn } from "./restart.ts";

const TARGET_MS = 50;
const CAUGHT_UP_LINES = 100_000;
const DECISIONS = 20_000;
const SENDS = 100;
const CLIENTS = 32;
const DELIVERY_EVERY_MS = 50;
const TURNS = 3;
const LOOK_MS = 20;

/** What a daemon is put through while its loop is watched. */
type Scenario = readonly [name: string, run: () => Promise<unknown>];

/**
 * P18: the longest step of a daemon's loop in every scenario of the table. A step is what the loop
 * does without looking at its timers, less the time in which other programs had the core.
 */
export async function benchLoop(plan: Plan): Promise<Row[]> {
  const turns = Math.min(TURNS, plan.turns);
  return [
    ...(await caughtUp(plan, turns)),
    ...(await decided(plan)),
    ...(await withHistory(plan, turns)),
  ];
}

async function caughtUp(plan: Plan, turns: number): Promise<Row[]> {
  const wire = await keepWire(amount(plan, CAUGHT_UP_LINES, 8), "followed");
  const steps: Side[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    wire.reset();
    const daemon = await watched(wire);
    await wire.untilTakenIn();
    steps.push(await daemon.longestStep());
    await daemon.running.stop();
  }
  return [rowFor(`a catch-up of ${wire.lines} lines`, steps)];
}

async function decided(plan: Plan): Promise<Row[]> {
  const wire = keepDecidedWire(amount(plan, DECISIONS, 20));
  wire.reset();
  const daemon = await watched(wire);
  const client = await wire.client(READER);
  for (let step = 0; step < wire.steps; step += 1) {
    wire.write(step);
    const expected = Math.floor((wire.decisions * (step + 1)) / wire.steps);
    await pause(LOOK_MS);
    if (step + 1 < wire.steps) await client.ask("tick");
    else await untilInForce(client, expected);
  }
  const fold = await daemon.longestStep();
  await client.view("decisions");
  const list = await daemon.longestStep();
  client.close();
  await daemon.running.stop();
  const what = `${wire.decisions} decisions`;
  return [rowFor(`${what}: fold`, [fold]), rowFor(`${what}: list`, [list])];
}

async function untilInForce(client: Client, decisions: number): Promise<void> {
  for (;;) {
    const { in_force: inForce } = await client.view("decisions");
    if (inForce.length >= decisions) return;
    await pause(LOOK_MS * 50);
  }
}

async function withHistory(plan: Plan, turns: number): Promise<Row[]> {
  const { many } = await takenIn(plan);
  const steps = new Map<string, Side[]>();
  for (let turn = 0; turn < turns; turn += 1) {
    const daemon = await watched(many);
    const client = await many.client(READER);
    const note = async (name: string): Promise<void> => {
      steps.set(name, [...(steps.get(name) ?? []), await daemon.longestStep()]);
    };
    await note("the first round");
    const thread = await lastThread(client);
    await daemon.longestStep();
    for (const [name, run] of scenarios(plan, many, client, thread)) {
      const delivering = deliver(many);
      await run();
      await delivering.stop();
      await note(name);
    }
    client.close();
    await daemon.running.stop();
    await note("clean end");
  }
  const what = `${many.lines} lines of history, lines arriving`;
  return [...steps].map(([name, sides]) => rowFor(`${what}: ${name}`, sides));
}

function scenarios(
  plan: Plan,
  wire: KeptWire,
  client: Client,
  thread: string,
): readonly Scenario[] {
  const sends = amount(plan, SENDS, 5);
  const draft = { to: [PEER], type: "feedback", subject: "one line", body: "on main" };
  const send = () => client.ask("send", { drafts: [draft] });
  const command = (name: string, ...args: readonly string[]) => ended(wire, name, ...args);
  return [
    ["deliveries alone", () => pause(amount(plan, 5_000, 300))],
    [`${sends} sends`, () => inOrder(sends, send)],
    [`${CLIENTS} sends at once`, () => Promise.all(Array.from({ length: CLIENTS }, send))],
    ["status", () => client.view("status")],
    ["inbox", () => client.view("inbox", { newest: true, limit: 20 })],
    ["thread", () => client.view("thread", { id: thread })],
    ["search", () => searchAll(client, "nobody wrote this", 20)],
    ["stats", () => client.view("stats")],
    ["audit as a process", () => command("audit", "--json")],
  ];
}

async function inOrder(count: number, work: () => Promise<unknown>): Promise<void> {
  for (let at = 0; at < count; at += 1) await work();
}

async function ended(wire: Wire, name: string, ...args: readonly string[]): Promise<void> {
  const { child } = startNode(wire.command(READER, name, ...args), wire.env, "pipe");
  child.stdout?.resume();
  await new Promise((resolve) => child.once("close", resolve));
}

/** A peer goes on writing meanwhile. */
function deliver(wire: Wire): { stop(): Promise<void> } {
  const author = openLogAuthor(wire, wire.peers.at(-1)!);
  let isWanted = true;
  const writing = (async () => {
    while (isWanted) {
      author.append([author.padded(Date.now() * 1_000, LINE_BYTES)]);
      await pause(DELIVERY_EVERY_MS);
    }
  })();
  return {
    async stop() {
      isWanted = false;
      await writing;
    },
  };
}

interface Watched {
  readonly running: Running;
  /** In milliseconds, since the last time that it was asked; also of a daemon that has ended. */
  longestStep(): Promise<Side>;
}

async function watched(wire: Wire): Promise<Watched> {
  const file = join(wire.folder, "loop.json");
  rmSync(file, { force: true });
  const running = await wire.startDaemon(READER, {
    nodeArgs: [...nodeArgs, "--import", modulePath("stage/loop-watch")],
    env: { DEADDROP_BENCH_LOOP: file },
  });
  const daemon = {
    running,
    async longestStep() {
      if (running.child.exitCode === null) {
        rmSync(file, { force: true });
        running.child.kill("SIGUSR2");
      }
      while (!existsSync(file)) await pause(LOOK_MS);
      const { longestMs } = JSON.parse(readFileSync(file, "utf8")) as { longestMs: number };
      return { value: longestMs };
    },
  };
  // What it loads before it listens is no step of its loop.
  await daemon.longestStep();
  return daemon;
}

function rowFor(what: string, steps: readonly Side[]): Row {
  const question = { id: "P18", what: `longest step: ${what}`, unit: "ms" };
  return rowAlone({ ...question, target: { atMost: TARGET_MS } }, steps, (values) =>
    percentile(values, 1),
  );
}

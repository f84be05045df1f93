import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { ProposalView } from "../../src/api/views.ts";
import type { Client, SendAnswer } from "../../src/api/client.ts";
import { amount, type Plan } from "../plan.ts";
import { rowOf, sum, type Row, type Side } from "../row.ts";
import { linesIn } from "../stage/lines-in.ts";
import { cpuMsOf, pause, program, type Running } from "../stage/processes.ts";
import { makeWire, peerNames, READER, type Wire } from "../stage/wire.ts";

const AGENTS = 12;
const FEWEST = 3;
/** One agent after the other says something to all: 60 lines a minute. */
const EVERY_MS = 1_000;
const SENDS = 60;
const LOOK_MS = 100;
const NEWCOMER = "quill";
const YES = ["--yes", "--reason", "a bench"] as const;
const NOTE = { to: ["*"], type: "feedback", subject: "all tests pass", body: "on main" };

const run = promisify(execFile);

/** P20: what a delivered line costs while one agent leaves and another joins, and after it. */
export async function benchMembers(plan: Plan): Promise<Row[]> {
  const turns: Phases[] = [];
  for (let turn = 0; turn < Math.min(plan.turns, 3); turn += 1) turns.push(await phases(plan));
  const row = (what: string, ours: "during" | "after"): Row =>
    rowOf(
      { id: "P20", what, unit: "ms", compared: "ratio" },
      turns.map((turn) => ({ ours: turn[ours], baseline: turn.before })),
    );
  const of = `CPU for a delivered line of ${plan.scale < 1 ? FEWEST : AGENTS} agents`;
  return [
    row(`${of} while one leaves and one joins, to before`, "during"),
    row(`${of} after one has left and one has joined, to before`, "after"),
  ];
}

interface Phases {
  readonly before: Side;
  readonly during: Side;
  readonly after: Side;
}

async function phases(plan: Plan): Promise<Phases> {
  const peers = peerNames((plan.scale < 1 ? FEWEST : AGENTS) - 1);
  const bench = new MemberBench(makeWire(peers), amount(plan, EVERY_MS, 100));
  try {
    for (const handle of [READER, ...peers]) await bench.start(handle);
    const sends = amount(plan, SENDS, 3);
    const before = await bench.costOfLine(() => bench.talk(sends));
    const during = await bench.costOfLine(async () => {
      let isChanging = true;
      const change = bench.change(peers.at(-1) ?? "").finally(() => {
        isChanging = false;
      });
      while (isChanging) await bench.talk(1);
      await change;
    });
    return { before, during, after: await bench.costOfLine(() => bench.talk(sends)) };
  } finally {
    await bench.stop();
  }
}

/** A wire whose agents talk while its members change. */
class MemberBench {
  readonly #wire: Wire;
  readonly #everyMs: number;
  readonly #daemons = new Map<string, Running>();
  readonly #clients = new Map<string, Client>();
  /** CPU time of daemons that have ended. */
  #endedMs = 0;
  #next = 0;

  constructor(wire: Wire, everyMs: number) {
    this.#wire = wire;
    this.#everyMs = everyMs;
  }

  async start(handle: string): Promise<void> {
    this.#daemons.set(handle, await this.#wire.startDaemon(handle));
    this.#clients.set(handle, await this.#wire.client(handle));
  }

  async stop(): Promise<void> {
    for (const handle of [...this.#daemons.keys()]) await this.#end(handle);
    this.#wire.close();
  }

  /** So many lines to all, each by the next agent. */
  async talk(lines: number): Promise<void> {
    for (let at = 0; at < lines; at += 1) {
      const clients = [...this.#clients.values()];
      const client = clients[this.#next % clients.length];
      this.#next += 1;
      await client?.ask("send", { drafts: [NOTE] });
      await pause(this.#everyMs);
    }
  }

  /** What all daemons together need for a line that one of them has delivered meanwhile. */
  async costOfLine(act: () => Promise<void>): Promise<Side> {
    const [cpuBefore, linesBefore] = [this.#cpuMs, this.#delivered];
    await act();
    let last = -1;
    for (let now = this.#delivered; now !== last; now = this.#delivered) {
      last = now;
      await pause(5 * LOOK_MS);
    }
    const value = (this.#cpuMs - cpuBefore) / (last - linesBefore);
    return { value, cpuMs: value };
  }

  /** One agent leaves and another one joins, by the commands that operators run. */
  async change(leaves: string): Promise<void> {
    await this.#end(leaves);
    await this.#command(leaves, "leave", ...YES);
    const { messages } = await this.#json<SendAnswer>(READER, "member", "add", NEWCOMER);
    const id = messages[0]?.event_id ?? "";
    for (const handle of this.#present.filter((each) => each !== READER)) {
      await this.#until(() => this.#succeeds(handle, "accept", id));
    }
    await this.#until(async () => {
      const proposals = await this.#json<ProposalView[]>(READER, "proposals");
      return proposals.some((each) => each.proposal_id === id && each.status === "ratified");
    });
    await this.#command(NEWCOMER, "join", "--me", NEWCOMER, "--accept-wire-trust");
    await this.start(NEWCOMER);
    for (const handle of this.#present.filter((each) => each !== NEWCOMER)) {
      await this.#compareDigits(handle);
    }
  }

  get #present(): readonly string[] {
    return [...this.#daemons.keys()];
  }

  get #cpuMs(): number {
    const running = [...this.#daemons.values()].map(({ pid }) => cpuMsOf(pid) ?? Number.NaN);
    return this.#endedMs + sum(running);
  }

  get #delivered(): number {
    return sum(this.#present.map((handle) => linesIn(this.#wire.place(handle).paths.inbox)));
  }

  async #end(handle: string): Promise<void> {
    this.#clients.get(handle)?.close();
    this.#clients.delete(handle);
    const daemon = this.#daemons.get(handle);
    this.#endedMs += daemon === undefined ? 0 : (cpuMsOf(daemon.pid) ?? Number.NaN);
    await daemon?.stop();
    this.#daemons.delete(handle);
  }

  /** The newcomer's operator and that one compare digits. */
  async #compareDigits(other: string): Promise<void> {
    const digitsOf = async (self: string, peer: string): Promise<string | null> =>
      (await this.#json<{ digits: string | null }>(self, "trust", "sas", peer)).digits;
    let digits: string | null = null;
    await this.#until(async () => {
      digits = await digitsOf(NEWCOMER, other);
      return digits !== null && digits === (await digitsOf(other, NEWCOMER));
    });
    await this.#command(NEWCOMER, "trust", "verify", other, String(digits), ...YES);
    await this.#command(other, "trust", "verify", NEWCOMER, String(digits), ...YES);
  }

  async #command(handle: string, ...args: readonly string[]): Promise<string> {
    const at = ["--wire", this.#wire.dir, "--as", handle, "--json"];
    const { env } = this.#wire;
    return (await run(process.execPath, [program, ...args, ...at], { env })).stdout;
  }

  async #json<T>(handle: string, ...args: readonly string[]): Promise<T> {
    return JSON.parse(await this.#command(handle, ...args)) as T;
  }

  async #succeeds(handle: string, ...args: readonly string[]): Promise<boolean> {
    return this.#command(handle, ...args).then(
      () => true,
      () => false,
    );
  }

  async #until(holds: () => Promise<boolean>): Promise<void> {
    while (!(await holds())) await pause(LOOK_MS);
  }
}

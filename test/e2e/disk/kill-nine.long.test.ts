import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { amount } from "../../support/amounts.ts";
import { brokenPlaces } from "../../support/chain-check.ts";
import {
  BIN,
  LIBRARY,
  pause,
  start,
  until,
  type Started,
} from "../../support/processes/real-processes.ts";
import {
  jsonLines,
  makeWire,
  removeWires,
  type LiveWire,
} from "../../support/processes/live-wire.ts";
import { randomFrom } from "../../support/random.ts";

const AGENT = fileURLToPath(new URL("../../support/processes/agent-process.js", import.meta.url));
const ROUNDS = Number(process.env["DEADDROP_KILLS"] ?? amount(40, 200));
const SEED = Number(process.env["DEADDROP_SEED"] ?? Date.now() % 1_000_000);
const PEERS = { forge: "scribe", scribe: "forge" } as const;
type Handle = keyof typeof PEERS;
const HANDLES: readonly Handle[] = ["forge", "scribe"];
/** Killed before it has started up as often as in the middle of its work. */
const LIFE_MS = 1_200;
const DOWN_MS = 150;
const SEND_EVERY_MS = 40;

interface Promised {
  readonly event_id: string;
  readonly seq: number;
}

interface Side {
  readonly handle: Handle;
  readonly promised: Promised[];
  agent: Started;
}

interface Proposal {
  readonly proposal_id: string;
  readonly proposer: Handle;
  readonly subject: string;
  readonly status: string;
  readonly waits_for: string | null;
}

afterEach(removeWires);

function startAgent(wire: LiveWire, handle: Handle): Started {
  const args = [AGENT, LIBRARY, wire.dir, handle, PEERS[handle], String(SEND_EVERY_MS)];
  return start(process.execPath, args, { env: wire.env });
}

function killed(started: Started): Promise<unknown> {
  started.child.kill("SIGKILL");
  return started.ended;
}

/** One side's daemon, killed again and again; now and then the agent is killed with it. */
async function killRounds(
  wire: LiveWire,
  side: Side,
  random: () => number,
  isYearClosed: boolean,
): Promise<void> {
  const { handle } = side;
  const args = [BIN, "daemon", "--wire", wire.dir, "--as", handle];
  for (let round = 0; round < ROUNDS / HANDLES.length; round += 1) {
    const daemon = start(process.execPath, args, { env: wire.env });
    const closing = isYearClosed ? closeYear(wire, handle, random) : undefined;
    await pause(random() * LIFE_MS);
    const hadEnded = daemon.child.exitCode;
    const hits = [killed(daemon)];
    if (random() < 0.1) hits.push(replaceAgent(wire, side));
    await Promise.all(hits);
    expect({ hadEnded, log: hadEnded === null ? "" : daemon.stdout() + daemon.stderr() }).toEqual({
      hadEnded: null,
      log: "",
    });
    await closing;
    await pause(random() * DOWN_MS);
  }
}

/** By hand, wherever its daemon is then; and what is closed is compressed now and then. */
async function closeYear(wire: LiveWire, handle: Handle, random: () => number): Promise<void> {
  const year = String(new Date().getUTCFullYear());
  const more = random() < 0.5 ? ["--compress"] : [];
  await pause((random() * LIFE_MS) / 2);
  const { code, stderr } = await wire.run(handle, "archive", "--year", year, ...more);
  // 1: the daemon was killed as it answered; 3, 5: it was just starting; 6: a file was locked.
  expect([0, 1, 3, 5, 6], stderr).toContain(code);
}

async function replaceAgent(wire: LiveWire, side: Side): Promise<void> {
  await killed(side.agent);
  side.promised.push(...(jsonLines(side.agent.stdout()) as Promised[]));
  side.agent = startAgent(wire, side.handle);
}

const proposalsOf = (wire: LiveWire, handle: Handle) => wire.json<Proposal[]>(handle, "proposals");

/** Why proposals stay open: what both sides say of them, and what their agents and daemons said. */
async function openProposals(wire: LiveWire, sides: readonly Side[]): Promise<string> {
  const parts: string[] = [];
  for (const { handle, agent } of sides) {
    const inbox = new Set(wire.privateLines(handle, "inbox").map((line) => line.event_id));
    const acks = wire.lines(`${handle}_to_${PEERS[handle]}.jsonl`).filter((l) => l.type === "ack");
    const acked = new Set(acks.map(({ body }) => (body["acks"] as unknown[])[2]));
    const all = await proposalsOf(wire, handle);
    const open = all.filter(({ status }) => status === "open");
    parts.push(`${handle} knows ${all.length} proposals, of which ${open.length} are open`);
    for (const { proposal_id: id, proposer, subject, waits_for: awaited } of open) {
      const mail = `${inbox.has(id) ? "in" : "not in"} its inbox, ${acked.has(id) ? "" : "not "}acked`;
      const by = proposer === handle ? "its own" : mail;
      parts.push(`  ${id.slice(0, 8)} ${subject} of ${proposer} (${by}) waits for ${awaited}`);
    }
    parts.push((await wire.run(handle, "status")).stdout);
    parts.push(`its agent said last:\n${agent.stderr().slice(-2_000)}`);
  }
  return parts.join("\n");
}

/** What was promised stands in the log under its number, and once in the peer's inbox. */
function expectDelivered(wire: LiveWire, { handle, promised }: Side): void {
  const log = `${handle}_to_${PEERS[handle]}`;
  expect(brokenPlaces(wire, handle, `${log}.jsonl`)).toEqual([]);
  const lines = wire.lines(`${log}.jsonl`);
  const standing = new Map(lines.map(({ seq, event_id }) => [event_id, seq]));
  expect(promised.filter(({ event_id, seq }) => standing.get(event_id) !== seq)).toEqual([]);
  const said = lines.filter(({ type }) => type !== "heartbeat").map(({ event_id }) => event_id);
  const inbox = wire.privateLines(PEERS[handle], "inbox").map(({ event_id }) => event_id);
  expect(inbox).toEqual(said);
  expect(wire.privateLines(PEERS[handle], "quarantine")).toEqual([]);
}

it.each([
  { while: "as it is", isYearClosed: false },
  { while: "while the year is closed again and again", isYearClosed: true },
])(
  `${ROUNDS} times kill -9 under load, $while: nothing promised is lost, nothing is there twice`,
  async ({ isYearClosed }) => {
    process.stdout.write(`kill-nine: DEADDROP_SEED=${SEED}\n`);
    const random = randomFrom(SEED);
    const wire = makeWire({ cadenceSeconds: 1 });
    const sides = HANDLES.map((handle): Side => ({
      handle,
      promised: [],
      agent: startAgent(wire, handle),
    }));
    await Promise.all(sides.map((side) => killRounds(wire, side, random, isYearClosed)));

    const daemons = await Promise.all(HANDLES.map((handle) => wire.daemon(handle)));
    for (const { agent } of sides) agent.child.stdin?.write("enough\n");
    const proposals = (handle: Handle) => proposalsOf(wire, handle);
    await until("no proposal is open", async () => {
      // An agent that has ended acks nothing: say why, and do not wait.
      for (const { agent } of sides) {
        const { exitCode, signalCode } = agent.child;
        expect([exitCode, signalCode], agent.stderr()).toEqual([null, null]);
      }
      const all = [...(await proposals("forge")), ...(await proposals("scribe"))];
      return all.length > 0 && all.every(({ status }) => status !== "open");
    }).catch(async (error: unknown) => {
      throw new Error(await openProposals(wire, sides), { cause: error });
    });
    for (const side of sides) {
      side.agent.child.stdin?.end();
      const { code, stdout, stderr } = await side.agent.ended;
      expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
      side.promised.push(...(jsonLines(stdout) as Promised[]));
      const inbox = () =>
        new Set(wire.privateLines(PEERS[side.handle], "inbox").map((m) => m.event_id));
      await until("all is delivered", () => {
        const there = inbox();
        return side.promised.every(({ event_id }) => there.has(event_id));
      });
    }
    const ratified = async (handle: Handle) =>
      (await proposals(handle))
        .filter(({ status }) => status === "ratified")
        .map(({ proposal_id }) => proposal_id)
        .toSorted();
    const expected = await ratified("forge");
    await until(
      "the decisions are recorded",
      () => wire.lines("decisions.jsonl").length >= expected.length,
    );
    await Promise.all(daemons.map((daemon) => daemon.stop()));

    for (const side of sides) expectDelivered(wire, side);
    expect(await ratified("scribe")).toEqual(expected);
    const recorded = wire
      .lines("decisions.jsonl")
      .map(({ proposal }) => String((proposal as unknown[])[2]));
    expect(recorded.toSorted()).toEqual(expected);
    for (const handle of HANDLES) {
      const audit = await wire.run(handle, "audit", "--json");
      expect({ code: audit.code, stderr: audit.stderr }).toEqual({ code: 0, stderr: "" });
      expect(JSON.parse(audit.stdout)).toMatchObject({ violations: [], twins: [] });
    }
    const promises = sides.map(({ promised }) => promised.length).join(" + ");
    process.stdout.write(`kill-nine: ${promises} promised, ${recorded.length} decisions\n`);
  },
);

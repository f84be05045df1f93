import { describe, expect, test } from "vitest";
import type { RefusalReason } from "../../src/admission/checks.ts";
import { amount } from "../support/amounts.ts";
import { SimulatedWire, type SceneOptions } from "../support/scenes/simulated-wire.ts";
import { notedVerdicts } from "../support/scenes/line-verdicts.ts";
import { alice, bob, carol, lineOf, type Person } from "../trust/people.ts";
import { CHAIN } from "./situations.ts";
import { CORPUS } from "./corpus.ts";
import { mutant } from "./mutants.ts";
import { pickerFrom } from "./picker.ts";
import { RandomAuthors } from "./random-logs.ts";

const SEED = Number(process.env["DEADDROP_FUZZ_SEED"] ?? 20261122);
/** Nightly runs ask for more. */
const LOGS = Number(process.env["DEADDROP_FUZZ_LOGS"] ?? amount(8, 40));
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const WIRE_ID = "7c3a91e2b4d05f16";

const secretOf = ({ secret }: Person): Uint8Array => secret ?? new Uint8Array(32);
const KEYS = Object.fromEntries([alice, bob, carol].map((who) => [who.handle, secretOf(who)]));

const met = new Map<string, number>();
let decided = 0;

/** Bob reads on; whatever has stopped him is decided as an operator may, until all is judged. */
async function readAll(wire: SimulatedWire, logs: readonly string[]): Promise<void> {
  const bobs = wire.agent("bob");
  for (let round = 0; round < 60; round += 1) {
    await wire.pass(2 * MINUTE_MS);
    const noted = notedVerdicts(wire.disk.process(), bobs.place);
    const isAll = logs.every((log) => noted.has(`${log}:${wire.lines(`${log}.jsonl`).length}`));
    if (isAll) return;
    for (const peer of ["alice", "carol"]) await bobs.resetPeer(peer);
  }
  throw new Error("bob never reads to the end");
}

async function judged(wire: SimulatedWire, logs: readonly string[]): Promise<void> {
  await readAll(wire, logs);
  const noted = notedVerdicts(wire.disk.process(), wire.agent("bob").place);
  for (const verdict of noted.values()) met.set(verdict, (met.get(verdict) ?? 0) + 1);
  decided += (await wire.outcome("bob")).ratified.length;
  await wire.expectEveryReaderAgrees("bob");
}

function sceneOf(seed: number, options: SceneOptions = {}): SimulatedWire {
  const pick = pickerFrom(seed);
  const signing = {
    enforce_signed: true,
    allow_unsigned_from: pick.once(2) ? ["alice", "carol"] : [],
  };
  const tier = pick.one(["TRUSTED", "TRUSTED", "ATTESTED", "VERIFIED"] as const);
  const tiers = { bob: { alice: tier } };
  const pins = pick.once(2) ? { unsignedPins: [] } : {};
  return new SimulatedWire(["alice", "bob", "carol"], {
    keys: KEYS,
    signing,
    tiers,
    seed,
    ...pins,
    ...options,
  });
}

describe("live, in a replay and in an audit the verdicts are the same", () => {
  const LOG = "alice_to_bob";

  test("on every line of the corpus", async () => {
    const wire = sceneOf(SEED, { wireId: "w1" });
    wire.suspend(4 * HOUR_MS);
    await wire.start("bob");
    for (const { line } of CORPUS) put(wire, LOG, line);
    await judged(wire, [LOG]);
  });

  test("on lines that were mutated, amid a chain", async () => {
    for (let log = 0; log < LOGS / 2; log += 1) {
      const wire = sceneOf(SEED + log, { wireId: "w1" });
      wire.suspend(4 * HOUR_MS);
      await wire.start("bob");
      const chain = CHAIN.map(lineOf);
      for (let at = 0; at < 60; at += 1) {
        const next = at % 10 === 9 ? (chain.shift() ?? NEWLINE) : mutant(SEED + log, at).line;
        put(wire, LOG, next);
      }
      await judged(wire, [LOG]);
    }
  });

  test("on logs whose authors keep to no rule, and so are decisions", async () => {
    for (let log = 0; log < LOGS; log += 1) await randomLogs(SEED + 1_000 + log);
  });

  test("each verdict was met, and decisions were made", () => {
    console.log(
      `${decided} decisions;`,
      [...met].map(([verdict, count]) => `${verdict} ${count}`).join(", "),
    );
    const wanted: readonly (RefusalReason | "accepted" | "duplicate")[] = [
      ...(["accepted", "duplicate", "malformed", "wrong_file", "unsigned"] as const),
      ...(["wrong_wire", "unchained", "log_forked", "replayed"] as const),
    ];
    expect(wanted.filter((verdict) => !met.has(verdict))).toEqual([]);
    expect(decided).toBeGreaterThan(0);
  });
});

const NEWLINE = Buffer.from("\n");

/** Zero bytes are a hole, which is waited for before anything is judged; huge lines cost time. */
function put(wire: SimulatedWire, log: string, line: Uint8Array): void {
  if (line.includes(0) || line.length > 100_000) return;
  wire.append(`${log}.jsonl`, Buffer.concat([line, NEWLINE]));
}

async function randomLogs(seed: number): Promise<void> {
  const pick = pickerFrom(seed);
  const wire = sceneOf(seed, { wireId: WIRE_ID });
  await wire.start("bob");
  const pairs = [
    ["alice", "carol"],
    ["carol", "alice"],
    ["alice", "bob"],
    ["carol", "bob"],
  ] as const;
  const authors = new RandomAuthors(pick, WIRE_ID, [alice, carol], pairs);
  for (let step = 0; step < 60; step += 1) {
    const { log, line } = authors.next(wire.nowMs);
    put(wire, log, line);
    if (pick.once(3)) await wire.settle();
    if (pick.once(4)) await wire.pass(pick.below(3) * MINUTE_MS + 1_000);
    if (pick.once(6)) await bobAnswers(wire, pick);
  }
  await judged(
    wire,
    pairs.map(([from, to]) => `${from}_to_${to}`),
  );
}

async function bobAnswers(wire: SimulatedWire, pick: ReturnType<typeof pickerFrom>): Promise<void> {
  const all = await wire.agent("bob").view("proposals", undefined);
  const open = all.filter(({ status, proposer }) => status === "open" && proposer !== "bob");
  if (open.length === 0) return;
  const { proposal_id: acks, correlation_id: correlationId, proposer } = pick.one(open);
  const body = { acks, approve: true };
  await wire.post("bob", { to: [proposer], type: "ack", subject: "ack", correlationId, body });
}

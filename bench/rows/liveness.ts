import { readFileSync } from "node:fs";
import { Agent } from "../../src/agent/agent.ts";
import { realWorld } from "../../src/client/direct-client.ts";
import { placesOf } from "../../src/cli/context.ts";
import { silentLogger } from "../../src/agent/session/world.ts";
import type { Plan } from "../plan.ts";
import { median, rowAlone, type Row } from "../row.ts";
import { makeWire, READER, type Wire } from "../stage/wire.ts";

const HOUR_MS = 3_600_000;
const TIERS = ["T0_HEADS_DOWN", "T1_active", "T2_idle", "T3_long_idle"] as const;
type TierName = (typeof TIERS)[number];
/** Until an agent to which nobody speaks beats as slowly as it ever does. */
const HOURS = 6;
/** The agent is heads down for as long as the first of them. */
const HEADS_DOWN_HOURS = 1;

interface Beat {
  readonly atMs: number;
  readonly tier: TierName;
  readonly bytes: number;
}

/**
 * P15: the lines and bytes that an agent writes in an hour to say that it lives, at each tier. Its
 * clock is moved from beat to beat. No agent is woken by a beat, so none reads it: no tokens.
 */
export async function benchLiveness(_plan: Plan): Promise<Row[]> {
  const wire = makeWire();
  try {
    const beats = await beatsOfAgent(wire);
    return TIERS.flatMap((tier) => rowsOf(tier, beats));
  } finally {
    wire.close();
  }
}

function rowsOf(tier: TierName, beats: readonly Beat[]): Row[] {
  const gapsMs = beats.flatMap((beat, at) => {
    const next = beats[at + 1];
    return beat.tier === tier && next !== undefined ? [next.atMs - beat.atMs] : [];
  });
  const bytes = beats.flatMap((beat) => (beat.tier === tier ? [beat.bytes] : []));
  if (gapsMs.length === 0) throw new Error(`no beats at ${tier}`);
  const perHour = HOUR_MS / median(gapsMs);
  const row = { id: "P15" } as const;
  const what = `liveness at ${tier}, an agent-hour (0 tokens)`;
  return [
    rowAlone({ ...row, what: `${what}: lines`, unit: "" }, [{ value: perHour }]),
    rowAlone({ ...row, what: `${what}: bytes`, unit: "B" }, [{ value: perHour * median(bytes) }]),
  ];
}

async function beatsOfAgent(wire: Wire): Promise<Beat[]> {
  let passedMs = 0;
  const wallMs = Date.now() - HOURS * HOUR_MS;
  const world = {
    ...realWorld(placesOf(wire.env), wire.dir, silentLogger),
    clock: {
      wallMs: () => wallMs + passedMs,
      micros: () => 0,
      monoMs: () => passedMs,
      nextTurn: () => Promise.resolve(),
    },
  };
  const agent = new Agent(world, { wireDir: wire.dir, handle: READER });
  try {
    agent.lockIdentity(1_000);
    const until = async (hours: number): Promise<void> => {
      while (passedMs < hours * HOUR_MS) passedMs = await afterRound(agent, passedMs);
    };
    await agent.setStatus({ headsDown: true });
    await until(HEADS_DOWN_HOURS);
    await agent.setStatus({ headsDown: false });
    await until(HOURS);
  } finally {
    agent.close();
  }
  return beatsIn(wire);
}

async function afterRound(agent: Agent, nowMs: number): Promise<number> {
  while (await agent.tick());
  return Math.max(nowMs + 1, agent.nextDueMs());
}

function beatsIn(wire: Wire): Beat[] {
  const lines = readFileSync(wire.carrierOf(READER), "utf8").trimEnd().split("\n");
  return lines.flatMap((line) => {
    const { type, timestamp, body } = JSON.parse(line) as {
      type: string;
      timestamp: string;
      body: { tier: TierName };
    };
    if (type !== "heartbeat") return [];
    return [{ atMs: Date.parse(timestamp), tier: body.tier, bytes: line.length + 1 }];
  });
}

import { openAgent, type Agent } from "../src/agent/agent.ts";
import { spread, sum, type Row } from "./figures.ts";
import { openPeerLog, type PeerLog, type SignedLine } from "./peer-log.ts";
import { openRawVerify } from "./raw-verify.ts";
import { makeStage, READER, type Stage } from "./stage.ts";

const LINE_BYTES = 600;
/** The catch-up and its baseline take turns so often, so that a noisy moment meets both. */
const TURNS = 5;

/**
 * P1: an agent that was away reads, checks, stores and routes what a peer wrote meanwhile, against
 * nothing but the signature checks of the same lines on all cores.
 */
export async function benchCatchUp(lines: number): Promise<Row[]> {
  const stage = makeStage();
  const peer = openPeerLog(stage);
  const raw = openRawVerify(peer.publicKey);
  const ours: number[] = [];
  const baseline: number[] = [];
  try {
    // The journal begins with an empty log, so that nothing of what follows is history.
    await catchUp(stage, 0);
    const perTurn = Math.ceil(lines / TURNS);
    for (let turn = 0; turn < TURNS; turn += 1) {
      const written = write(peer, perTurn, (Date.now() - 60_000) * 1_000 + turn * perTurn);
      baseline.push((await raw.run(written)) / perTurn);
      ours.push((await catchUp(stage, perTurn * (turn + 1))) / perTurn);
    }
  } finally {
    await raw.close();
    stage.close();
  }
  const perSecond = (msPerLine: readonly number[]): number =>
    (1_000 * msPerLine.length) / sum(msPerLine);
  return [
    {
      id: "P1",
      what: `catch-up of ${lines} lines (spread of turns ${spread(ours).toFixed(1)} ×)`,
      unit: "lines/s",
      ours: perSecond(ours),
      baseline: perSecond(baseline),
      compared: "ratio",
      target: { atLeast: 0.8 },
    },
  ];
}

function write(peer: PeerLog, count: number, fromMicros: number): SignedLine[] {
  const written = Array.from({ length: count }, (_, at) => peer.next(fromMicros + at, LINE_BYTES));
  peer.append(written);
  return written;
}

/** Milliseconds from opening the agent until all is taken in and acted on. */
async function catchUp(stage: Stage, expected: number): Promise<number> {
  const startedMs = performance.now();
  const agent = openAgent(stage.world, { wireDir: stage.wireDir, handle: READER });
  try {
    await agent.hold(1_000);
    while (await agent.tick());
    const tookMs = performance.now() - startedMs;
    await agent.sync();
    await checkTaken(agent, expected);
    return tookMs;
  } finally {
    agent.close();
  }
}

async function checkTaken(agent: Agent, expected: number): Promise<void> {
  const { unread } = await agent.view("status", undefined);
  if (unread !== expected) throw new Error(`${unread} of ${expected} lines were routed`);
}

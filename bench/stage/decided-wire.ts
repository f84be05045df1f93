import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { decisionOf, slug } from "../../src/protocol/decisions/record/decision-record.ts";
import { signFields } from "../../src/wire/compose.ts";
import { fromPlain, type JsonObject } from "../../src/wire/json/json.ts";
import { formatMicros } from "../../src/wire/timestamp.ts";
import { fastSigner, openLogAuthor, type LogAuthor, type SignedLine } from "./log-author.ts";
import { keptFolder, openWireIn, PEER, peerNames, READER, type Wire } from "./wire.ts";

/** So many are proposed, acked, ratified and recorded together: fewer than an agent waits for. */
const PER_STEP = 500;
const HOUR_MICROS = 3_600_000_000;
const HOUR_MS = 3_600_000;

/** A wire on which a peer proposes, another one agrees, and the first records: step by step. */
export interface DecidedWire extends Wire {
  readonly decisions: number;
  readonly steps: number;
  /** The reader knows nothing of it, and nothing is written yet. */
  reset(): void;
  /** Puts the lines and records of one step where their authors write them. */
  write(step: number): void;
}

const PARTS = ["proposals", "acks", "records"] as const;

/** Kept between runs. */
export function keepDecidedWire(decisions: number): DecidedWire {
  const folder = keptFolder(`decided-${decisions}`);
  const fresh = join(folder, "fresh");
  if (!existsSync(fresh)) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const wire = openWireIn(folder, peerNames(2));
  const steps = Math.ceil(decisions / PER_STEP);
  const kept = decidedWire(wire, decisions, steps);
  if (!existsSync(fresh)) {
    const peers = wire.peers.map((peer) => openLogAuthor(wire, peer));
    for (let step = 0; step < steps; step += 1) {
      const count = Math.min(PER_STEP, decisions - step * PER_STEP);
      writeStep(wire, peers as [LogAuthor, LogAuthor], step, count);
    }
    cpSync(wire.home, fresh, { recursive: true });
  }
  return kept;
}

function decidedWire(wire: Wire, decisions: number, steps: number): DecidedWire {
  const files = [...wire.peers.map((peer) => wire.logOf(peer).path), decisionsPath(wire)];
  return {
    ...wire,
    decisions,
    steps,
    reset() {
      rmSync(wire.home, { recursive: true, force: true });
      cpSync(join(wire.folder, "fresh"), wire.home, { recursive: true });
      for (const path of [...files, wire.logOf(READER).path]) {
        writeFileSync(path, "", { flag: "a" });
        truncateSync(path, 0);
      }
    },
    write(step) {
      for (const [at, part] of PARTS.entries()) {
        appendFileSync(files[at]!, readFileSync(partPath(wire, part, step)));
      }
    },
  };
}

export function decisionsPath(wire: Wire): string {
  return join(wire.dir, "decisions.jsonl");
}

function partPath({ folder }: Wire, part: (typeof PARTS)[number], step: number): string {
  mkdirSync(join(folder, "steps"), { recursive: true });
  return join(folder, "steps", `${step}.${part}`);
}

function writeStep(
  wire: Wire,
  [proposer, party]: readonly [LogAuthor, LogAuthor],
  step: number,
  count: number,
): void {
  const micros = Date.now() * 1_000 - HOUR_MICROS + step * 4 * PER_STEP;
  const partyName = wire.peers[1]!;
  const threads = Array.from({ length: count }, (_, at) => `decision ${step * PER_STEP + at}`);
  const proposals = threads.map((correlationId, at) =>
    proposer.next(micros + at, {
      ...{ to: [partyName], type: "proposal", subject: correlationId, ackRequired: true },
      ...{ body: { required: [partyName], decision: `${correlationId} is so` }, correlationId },
    }),
  );
  const acks = proposals.map(({ id }, at) =>
    party.next(micros + PER_STEP + at, {
      ...{ to: [PEER], type: "ack", subject: "ack" },
      ...{ body: { acks: id }, correlationId: threads[at]! },
    }),
  );
  const beatMicros = micros + 2 * PER_STEP;
  const beat = proposer.next(beatMicros, beatFields(partyName, acks, step));
  const signer = fastSigner(wire, PEER);
  const records = proposals.map(({ id }, at) => {
    const subject = threads[at]!;
    const decision = decisionOf(
      {
        ...{ decisionId: `${slug(subject)}-${id.slice(0, 8)}`, decision: `${subject} is so` },
        ...{ refs: [], affectedDomains: [], domainOwners: [], supersedes: null },
      },
      {
        ...{ proposalId: id, correlationId: subject, proposer: PEER, required: [partyName] },
        ...{ ackIds: [acks[at]!.id], by: beat.id, at: formatMicros(beatMicros) },
      },
      PEER,
    );
    const { line } = signFields(fromPlain(decision) as JsonObject, signer);
    return { bytes: Buffer.concat([line, Buffer.from("\n")]), id };
  });
  const parts = { proposals: [...proposals, beat], acks, records };
  for (const part of PARTS) {
    writeFileSync(partPath(wire, part, step), Buffer.concat(parts[part].map(({ bytes }) => bytes)));
  }
}

/** The proposer has read all acks so far: that ratifies what they ack. */
function beatFields(party: string, acks: readonly SignedLine[], step: number) {
  const lines = step * PER_STEP + acks.length;
  const head = { lines, seq: lines, event_id: acks.at(-1)!.id, read_lines: lines, refused: [] };
  return {
    ...{ to: ["*"], type: "heartbeat", subject: "alive" },
    body: {
      ...{ wakeup_count: step, state: "working", inbox_unread_count: 0, tier: "T1_active" },
      next_eta: new Date(Date.now() + HOUR_MS).toISOString(),
      heads: { [party]: head },
    },
  };
}

import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { UnsignedDecision } from "../../src/protocol/asks/record.ts";
import { signFields } from "../../src/wire/compose.ts";
import { fromPlain, type JsonObject } from "../../src/wire/json/json.ts";
import { formatMicros } from "../../src/wire/timestamp.ts";
import { fastSigner, openLogAuthor, type LogAuthor, type SignedLine } from "./log-author.ts";
import { keptFolder, openWireIn, PEER, peerNames, READER, type Wire } from "./wire.ts";
import { copyFolder } from "./copy-folder.ts";

/** So many are proposed, acked, closed and recorded together: fewer than an agent holds open. */
const PER_STEP = 500;
const HOUR_MICROS = 3_600_000_000;

/** A wire on which a peer proposes, another one agrees, and the first closes and records: step by step. */
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
    copyFolder(wire.home, fresh);
  }
  return kept;
}

function decidedWire(wire: Wire, decisions: number, steps: number): DecidedWire {
  const files = [...wire.peers.map((peer) => wire.carrierOf(peer)), decisionsPath(wire)];
  return {
    ...wire,
    decisions,
    steps,
    reset() {
      rmSync(wire.home, { recursive: true, force: true });
      copyFolder(join(wire.folder, "fresh"), wire.home);
      for (const path of [...files, wire.carrierOf(READER)]) {
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
  const acks = proposals.map(({ seq, id }, at) =>
    party.next(micros + PER_STEP + at, {
      ...{ to: [PEER], type: "ack", subject: "ack" },
      ...{ body: { acks: [PEER, seq, id], approve: true }, correlationId: threads[at]! },
    }),
  );
  const closeMicros = micros + 2 * PER_STEP;
  const last = acks.at(-1)!;
  const closes = proposals.map(({ seq, id }, at) => {
    const ack = acks[at]!;
    const entry = { by: partyName, ack: [ack.seq, ack.id], at: [last.seq, last.id] };
    const decides = [PEER, seq, id];
    return proposer.next(closeMicros + at, {
      ...{ to: [partyName], type: "correction", subject: "agreed" },
      body: { decides, outcome: "approved", answers: [entry], reason: "agreed by all" },
      correlationId: threads[at]!,
    });
  });
  const signer = fastSigner(wire, PEER);
  const records = proposals.map(({ seq, id }, at) => {
    const [thread, ack, close] = [threads[at]!, acks[at]!, closes[at]!];
    const decision: UnsignedDecision = {
      decision_id: `${thread.replace(" ", "-")}-${id.slice(0, 8)}`,
      ratified_at: formatMicros(closeMicros + at),
      ...{ proposer: PEER, acked_by: [PEER, partyName], decision: `${thread} is so` },
      ...{ canonical: true, refs: [], affected_domains: [], domain_owners: {} },
      correlation_id: thread,
      proposal: [PEER, seq, id],
      acks: [[partyName, ack.seq, ack.id]],
      close: [PEER, close.seq, close.id],
      ...{ supersedes: null, recorded_by: PEER },
    };
    const { line } = signFields(fromPlain(decision) as JsonObject, signer);
    return Buffer.concat([line, Buffer.from("\n")]);
  });
  const write = (part: (typeof PARTS)[number], lines: readonly Uint8Array[]): void =>
    writeFileSync(partPath(wire, part, step), Buffer.concat(lines));
  write("proposals", bytesOf([...proposals, ...closes]));
  write("acks", bytesOf(acks));
  write("records", records);
}

function bytesOf(lines: readonly SignedLine[]): Uint8Array[] {
  return lines.map(({ bytes }) => bytes);
}

import { Buffer } from "node:buffer";
import { decisionEvent } from "../../protocol/decisions/record/decision-entry.ts";
import type { UnsignedDecision } from "../../protocol/decisions/record/decision-record.ts";
import type { CoreEvent } from "../../protocol/events.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { appendShared, type SharedAppend, SHARED_MODE } from "../../storage/files/shared-file.ts";
import { readNewLines, type Cursor } from "../../storage/files/tail.ts";
import { signFields } from "../../wire/compose.ts";
import { fromPlain, type JsonObject } from "../../wire/json/json.ts";
import type { Signer } from "../../wire/signature.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import { assertShape } from "../config/schema-checks.ts";

const BYTES_PER_TURN = 65_536;

/** One line of decisions.jsonl, signed by its recorder like a message. Spec 3.4. */
function signDecision(decision: UnsignedDecision, signer: Signer): Uint8Array {
  const unsigned = fromPlain(decision) as JsonObject;
  assertShape("decision", unsigned);
  return signFields(unsigned, signer).line;
}

/**
 * Records a decision unless `isProved` knows an entry of the file, archived or not: under the
 * file's kernel lock, so that of two recorders one finds the other's line. Spec 3.4, 4.1.
 *
 * @param known up to where all entries have been judged, and none was proved
 */
export function recordDecision(
  disk: Disk,
  place: AgentConfig,
  decision: UnsignedDecision,
  isProved: (event: CoreEvent) => boolean,
  known: Cursor | undefined,
): SharedAppend {
  const { wire, store, identity } = place;
  return appendShared(disk, wire.decisions, signDecision(decision, identity.signer), {
    mode: SHARED_MODE,
    known,
    find: (line) => {
      // Most lines are of other proposals: those need no signature check.
      if (!Buffer.from(line).includes(decision.proposal_id)) return false;
      const event = decisionEvent(line, store, 0);
      return event !== undefined && isProved(event);
    },
  });
}

/**
 * What is new in decisions.jsonl. The journal does not note it: an entry is proved or not, whenever
 * it is read, and any agent can write as much as it likes.
 */
export function newDecisions(
  disk: Disk,
  place: AgentConfig,
  cursor: Parameters<typeof readNewLines>[2],
  at: number,
) {
  const { decisions } = place.wire;
  // Its writer may have died before the sync: what we rely on has to be durable.
  const sync = { sync: true };
  const read = readNewLines(disk, decisions, cursor, BYTES_PER_TURN, sync);
  // A file that was cut or replaced is read again: entries that are known change nothing.
  const again =
    read.anomaly === undefined
      ? read
      : readNewLines(disk, decisions, undefined, BYTES_PER_TURN, sync);
  const events = again.lines.flatMap((line) => {
    if (line.kind !== "line") return [];
    return decisionEvent(line.bytes, place.store, at) ?? [];
  });
  return { events, cursor: again.cursor, more: again.more, anomaly: read.anomaly };
}

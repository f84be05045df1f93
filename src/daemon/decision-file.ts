import { Buffer } from "node:buffer";
import { decisionEvent } from "../protocol/decision-entry.ts";
import type { UnsignedDecision } from "../protocol/decision-record.ts";
import type { CoreEvent } from "../protocol/record.ts";
import { openIfThere, type Disk } from "../storage/disk.ts";
import { segmentsOf } from "../storage/segments.ts";
import { appendShared, type SharedAppend } from "../storage/shared-file.ts";
import { readNewLines } from "../storage/tail.ts";
import { signFields } from "../wire/compose.ts";
import { fromPlain, type JsonObject } from "../wire/json.ts";
import type { Signer } from "../wire/signature.ts";
import type { DecisionLineEntry } from "./entries.ts";
import type { Place } from "./place.ts";

const BYTES_PER_ROUND = 1_048_576;
const SHARED_MODE = 0o660;

/** One line of decisions.jsonl, signed by its recorder like a message. Spec 3.4. */
function signDecision(decision: UnsignedDecision, signer: Signer): Uint8Array {
  return signFields(fromPlain(decision) as JsonObject, signer).line;
}

/**
 * Records a decision unless `isProved` knows an entry of the live file or its archive: under the
 * file's kernel lock, so that of two recorders one finds the other's line. Spec 3.4, 4.1.
 */
export function recordDecision(
  disk: Disk,
  place: Place,
  decision: UnsignedDecision,
  isProved: (event: CoreEvent) => boolean,
): SharedAppend {
  const { wire, store, identity } = place;
  return appendShared(disk, wire.decisions, signDecision(decision, identity.signer), {
    mode: SHARED_MODE,
    segments: segmentsOf(disk, wire.archive, "decisions"),
    find: (line) => {
      // Most lines are of other proposals: those need no signature check.
      if (!Buffer.from(line).includes(decision.proposal_id)) return false;
      const event = decisionEvent(line, store, 0);
      return event !== undefined && isProved(event);
    },
  });
}

/** What is new in decisions.jsonl: journal entries and the events that they stand for. */
export function newDecisions(
  disk: Disk,
  place: Place,
  cursor: Parameters<typeof readNewLines>[2],
  at: number,
) {
  const read = readNewLines(disk, place.wire.decisions, cursor, BYTES_PER_ROUND);
  // Anybody may write there: a file that was cut or replaced is read again, entries are by id.
  const again =
    read.anomaly === undefined
      ? read
      : readNewLines(disk, place.wire.decisions, undefined, BYTES_PER_ROUND);
  const found = again.lines.flatMap((line) => {
    if (line.kind !== "line") return [];
    const event = decisionEvent(line.bytes, place.store, at);
    if (event === undefined) return [];
    const entry: DecisionLineEntry = { k: "decision", at, start: line.start, end: line.end };
    return [{ event, entry }];
  });
  return { found, cursor: again.cursor, more: again.more, anomaly: read.anomaly };
}

/** The event of an entry that the journal names; undefined when the file lacks it now. */
export function readDecisionLine(
  disk: Disk,
  place: Place,
  { at, start, end }: DecisionLineEntry,
): CoreEvent | undefined {
  const file = openIfThere(disk, place.wire.decisions);
  if (file === undefined) return undefined;
  try {
    const bytes = file.read(end - start, start);
    if (bytes.length !== end - start) return undefined;
    return decisionEvent(bytes.subarray(0, -1), place.store, at);
  } finally {
    file.close();
  }
}

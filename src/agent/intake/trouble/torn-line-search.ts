import { Buffer } from "node:buffer";
import { readNewLines, type Cursor, type TailLine } from "../../../storage/files/tail.ts";
import { findContinuation } from "./torn-line.ts";
import { prepareLines, signaturesOf } from "../judge-lines.ts";
import type { LogIntake } from "../../state/agent-state.ts";
import type { Taking } from "../intake-context.ts";

/** Of one turn: others have theirs in between. */
const STRETCH = { bytes: 65_536, lines: 2_048 };
/** Of one turn when nobody waits. */
const LONG_STRETCH = { bytes: 1_048_576, lines: 8_192 };

/**
 * One turn of the search for the line with which an author's chain goes on behind a hole, beyond what
 * was read with the hole. Nothing that is read here is taken in, and no more than one stretch of it
 * is in memory. "found" and "end" (of the log, for now): the log is read on at the hole.
 */
export async function searchBehindHole(
  taking: Taking,
  intake: LogIntake,
  path: string,
  isPatient: boolean,
): Promise<"more" | "found" | "end"> {
  const { world, ctx } = taking;
  const { hole } = intake;
  if (hole?.searched === undefined) return "end";
  const { bytes, lines } = isPatient ? STRETCH : LONG_STRETCH;
  const read = readNewLines(world.disk, path, hole.searched, bytes, { maxLines: lines });
  // Without what it looked like and how far it was searched: then it is read again.
  const rest = { at: hole.at, sinceMs: hole.sinceMs };
  if (read.anomaly !== undefined) {
    // The file is not what it was: it is read again from the hole on.
    intake.hole = rest;
    return "end";
  }
  const head = intake.admission.chain.head?.id;
  const candidates = read.lines.filter((line) => mayName(line, head));
  const prepared = prepareLines(candidates, intake, ctx);
  const valid = await world.verifyAll(signaturesOf(prepared));
  const found = findContinuation(prepared, 0, valid, intake);
  if (found !== undefined) {
    intake.goesOn = found;
    intake.hole = rest;
    return "found";
  }
  intake.hole = { ...hole, searched: read.cursor ?? hole.searched };
  return read.more ? "more" : "end";
}

/** A search begins behind what was read with the hole. False when it has begun before. */
export function searchFrom(intake: LogIntake, from: Cursor | undefined): boolean {
  const { hole } = intake;
  if (hole === undefined || hole.searched !== undefined || from === undefined) return false;
  intake.hole = { ...hole, searched: from };
  return true;
}

/** A cheap look first: the line that goes on after another one has its id in `prev`. */
function mayName(line: TailLine, head: string | undefined): boolean {
  if (line.kind !== "line") return false;
  if (head === undefined) return true;
  const { buffer, byteOffset, length } = line.bytes;
  return Buffer.from(buffer, byteOffset, length).includes(head, 0, "latin1");
}

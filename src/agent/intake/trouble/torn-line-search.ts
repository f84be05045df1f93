import { Buffer } from "node:buffer";
import { readNewLines, type TailLine } from "../../../storage/files/tail.ts";
import { findContinuation } from "./torn-line.ts";
import { prepareLines, signaturesOf } from "../prepare-lines.ts";
import type { LogIntake } from "../../state/agent-state.ts";
import { observe } from "../../state/log-status.ts";
import type { Session } from "../../session/session.ts";

/** Of one turn: other logs have theirs in between. */
const STRETCH = { bytes: 65_536, lines: 2_048 };
/** Of one turn when nothing else waits. */
const LONG_STRETCH = { bytes: 1_048_576, lines: 8_192 };

/**
 * One turn of the search for the line with which an author's chain goes on behind a tear, beyond what
 * was read with it. Nothing that is read here is taken in, and no more than one stretch of it
 * is in memory. "found" and "end" (of the log, for now): the log is read on at the tear.
 */
export async function searchBehindTear(
  { world, ctx }: Pick<Session, "world" | "ctx">,
  intake: LogIntake,
  path: string,
  isPatient: boolean,
): Promise<"more" | "found" | "end"> {
  const { status } = intake;
  if (status.kind !== "torn" || status.searched === undefined) return "end";
  const { bytes, lines } = isPatient ? STRETCH : LONG_STRETCH;
  const read = readNewLines(world.disk, path, status.searched, bytes, { maxLines: lines });
  if (read.anomaly !== undefined) {
    // The file is not what it was: it is read again from the tear on.
    observe(intake, { saw: "search over", isFound: false }, world.clock.monoMs());
    return "end";
  }
  const head = intake.admission.chain.head?.id;
  const candidates = read.lines.filter((line) => mayName(line, head));
  const prepared = prepareLines(candidates, intake, ctx);
  const valid = await world.verifyAll(signaturesOf(prepared));
  const found = findContinuation(prepared, 0, valid, intake);
  if (found !== undefined) {
    intake.order.goesOn = found;
    observe(intake, { saw: "search over", isFound: true }, world.clock.monoMs());
    return "found";
  }
  const upTo = read.cursor ?? status.searched;
  observe(intake, { saw: "searched", upTo }, world.clock.monoMs());
  return read.more ? "more" : "end";
}

/** A cheap check first: the line that follows another one has its id in `prev`. */
function mayName(line: TailLine, head: string | undefined): boolean {
  if (line.kind !== "line") return false;
  if (head === undefined) return true;
  const { buffer, byteOffset, length } = line.bytes;
  return Buffer.from(buffer, byteOffset, length).includes(head, 0, "latin1");
}

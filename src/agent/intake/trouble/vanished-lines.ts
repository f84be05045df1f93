import type { FoundLine } from "../../../storage/files/history.ts";
import type { Session } from "../../session/session.ts";
import type { LogIntake } from "../../state/agent-state.ts";
import { knownEntries } from "./evidence.ts";

/**
 * Any program that can write in the folder can take lines of its own out of a log again. What the
 * author writes next then has the number of a line that is folded, and would count as that
 * line: the numbers have to go on behind it.
 *
 * @param inOrder all known lines, in the order of the log as it is now
 */
export function noteRecount(
  session: Pick<Session, "world" | "memory" | "files" | "recorder">,
  { log: { name: log }, awaited }: LogIntake,
  inOrder: readonly FoundLine[],
): void {
  const held = session.memory.state.logs.get(log);
  const last = inOrder.at(-1);
  if (held === undefined || last === undefined) return;
  const { earlier = 0, lines } = held;
  // Lines that are awaited are folded when they are read again, with the numbers that they have now.
  if (earlier + last.line >= lines || inOrder.some(({ id }) => awaited.has(id))) return;
  const line = Math.min(lastKnownLine(session, log), lines);
  const vanished = line - (earlier + last.line);
  if (vanished <= 0) return;
  const at = session.world.clock.wallMs();
  session.recorder.local({ kind: "recounted", log, line, earlier: earlier + vanished, at });
}

/** The highest number that an authentic line has in our count. */
function lastKnownLine(session: Pick<Session, "files" | "memory">, log: string): number {
  const lines = new Map<string, number>();
  for (const { id, line, verdict } of knownEntries(session, log)) {
    // Of a line that was read again, the last number counts.
    if (id !== undefined && verdict !== "duplicate") lines.set(id, line);
  }
  return [...lines.values()].reduce((most, line) => Math.max(most, line), 0);
}

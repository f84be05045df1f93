import { decideClosing } from "../../../protocol/logs/closing.ts";
import { StorageError } from "../../../storage/disk/disk.ts";
import { takeInOwn } from "../../intake/take-in.ts";
import type { Session } from "../../session/session.ts";
import { sendInto } from "../append-own.ts";
import { doable } from "../run-effects.ts";

/** Closing lines, and then the first line of the outbox. */
const STEPS = 2;

/**
 * Writes what has to be said before anything else on a wire that has moved to outboxes: a command does
 * it before it sends, a daemon in its round. Throws DeaddropError while it cannot be written: nothing
 * else may be, since a line in the outbox comes after all of the closed logs. Spec 1.6.
 */
export async function moveLogs(session: Session): Promise<void> {
  for (let step = 0; step < STEPS; step += 1) {
    const lines = decideClosing(session.memory.state.logs, session.env);
    if (lines.length === 0) return;
    const now = doable(session, lines).flatMap((effect) => (effect.do === "send" ? effect : []));
    if (now.length < lines.length) break;
    sendInto(session, now);
    await takeInOwn(session);
  }
  const left = decideClosing(session.memory.state.logs, session.env);
  if (left.length > 0) throw notMoved(session, left[0]?.log ?? "");
}

function notMoved({ place, files }: Session, log: string): StorageError {
  const problem = files.own.writer.blocked(log) ?? files.own.writer.stuck(log);
  if (problem !== undefined) return problem;
  const path = `${place.wire.folder}/${log}.jsonl`;
  return new StorageError(
    "io",
    path,
    "it is closed before the outbox begins, and is not read yet",
    {
      hint: "repeat the command; `deaddrop layout` shows how far the wire has moved",
    },
  );
}

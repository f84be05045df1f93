import { reclaimFrom } from "./reclaim-from.ts";
import { recoverOwnLogs } from "../../session/own-logs.ts";
import { takeInOwn } from "../../intake/take-in.ts";
import { join } from "node:path";
import type { ResetEvent } from "../../../protocol/events.ts";
import { openIfThere, StorageError } from "../../../storage/disk/disk.ts";
import { keepEvidence } from "../../../storage/files/evidence.ts";
import { wholeLines } from "../../../storage/disk/line-splitter.ts";
import type { OwnLine } from "../../../storage/own-log/log-writer.ts";
import type { ChainHead } from "../../../wire/chain.ts";
import { ownLogs } from "../../../wire/layout.ts";
import { parseMessage } from "../../../wire/message.ts";
import type { ReclaimAnswer } from "../../../api/client.ts";
import { intakeOf } from "../../state/agent-state.ts";
import type { Session } from "../../session/session.ts";

/**
 * The operator has stopped the other copy of our key: we write on from the end of our logs. No line
 * in them is changed. Spec 1.6. After a crash it has not happened; to do it again is safe.
 */
export async function reclaim(
  session: Session,
  from: readonly string[] = [],
): Promise<ReclaimAnswer> {
  const { memory, place, files } = session;
  const { writer } = files.own;
  const logs = ownLogs(place.layout, place.handle);
  if (from.length > 0) {
    const answer = reclaimFrom(session, from);
    noteReclaimed(session);
    await takeInOwn(session);
    return answer;
  }
  const isBlocked = (name: string) => writer.blocked(name)?.code === "identity_in_use";
  if (memory.inUse === undefined && !logs.some(({ name }) => isBlocked(name)))
    return { logs: [], given_up: [], kept_in: null };
  // Lines that the other copy has written since then have to be known before ours follow them.
  await takeInOwn(session);
  session.recorder.flush();
  recoverOwnLogs(session);
  const answer: ReclaimAnswer = { logs: [], given_up: [], kept_in: null };
  for (const { name } of logs) {
    const head = highestLine(session, name);
    if (head === undefined) continue;
    if (!isBlocked(name) && head.seq <= (writer.head(name)?.seq ?? 0)) continue;
    const lost = writer.unplaced(name);
    answer.kept_in = keepPromises(session, name, lost) ?? answer.kept_in;
    answer.given_up.push(...lost.map(({ seq, id }) => ({ log: name, seq, event_id: id })));
    writer.adopt(name, head);
    answer.logs.push({ log: name, seq: head.seq, event_id: head.id });
  }
  noteReclaimed(session);
  return answer;
}

/** From here on our logs are read and written as they are. */
function noteReclaimed({
  world,
  place,
  recorder,
}: Pick<Session, "world" | "place" | "recorder">): void {
  const logs = ownLogs(place.layout, place.handle);
  const event: ResetEvent = {
    kind: "reset",
    at: world.clock.wallMs(),
    peer: place.handle,
    logs: logs.map(({ name }) => ({ log: name })),
  };
  recorder.local(event);
}

/**
 * The line with our signature and the highest `seq` in a log, whichever copy wrote it. Throws when
 * the log cannot be read, or lacks what we have read in it: to go on from there would fork it.
 */
function highestLine(
  { world, place, memory }: Pick<Session, "world" | "place" | "memory">,
  name: string,
): ChainHead | undefined {
  const { admission, log } = intakeOf(memory, name);
  const path = join(place.wire.folder, log.path);
  const file = openIfThere(world.disk, path);
  let highest: ChainHead | undefined;
  try {
    for (const { bytes } of file === undefined ? [] : wholeLines(file, 0, file.stat().size)) {
      const found = bytes === undefined ? undefined : lineAbove(highest?.seq ?? 0, bytes);
      // Only what was found authentic when it was read is known.
      if (found !== undefined && admission.seen.has(found)) highest = found;
    }
  } finally {
    file?.close();
  }
  if ((highest?.seq ?? 0) >= (admission.chain.head?.seq ?? 0)) return highest;
  throw new StorageError("log_damaged", path, "lacks lines of ours that were in it", {
    hint: "put it back from a backup or a peer's copy of the wire, then reclaim it",
  });
}

/** The place of a line in its chain, if that is above `seq`; most lines need no full parse for this. */
function lineAbove(seq: number, bytes: Uint8Array): ChainHead | undefined {
  // The heads in a beat have a `seq`, too.
  const text = Buffer.from(bytes).toString("latin1");
  const numbers = [...text.matchAll(/"seq"\s*:\s*(\d{1,15})[\s,}]/gu)];
  if (!numbers.some(([, number]) => Number(number) > seq)) return undefined;
  const parsed = parseMessage(bytes);
  if (!parsed.ok || parsed.message.seq === undefined || parsed.message.seq <= seq) return undefined;
  return { seq: parsed.message.seq, id: parsed.message.id };
}

/** Promised lines whose place is taken now are kept for the operator, to be sent again. */
function keepPromises(
  { world, place, recorder }: Pick<Session, "world" | "place" | "recorder">,
  log: string,
  lost: readonly OwnLine[],
): string | undefined {
  const [first] = lost;
  if (first === undefined) return undefined;
  const name = keepEvidence(world.disk, place.paths.evidence, {
    peer: place.handle,
    log,
    mark: String(first.seq),
    matter: first.id,
    about: { evidence: "promises_given_up", at: new Date(world.clock.wallMs()).toISOString() },
    lines: lost.map(({ seq, id, line }) => ({ seq, id, line: Buffer.from(line).toString("utf8") })),
  });
  if (name === undefined) {
    throw new StorageError("exists", place.paths.evidence, `no room for more files about ${log}`, {
      hint: "move the oldest of them away, then reclaim again: queued lines of ours have to be kept",
    });
  }
  recorder.tell({
    key: `promises_given_up:${log}:${first.id}`,
    cause: "promises_given_up",
    subject: `${lost.length} queued lines of ours have lost their place`,
    detail: `${log}: another copy of our key has written in the place of lines ${first.seq} and on; they are kept in ${name}: send them again`,
    concernsWire: false,
  });
  return join(place.paths.evidence, name);
}

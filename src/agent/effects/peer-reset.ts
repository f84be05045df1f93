import { takeInOwn } from "../intake/take-in.ts";
import { join } from "node:path";
import type { ResetEvent, ResetLog } from "../../protocol/events.ts";
import { ownLogs } from "../../wire/layout.ts";
import type { HoldsView, HoldView } from "../../api/holds.ts";
import { DeaddropError } from "../../api/errors.ts";
import { evidenceOf } from "../intake/trouble/evidence.ts";
import { waitViews } from "../intake/trouble/log-waits.ts";
import { isLong, type LogStatus } from "../state/log-status.ts";
import { intakeOf, type LogIntake } from "../state/agent-state.ts";
import type { Session } from "../session/session.ts";

/** What the operator decides about a log that waits. */
const HOLD_OF = {
  late: { cause: "log_gap", taken_from: "here" },
  behind: { cause: "log_behind", taken_from: "beginning" },
  reordered: { cause: "log_reordered", taken_from: "beginning" },
  order: { cause: "log_reordered", taken_from: "here" },
  ahead: { cause: "clock_skew", taken_from: "here" },
} as const;

/** What of a peer stays unread until the operator decides, and why. Spec 1.6, 2.5. */
export function holdsView(
  session: Pick<Session, "world" | "place" | "memory">,
  peer: string,
): HoldsView {
  const { place, memory } = session;
  requirePeer(session, peer);
  const known = place.store.peers.get(peer);
  const keys = known?.keys ?? [];
  const holds: HoldView[] = [];
  if (known?.held !== undefined) {
    const { cause, detail, sinceMs } = known.held;
    const since = new Date(sinceMs).toISOString();
    holds.push({ log: null, cause, detail, since, taken_from: null, evidence: [] });
  }
  for (const { name } of ownLogs(place.layout, peer)) {
    const intake = intakeOf(memory, name);
    const hold = logHold(session, intake) ?? longWait(session, intake);
    if (hold !== undefined) holds.push(hold);
  }
  return {
    peer,
    holds,
    blocked: known?.blocked ?? false,
    can_speak: keys.length === 0 || keys.some(({ active }) => active),
    evidence: ownLogs(place.layout, peer).flatMap(({ name }) => evidenceOf(session, name)),
  };
}

function logHold(
  session: Pick<Session, "world" | "place">,
  { admission, log }: LogIntake,
): HoldView | undefined {
  const { held } = admission;
  if (held === undefined) return undefined;
  const { cause, detail, sinceMs } = held;
  const since = new Date(sinceMs).toISOString();
  const taken_from = cause === "log_rewritten" ? "beginning" : "here";
  const evidence = evidenceOf(session, log.name);
  return { log: log.name, cause, detail, since, taken_from, evidence };
}

/**
 * The operator decides about a log that begins late, about a line that is dated ahead, and about a log
 * that has lacked lines or shown another order for so long that the operator was told.
 */
function longWait(
  session: Pick<Session, "world" | "place" | "memory">,
  { log, status }: LogIntake,
): HoldView | undefined {
  const { world, memory } = session;
  const why = isLong(status, world.clock.monoMs()) ? status.why : lateness(status);
  if (why === undefined) return undefined;
  const view = waitViews(memory, world, log.owner).find((each) => each.log === log.name);
  if (view === undefined) return undefined;
  const { detail, since } = view;
  const evidence = evidenceOf(session, log.name);
  return { log: log.name, ...HOLD_OF[why], detail, since, evidence };
}

function lateness(status: LogStatus): "late" | "ahead" | undefined {
  if (status.kind !== "waiting") return undefined;
  return status.why === "late" || status.why === "ahead" ? status.why : undefined;
}

/**
 * Takes in a peer's lines again where its logs are held or begin late. It is one durable event, so
 * after a crash all of it is done or nothing. A hold in the trust store does not end here. Answers
 * what was held. Spec 1.6.
 */
export async function resetPeer(session: Session, peer: string): Promise<HoldsView> {
  const { memory, place, world, files } = session;
  const view = holdsView(session, peer);
  // Beats that we wrote until now count the lines of a rewritten log as it was before.
  await takeInOwn(session);
  const logs = view.holds.flatMap(({ log, cause, taken_from }): ResetLog[] => {
    if (log === null) return [];
    if (cause === "clock_skew") return [{ log, keepsChain: true }];
    const lines = memory.state.logs.get(log)?.lines ?? 0;
    return [{ log, ...(taken_from === "beginning" ? { lines } : {}) }];
  });
  if (view.holds.length === 0) return view;
  const event: ResetEvent = { kind: "reset", at: session.world.clock.wallMs(), peer, logs };
  session.recorder.local(event);
  const rewritten = logs.filter(({ lines }) => lines !== undefined);
  // The old head says nothing of a log that was rewritten.
  files.heads.save({ peers: new Map(rewritten.map(({ log }) => [log, undefined])) });
  for (const { log } of rewritten) {
    const intake = intakeOf(memory, log);
    // Lines that were there before must not use up the author's limits.
    intake.past.unlimitedTo = world.disk.stat(join(place.wire.folder, intake.log.path))?.size ?? 0;
  }
  return view;
}

function requirePeer({ place }: Pick<Session, "place">, handle: string): void {
  const peers = place.layout.roster.filter((each) => each !== place.handle);
  if (peers.includes(handle)) return;
  throw new DeaddropError("unknown_recipient", `"${handle}" is no peer on this wire`, {
    hint: `on this wire are: ${peers.join(", ")}`,
  });
}

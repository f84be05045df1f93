import { takeInDecisions, takeInOwn } from "../intake/take-in.ts";
import { nowOf } from "../session/clock.ts";
import { beatWritten, type BeatTimers } from "../../protocol/heartbeats/beat-timers.ts";
import type { Effect } from "../../protocol/effects.ts";
import { isRecorded, judgeEntry } from "../../protocol/decisions/decisions.ts";
import type { CoreEvent } from "../../protocol/events.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import type { Draft } from "../../wire/compose.ts";
import { fromPlain } from "../../wire/json/json.ts";
import { recordDecision } from "./decision-file.ts";
import { mirrorIncident } from "./incident-file.ts";
import { stopAgent } from "./park.ts";
import { notifyAgent } from "./notify-agent.ts";
import { sendInto, troubleOf } from "./append-own.ts";
import { ownTrouble } from "../intake/trouble/log-holds.ts";
import type { Session } from "../session/session.ts";

/**
 * How long we do not try a shared file that another process keeps locked, or that cannot be
 * written.
 */
const SHARED_RETRY_MS = 2_000;

/**
 * Does what the core decided. Lines of our own go out as one group and are folded when they are
 * read back from our log, so that a crash anywhere leaves only work that is decided again.
 */
export async function perform(
  session: Session,
  effects: readonly Effect[],
  timers: BeatTimers,
): Promise<BeatTimers> {
  const lines = doable(session, effects).flatMap((effect) => lineOf(session, effect));
  let next = timers;
  if (lines.length > 0) {
    sendInto(session, lines);
    await takeInOwn(session);
    const now = nowOf(session.world.clock);
    for (const effect of effects) {
      if (effect.do !== "beat" || !isOpen(session, effect.log)) continue;
      const { heartbeats } = session.memory.state;
      const jitter = session.world.random();
      next = beatWritten(next, effect.log, heartbeats, session.env, now, jitter);
    }
  }
  // Outside what is tried again below: its file is given what the journal says when it is opened.
  for (const effect of effects) if (effect.do === "notify") notifyAgent(session, effect.news);
  for (const effect of effects) if (effect.do === "stop_agent") stopAgent(session, effect);
  // After one failure the others are not tried: each attempt waits a little for the lock.
  for (const effect of effects) {
    if (doNow(session, [effect]).length > 0) await performShared(session, effect);
  }
  return next;
}

/** Without effects on shared files while we do not try those; they are decided again. */
function doNow(
  { files: { shared, troubles }, world }: Pick<Session, "files" | "world">,
  effects: readonly Effect[],
): readonly Effect[] {
  const isDue = world.clock.monoMs() >= shared.notBeforeMs && troubles.mayTry("wire files");
  if (isDue) return effects;
  return effects.filter((effect) => effect.do !== "record" && effect.do !== "mirror");
}

/**
 * Our own logs may be closed to us (damaged, our key in use elsewhere): the rest goes on. What is
 * decided to be said may have been said already in a log that we cannot read to its end: it would be
 * said again in each round.
 */
export function doable(
  session: Pick<Session, "world" | "memory" | "files" | "env">,
  effects: readonly Effect[],
): readonly Effect[] {
  return effects.filter((effect) => {
    // The round after its end takes it up again.
    if (effect.do === "stop_agent") return session.world.hooks?.stop?.isRunning(effect.by) !== true;
    if (effect.do !== "send" && effect.do !== "beat") return true;
    if (!isOpen(session, effect.log)) return false;
    return effect.do === "beat" || session.env.reading.caughtUp(effect.log, -Infinity);
  });
}

/** Whether that log of ours takes lines now. */
export function isOpen(session: Pick<Session, "memory" | "files">, log: string): boolean {
  if (ownTrouble(session) !== undefined || troubleOf(session, log) !== undefined) return false;
  // What nobody waits for is decided again later; it does not queue up. Spec 4.1, Storage trouble.
  return session.files.own.writer.stuck(log) === undefined;
}

function lineOf(session: Pick<Session, "place">, effect: Effect): { draft: Draft; log: string }[] {
  if (effect.do === "send") return [{ draft: effect.draft, log: effect.log }];
  if (effect.do !== "beat") return [];
  const addressee = session.place.layout.logs.get(effect.log)?.addressee;
  const { last_action: _private, ...quiet } = effect.body;
  const body = session.place.settings.showLastAction ? effect.body : quiet;
  const draft: Draft = {
    to: [addressee ?? "*"],
    type: "heartbeat",
    subject: effect.body.state === "paused" ? "paused" : "alive",
    body: fromPlain(body),
    priority: "low",
  };
  return [{ draft, log: effect.log }];
}

/** Shared files are written under a lock that others may hold: what fails is decided again. */
async function performShared(session: Session, effect: Effect): Promise<void> {
  try {
    if (effect.do === "tell") {
      session.recorder.tell(effect.incident);
      return;
    }
    if (effect.do === "record") await record(session, effect);
    else if (effect.do === "mirror") {
      mirrorIncident(session.world, session.place, effect.id, effect.raw);
      session.recorder.local({
        kind: "mirrored",
        id: effect.id,
        at: session.world.clock.wallMs(),
      });
    }
    session.files.troubles.worked("wire files");
  } catch (error) {
    const { folder } = session.place.wire;
    // What the journal could not note is everybody's trouble.
    if (!(error instanceof StorageError) || !error.path.startsWith(folder)) throw error;
    if (error.code !== "locked") {
      session.files.troubles.failed("wire files", error);
      return;
    }
    session.files.shared.notBeforeMs = session.world.clock.monoMs() + SHARED_RETRY_MS;
    session.world.log.warn({ effect: effect.do, code: error.code }, error.message);
  }
}

async function record(
  session: Pick<Session, "world" | "place" | "memory" | "env" | "recorder">,
  effect: Extract<Effect, { do: "record" }>,
): Promise<void> {
  const { world, place, memory, env } = session;
  const { proposals, logs, decisions } = memory.state;
  // Read since it was decided to record this one, when the one before it was recorded.
  if (isRecorded(decisions, effect.decision.proposal_id)) return;
  const isProved = (event: CoreEvent): boolean =>
    event.kind === "entry" && judgeEntry(proposals, logs, env, event.entry).is === "proved";
  // Entries that were read and are not kept may be proved by now.
  const known = decisions.entries.areDropped ? undefined : memory.decisions;
  const written = recordDecision(world.disk, place, effect.decision, isProved, known);
  const { decision_id: id } = effect.decision;
  world.log.info({ decision: id, outcome: written.outcome }, "decision recorded");
  await takeInDecisions(session, { isBehind: false });
  // There may be many to record.
  await world.clock.nextTurn();
}

import { recoverOwnLogs } from "../session/own-logs.ts";
import { awaitsComparison, refusalsOf } from "../../protocol/keys/announcements.ts";
import { safeModeEnd, type SafeMode } from "../../protocol/escalations/safe-mode-end.ts";
import { isState } from "../../trust/tiers.ts";
import { maySend, safeMode } from "../../protocol/incidents/safe-mode.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import type { OwnLine } from "../../storage/own-log/log-writer.ts";
import { checkDraft, composeLine, nextTimestamp, type Draft } from "../../wire/compose.ts";
import { logsTo, type Log } from "../../wire/layout.ts";
import type { ChainHead } from "../../wire/chain.ts";
import type { RequestKey, SendAnswer, SentLine, TierRefusal } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { Env } from "../../protocol/env.ts";
import type { HeartbeatsState } from "../../protocol/heartbeats/heartbeats.ts";
import { isParking } from "../../protocol/requests/parking.ts";
import { isQuiet } from "../../protocol/receipts/quiet.ts";
import { pausedPeers } from "../../protocol/heartbeats/liveness.ts";
import { checkMeaning } from "./draft-meaning.ts";
import { checkMembers, isRemoval } from "./members/draft-members.ts";
import { draftToSign, waitsBefore } from "./park.ts";
import { assertShape } from "../config/schema-checks.ts";
import { obstructionOf, ownTrouble } from "../intake/trouble/log-holds.ts";
import type { Session } from "../session/session.ts";

/** A draft with the logs into which it goes. */
interface Addressed {
  readonly draft: Draft;
  readonly logs: readonly Log[];
}

/**
 * Signs drafts into our own logs as one write and one sync: all of it is promised or nothing is.
 * Each group is what one caller sends, and gets an answer of its own. `key`: under which the only
 * group is sent. Spec 4.1, Append. Throws DeaddropError when nothing was sent.
 */
export function sendGroups(
  session: Session,
  groups: readonly (readonly Draft[])[],
  key?: RequestKey,
): SendAnswer[] {
  const { memory, env } = session;
  const safe = safeMode(memory.state.incidents, env);
  const signed = groups.map((drafts) => drafts.map((draft) => draftToSign(session, draft)));
  for (const draft of signed.flat()) checkMembers(session, draft);
  const addressed = signed.map((drafts) => drafts.map((draft) => address(session, draft, safe)));
  const { outcome, messages } = write(session, addressed.flat(), key);
  let at = 0;
  return addressed.map((group, index) => {
    const count = group.reduce((sum, { logs }) => sum + logs.length, 0);
    at += count;
    const refusedBy = refusals(session, groups[index] ?? []);
    const uncompared = uncomparedAmong(session, groups[index] ?? []);
    const notWoken = notWokenAmong(session, groups[index] ?? []);
    const paused = pausedAmong(memory.state.heartbeats, env, groups[index] ?? []);
    return {
      outcome,
      messages: messages.slice(at - count, at),
      ...(refusedBy.length === 0 ? {} : { refused_by: refusedBy }),
      ...(uncompared.length === 0 ? {} : { awaits_comparison: uncompared }),
      ...(paused.length === 0 ? {} : { paused }),
      ...(notWoken.length === 0 ? {} : { not_woken: notWoken }),
      ...(group.some(({ draft }) => isParking(draft)) ? { parks: true as const } : {}),
    };
  });
}

/**
 * The recipients that have announced that they take no such lines from our tier, each once. Spec
 * 2.3.
 */
function refusals(
  { memory, env }: Pick<Session, "memory" | "env">,
  drafts: readonly Draft[],
): TierRefusal[] {
  const { announcements } = memory.state;
  const all = drafts.flatMap(({ type, to }) => refusalsOf(announcements, env, type, to));
  return [...new Map(all.map((each) => [each.peer, each])).values()];
}

/** The recipients where it waits for the comparison of digits. Spec 2.4. */
function uncomparedAmong(
  { memory, env }: Pick<Session, "memory" | "env">,
  drafts: readonly Draft[],
): readonly string[] {
  const named = new Set(drafts.filter(({ type }) => !isState(type)).flatMap(({ to }) => to));
  return env.layout.members.filter(
    (peer) =>
      (named.has("*") || named.has(peer)) &&
      awaitsComparison(memory.state.announcements, env, peer),
  );
}

/** The recipients whose last beats say that their wakes for our mail are used up. Spec 8.3. */
function notWokenAmong(
  { memory, env, world }: Session,
  drafts: readonly Draft[],
): NonNullable<SendAnswer["not_woken"]> {
  const { peerBeats } = memory.state.heartbeats;
  const nowMs = world.clock.wallMs();
  const untilMs = new Map<string, number>();
  for (const draft of drafts.filter((each) => !isState(each.type) && !isQuiet(each))) {
    const isUrgent = draft.priority === "high" || draft.type === "incident";
    const peers = draft.to.includes("*") ? env.layout.members : draft.to;
    for (const peer of peers) {
      const said = peerBeats.get(peer)?.notWoken;
      const until = (isUrgent ? said?.urgentUntilMs : said?.untilMs) ?? 0;
      if (until > nowMs) untilMs.set(peer, Math.max(until, untilMs.get(peer) ?? 0));
    }
  }
  return [...untilMs].map(([peer, ms]) => ({ peer, until: new Date(ms).toISOString() }));
}

/** The recipients whose last beats say that they are paused: it waits there until they go on. */
function pausedAmong(
  heartbeats: HeartbeatsState,
  env: Env,
  drafts: readonly Draft[],
): readonly string[] {
  const named = new Set(drafts.flatMap(({ to }) => to));
  return pausedPeers(heartbeats, env).filter((peer) => named.has("*") || named.has(peer));
}

/**
 * Lines that the daemon sends by itself: each goes into one named log. Safe mode was checked
 * before.
 */
export function sendInto(
  session: Pick<Session, "world" | "place" | "memory" | "files" | "recorder">,
  items: readonly { readonly draft: Draft; readonly log: string }[],
): SendAnswer {
  const addressed = items.map(({ draft, log }) => {
    const into = session.place.layout.logs.get(log);
    if (into === undefined) throw new Error(`${log} is no log of this wire`);
    return { draft, logs: [into] };
  });
  return write(session, addressed);
}

function address(
  session: Pick<Session, "place" | "world" | "memory">,
  draft: Draft,
  safe: SafeMode | undefined,
): Addressed {
  const { layout, config, handle } = session.place;
  if (safe !== undefined && !isRemoval(draft) && !maySend(draft.type, safe)) {
    throw safeModeError(draft.type, safe, handle);
  }
  if (!layout.members.includes(handle)) {
    throw new DeaddropError("refused", `not sent: ${handle} has left this wire`, {
      hint: "a member lets it come back with: deaddrop member add",
    });
  }
  const checked = checkDraft(draft, config.limits);
  if (!checked.ok) throw new DeaddropError("bad_draft", `not sent: ${checked.detail}`);
  for (const to of draft.to) {
    if (to === "*" || (layout.members.includes(to) && to !== handle)) continue;
    const peers = layout.members.filter((peer) => peer !== handle).join(", ");
    const isGone = layout.roster.includes(to) && to !== handle;
    const notListed = isGone ? "it has left this wire" : "it is not in the wire's roster";
    const why = to === handle ? "that is you" : notListed;
    throw new DeaddropError("unknown_recipient", `not sent to "${to}": ${why}`, {
      hint: `on this wire are: ${peers}`,
    });
  }
  const logs = logsTo(layout, handle, draft.to);
  checkMeaning(session, draft, logs);
  return { draft, logs };
}

function safeModeError(type: string, safe: SafeMode, self: string): DeaddropError {
  const why = `${safe.of} did not ack an incident of ${safe.author} in time`;
  return new DeaddropError("safe_mode", `safe mode: "${type}" is not sent: ${why}`, {
    hint: safeModeEnd(safe, self, "agent"),
  });
}

/**
 * Looks again at logs of ours that are blocked or stuck, or not as we left them. What waits goes out
 * now, if it can.
 */
export function recoverLogs(
  session: Pick<Session, "world" | "memory" | "files" | "recorder">,
): void {
  try {
    recoverOwnLogs(session);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    session.files.troubles.failed("private files", error);
    throw notSent(error);
  }
}

/** Why nothing is written to that log of ours now, when the others are open. */
export function troubleOf(
  { memory, files }: Pick<Session, "memory" | "files">,
  log: string,
): StorageError | undefined {
  return files.own.writer.blocked(log) ?? obstructionOf(memory.intakes.get(log)?.status);
}

interface Written {
  readonly line: OwnLine;
  readonly sent: SentLine;
}

function write(
  session: Pick<Session, "world" | "place" | "memory" | "files" | "recorder">,
  items: readonly Addressed[],
  key?: RequestKey,
): SendAnswer {
  const { memory, files, recorder, world } = session;
  const { written: unread } = files.own;
  const closed = ownTrouble(session);
  if (closed !== undefined) throw notSent(closed);
  recoverLogs(session);
  const names = items.flatMap(({ logs }) => logs.map(({ name }) => name));
  const [trouble] = names.flatMap((name) => troubleOf(session, name) ?? []);
  if (trouble !== undefined) throw notSent(trouble);
  const waits = waitsBefore(
    session,
    items.map(({ draft }) => draft),
  );
  if (waits !== undefined) throw notSent(waits);
  const written = compose(session, items);
  if (key !== undefined) {
    // Before they are promised: a crash in between leaves a key of lines that are not there.
    const messages = written.map(({ sent }) => sent);
    recorder.local({ kind: "keyed", key, messages, at: world.clock.wallMs() });
  }
  const outcome = append(
    session,
    written.map(({ line }) => line),
  );
  for (const { line } of written) unread.add(line.id);
  memory.times.lastSent = written.at(-1)?.sent.timestamp ?? memory.times.lastSent;
  return { outcome, messages: written.map(({ sent }) => sent) };
}

/** Promises them and appends what its log takes. Throws when none of them is promised. */
function append(
  { files }: Pick<Session, "files">,
  lines: readonly OwnLine[],
): SendAnswer["outcome"] {
  const { troubles } = files;
  const { writer } = files.own;
  const wasStuck = writer.stuck() !== undefined;
  const answers = writer.append(lines);
  const refused = answers.find((answer) => answer.answer === "not sent");
  if (writer.broken !== undefined) troubles.failed("private files", writer.broken);
  if (refused?.answer === "not sent") throw notSent(refused.error);
  const stuck = writer.stuck();
  if (stuck !== undefined && !wasStuck) troubles.failed("own logs", stuck);
  return answers.some((answer) => answer.answer === "queued") ? "queued" : "sent";
}

/** Signs the lines; changes no state, since they are not promised yet. */
function compose(
  session: Pick<Session, "world" | "place" | "memory" | "files">,
  items: readonly Addressed[],
): Written[] {
  const { world, place, memory, files } = session;
  const { writer } = files.own;
  const { wireId, protocolVersion } = place.config;
  const version = protocolVersion === "v3.0" ? "v3.0" : "v3.1";
  const heads = new Map<string, ChainHead | undefined>();
  const written: Written[] = [];
  let last = memory.times.lastSent;
  for (const { draft, logs } of items) {
    let correlationId = draft.correlationId;
    for (const { name } of logs) {
      const [wallMs, micros] = [world.clock.wallMs(), world.clock.micros()];
      let timestamp = nextTimestamp(wallMs, micros, last);
      // Spec 1.2: an ack in the very microsecond that names its thread would be refused.
      if (timestamp === correlationId) timestamp = nextTimestamp(wallMs, micros, timestamp);
      last = timestamp;
      // One thread, although each log gets its own line with its own time.
      correlationId ??= timestamp;
      const head = heads.has(name) ? heads.get(name) : writer.head(name);
      const composed = composeLine(
        { ...draft, correlationId },
        { timestamp, log: name, wireId, head, version },
        place.identity.signer,
      );
      assertShape("message", composed.message.fields);
      const seq = (head?.seq ?? 0) + 1;
      const { id, line } = composed;
      heads.set(name, { seq, id });
      written.push({
        line: { log: name, seq, id, line },
        sent: {
          event_id: id,
          log: name,
          seq,
          timestamp,
          correlation_id: correlationId,
          to: [...draft.to],
        },
      });
    }
  }
  return written;
}

/** What a sender is told. */
export function notSent(error: StorageError): DeaddropError {
  return new DeaddropError("storage", `not sent: ${error.message}`, {
    hint: error.hint,
    cause: error,
  });
}

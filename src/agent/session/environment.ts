import type { OwnKeys } from "../../protocol/keys/own-keys.ts";
import type { Env, ReadingProgress } from "../../protocol/env.ts";
import { authenticate } from "../../admission/authenticate.ts";
import type { AdmissionContext } from "../../admission/context.ts";
import { tierOf } from "../../trust/store.ts";
import { isChained, isOfAnotherWire, type ChainHead } from "../../wire/chain.ts";
import {
  isFull as isFullOf,
  noRefusedLines,
  type RefusedLines,
} from "../../protocol/receipts/refused-lines.ts";
import { answerLog, type Layout } from "../../wire/layout.ts";
import type { Memory } from "../state/agent-state.ts";
import { isCaughtUp, isHeldBack } from "../state/log-status.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import { HOUR_MS } from "../../wire/durations.ts";
import type { World } from "./world.ts";

/** By what lines are judged. Spec 2.4. */
export function contextOf(place: AgentConfig): AdmissionContext {
  const { config, store, handle } = place;
  return {
    wireId: config.wireId,
    signing: config.signing,
    limits: config.limits,
    store,
    self: handle,
    left: config.left,
  };
}

/**
 * The same for lines that are no news: a key that has been deactivated since is believed up to the
 * line noted then, by its place in the chain. Spec 2.1.
 */
export function pastContextOf(ctx: AdmissionContext): AdmissionContext {
  // Outside a chain nothing says whether a line comes before or after that one.
  return { ...ctx, history: { passed: () => true } };
}

/** The refusals that our next beat has to name; undefined when no beat of ours speaks of that log. */
export function unnamedRefusals(
  { state }: Memory,
  layout: Layout,
  self: string,
  log: string,
): RefusedLines | undefined {
  const known = layout.logs.get(log);
  if (known === undefined || answerLog(layout, known, self) === undefined) return undefined;
  return state.receipts.taken.get(log)?.refused ?? noRefusedLines();
}

/** What the protocol asks of the rest of the agent. */
export function envOf(
  place: AgentConfig,
  memory: Memory,
  world: Pick<World, "clock" | "remote">,
): Env {
  const { layout, store, handle } = place;
  return {
    self: handle,
    layout,
    policy: {
      domains: place.domains,
      cadences: place.cadences,
      answerTimes: place.config.answerTimes,
      transitions: place.tiers.transitions,
    },
    tierOf: (peer) => {
      const pinned = store.peers.get(peer);
      return {
        tier: tierOf(store, peer),
        sinceMs: pinned?.attestedSinceMs,
        setAtMs: pinned?.tierSetAtMs,
        reciprocations: pinned?.reciprocations ?? 0,
      };
    },
    ownKeys: ownKeysOf(place),
    membersChangedBy: place.config.membersChangedBy,
    reading: progressOf(place, memory, world),
  };
}

function progressOf(
  { layout, store, handle: self }: AgentConfig,
  memory: Memory,
  { clock, remote }: Pick<World, "clock" | "remote">,
): ReadingProgress {
  // A hold is of a peer: one of its logs, or the trust store, is enough.
  const isHeld = (peer: string): boolean => {
    if (store.peers.get(peer)?.held !== undefined) return true;
    return [...memory.intakes.values()].some(
      ({ log, admission }) => log.owner === peer && admission.held !== undefined,
    );
  };
  const isFetched = (owner: string, momentMs: number): boolean => {
    if (remote?.isRemote(owner) !== true) return true;
    const { fetchedMs = -Infinity } = memory;
    if (fetchedMs > -Infinity && fetchedMs >= momentMs) return true;
    remote.fetchSoon();
    return false;
  };
  const isFull = (log: string): boolean => {
    const refused = unnamedRefusals(memory, layout, self, log);
    return refused !== undefined && isFullOf(refused);
  };
  // What was begun in a closed log goes on in an outbox. Our own says nothing yet before it is closed.
  const withOutbox = (log: string): readonly string[] => {
    const { into } = layout.logs.get(log) ?? {};
    return into === undefined ? [log] : [log, into];
  };
  const isLeft = (log: string): boolean => {
    const intake = memory.intakes.get(log);
    if (intake === undefined) return false;
    return isHeld(intake.log.owner) || isFull(log) || isHeldBack(intake.status, clock.monoMs());
  };
  const isRead = (log: string, momentMs: number): boolean => {
    const intake = memory.intakes.get(log);
    if (intake === undefined || !isCaughtUp(intake.status) || isFull(log)) return false;
    return isFetched(intake.log.owner, momentMs);
  };
  return {
    get heldPeers() {
      return new Set(layout.roster.filter((handle) => handle !== self && isHeld(handle)));
    },
    holdsBack: (log) => withOutbox(log).some((name) => isLeft(name)),
    caughtUp: (log, momentMs) => withOutbox(log).every((name) => isRead(name, momentMs)),
  };
}

function ownKeysOf(place: AgentConfig): OwnKeys {
  const { handle, identity, nextIdentity, nextIsUrgent, store, settings } = place;
  const current = identity.signer.keyId;
  const keys = store.peers.get(handle)?.keys ?? [];
  const addedAt = keys.find(({ keyId }) => keyId === current)?.addedAt ?? "";
  const earlier = keys.filter(({ keyId, active }) => active && keyId !== current);
  return {
    current,
    sinceMs: addedAt === "" ? undefined : Date.parse(addedAt),
    next: nextIdentity?.signer.keyId,
    nextIsUrgent,
    earlier: earlier.map(({ keyId }) => keyId),
    graceMs: settings.keyGraceHours * HOUR_MS,
  };
}

/**
 * Whether a line of one of our logs, or of another author's, is chained there and signed by its author,
 * and where in the chain. A line
 * that we wrote for another wire says nothing of this one: anybody who reads that wire can copy it.
 */
export function ownLine(
  log: string,
  line: Uint8Array,
  ctx: AdmissionContext,
  owner = ctx.self,
): ChainHead | undefined {
  const result = authenticate(line, { owner, log }, pastContextOf(ctx));
  if (!result.ok || !isChained(result.message) || isOfAnotherWire(result.message, ctx.wireId))
    return undefined;
  return { seq: result.message.seq, id: result.message.id };
}

/** Whether a line is signed by the author of that log, and chained there. */
export function isSignedLine(log: string, line: Uint8Array, place: AgentConfig): boolean {
  const owner = place.layout.logs.get(log)?.owner;
  return owner !== undefined && ownLine(log, line, contextOf(place), owner) !== undefined;
}

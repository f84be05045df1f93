import { StorageError } from "../storage/disk/disk.ts";
import type { Agent } from "../agent/agent.ts";
import type { Logger } from "../agent/session/world.ts";
import { DeaddropError } from "../api/errors.ts";
import type { AgentConfig } from "../agent/config/agent-config.ts";
import type { Queue } from "../agent/session/queue.ts";
import { HOUR_MS, MINUTE_MS } from "../wire/durations.ts";

/**
 * How often all cards are looked at, whatever the watcher says: with each safety poll, and no more
 * often in rounds between them.
 */
const CARDS_EVERY_MS = 25_000;
/** A card that is written again and again is looked at no more often than this. */
const CARDS_REST_MS = 1_000;
/** Files that have not changed are read again after so long: a card may not be valid yet. */
const ALL_CARDS_MS = 10 * MINUTE_MS;

/**
 * A card that changes again and again does not fill the log: the changes of one peer's are logged
 * no more often than this.
 */
const TOLD_EVERY_MS = HOUR_MS;

/** What a look at the cards of the peers has found or done. */
export interface Meeting {
  /** Whose first key is pinned now, at UNTRUSTED. */
  readonly pinned: readonly string[];
  /** Whose card has changed since our nonce was shown to it, and how often. Spec 2.3. */
  readonly restarted: ReadonlyMap<string, number>;
}

/** Keeps the pairings with our peers going while the daemon runs. Spec 2.2, 2.3. */
export interface CardWatcher {
  /** The watcher has seen that file of the wire change. */
  changed(name: string): void;
  /** A round has ended: the daemon is awake. */
  rounded(): void;
  stop(): void;
}

/**
 * How a daemon meets its peers: `look` tells whether anything may have changed, and is cheap. `handles`: every agent
 * that is or was on the wire.
 */
export interface CardReader {
  look(place: AgentConfig, handles: readonly string[]): string;
  meet(place: AgentConfig, handles: readonly string[]): Meeting;
}

export function watchCards(
  agent: Pick<Agent, "place" | "carriers" | "reload" | "monoMs">,
  queue: Queue,
  log: Logger,
  reader: CardReader,
): CardWatcher {
  let later: NodeJS.Timeout | undefined;
  let lookedMs = -Infinity;
  let readMs = -Infinity;
  let seen = "";
  let shownKey = "";
  const tell = rarely(log, () => agent.monoMs());

  async function look(): Promise<void> {
    shownKey = agent.place.identity.signer.keyId;
    const isOld = agent.monoMs() >= readMs + ALL_CARDS_MS;
    const { handles } = agent.carriers.layout();
    const now = reader.look(agent.place, handles);
    if (!isOld && now === seen) return;
    seen = "";
    const { pinned, restarted } = reader.meet(agent.place, handles);
    // As it was before it was read: what has changed meanwhile is read the next time.
    seen = now;
    readMs = agent.monoMs();
    for (const [peer, restarts] of restarted) {
      const what = `the card of ${peer} has changed after our number was shown to it`;
      tell(peer, { peer, restarts }, `${what}: deaddrop trust sas ${peer}`);
    }
    if (pinned.length === 0) return;
    log.info({ peers: pinned }, "pinned at UNTRUSTED by their cards");
    await agent.reload();
  }

  function soon(): void {
    if (later !== undefined) return;
    const restMs = lookedMs + CARDS_REST_MS - agent.monoMs();
    if (restMs > 0) {
      later = setTimeout(() => {
        later = undefined;
        soon();
      }, restMs);
      return;
    }
    lookedMs = agent.monoMs();
    queue(look).catch((error: unknown) => {
      // A peer's card, or the folder that it is in, must not stop the daemon.
      if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
      tell(error.code, { code: error.code }, `the cards were not looked at: ${error.message}`);
    });
  }

  soon();
  return {
    changed(name) {
      // A new key of ours is published as soon as we sign with it.
      const isAnother = agent.place.identity.signer.keyId !== shownKey;
      if (isAnother || name.endsWith(".card.json")) soon();
    },
    rounded() {
      if (agent.monoMs() >= lookedMs + CARDS_EVERY_MS) soon();
    },
    stop() {
      clearTimeout(later);
    },
  };
}

/** Warns of the same thing once an hour. */
function rarely(log: Logger, monoMs: () => number) {
  const toldMs = new Map<string, number>();
  return (key: string, facts: object, message: string): void => {
    const nowMs = monoMs();
    if (nowMs < (toldMs.get(key) ?? -Infinity) + TOLD_EVERY_MS) return;
    toldMs.set(key, nowMs);
    log.warn(facts, message);
  };
}

import { StorageError } from "../storage/disk.ts";
import type { Agent } from "./agent.ts";
import type { Logger } from "./edges.ts";
import { DeaddropError } from "./errors.ts";
import type { Place } from "./place.ts";
import type { Queue } from "./queue.ts";

/** How often all cards are looked at, whatever the watcher says. */
const LOOK_EVERY_MS = 30_000;
/** A card that is written again and again is looked at no more often than this. */
const REST_MS = 1_000;

/** Keeps the pairings with our peers going while the daemon runs. Spec 2.2, 2.3. */
export interface ContactKeeper {
  /** The watcher has seen that file of the wire change. */
  changed(name: string): void;
  stop(): void;
}

/** `meet` looks at the cards of the peers and gives whom it has pinned. */
export function keepContact(
  agent: Agent,
  queue: Queue,
  log: Logger,
  meet: (place: Place) => readonly string[],
): ContactKeeper {
  let resting: NodeJS.Timeout | undefined;
  let isDue = false;
  let shownKey = "";

  async function look(): Promise<void> {
    shownKey = agent.place.identity.signer.keyId;
    const pinned = meet(agent.place);
    if (pinned.length === 0) return;
    log.info({ peers: pinned }, "pinned at UNTRUSTED by their cards");
    await agent.reload();
  }

  function soon(): void {
    isDue = resting !== undefined;
    if (isDue) return;
    resting = setTimeout(() => {
      resting = undefined;
      if (isDue) soon();
    }, REST_MS);
    queue(look).catch((error: unknown) => {
      // A peer's card, or the folder that it stands in, must not stop the daemon.
      if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
      log.warn({ code: error.code }, `the cards were not looked at: ${error.message}`);
    });
  }

  const timer = setInterval(soon, LOOK_EVERY_MS);
  soon();
  return {
    changed(name) {
      // A key that we have begun to sign with is shown before anybody has to look for it.
      const isAnother = agent.place.identity.signer.keyId !== shownKey;
      if (isAnother || name.endsWith(".card.json")) soon();
    },
    stop() {
      clearInterval(timer);
      clearTimeout(resting);
    },
  };
}

import { incidentOf } from "../api/troubles.ts";
import { isSamePlace, readPlace, type Place } from "../wire/places.ts";
import { field } from "../protocol/body.ts";
import { hasParked, isParking } from "../protocol/asks/requests.ts";
import type { HeldLine, Store, StoreWriter } from "../store/store.ts";
import type { Draft } from "../wire/compose.ts";
import { isJsonObject } from "../wire/json/json.ts";
import type { Duty, Ground, Known } from "./duties/duty.ts";

/** How the command of the operator ended that ends the agent; "none": no command is set. */
export interface StopEnd {
  readonly outcome: "done" | "failed" | "none";
  readonly detail: string;
}

/** The operator's command that ends the agent. */
export interface StopHook {
  /**
   * Starts it for an approval, unless it was started: how it has ended; undefined while it runs. It returns at once
   * and never throws.
   */
  run(approval: {
    readonly by: string;
    readonly request: string;
    readonly peer: string;
  }): StopEnd | undefined;
}

/** The agent is parked by a line of its own: it has agreed to its shutdown. Plain JSON. Spec 3.8. */
export interface Parked {
  /** Event id of that line. */
  readonly approval: string;
  /** Event id of what it answers, and who asked. */
  readonly request: string;
  readonly peer: string;
  readonly sinceMs: number;
  /** Null until the stop hook has ended; from then on beats say `paused`. */
  readonly stop: StopEnd | null;
}

interface Parking {
  readonly parked: Parked | null;
  /** The approval that `wake` ended last. */
  readonly woken: string | null;
}

/** In `meta`. */
const PARKING = "parking";
/** Parts of one thread that are looked at for the request that is answered. */
const MOST_PARTS = 1_024;

export function readParked(store: Store): Parked | undefined {
  return readParking(store).parked ?? undefined;
}

/**
 * A draft as it is signed: one by which our agent agrees to a shutdown that is asked of it gets `parks`. "reserved":
 * it has that already, which is for the daemon to write. Spec 3.8.
 */
export function withParking(known: Known, draft: Draft): Draft | "reserved" {
  if (hasParked(draft)) return "reserved";
  const { history, place } = known;
  const isTrusted = (author: string): boolean => place.believed(author).tier === "TRUSTED";
  if (!isParking(history, draft, isTrusted) || !isAskedOfUs(known, draft)) return draft;
  return isJsonObject(draft.body) ? { ...draft, body: { ...draft.body, parks: true } } : draft;
}

/**
 * An agent that has agreed to its shutdown is ended by its operator's command, once that is committed. A process
 * that dies before it has noted the end runs it again: an agent that has ended is ended again. Spec 3.8.
 *
 * @param hook undefined without a daemon: the next one runs it
 */
export function parkingDuty(ground: Ground, hook: StopHook | undefined): Duty {
  const { store, world } = ground;
  return {
    take(into, line) {
      takeApproval(into, ground, line);
    },

    write() {
      const { parked, woken } = readParking(store);
      if (parked === null || parked.stop !== null) return;
      const { approval, request, peer } = parked;
      const stop = hook?.run({ by: approval, request, peer });
      if (stop === undefined) return;
      store.write((into) => {
        if (stop.outcome === "failed")
          ground.tell(
            into,
            incidentOf("stop_hook_failed", { asker: peer, problem: stop.detail }, approval),
          );
        write(into, { parked: { ...parked, stop }, woken });
      });
      ground.heart.beatBy(world.clock.monoMs());
    },
  };
}

/** A line of ours that parks. A line that came back after a wake does not. */
function takeApproval(into: StoreWriter, known: Known, line: HeldLine): void {
  const { store, history, place } = known;
  if (line.author !== place.self || line.type !== "ack" || !line.isLive) return;
  const read = history.linked(line);
  const { parked, woken } = readParking(store);
  if (read === undefined || !hasParked(read) || parked !== null || woken === line.id) return;
  const asked = answeredBy(read);
  if (asked === undefined) return;
  const sinceMs = line.receivedMs;
  write(into, {
    parked: { approval: line.id, request: asked.id, peer: asked.author, sinceMs, stop: null },
    woken,
  });
}

/** The agent goes on; false when it is not parked. */
export function wake(store: Store): boolean {
  return store.write((into) => {
    const { parked } = readParking(store);
    if (parked !== null) write(into, { parked: null, woken: parked.approval });
    return parked !== null;
  });
}

/** An answer that changes nothing any more stops nobody, and a line that we refuse asks nothing. */
function isAskedOfUs({ store, place }: Known, { body }: Draft): boolean {
  const asked = answeredBy({ body });
  const line = asked && store.lineAt(asked);
  if (asked === undefined || line?.verdict !== "mail") return false;
  if (line.type !== "request") return true;
  return store.asks
    .ofThread(line.thread, MOST_PARTS)
    .some(
      ({ ask, party, state }) =>
        isSamePlace(ask.place, asked) && party === place.self && state === "open" && !ask.isVoid,
    );
}

function answeredBy({ body }: Pick<Draft, "body">): Place | undefined {
  return readPlace(field(body, "answers")) ?? readPlace(field(body, "about"));
}

function readParking(store: Store): Parking {
  const text = store.meta(PARKING);
  return text === undefined ? { parked: null, woken: null } : (JSON.parse(text) as Parking);
}

function write(into: StoreWriter, parking: Parking): void {
  into.setMeta(PARKING, JSON.stringify(parking));
}

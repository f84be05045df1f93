import { tierNamed } from "../../trust/tiers.ts";
import type { Known } from "../duties/duty.ts";
import type { Recipient } from "../lines/check-drafts.ts";
import { tierOf } from "./listed.ts";
import { latestBeat } from "./peers.ts";

/** What is known of each other member when something is sent. Spec 2.3, 3.1, 8.3. */
export function recipientsOf(
  known: Pick<Known, "store" | "place" | "members">,
): ReadonlyMap<string, Recipient> {
  const { store, place, members } = known;
  const others = [...members.keys()].filter((handle) => handle !== place.self);
  return new Map(
    others.map((handle) => {
      const { state, notWoken } = latestBeat(known, handle)?.beat ?? {};
      return [
        handle,
        {
          tierThere: tierNamed(store.tiers.given(handle) ?? ""),
          tierHere: tierOf(known, handle) ?? undefined,
          ...{ isPaused: state === "paused", notWoken },
        },
      ];
    }),
  );
}

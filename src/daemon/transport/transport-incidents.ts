import { createHash } from "node:crypto";
import type { Agent } from "../../agent/agent.ts";
import type { Queue } from "../../agent/session/queue.ts";
import type { Logger } from "../../agent/session/world.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { AutomaticIncident } from "../../protocol/effects.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { HOUR_MS } from "../../wire/durations.ts";
import type { TransportTrouble } from "../../transport/port.ts";

/** Everybody who can push can make trouble of another name with each push. */
const MAX_TOLD_PER_HOUR = 8;

export type TellTroubles = (troubles: readonly TransportTrouble[]) => void;

/**
 * Tells the operator what was wrong with what was fetched: once for each matter, a few within an hour.
 * Spec 5.2.
 */
export function tellTroubles(
  agent: Pick<Agent, "tell" | "foundElsewhere" | "monoMs">,
  queue: Queue,
  log: Logger,
): TellTroubles {
  let times: readonly number[] = [];
  const known = new Set<string>();

  /** False for what was told since we started, and when the hour is full. */
  function isToTell(trouble: TransportTrouble): boolean {
    const matter = incidentOf(trouble).key;
    const nowMs = agent.monoMs();
    times = times.filter((at) => nowMs - at < HOUR_MS);
    if (known.has(matter) || times.length >= MAX_TOLD_PER_HOUR) return false;
    times = [...times, nowMs];
    known.add(matter);
    return true;
  }

  return (troubles) => tellAll(agent, queue, troubles.filter(isToTell), log);
}

function tellAll(
  agent: Pick<Agent, "tell" | "foundElsewhere">,
  queue: Queue,
  troubles: readonly TransportTrouble[],
  log: Logger,
): void {
  const told = troubles.map((trouble) =>
    queue(() =>
      trouble.cause === "own_log_ahead" && trouble.log !== undefined
        ? agent.foundElsewhere(trouble.log, detailOf(trouble))
        : agent.tell(incidentOf(trouble)),
    ),
  );
  Promise.all(told).catch((error: unknown) => {
    // Our private files are in trouble, which its owner has told; the next fetch finds it again.
    if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
    log.warn({ detail: error.message }, "trouble with the remote could not be noted");
  });
}

function incidentOf(trouble: TransportTrouble): AutomaticIncident {
  const { cause, where } = trouble;
  const detail = detailOf(trouble);
  const matter = createHash("sha256").update(`${where}\n${detail}`).digest("hex").slice(0, 16);
  return {
    key: `${cause}:${matter}`,
    cause,
    subject: `${SUBJECTS[cause]}: ${where}`,
    detail,
    concernsWire: false,
  };
}

const SUBJECTS: Readonly<Record<TransportTrouble["cause"], string>> = {
  wire_tampered: "the remote holds what does not belong there",
  history_rewritten: "the history of the remote was rewritten",
  foreign_wire: "the remote is another wire",
  own_log_ahead: "the remote has lines of ours that we did not write",
};

function detailOf({ detail, kept }: TransportTrouble): string {
  return kept === undefined ? detail : `${detail}; kept in ${kept}`;
}

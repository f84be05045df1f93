import { keepEvidence } from "../../storage/files/evidence.ts";
import { openQuarantine, type QuarantineEntry } from "../../storage/files/quarantine.ts";
import type { Pass } from "../lines/carrier-reading.ts";
import type { Duty, Ground } from "./duty.ts";

/** In the names of files about forks: what they are about. */
export const FORKS = "fork";
/** Refused lines that wait to be written; those that follow are not kept. */
const MOST_WAITING = 1_024;

/**
 * Keeps both lines of each fork in a file of its own, and what was refused or skipped in the quarantine: for
 * people, and to be shown to others. Nothing follows from these files. Spec 1.6, 2.4.
 */
export function evidenceDuty(
  ground: Ground,
  paths: { readonly evidence: string; readonly quarantine: string },
): Duty {
  const { store, world, place } = ground;
  const quarantine = openQuarantine(world.disk, paths.quarantine);
  /** Forks that have their file, or for which there is no room. */
  const kept = new Set<string>();
  let refused: QuarantineEntry[] = [];
  let pass: Pass | undefined;

  function now(): string {
    return new Date(world.clock.wallMs()).toISOString();
  }

  function refuse(entry: Omit<QuarantineEntry, "at">): void {
    if (refused.length < MOST_WAITING) refused.push({ at: now(), ...entry });
  }

  function keepForks(): void {
    for (const [author, seq] of store.chains.forks()) {
      const rivals = store.chains.rivals(author, seq);
      // One alone contradicts the line before it.
      const before = rivals.length > 1 ? [] : store.chains.rivals(author, seq - 1);
      const [first, second] = [...before, ...rivals];
      const matter = [first, second].map((rival) => rival?.place.id).join(" ");
      if (first === undefined || second === undefined || kept.has(matter)) continue;
      const evidence = author === place.self ? "identity_in_use" : "log_forked";
      keepEvidence(world.disk, paths.evidence, {
        ...{ peer: author, log: FORKS, mark: String(seq), matter },
        about: { evidence, at: now() },
        lines: [first, second].map((rival) => ({
          seq: rival.place.seq,
          id: rival.place.id,
          line: Buffer.from(rival.bytes).toString("utf8"),
        })),
      });
      kept.add(matter);
    }
  }

  return {
    take(_into, { author, verdict, bytes, aside, id }) {
      const isRefused = verdict !== null && verdict !== "mail" && verdict !== "passed";
      if (!isRefused || author === place.self) return;
      const detail = aside === null ? id : `${id}, ${aside}`;
      refuse({ file: author, reason: verdict, detail, line: bytes });
    },

    write() {
      keepForks();
      const { lastPass } = ground;
      if (lastPass !== undefined && lastPass !== pass) {
        pass = lastPass;
        for (const skipped of lastPass.skipped.values())
          for (const { carrier, reason, detail, line } of skipped)
            refuse({ file: carrier, reason, detail, line });
      }
      // What the disk does not take is not tried again: it is a copy.
      const entries = refused;
      refused = [];
      if (entries.length > 0) quarantine.add(entries);
    },

    close() {
      quarantine.close();
    },
  };
}

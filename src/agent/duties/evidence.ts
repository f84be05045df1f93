import { keepEvidence } from "../../storage/files/evidence.ts";
import {
  openQuarantine,
  type Quarantine,
  type QuarantineEntry,
} from "../../storage/files/quarantine.ts";
import type { HeldLine, StoreWriter } from "../../store/store.ts";
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
export class EvidenceDuty implements Duty {
  readonly #ground: Ground;
  readonly #folder: string;
  readonly #quarantine: Quarantine;
  /** Forks that have their file, or for which there is no room. */
  readonly #kept = new Set<string>();
  #refused: QuarantineEntry[] = [];
  #pass: Pass | undefined;

  constructor(ground: Ground, paths: { readonly evidence: string; readonly quarantine: string }) {
    this.#ground = ground;
    this.#folder = paths.evidence;
    this.#quarantine = openQuarantine(ground.world.disk, paths.quarantine);
  }

  take(_into: StoreWriter, line: HeldLine): void {
    const { author, verdict, bytes, aside } = line;
    const isRefused = verdict !== null && verdict !== "mail" && verdict !== "passed";
    if (!isRefused || author === this.#ground.place.self) return;
    const detail = aside === null ? line.id : `${line.id}, ${aside}`;
    this.#refuse({ file: author, reason: verdict, detail, line: bytes });
  }

  write(): void {
    this.#keepForks();
    const { lastPass } = this.#ground;
    if (lastPass !== undefined && lastPass !== this.#pass) {
      this.#pass = lastPass;
      for (const skipped of lastPass.skipped.values())
        for (const { carrier, reason, detail, line } of skipped)
          this.#refuse({ file: carrier, reason, detail, line });
    }
    // What the disk does not take is not tried again: it is a copy.
    const refused = this.#refused;
    this.#refused = [];
    if (refused.length > 0) this.#quarantine.add(refused);
  }

  close(): void {
    this.#quarantine.close();
  }

  #refuse(entry: Omit<QuarantineEntry, "at">): void {
    if (this.#refused.length >= MOST_WAITING) return;
    this.#refused.push({ at: new Date(this.#ground.world.clock.wallMs()).toISOString(), ...entry });
  }

  #keepForks(): void {
    const { store, world, place } = this.#ground;
    for (const [author, seq] of store.chains.forks()) {
      const rivals = store.chains.rivals(author, seq);
      // One alone contradicts the line before it.
      const before = rivals.length > 1 ? [] : store.chains.rivals(author, seq - 1);
      const [first, second] = [...before, ...rivals];
      const matter = [first, second].map((rival) => rival?.place.id).join(" ");
      if (first === undefined || second === undefined || this.#kept.has(matter)) continue;
      const nowMs = world.clock.wallMs();
      keepEvidence(world.disk, this.#folder, {
        ...{ peer: author, log: FORKS, mark: String(seq), matter },
        about: {
          evidence: author === place.self ? "identity_in_use" : "log_forked",
          at: new Date(nowMs).toISOString(),
        },
        lines: [first, second].map((rival) => ({
          seq: rival.place.seq,
          id: rival.place.id,
          line: Buffer.from(rival.bytes).toString("utf8"),
        })),
      });
      this.#kept.add(matter);
    }
  }
}

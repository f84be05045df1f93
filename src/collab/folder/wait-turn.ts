import type { Schema } from "../machine/event.ts";
import { RoundRefused } from "../refused.ts";
import type { Protocol } from "../documents/protocol-file.ts";
import { stateOf, type Round } from "../rules/round.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { readHead } from "./read-round.ts";

/** Tells that something in a folder may have changed, until it is closed. */
export type WatchFolder = (folder: string, changed: () => void) => { close(): void };

export interface Waiting {
  readonly folder: string;
  readonly participant: string;
  readonly schema: Schema | undefined;
  /** Forever, if it is undefined. */
  readonly timeoutMs: number | undefined;
  /** Called with a line when what is waited for has changed. */
  say(line: string): void;
}

export interface WaitEnd {
  readonly ready: boolean;
  readonly reason: string;
}

/** A script writes `protocol.json` in place: half of it is there for a moment. */
const CALM_MS = 20;

/**
 * Waits until it is that participant's turn, or the round has ended. Whatever cannot be read meanwhile
 * (a folder that is replaced, a file that a script is writing) is waited out. Spec 6.3.
 */
export function waitTurn(disk: Disk, watch: WatchFolder, about: Waiting): Promise<WaitEnd> {
  return new Promise((resolve, reject) => {
    let last = "";
    let calm: NodeJS.Timeout | undefined;
    let reason = "waiting";
    const end = (finish: () => void): void => {
      watcher.close();
      clearTimeout(calm);
      clearTimeout(limit);
      finish();
    };
    const look = (): void => {
      try {
        const seen = turnOf(disk, about);
        reason = seen.reason;
        if (seen.ready) end(() => resolve(seen));
        else if (seen.reason !== last) {
          last = seen.reason;
          about.say(`waiting: ${seen.reason}`);
        }
      } catch (error) {
        end(() => reject(error instanceof Error ? error : new Error(String(error))));
      }
    };
    const watcher = watch(about.folder, () => {
      clearTimeout(calm);
      calm = setTimeout(look, CALM_MS);
    });
    const limit =
      about.timeoutMs === undefined
        ? undefined
        : setTimeout(() => end(() => resolve({ ready: false, reason })), about.timeoutMs);
    look();
  });
}

/** The same of a folder; what cannot be read of it is waited for. */
function turnOf(
  disk: Disk,
  { folder, participant, schema }: Pick<Waiting, "folder" | "participant" | "schema">,
): WaitEnd {
  try {
    return turnIn(readHead(disk, folder, schema).round, participant);
  } catch (error) {
    if (!(error instanceof RoundRefused) || error instanceof NoParticipant) throw error;
    return { ready: false, reason: error.message };
  }
}

/** Whether it is a participant's turn now, or what it waits for. Throws when it is no participant. */
export function turnIn(round: Round, participant: string): WaitEnd {
  if (round.protocol.participants.length > 0) checkParticipant(round.protocol, participant);
  const state = stateOf(round);
  if (state === undefined) {
    return { ready: false, reason: "events.jsonl is not valid: deaddrop collab validate says why" };
  }
  const { currentPhase, waitingFor } = state;
  if (currentPhase === "completed" || currentPhase === "blocked") {
    return { ready: true, reason: `phase is ${currentPhase}` };
  }
  if (waitingFor.includes(participant)) {
    return { ready: true, reason: `${participant} is listed in waitingFor` };
  }
  const seq = round.events.events.length;
  return { ready: false, reason: `waiting for ${waitingFor.join(", ")} after seq ${seq}` };
}

/** Throws RoundRefused, with the names of those who are. */
export function checkParticipant({ participants }: Protocol, participant: string): void {
  if (participants.includes(participant)) return;
  throw new NoParticipant([`'${participant}' is no participant: ${participants.join(", ")}`]);
}

/** Nothing that happens to the folder makes it one. */
class NoParticipant extends RoundRefused {}

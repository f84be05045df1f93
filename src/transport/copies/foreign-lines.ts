import { joinLines } from "../../storage/disk/line-splitter.ts";
import type { Log } from "../../wire/layout.ts";
import { quote } from "../../wire/quote.ts";
import type { TransportTrouble } from "../port.ts";

/** What the agent says of its logs. */
export interface OwnSide {
  /** Whether that line is signed by the author of that log and belongs into it. */
  isSigned(log: string, line: Uint8Array): boolean;
  /** Whether that log of ours is as we wrote it; else it may lack lines until the agent has restored it. */
  isWhole(log: string): boolean;
}

export interface OwnLogs extends OwnSide {
  /** Keeps lines of a log of ours that we do not know; answers where. Undefined: there is no more room. */
  keep(log: string, lines: Uint8Array): string | undefined;
}

/** What those lines of a log of ours are that the remote has and we do not. They are kept. */
export function foreignTrouble(
  own: OwnLogs,
  log: Log,
  lines: readonly Uint8Array[],
): TransportTrouble {
  const keptIn = own.keep(log.name, joinLines(lines));
  const found = {
    ...{ where: quote(log.path), log: log.name },
    ...(keptIn === undefined ? {} : { kept: keptIn }),
  };
  if (hasOurs(own, log, lines)) {
    return {
      ...found,
      cause: "own_log_ahead",
      detail: "the remote has lines in it that carry our signature, and we did not write them",
    };
  }
  const others = `of ${log.owner}`;
  return {
    ...found,
    cause: "wire_tampered",
    detail: `somebody has written lines into this log ${others} in the remote; ours is pushed as we wrote it`,
  };
}

/** Whether one of them carries our signature. */
export function hasOurs(
  { isSigned }: OwnSide,
  { name }: Log,
  lines: readonly Uint8Array[],
): boolean {
  return lines.some((line) => isSigned(name, line));
}

import type { AdmittedMessage } from "../admission/admitted-message.ts";
import type { RefusalReason } from "../admission/checks.ts";
import type { LineEvent, RefusedEvent, SkippedEvent, ReadHow } from "./events.ts";

/** What became of a line, in the words of the journal. */
export type LineOutcome = "accepted" | "refused" | "unauthentic" | "duplicate" | "blank";

/** One line of a log that was judged: just now, when our journal noted it, or in an audit. */
export interface TakenLine {
  readonly verdict: LineOutcome;
  readonly at: number;
  readonly live: boolean;
  /** Of a line that is its author's, and no duplicate. */
  readonly message: AdmittedMessage | undefined;
  readonly reason: RefusalReason | undefined;
  readonly afterGap: boolean;
}

export interface LinePlace {
  readonly log: string;
  readonly line: number;
  /** The log is ours. */
  readonly own: boolean;
  /** Of neighbours that prove nothing: the first of them, and how many they are. */
  readonly first?: number | undefined;
  readonly count?: number | undefined;
  /** See `LineEvent`. */
  readonly read?: ReadHow | undefined;
}

/** The event of a judged line: live, recalled from the journal and in an audit the same. Spec 2.4. */
export function lineEvent(
  place: LinePlace,
  taken: TakenLine,
  bytes: Uint8Array | undefined,
): LineEvent | RefusedEvent | SkippedEvent {
  const { log, line, first, count } = place;
  const { verdict, at, message, reason } = taken;
  if (verdict === "blank") return { kind: "skipped", log, line, at };
  if (verdict === "duplicate") return { kind: "skipped", log, line, at, isCopy: true };
  if (verdict === "unauthentic") {
    const run = first === undefined || count === undefined ? {} : { first, count };
    // Where lines of one run were refused for several reasons, the journal names none.
    return { kind: "refused", log, line, at, ...run, reason: reason ?? "malformed" };
  }
  if (message === undefined || bytes === undefined) throw new Error(`${log}:${line}: no message`);
  return {
    kind: "line",
    log,
    line,
    at,
    live: taken.live,
    own: place.own,
    message,
    // Few lines are needed as text: they are decoded on demand.
    get raw() {
      return textOf(bytes);
    },
    refused: reason,
    afterGap: taken.afterGap,
    ...(place.read === undefined ? {} : { read: place.read }),
  };
}

function textOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString("utf8");
}

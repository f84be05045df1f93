import type { AdmissionContext } from "../../admission/context.ts";
import { prepare, type Preparation, type Prepared } from "../../admission/prepare.ts";
import type { UnsignedPast } from "../../admission/unsigned-lines.ts";
import type { TailLine } from "../../storage/files/tail.ts";
import { pastContextOf } from "../session/environment.ts";
import type { LogIntake } from "../state/agent-state.ts";

/** A line of a log with all that is known of it before its signature is checked. */
export interface PreparedLine {
  readonly tail: TailLine;
  /** Undefined for blank lines. */
  readonly preparation: Preparation | undefined;
}

/** All that can be said of lines before their signatures are checked. Spec 2.4. */
export function prepareLines(
  lines: readonly TailLine[],
  intake: LogIntake,
  ctx: AdmissionContext,
): PreparedLine[] {
  const { owner, name: log } = intake.log;
  const past = pastContextOf(ctx);
  return lines.map((tail) => {
    const live = isLive(tail, intake);
    const unsignedPast = live ? undefined : () => unsignedPastOf(tail, intake);
    const source = { owner, log, unsignedPast };
    if (tail.kind === "blank") return { tail, preparation: undefined };
    const bytes = tail.kind === "line" ? tail.bytes : undefined;
    return { tail, preparation: prepare(bytes, source, live ? ctx : past) };
  });
}

/** Whether a line came after our journal began to follow its log. Spec 2.4. */
export function isLive({ end }: TailLine, { past: { historyTo } }: LogIntake): boolean {
  return historyTo === undefined || end > historyTo;
}

/** History that is read now has no verdict in the journal yet. Spec 1.5. */
function unsignedPastOf({ end }: TailLine, { past }: LogIntake): UnsignedPast {
  return { noted: undefined, isBeforeSigned: end < past.signedTo };
}

/** The signatures that these lines wait for, in their order. */
export function signaturesOf(lines: readonly PreparedLine[]): Prepared[] {
  return lines.flatMap(({ preparation }) =>
    preparation?.step === "signature" ? [preparation] : [],
  );
}

import type { AutomaticIncident } from "../../../protocol/effects.ts";
import type { JudgedLine } from "../judged-line.ts";
import { HOUR_MS } from "../../../wire/durations.ts";
import { type ForeignUse, NOTHING_FOREIGN } from "../../state/agent-state.ts";

/** Spec 2.4: more than this within an hour is told. */
export const QUIET_LINES = 100;
export const QUIET_BYTES = 64 * 1024;
/** The notice says how many there are: it waits for no more than this. */
const MANY_LINES = 10_000;

/** What others have written, with these lines counted. */
export function withForeign(
  use: ForeignUse,
  judged: readonly JudgedLine[],
  wallMs: number,
): ForeignUse {
  const hour = Math.floor(wallMs / HOUR_MS);
  let { lines, bytes } = use.hour === hour ? use : NOTHING_FOREIGN;
  for (const { verdict, live, tail } of judged) {
    if (verdict !== "unauthentic" || !live) continue;
    lines += 1;
    bytes += tail.end - tail.start;
  }
  return { hour, lines, bytes };
}

/**
 * What the operator is told of it, once an hour. It is about no peer, since any program may have
 * written that, and it does not count against the notices about the log's author. `isAll`: no more
 * of it waits.
 */
export function foreignIncident(
  log: { readonly name: string; readonly owner: string },
  use: ForeignUse,
  held: number,
  isAll: boolean,
): AutomaticIncident | undefined {
  const isMuch = use.lines > QUIET_LINES || use.bytes > QUIET_BYTES;
  if (!isMuch || (!isAll && use.lines < MANY_LINES)) return undefined;
  const { name, owner } = log;
  return {
    key: `foreign_lines:${name}:${use.hour}`,
    cause: "foreign_lines",
    subject: `the log of ${owner} holds ${held} ${held === 1 ? "line" : "lines"} that ${owner} did not sign`,
    detail: `${use.lines} lines (${use.bytes} bytes) of them came into ${name} within this hour; they prove nothing about ${owner} and are passed over. See who may write there: ls -l ${name}.jsonl`,
    concernsWire: false,
  };
}

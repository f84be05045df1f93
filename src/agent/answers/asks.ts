import type { Ask } from "../../protocol/asks/ask-line.ts";
import { lineAt, type HistoryLine } from "../../protocol/asks/history.ts";
import { viewAsk, type AskView } from "../../protocol/asks/views.ts";
import { textField } from "../../protocol/body.ts";
import { firstCodePoints } from "../../wire/json/code-points.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import type { AskPart } from "../../store/asks.ts";
import type { Known } from "../duties/duty.ts";

const MOST_REASON = 1_024;

/** One part of an ask with its line, as lists show it. */
export interface ShownAsk {
  readonly ask: Ask;
  /** Who has to answer it. */
  readonly parties: readonly string[];
  readonly line: HistoryLine;
  readonly view: AskView;
  /** The line that closed it: of a disputed one, none. */
  readonly close: HistoryLine | undefined;
}

/** Undefined when its line is not linked any more. */
export function showAsk(known: Known, { ask, party }: AskPart): ShownAsk | undefined {
  const { history } = known;
  const line = lineAt(history, ask.place);
  if (line === undefined) return undefined;
  const view = viewAsk(history, known.situation, ask, party === "" ? undefined : party);
  const { outcome } = view;
  const close = "close" in outcome ? lineAt(history, outcome.close) : undefined;
  const parties = view.party === undefined ? (ask.parties ?? []) : [view.party];
  return { ask, parties, line, view, close };
}

/** When it was written, by its author's clock; else when it was taken in. Milliseconds of Unix time. */
export function writtenMs({ history }: Pick<Known, "history">, line: HistoryLine): number {
  return parseTimestamp(line.timestamp) ?? history.receipt(line.place)?.atMs ?? 0;
}

/** Why a close says that it closes, cut. */
export function reasonOf(close: HistoryLine | undefined): string | undefined {
  const reason = close === undefined ? undefined : textField(close.body, "reason");
  return reason === undefined ? undefined : firstCodePoints(reason, MOST_REASON);
}

/** What a pending ask waits for, to follow "waits for". Spec 3.4.3, 3.4.6. */
export function awaitedText({ view, parties }: ShownAsk): string {
  const { outcome, agreed, lacks } = view;
  if (outcome.is === "pending" && outcome.waitsFor.length > 0) {
    const [first] = outcome.waitsFor;
    const upTo = first?.seq === null ? "" : ` up to ${first?.seq}`;
    return `lines of ${first?.author}${upTo}, which its close names`;
  }
  if (agreed !== undefined) {
    const since = new Date(agreed.sinceMs).toISOString();
    return agreed.isSilent
      ? `${agreed.closer}, silent since all have agreed at ${since}`
      : `${agreed.closer} to close it: agreed by all since ${since}`;
  }
  const missing = lacks.length === 0 ? parties : lacks;
  return `an answer of ${missing.join(", ")}`;
}

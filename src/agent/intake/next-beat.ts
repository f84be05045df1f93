import {
  namedReason,
  noteCopy,
  noteRefused,
  noteTaken,
  type RefusedLines,
} from "../../protocol/receipts/refused-lines.ts";
import type { JudgedLine } from "./judged-line.ts";

/**
 * What our next beat has to name once a line is folded that has just been judged: the same as the
 * fold makes of its event. Reading stops before there is more than a beat can name. Spec 3.2.
 */
export function noteJudged(named: RefusedLines, { tail, verdict, reason }: JudgedLine): void {
  const { line } = tail;
  if (reason !== undefined) noteRefused(named, { first: line, last: line }, namedReason(reason));
  else if (verdict === "accepted") noteTaken(named, line);
  else if (verdict === "duplicate") noteCopy(named, line);
}

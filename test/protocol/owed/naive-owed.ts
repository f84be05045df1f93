// Obligations written from the text of 3.3 (docs/spec), over a list of lines that are all linked.
import { isJsonArray } from "../../../src/wire/json/json.ts";
import { fieldOf, isPlaceOf } from "../../support/naive-held.ts";
import type { TimedLine } from "../../support/timed-lines.ts";

/** `who number-of-the-line` of what an agent owes and is owed, in the order of the alphabet. */
export function naiveOwed(
  lines: readonly TimedLine[],
  members: readonly string[],
  self: string,
): readonly string[] {
  return lines
    .flatMap((line) =>
      debtorsOf(line, members)
        .filter((by) => [by, line.author].includes(self))
        .filter((by) => !lines.some((other) => isAnswer(other, line, by) || isEnd(other, line, by)))
        .map((by) => `${by} ${line.author} ${line.seq ?? "loose"}`),
    )
    .toSorted();
}

const isIncident = (line: TimedLine): boolean =>
  line.type === "incident" &&
  ["escalates", "resolves", "resumes", "cause"].every((name) => fieldOf(line, name) === undefined);
const isAsk = (line: TimedLine): boolean =>
  line.type === "proposal" ||
  (line.type === "request" && fieldOf(line, "request_type") !== undefined);

function partiesOf(line: TimedLine): readonly string[] {
  const { to = ["*"], author } = line;
  const required = fieldOf(line, "required");
  if (isJsonArray(required)) return required.map(String).filter((party) => party !== author);
  const [only = "*"] = to;
  return to.length === 1 && only !== "*" && only !== author ? [only] : [];
}

function debtorsOf(line: TimedLine, members: readonly string[]): readonly string[] {
  const { to = ["*"], author } = line;
  const isOwed = line.isAckRequired || isIncident(line) || isAsk(line) || line.type === "request";
  if (!isOwed) return [];
  const addressed = members.filter(
    (handle) => handle !== author && (to.includes("*") || to.includes(handle)),
  );
  return isAsk(line) ? addressed.filter((handle) => partiesOf(line).includes(handle)) : addressed;
}

function isAnswer(reply: TimedLine, line: TimedLine, by: string): boolean {
  if (reply.author !== by) return false;
  const { type } = reply;
  const fields = type === "ack" ? ["acks", "answers", "about"] : ["counters"];
  const isReply = type === "ack" || type === "proposal";
  if (isReply && fields.some((name) => isPlaceOf(fieldOf(reply, name), line)))
    return reply.seq !== null;
  const isCloseOfLoose =
    type === "correction" &&
    line.seq === null &&
    reply.seq !== null &&
    isPlaceOf(fieldOf(reply, "decides"), line);
  if (isCloseOfLoose) return true;
  if (reply.thread !== line.thread) return false;
  const isLater = reply.receivedMs >= line.receivedMs;
  if (reply.seq === null && isReply) {
    if (fields.some((name) => fieldOf(reply, name) === line.id)) return true;
    const isBare = ["acks", "answers", "about", "counters"].every(
      (name) => fieldOf(reply, name) === undefined,
    );
    if (isBare && isLater) return true;
  }
  if (isAsk(line) || isIncident(line) || !isLater) return false;
  const isPlain = line.type === "request";
  return isReply || (isPlain && ["feedback", "decision", "ship", "warning"].includes(type));
}

function isEnd(reply: TimedLine, line: TimedLine, by: string): boolean {
  if (reply.author !== line.author || reply.seq === null || line.seq === null) return false;
  if (reply.seq <= line.seq) return false;
  if (reply.type === "incident" && isPlaceOf(fieldOf(reply, "resolves"), line)) return true;
  if (reply.type !== "correction" || !isPlaceOf(fieldOf(reply, "decides"), line)) return false;
  if (reply.thread !== line.thread || fieldOf(reply, "outcome") !== "ended") return false;
  if (line.type === "proposal") return true;
  const of = fieldOf(reply, "of");
  return of === undefined ? partiesOf(line).length === 1 : of === by;
}

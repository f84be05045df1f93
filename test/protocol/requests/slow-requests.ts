import { addresseesOf } from "../../../src/protocol/addressing.ts";
import { toPlain } from "../../../src/wire/json/json.ts";
import type { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import type { ScriptLine } from "../../support/scripts/wire-script.ts";

interface Body {
  request_id?: string;
  acks?: string;
  approve?: unknown;
  cancels?: string;
  expires?: string;
  of?: string;
  heads?: Record<string, { lines: number; event_id?: string; refused: [number, string][] }>;
}

interface End {
  readonly status: string;
  readonly by?: ScriptLine;
  readonly mayBeVoid?: boolean;
}

const bodyOf = ({ message }: ScriptLine): Body => toPlain(message.body) as Body;

/**
 * Spec 3.8 word for word over whole logs, for agents that chain. Slow and without any state: every
 * question is asked of all lines again.
 */
export function slowRequests(script: OutcomeScript): string[] {
  return [...script.names]
    .flatMap(([name, id]) => {
      const asked = script.order.find(({ message }) => message.id === id);
      if (asked === undefined || !isRequest(asked)) return [];
      return addressees(script, asked).map((handle) => {
        const { status, by } = endOf(script, asked, handle);
        const place = by === undefined ? "" : ` by ${script.place(by.message.id)}`;
        return `${name} ${handle} ${status}${place}`;
      });
    })
    .sort();
}

function isRequest(line: ScriptLine): boolean {
  return line.message.type === "request" && bodyOf(line).request_id !== undefined;
}

function addressees(script: OutcomeScript, { message, log }: ScriptLine): readonly string[] {
  const of = script.script.layout.logs.get(log);
  return of === undefined ? [] : addresseesOf(message, of, script.env("a"));
}

function linesOf(script: OutcomeScript, log: string): readonly ScriptLine[] {
  return script.script.lines.get(log) ?? [];
}

function endOf(script: OutcomeScript, asked: ScriptLine, handle: string): End {
  const rivals = linesOf(script, asked.log).filter(
    (line) =>
      isRequest(line) &&
      line.line < asked.line &&
      bodyOf(line).request_id === bodyOf(asked).request_id,
  );
  const wasOpen = rivals.map((rival) => openWhen(script, rival, asked));
  if (wasOpen.includes("open")) return { status: "void" };
  if (wasOpen.includes("unknown")) return { status: "pending", mayBeVoid: true };
  return settledBy(script, asked, handle);
}

function openWhen(script: OutcomeScript, rival: ScriptLine, asked: ScriptLine) {
  const ends = addressees(script, rival).map((handle) => {
    const end = endOf(script, rival, handle);
    if (end.status === "void") return "closed";
    if (end.by !== undefined) return end.by.line > asked.line ? "open" : "closed";
    return end.mayBeVoid !== true && isClear(script, rival, asked, handle) ? "open" : "unknown";
  });
  return ends.find((end) => end === "open") ?? ends.find((end) => end === "unknown") ?? "closed";
}

/** Whether all heads between the two can be judged. */
function isClear(
  script: OutcomeScript,
  rival: ScriptLine,
  asked: ScriptLine,
  handle: string,
): boolean {
  const isBeat = ({ message }: ScriptLine): boolean => message.type === "heartbeat";
  const lines = linesOf(script, rival.log);
  const last = lines.slice(rival.line, asked.line - 1).findLast(isBeat);
  if (last === undefined) return true;
  const answers = script.logOf(handle);
  return !lines.slice(0, last.line).some((line) => claimsTooMuch(script, line, answers));
}

function claimsTooMuch(script: OutcomeScript, beat: ScriptLine, log: string): boolean {
  const head = bodyOf(beat).heads?.[log];
  return head !== undefined && head.lines > linesOf(script, log).length;
}

function settledBy(script: OutcomeScript, asked: ScriptLine, handle: string): End {
  const { id } = asked.message;
  const answers = script.logOf(handle);
  const own = linesOf(script, asked.log);
  const earlier = own.slice(0, asked.line);
  if (earlier.some((line) => claimsTooMuch(script, line, answers))) {
    // All beats of that author wait, but what it says itself does not.
    const end = own.slice(asked.line).find((line) => ends(line, id, handle) !== undefined);
    const next = own.slice(asked.line).find(({ message }) => message.type === "heartbeat");
    if (end === undefined || (next !== undefined && next.line < end.line)) return PENDING;
    return { status: ends(end, id, handle) ?? "", by: end };
  }
  for (const line of own.slice(asked.line)) {
    const status = ends(line, id, handle);
    if (status !== undefined) return { status, by: line };
    if (line.message.type !== "heartbeat") continue;
    if (claimsTooMuch(script, line, answers)) return PENDING;
    const answer = covered(script, line, answers).find((each) => isAnswer(each, asked));
    if (answer === undefined) continue;
    return { status: bodyOf(answer).approve === true ? "approved" : "rejected", by: line };
  }
  return PENDING;
}

const PENDING: End = { status: "pending" };

function ends(line: ScriptLine, id: string, handle: string): string | undefined {
  const { cancels, expires, of = handle } = bodyOf(line);
  if (line.message.type !== "correction" || of !== handle) return undefined;
  if (cancels === id) return "cancelled";
  return expires === id ? "expired" : undefined;
}

function isAnswer(line: ScriptLine, asked: ScriptLine): boolean {
  const { acks, approve, request_id: request } = bodyOf(line);
  const { id, correlationId } = asked.message;
  return (
    line.message.type === "ack" &&
    acks === id &&
    typeof approve === "boolean" &&
    request === bodyOf(asked).request_id &&
    line.message.correlationId === correlationId
  );
}

/** The lines of a log that the beats up to this one cover, without those that they name as refused. */
function covered(script: OutcomeScript, beat: ScriptLine, log: string): readonly ScriptLine[] {
  const lines = linesOf(script, log);
  const heads = linesOf(script, beat.log)
    .slice(0, beat.line)
    .flatMap((each) => bodyOf(each).heads?.[log] ?? []);
  const most = Math.max(
    0,
    ...heads.map((head) => {
      const last = lines.slice(0, head.lines).at(-1);
      return head.event_id === last?.message.id ? head.lines : 0;
    }),
  );
  const refused = heads.flatMap((head) =>
    head.refused.flatMap(([line]) => (line <= head.lines ? line : [])),
  );
  return lines.slice(0, most).filter(({ line }) => !refused.includes(line));
}

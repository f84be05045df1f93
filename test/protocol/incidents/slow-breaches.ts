import { toPlain } from "../../../src/wire/json/json.ts";
import {
  minutes,
  seconds,
  type ScriptLine,
  type WireScript,
} from "../../support/scripts/wire-script.ts";

/**
 * Spec 3.5, "Safe mode", word for word over whole logs: the escalations that their addressees have
 * ignored. Deliberately slow and without any state: every question is asked of all lines again.
 */
export function slowBreaches(script: WireScript): string[] {
  const found: string[] = [];
  for (const [log, lines] of script.lines) {
    for (const incident of lines) {
      if (!["high", "critical"].includes(bodyOf(incident).severity ?? "")) continue;
      const escalation = lines
        .slice(incident.line)
        .find((line) => bodyOf(line).escalates === incident.message.id && isSigned(line));
      const of = escalation === undefined ? log : (bodyOf(escalation).of ?? "");
      if (escalation === undefined || of === log) continue;
      const addressee = new SlowReader(script.lines.get(of) ?? [], log);
      if (addressee.ignored(incident, escalation)) found.push(escalation.message.id);
    }
  }
  return found.sort();
}

/** Spec 3.5, "Safe mode": whether its end has come by the lines of the two agents that it is between. */
export function slowSettled(
  script: WireScript,
): (breach: { incident: string; of: string; author: string }) => boolean {
  const lines = [...script.lines.values()].flat();
  return ({ incident: id, of, author }) => {
    const incident = lines.find(({ message }) => message.id === id);
    if (incident === undefined) throw new Error(`no incident ${id}`);
    return lines.some(
      (line) =>
        (line.log === of && acks(line, incident)) ||
        ([of, author].includes(line.log) && bodyOf(line).resolves === id),
    );
  };
}

interface Body {
  severity?: string;
  escalates?: string;
  of?: string;
  acks?: string;
  resolves?: string;
  state?: string;
  next_eta?: string;
  heads?: Record<string, { lines: number; read_lines: number; refused: [number, string][] }>;
}

const bodyOf = ({ message }: ScriptLine): Body => toPlain(message.body) as Body;
const isSigned = ({ message }: ScriptLine): boolean => message.signature !== undefined;

/** What the log of one agent shows of another's log, `target`. */
class SlowReader {
  private readonly lines: readonly ScriptLine[];
  private readonly beats: readonly ScriptLine[];
  private readonly target: string;

  constructor(lines: readonly ScriptLine[], target: string) {
    this.lines = lines;
    this.beats = lines.filter(({ message }) => message.type === "heartbeat");
    this.target = target;
  }

  /** Whether it has read the incident and not acked it before it had seen the escalation for long. */
  ignored(incident: ScriptLine, escalation: ScriptLine): boolean {
    const [newcomer] = this.beats;
    if (newcomer === undefined || this.covered(newcomer) >= incident.line) return false;
    const first = this.beats.find(
      (beat) => this.read(beat) >= incident.line && bodyOf(beat).state !== "busy",
    );
    if (first === undefined || this.hasRefused(first, incident)) return false;
    const dueMs = first.message.timestampMs + Math.max(minutes(10), cadenceMs(first));
    const second = this.beats.find(
      (beat) =>
        beat.line > first.line &&
        this.covered(beat) >= escalation.line &&
        beat.message.timestampMs >= dueMs,
    );
    if (second === undefined) return false;
    if (this.hasRefused(second, incident) || this.hasRefused(second, escalation)) return false;
    return !this.lines.slice(0, second.line).some((line) => acks(line, incident));
  }

  private heads(upTo: ScriptLine) {
    const until = this.beats.filter(({ line }) => line <= upTo.line);
    return until.flatMap((beat) => bodyOf(beat).heads?.[this.target] ?? []);
  }

  private covered(beat: ScriptLine): number {
    return Math.max(0, ...this.heads(beat).map(({ lines }) => lines));
  }

  private read(beat: ScriptLine): number {
    return Math.max(0, ...this.heads(beat).map(({ lines, read_lines: n }) => Math.min(n, lines)));
  }

  private hasRefused(beat: ScriptLine, { line }: ScriptLine): boolean {
    return this.heads(beat).some(({ refused }) => refused.some(([named]) => named === line));
  }
}

function acks(line: ScriptLine, { message }: ScriptLine): boolean {
  if (line.message.type !== "ack") return false;
  const inThread = line.message.correlationId === message.correlationId;
  return (bodyOf(line).acks ?? (inThread ? message.id : "")) === message.id;
}

/** What a beat advertises, at least T1 and at most T3. */
function cadenceMs(beat: ScriptLine): number {
  const advertisedMs = Date.parse(bodyOf(beat).next_eta ?? "") - beat.message.timestampMs;
  return Math.min(Math.max(advertisedMs, seconds(90)), seconds(1_200));
}

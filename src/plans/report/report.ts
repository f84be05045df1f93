import { isRecord } from "../../wire/json/json-value.ts";
import { parseObject, toPlain } from "../../wire/json/json.ts";
import { quote } from "../../wire/quote.ts";
import { check } from "../../wire/schemas.ts";

/** What became of a step. Spec 7.4. */
export const OUTCOMES = ["success", "failure", "blocked", "partial"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** One thing that a report names; other fields are kept. */
export interface Artifact {
  readonly file?: string;
  readonly status?: string;
  readonly test?: string;
  readonly result?: string;
  readonly log?: string;
  readonly screenshot?: string;
}

/** A report as it is written. */
export interface Report {
  readonly step_id: string;
  readonly outcome: Outcome;
  readonly details: string;
  readonly artifacts?: readonly Artifact[];
  readonly error?: string;
  readonly timestamp: string;
}

/** A report of one attempt, and whose it is. */
export interface StepReport {
  readonly attempt: number;
  /** Handle of the agent that made it; undefined: the one that runs the plan. */
  readonly by: string | undefined;
  readonly report: Report;
}

/** A longer report is not read. It has room in a message beside what belongs to it. Spec 1.1, 7.4. */
const MAX_STEP_REPORT_BYTES = 48 * 1_024;

export type ReportRead =
  { readonly ok: true; readonly report: Report } | { readonly ok: false; readonly detail: string };

/** Reads a report from JSON. Hostile bytes are a value. Spec 7.4. */
export function parseReport(bytes: Uint8Array): ReportRead {
  if (bytes.length > MAX_STEP_REPORT_BYTES) {
    const detail = `${bytes.length} bytes; a report has at most ${MAX_STEP_REPORT_BYTES}`;
    return { ok: false, detail };
  }
  const parsed = parseObject(bytes);
  return parsed.ok ? readReport(toPlain(parsed.value)) : { ok: false, detail: parsed.detail };
}

/** The same from plain data, a part of a message for example. A bare number as id is a text. */
export function readReport(data: unknown): ReportRead {
  const named =
    isRecord(data) && typeof data["step_id"] === "number"
      ? { ...data, step_id: String(data["step_id"]) }
      : data;
  const checked = check("agent-report", named);
  if (!checked.ok) return checked;
  const report = named as Report;
  if (Buffer.byteLength(JSON.stringify(report), "utf8") > MAX_STEP_REPORT_BYTES) {
    return { ok: false, detail: `a report has at most ${MAX_STEP_REPORT_BYTES} bytes` };
  }
  if (Number.isNaN(Date.parse(report.timestamp))) {
    return { ok: false, detail: `timestamp is ${quote(report.timestamp)}; no such day or time` };
  }
  return { ok: true, report };
}

/** What an adapter knows already is given to a report that leaves it out. */
export function completedReport(data: unknown, stepId: string, nowMs: number): unknown {
  if (!isRecord(data)) return data;
  return { step_id: stepId, timestamp: new Date(nowMs).toISOString(), details: "", ...data };
}

/**
 * The report in what an adapter has printed: all of it, else its last fenced block, else its last
 * object at the beginning of a line. Undefined when there is none.
 */
export function reportIn(printed: string): unknown {
  const fenced = [...printed.matchAll(/^```(?:json)?[ \t]*\r?\n([\s\S]*?)^```/gmu)].at(-1)?.[1];
  const start = printed.lastIndexOf("\n{");
  const last = start === -1 ? undefined : printed.slice(start + 1);
  for (const text of [printed, fenced, last]) {
    if (text === undefined) continue;
    const parsed = parseObject(Buffer.from(text.trim(), "utf8"));
    if (parsed.ok) return toPlain(parsed.value);
  }
  return undefined;
}

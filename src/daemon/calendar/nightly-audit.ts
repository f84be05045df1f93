import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { constants, setPriority } from "node:os";
import type { Agent } from "../../agent/agent.ts";
import { incidentOf } from "../../api/troubles.ts";
import type { Queue } from "../../agent/session/queue.ts";
import type { Logger } from "../../agent/session/world.ts";
import type { Violation } from "../../agent/answers/audit.ts";
import type { OperatorIncident } from "../../store/told.ts";

/** What a nightly audit needs. */
export interface NightlyAudit {
  readonly agent: Pick<Agent, "place" | "tell">;
  readonly queue: Queue;
  readonly log: Logger;
  /** The program and arguments that run `deaddrop`. */
  readonly program: readonly string[];
  /** Ends it early. */
  readonly signal: AbortSignal;
}

/** What is read of the report: an audit lists 10,000 violations at most. */
const MAX_REPORT_BYTES = 16 * 1024 * 1024;
const MAX_ERROR_TEXT = 400;
const NAMED = 3;
/** Enough of an id to name a line by. */
const SHOWN_ID = 10;

/**
 * Audits the wire in a process of its own, with low priority, so that nobody waits for it. What it finds
 * is one incident for the operator; the same violations are told once, however many nights they are
 * there. Spec 4.2.
 */
export async function auditTonight(work: NightlyAudit): Promise<void> {
  const { agent, queue, log } = work;
  if (!agent.place.settings["audit.nightly"]) return;
  const { code, out, said } = await runAudit(work);
  if (work.signal.aborted) return;
  const found = code === 0 || code === 1 ? violationsIn(out) : undefined;
  if (found === undefined) {
    log.warn({ code, detail: said }, "the nightly audit could not be done");
    return;
  }
  log.info({ violations: found.length }, "audited");
  if (found.length > 0) await queue(() => agent.tell(auditIncident(found)));
}

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly said: string;
}

async function runAudit({ agent: { place }, program, signal }: NightlyAudit): Promise<Ended> {
  const [command = "", ...before] = program;
  const where = ["--wire", place.paths.wireDir, "--as", place.handle];
  const child = spawn(command, [...before, "audit", "--violations", "--json", ...where], {
    stdio: ["ignore", "pipe", "pipe"],
    signal,
  });
  let [out, said] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out = out.length > MAX_REPORT_BYTES ? out : out + text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-MAX_ERROR_TEXT);
  });
  return await new Promise((resolve) => {
    child.once("error", (error) => resolve({ code: null, out, said: error.message }));
    child.once("close", (code) => resolve({ code, out, said }));
    child.once("spawn", () => beModest(child.pid));
  });
}

function beModest(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has ended already.
  }
}

type Found = Pick<Violation, "rule" | "place" | "event_id">;

/** Undefined when it is no report. */
function violationsIn(report: string): readonly Found[] | undefined {
  try {
    const { violations } = JSON.parse(report) as { violations?: unknown };
    return Array.isArray(violations) ? (violations as Found[]) : undefined;
  } catch {
    return undefined;
  }
}

function auditIncident(found: readonly Found[]): OperatorIncident {
  const places = found.map(({ rule, place, event_id: id }) => {
    const [author, seq] = place ?? [];
    const where = author === undefined ? "" : ` of ${author}${seq === null ? "" : `:${seq}`}`;
    return `${rule}${where}${id === null ? "" : ` (${id.slice(0, SHOWN_ID)})`}`;
  });
  const digest = createHash("sha256").update(places.join("\n")).digest("hex").slice(0, 16);
  const more = places.length > NAMED ? ` and ${places.length - NAMED} more` : "";
  const violations = `${places.slice(0, NAMED).join(", ")}${more}`;
  return incidentOf("audit_violations", { count: found.length, violations }, digest);
}

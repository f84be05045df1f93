import { runAudit } from "../../../src/audit/audit.ts";
import { wirePlan } from "../../../src/audit/plan.ts";
import type { JournalEntry } from "../../../src/agent/state/journal-entries.ts";
import type { AgentConfig } from "../../../src/agent/config/agent-config.ts";
import { openIfThere, type Disk } from "../../../src/storage/disk/disk.ts";
import { REFUSAL_REASONS } from "../../../src/admission/checks.ts";
import { verifyHere } from "../verify-here.ts";

/** By log and line: the reason of a refusal, or what else became of the line. */
type Verdicts = ReadonlyMap<string, string>;

const REASONS: ReadonlySet<string> = new Set(REFUSAL_REASONS);
/** What an audit without a journal does not know: our clock, the tiers and the limits of then. */
const UNKNOWN_LATER: ReadonlySet<string> = new Set([
  "clock_skew",
  "tier_refused",
  "body_too_large",
  "too_many_refs",
]);

/** What an agent's journal says of every line that it has taken in and that is still its line. */
export function notedVerdicts(disk: Disk, place: AgentConfig): Verdicts {
  const verdicts = new Map<string, string>();
  const earlier = new Map<string, number>();
  const drop = (log: string, from: number): void => {
    for (const key of verdicts.keys()) {
      const [name, line] = key.split(":");
      if (name === log && Number(line) > from) verdicts.delete(key);
    }
  };
  for (const entry of journalOf(disk, place)) {
    if (entry.k === "line") {
      const before = earlier.get(entry.log) ?? 0;
      const verdict = entry.reason ?? entry.verdict;
      // Of a run of lines that prove nothing, the last and the first are surely no blank ones.
      for (const line of [entry.first ?? entry.line, entry.line]) {
        verdicts.set(`${entry.log}:${line - before}`, verdict);
      }
    } else if (entry.k === "local" && entry.event.kind === "rewound") {
      drop(entry.event.log, entry.event.line - (earlier.get(entry.event.log) ?? 0));
    } else if (entry.k === "local" && entry.event.kind === "recounted") {
      // Where its earlier lines are now, the journal does not say.
      drop(entry.event.log, 0);
      earlier.set(entry.event.log, entry.event.earlier);
    } else if (entry.k === "local" && entry.event.kind === "reset") {
      for (const { log, lines } of entry.event.logs) {
        if (lines === undefined) continue;
        drop(log, 0);
        earlier.set(log, lines);
      }
    }
  }
  return verdicts;
}

function journalOf(disk: Disk, { paths }: AgentConfig): JournalEntry[] {
  const file = openIfThere(disk, paths.journal);
  if (file === undefined) return [];
  const text = Buffer.from(file.read(file.stat().size, 0)).toString("utf8");
  file.close();
  return text.split("\n").slice(0, -1).flatMap(entryOf);
}

function entryOf(line: string): JournalEntry[] {
  try {
    return [JSON.parse(line) as JournalEntry];
  } catch {
    return []; // damaged: a daemon skips it too
  }
}

/** What an audit finds wrong with single lines, by these pins. */
async function auditedRefusals(
  disk: Disk,
  { wire, config, tiers, layout, store, handle, paths }: AgentConfig,
  by: "journal" | "logs alone",
): Promise<Verdicts> {
  const journal = by === "journal" ? paths.journal : undefined;
  const plan = { config, tiers, roster: layout.roster, journal, self: handle };
  const all = wirePlan(disk, wire.folder, { from: "pinned", store }, plan);
  // Something else may stand in the place of that file, and lines are judged without it.
  const report = await runAudit({ ...all, decisions: () => [] }, verifyHere);
  return new Map(
    [...report.violations, ...report.refused_then]
      .filter(({ rule, line }) => REASONS.has(rule) && line !== null)
      .map(({ rule, log, line }) => [`${log ?? ""}:${line ?? ""}`, rule]),
  );
}

/** The lines, of those that the agent has judged, of which the two say different things. */
function differences(noted: Verdicts, audited: Verdicts): string[] {
  return [...noted].flatMap(([line, verdict]) => {
    // One of several reasons.
    if (verdict === "unauthentic") return audited.has(line) ? [] : [`${line}: live ${verdict}`];
    const live = REASONS.has(verdict) ? verdict : "no refusal";
    const later = audited.get(line) ?? "no refusal";
    return live === later ? [] : [`${line}: live ${live}, audit ${later}`];
  });
}

/**
 * What is left of the verdicts where no journal tells what was known when the lines came: a check that
 * cannot be asked later finds nothing, and one that comes after it may.
 */
function withoutJournal(noted: Verdicts, alone: Verdicts): Verdicts {
  const orderOf = (reason: string): number => [...REASONS].indexOf(reason);
  return new Map(
    [...noted].map(([line, is]) => {
      // What came before the operator knew that its author had left was judged without that.
      const isAskedBefore = REASONS.has(is) && orderOf(is) < orderOf("left_member");
      if (alone.get(line) === "left_member" && !isAskedBefore) return [line, "left_member"];
      if (!UNKNOWN_LATER.has(is)) return [line, is];
      const found = alone.get(line);
      return [line, found !== undefined && orderOf(found) > orderOf(is) ? found : "accepted"];
    }),
  );
}

/**
 * The lines that an agent took in and to which an audit gives another verdict: with the agent's
 * journal of every reason, and from the logs alone of all that do not hang on what was known then.
 * Spec 2.4.
 */
export async function verdictDifferences(disk: Disk, place: AgentConfig): Promise<string[]> {
  const noted = notedVerdicts(disk, place);
  const alone = await auditedRefusals(disk, place, "logs alone");
  return [
    ...differences(noted, await auditedRefusals(disk, place, "journal")),
    ...differences(withoutJournal(noted, alone), alone),
  ];
}

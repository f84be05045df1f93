import { pairNames } from "../../wire/layout.ts";
import { quote } from "../../wire/quote.ts";
import { isAway, type Absence } from "../../wire/roster/members.ts";
import { leftJson } from "./left-members.ts";
import type { HeartbeatTiers } from "./heartbeat-tiers.ts";
import { V30_NOTE, type SigningPolicy, type WireConfig } from "./config.ts";

/** Whether `to` lets somebody write unsigned whom `from` does not. */
export function isLooser(from: SigningPolicy, to: SigningPolicy): boolean {
  if (!from.enforceSigned) return false;
  if (!to.enforceSigned) return true;
  return to.allowUnsignedFrom.some((handle) => !from.allowUnsignedFrom.includes(handle));
}

/** What of a policy names the logs that are read. */
type Naming = Pick<WireConfig, "layout" | "closedLogs" | "roster" | "left" | "wireId">;

/**
 * What would go unread if `to` held in the place of `from`: every log of a handle that the roster
 * lost, or all logs of another layout or wire, and what was decided there with them. Spec 1.1: no
 * change of policy does that. Undefined when nothing is lost.
 */
export function lostPast(from: Naming, to: Naming, self: string): string | undefined {
  const unread = logsOf(from).filter((name) => !logsOf(to).includes(name));
  if (to.layout !== from.layout && unread.length > 0) {
    return `the layout would change from ${from.layout} to ${to.layout}: none of the logs would be read any more`;
  }
  const opened = from.closedLogs.filter((name) => !to.closedLogs.includes(name));
  if (opened.length > 0) {
    return `the closed logs would lose ${listed(opened)}: what was said there would not be read any more`;
  }
  if (!to.roster.includes(self)) {
    return `the roster there (${listed(to.roster)}) leaves you out`;
  }
  const lost = from.roster.filter((handle) => !to.roster.includes(handle));
  if (lost.length > 0) {
    return `the roster would lose ${listed(lost)}: every decision that they took part in would be void`;
  }
  if (isAway(to.left, self) && !isAway(from.left, self)) {
    return `${self} would be no member any more`;
  }
  const undone = [...from.left].find(([handle, before]) => !goesOn(before, to.left.get(handle)));
  if (undone !== undefined) {
    return `what is noted of the leaving of ${undone[0]} would change: lines that were refused would count`;
  }
  if (to.wireId === from.wireId) return undefined;
  return `the wire id would change from ${from.wireId ?? "none"} to ${to.wireId ?? "none"}: no line of the logs would belong to this wire any more`;
}

/** The logs of pairs that are part of the wire. */
function logsOf({ layout, closedLogs, roster }: Naming): readonly string[] {
  return layout === "pairwise" ? pairNames(roster) : closedLogs;
}

/**
 * Whether the layout, or the logs that it has closed, differ: `layout accept` alone takes that. Spec
 * 1.1, 3.11.
 */
export function changesLayout(from: Naming, to: Naming): boolean {
  const [closed, next] = [from, to].map(({ closedLogs }) => closedLogs.toSorted().join("\n"));
  return from.layout !== to.layout || closed !== next;
}

/** Whether nothing is taken back: absences are added, and the last one may have ended. */
function goesOn(before: readonly Absence[], after: readonly Absence[] = []): boolean {
  return before.every((absence, at) => {
    const next = after[at];
    if (next === undefined) return false;
    const isEnded = absence.back === undefined && next.back !== undefined;
    return sameAbsence(absence, isEnded ? { ...next, back: undefined } : next);
  });
}

function sameAbsence(a: Absence, b: Absence): boolean {
  const text = (absence: Absence) => JSON.stringify(leftJson(new Map([["", [absence]]])));
  return text(a) === text(b);
}

/**
 * What applying `to` over `from` would change, a line for each setting, for `config accept`; empty
 * when nothing. Spec 1.1 (pinned configuration).
 */
export function diffConfig(from: WireConfig, to: WireConfig): readonly string[] {
  const lines = diffSettings(configSettings(from), configSettings(to));
  if (isLooser(from.signing, to.signing)) {
    lines.push("WEAKER: lines that had to be signed would be taken unsigned");
  }
  return lines;
}

/** The same for `tiers.json`. */
export function diffTiers(from: HeartbeatTiers, to: HeartbeatTiers): readonly string[] {
  return diffSettings(tierSettings(from), tierSettings(to));
}

/** A line for each setting of a policy: what `init` and `join` show before they pin it. Spec 1.1. */
export function policyLines(config: WireConfig, tiers: HeartbeatTiers): readonly string[] {
  const { transitions: _, ...cadences } = Object.fromEntries(tierSettings(tiers));
  const settings = [...configSettings(config), ...Object.entries(cadences)];
  const lines = settings.map(([name, value]) => `${name}: ${value}`);
  return config.protocolVersion === "v3.0" ? [...lines, `v3.0: ${V30_NOTE}`] : lines;
}

/** Settings by name, each as the text that a person compares. */
type Settings = ReadonlyMap<string, string>;

function diffSettings(from: Settings, to: Settings): string[] {
  const names = [...new Set([...from.keys(), ...to.keys()])];
  return names
    .filter((name) => from.get(name) !== to.get(name))
    .map((name) => `${name}: ${from.get(name) ?? "(none)"} → ${to.get(name) ?? "(none)"}`);
}

function configSettings(config: WireConfig): Settings {
  const { signing, limits, answerTimes } = config;
  return new Map([
    ["wire_id", config.wireId ?? "(none)"],
    ["protocol_version", config.protocolVersion],
    ["layout", config.layout],
    ...(config.closedLogs.length === 0
      ? []
      : [["layout.closed", config.closedLogs.join(", ")] as const]),
    ["roster", listed(config.roster)],
    ...[...config.left].map(
      ([handle, absences]) => [`left[${handle}]`, absencesText(absences)] as const,
    ),
    ...(config.membersChangedBy === undefined
      ? []
      : [["members_changed_by", config.membersChangedBy] as const]),
    ["v3_signing.enforce_signed", String(signing.enforceSigned)],
    ["v3_signing.allow_unsigned_from", listed([...signing.allowUnsignedFrom].sort())],
    ["limits.max_message_body_kb", String(limits.maxMessageBodyKb)],
    ["limits.max_clock_skew_seconds", String(limits.maxClockSkewSeconds)],
    ["limits.rate_limit_msg_per_min", String(limits.rateLimitMsgPerMin)],
    ["limits.max_refs", String(limits.maxRefs)],
    ["limits.answer_minutes", String(answerTimes.answerMinutes)],
    ["limits.proposal_hours", String(answerTimes.proposalHours)],
    ...[...config.domains].map(
      ([name, { owner, paths }]) =>
        [`domains[${quote(name)}]`, `${owner} owns ${patterns(paths)}`] as const,
    ),
  ]);
}

function tierSettings(tiers: HeartbeatTiers): Settings {
  const cadences = Object.entries(tiers.cadencesMs);
  return new Map([
    ...cadences.map(([tier, ms]) => [`tiers.${tier}.cadence_seconds`, String(ms / 1_000)] as const),
    ["transitions", JSON.stringify(tiers.transitions)],
  ]);
}

/** Each leaving and return of a handle, with the lines at which it left and came back. */
function absencesText(absences: readonly Absence[]): string {
  const iso = (ms: number): string => new Date(ms).toISOString();
  const lines = (logs: Absence["logs"]): string =>
    [...logs].map(([log, place]) => `${log} line ${place.lines}`).join(", ") || "no line";
  return absences
    .flatMap(({ atMs, logs, back }) => [
      ...(atMs === undefined ? [] : [`left at ${iso(atMs)} after ${lines(logs)}`]),
      ...(back === undefined ? [] : [`a member since ${iso(back.atMs)}, from ${lines(back.logs)}`]),
    ])
    .join("; ");
}

function patterns(paths: readonly string[]): string {
  return paths.length === 0 ? "no paths" : paths.map((path) => quote(path)).join(", ");
}

function listed(items: readonly string[]): string {
  return items.length === 0 ? "(nobody)" : items.join(", ");
}

import { quote } from "../../wire/quote.ts";
import type { HeartbeatTiers } from "./heartbeat-tiers.ts";
import { V30_NOTE, type SigningPolicy, type WireConfig } from "./config.ts";

/** Whether `to` lets somebody write unsigned whom `from` does not. */
export function isLooser(from: SigningPolicy, to: SigningPolicy): boolean {
  if (!from.enforceSigned) return false;
  if (!to.enforceSigned) return true;
  return to.allowUnsignedFrom.some((handle) => !from.allowUnsignedFrom.includes(handle));
}

/** What of a policy says who is on which wire. */
type Naming = Pick<WireConfig, "wireId" | "roster" | "unchained" | "rosterEpoch">;

/**
 * Why `to` cannot be pinned in the place of `from`: it is another wire, or members would change otherwise than by
 * lines or by a new epoch. Undefined when it can. Spec 1.1.
 */
export function policyConflict(from: Naming, to: Naming, self: string): string | undefined {
  if (to.wireId !== from.wireId)
    return `the wire id would change from ${from.wireId ?? "none"} to ${to.wireId ?? "none"}: no line would belong to this wire any more`;
  if (to.rosterEpoch < from.rosterEpoch)
    return `roster_epoch would fall from ${from.rosterEpoch} to ${to.rosterEpoch}: it counts upwards only`;
  if (to.rosterEpoch === from.rosterEpoch) {
    const isSame = isSameSet(from.roster, to.roster) && isSameSet(from.unchained, to.unchained);
    return isSame
      ? undefined
      : `roster or unchained would change within epoch ${from.rosterEpoch}: members change by lines (deaddrop member), or with a higher roster_epoch`;
  }
  if (!to.roster.includes(self))
    return `the roster of epoch ${to.rosterEpoch} (${listed(to.roster)}) leaves you out`;
  return undefined;
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each) => other.includes(each));
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
  const { signing, limits } = config;
  return new Map([
    ["wire_id", config.wireId ?? "(none)"],
    ["protocol_version", config.protocolVersion],
    ["roster", listed(config.roster)],
    ...(config.unchained.length === 0 ? [] : [["unchained", listed(config.unchained)] as const]),
    ...(config.rosterEpoch === 0 ? [] : [["roster_epoch", String(config.rosterEpoch)] as const]),
    ["v3_signing.enforce_signed", String(signing.enforceSigned)],
    ["v3_signing.allow_unsigned_from", listed([...signing.allowUnsignedFrom].sort())],
    ...Object.entries(limits).map(([name, value]) => [`limits.${name}`, String(value)] as const),
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

function patterns(paths: readonly string[]): string {
  return paths.length === 0 ? "no paths" : paths.map((path) => quote(path)).join(", ");
}

function listed(items: readonly string[]): string {
  return items.length === 0 ? "(nobody)" : items.join(", ");
}

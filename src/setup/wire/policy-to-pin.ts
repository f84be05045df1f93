import { parsedConfig, parsedTiers } from "../../agent/config/parsed-config.ts";
import { DeaddropError } from "../../api/errors.ts";
import { readWhole } from "../../storage/disk/disk.ts";
import { agentPaths, wireKeyOf, wirePaths } from "../../storage/paths.ts";
import type { WireConfig } from "../../trust/policy/config.ts";
import { defaultPolicyText } from "../../trust/policy/default-policy.ts";
import { policyLines } from "../../trust/policy/policy-drift.ts";
import { weaknesses, type Weakness } from "../../trust/policy/weak-policy.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import { agentPathsOn, type AgentOnWire, type SetupHost } from "../host.ts";

/** The two files of a wire that each agent holds a copy of. */
export interface PolicyFiles {
  readonly config: Uint8Array;
  readonly tiers: Uint8Array;
}

/** The files as they are now, or what a wire without them says. */
export function readPolicy({ disk }: SetupHost, wireDir: string): PolicyFiles {
  const paths = wirePaths(wireDir);
  const read = (which: "config" | "tiers") =>
    readWhole(disk, paths[which], MAX_CONFIG_BYTES) ?? Buffer.from(defaultPolicyText(which));
  return { config: read("config"), tiers: read("tiers") };
}

/** A line for each setting, as it is pinned. Throws when a file is broken. */
export function shownPolicy({ config, tiers }: PolicyFiles): readonly string[] {
  return policyLines(parsedConfig("config.json", config), parsedTiers("tiers.json", tiers));
}

/** Whether the agent holds a copy already: then nothing is pinned for the first time. */
export function holdsPolicy(host: SetupHost, at: AgentOnWire, isAnew = false): boolean {
  const known = agentPathsOn(host, at);
  const wireKey = wireKeyOf(at.wireId ?? undefined, known.wireDir);
  const paths = isAnew ? agentPaths(host.places, { ...known, wireKey }) : known;
  return host.disk.stat(paths.pinnedConfig) !== undefined;
}

/** What the operator has to agree to before these handles pin the wire's policy; none once they hold it. */
export function openQuestions(
  host: SetupHost,
  at: {
    readonly wireDir: string;
    readonly handles: readonly string[];
    readonly peers: readonly string[];
    readonly anew?: boolean | undefined;
  },
): readonly Weakness[] {
  const { wireDir, handles, peers, anew } = at;
  const config = parsedConfig("config.json", readPolicy(host, wireDir).config);
  const { wireId } = config;
  if (handles.every((handle) => holdsPolicy(host, { wireDir, handle, wireId }, anew))) return [];
  return weaknesses(config, config.roster.length > 0 ? config.roster : peers, handles);
}

/** Whether the operator agrees to a policy that is weaker than the defaults in this. Spec 1.1. */
export type Agreement = (weakness: Weakness) => boolean;

/** An operator who has not been asked agrees to nothing. */
export const NO_AGREEMENT: Agreement = () => false;

/**
 * Throws unless the operator agrees to everything in which the policy is weaker than the defaults.
 * Spec 1.1.
 *
 * @param own the handles of this operator who pin it for the first time
 */
export function requireAgreement(
  config: WireConfig,
  roster: readonly string[],
  own: readonly string[],
  agrees: Agreement,
): void {
  if (own.length === 0) return;
  const open = weaknesses(config, roster, own).filter((weakness) => !agrees(weakness));
  if (open.length === 0) return;
  const what = open.map(({ detail }) => `  ${detail}`).join("\n");
  throw new DeaddropError("refused", `this wire's policy is weaker than the defaults:\n${what}`, {
    hint: `if you agree, run the command on a terminal, or give ${open.map(acceptFlag).join(" ")}`,
  });
}

/** The flag by which the operator agrees to one weakness. */
export function acceptFlag({ kind, name }: Weakness): string {
  const isPlain = /^[\w.-]+$/.test(name);
  return `--accept-${kind} ${isPlain ? name : `'${name.replaceAll("'", "'\\''")}'`}`;
}

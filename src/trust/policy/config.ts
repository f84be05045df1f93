import { agentName, isHandle, rosterProblems } from "../../wire/handle.ts";
import { DEFAULT_LIMITS, mapLimits, type Limits } from "../../wire/limits.ts";
import { openDocument, shown, type DocumentReader } from "./document.ts";

/** Whose unsigned lines are admitted. Spec 1.5 (v2.0). */
export interface SigningPolicy {
  /** When false, everybody's. */
  readonly enforceSigned: boolean;
  readonly allowUnsignedFrom: readonly string[];
}

/** What holds when nothing is said. */
const DEFAULT_SIGNING: SigningPolicy = { enforceSigned: true, allowUnsignedFrom: [] };

/** Paths that belong to one agent. Spec 3.6. */
export interface Domain {
  readonly owner: string;
  readonly paths: readonly string[];
}

const PROTOCOL_VERSIONS = ["v2.0", "v3.0", "v3.1"] as const;
export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number];

/** What `join`, `init` and `doctor` say of a wire that declares v3.0. Spec 1.5. */
export const V30_NOTE =
  "your messages are signed in the v3.0 form, which every peer verifies; decisions.jsonl, incident_log.jsonl " +
  "and your card are signed in the v3.1 form, which a peer that knows v3.0 alone cannot verify";

/** What `config.json` says, with every default filled in. Spec 1.1. */
export interface WireConfig {
  readonly wireId: string | undefined;
  readonly protocolVersion: ProtocolVersion;
  /** The first members of this epoch. Empty when the file names none: then it comes from `--peer`. */
  readonly roster: readonly string[];
  /** Who of them does not chain. */
  readonly unchained: readonly string[];
  /** Counts the rosters that operators have agreed on by hand. Spec 3.11. */
  readonly rosterEpoch: number;
  readonly signing: SigningPolicy;
  readonly domains: ReadonlyMap<string, Domain>;
  readonly limits: Limits;
}

export type ConfigParse =
  | { readonly ok: true; readonly config: WireConfig }
  /** `schema_drift`: a protocol that we do not speak. The detail names every problem, a line each. */
  | { readonly ok: false; readonly reason: "invalid" | "schema_drift"; readonly detail: string };

const FILE = "config.json";
const MAX_EPOCH = Number.MAX_SAFE_INTEGER;
const MAX_DOMAINS = 256;
const MAX_DOMAIN_PATHS = 256;

/** What a wire without `config.json` is. */
export const DEFAULT_CONFIG: WireConfig = {
  wireId: undefined,
  protocolVersion: "v3.1",
  roster: [],
  unchained: [],
  rosterEpoch: 0,
  signing: DEFAULT_SIGNING,
  domains: new Map(),
  limits: DEFAULT_LIMITS,
};

/** Reads `config.json`. Every key is optional, unknown keys are passed over. Spec 1.1. */
export function parseConfig(bytes: Uint8Array): ConfigParse {
  const opened = openDocument(bytes, FILE);
  if (!opened.ok) return { ...opened, reason: "invalid" };
  const { reader } = opened;
  const stated = reader.value("protocol_version");
  const version = stated === undefined ? DEFAULT_CONFIG.protocolVersion : stated;
  const protocolVersion = PROTOCOL_VERSIONS.find((known) => known === version);
  if (protocolVersion === undefined) {
    const detail = `${FILE}: protocol_version is ${shown(version)}; this program speaks ${PROTOCOL_VERSIONS.join(", ")}`;
    return { ok: false, reason: "schema_drift", detail };
  }
  const roster = readRoster(reader);
  const limits = reader.object("limits");
  const config: WireConfig = {
    wireId: readWireId(reader),
    protocolVersion,
    roster,
    unchained: readUnchained(reader, roster),
    rosterEpoch: reader.wholeNumber("roster_epoch", 0, MAX_EPOCH) ?? DEFAULT_CONFIG.rosterEpoch,
    signing: readSigning(reader.object("v3_signing")),
    domains: readDomains(reader, roster),
    limits: mapLimits(
      (name, { least, most, default: byDefault }) =>
        limits?.wholeNumber(name, least, most) ?? byDefault,
    ),
  };
  if (reader.problems.length > 0) {
    return { ok: false, reason: "invalid", detail: reader.problems.join("\n") };
  }
  return { ok: true, config };
}

function readWireId(reader: DocumentReader): string | undefined {
  const id = reader.text("wire_id");
  // It names private folders, so it has to be as tame as a handle.
  if (id === undefined || isHandle(id)) return id;
  return reader.unexpected("wire_id", 'letters, digits, ".", "_" and "-", at most 128');
}

function readRoster(reader: DocumentReader): readonly string[] {
  const names = reader.texts("roster") ?? [];
  const roster = names.map((name) => agentName(name) ?? name);
  for (const problem of rosterProblems(roster)) reader.problems.push(`${FILE}: ${problem}`);
  return roster;
}

function readUnchained(reader: DocumentReader, roster: readonly string[]): readonly string[] {
  const names = reader.texts("unchained") ?? [];
  const handles = names.map((name) => agentName(name) ?? name);
  for (const handle of handles.filter((each) => !roster.includes(each)))
    reader.problem("unchained", `has ${shown(handle)}, who is not in the roster`);
  return handles;
}

function readSigning(signing: DocumentReader | undefined): SigningPolicy {
  if (signing === undefined) return DEFAULT_SIGNING;
  const enforceSigned = signing.flag("enforce_signed") ?? DEFAULT_SIGNING.enforceSigned;
  const names = signing.texts("allow_unsigned_from") ?? [];
  const handles = names.map((name, at) => readHandle(signing, name, `allow_unsigned_from[${at}]`));
  return { enforceSigned, allowUnsignedFrom: handles.flatMap((handle) => handle ?? []) };
}

function readHandle(reader: DocumentReader, name: string, path: string): string | undefined {
  return agentName(name) ?? reader.unexpected(path, "a handle", name);
}

function readDomains(
  reader: DocumentReader,
  roster: readonly string[],
): ReadonlyMap<string, Domain> {
  const domains = new Map<string, Domain>();
  for (const [name, value] of reader.entries("domains", MAX_DOMAINS)) {
    const domain = reader.objectAt(`domains[${shown(name)}]`, value);
    if (domain === undefined) continue;
    const paths = domain.texts("paths") ?? [];
    if (paths.length > MAX_DOMAIN_PATHS) {
      domain.problem("paths", `has ${paths.length} patterns; at most ${MAX_DOMAIN_PATHS}`);
    }
    const stated = domain.text("owner");
    if (stated === undefined) domain.problem("owner", "is missing; expected a handle");
    const owner = stated === undefined ? undefined : readHandle(domain, stated, "owner");
    if (owner === undefined) continue;
    if (roster.length > 0 && !roster.includes(owner)) {
      domain.problem("owner", `is ${shown(owner)}, who is not in the roster`);
    }
    domains.set(name, { owner, paths });
  }
  return domains;
}

/** Whether the policy alone lets somebody write unsigned lines. */
export function mayBeUnsigned(policy: SigningPolicy, handle: string): boolean {
  return !policy.enforceSigned || policy.allowUnsignedFrom.includes(handle);
}

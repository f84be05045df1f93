import { agentName, isHandle, rosterProblems } from "../../wire/handle.ts";
import { parseObject, type JsonObject } from "../../wire/json/json.ts";
import {
  DEFAULT_ANSWER_TIMES,
  DEFAULT_LIMITS,
  type AnswerTimes,
  type Limits,
} from "../../wire/limits.ts";
import { DocumentReader, shown } from "./document.ts";

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
  readonly answerTimes: AnswerTimes;
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
  answerTimes: DEFAULT_ANSWER_TIMES,
};

/** Reads `config.json`. Every key is optional, unknown keys are passed over. Spec 1.1. */
export function parseConfig(bytes: Uint8Array): ConfigParse {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return { ok: false, reason: "invalid", detail: `${FILE}: ${parsed.detail}` };
  const fields = parsed.value;
  const stated = fields["protocol_version"];
  const version = stated === undefined ? DEFAULT_CONFIG.protocolVersion : stated;
  const protocolVersion = PROTOCOL_VERSIONS.find((known) => known === version);
  if (protocolVersion === undefined) {
    const detail = `${FILE}: protocol_version is ${shown(version)}; this program speaks ${PROTOCOL_VERSIONS.join(", ")}`;
    return { ok: false, reason: "schema_drift", detail };
  }
  const reader = new DocumentReader(FILE);
  const roster = readRoster(reader, fields);
  const limit = limitReader(reader, fields);
  const config: WireConfig = {
    wireId: readWireId(reader, fields),
    protocolVersion,
    roster,
    unchained: readUnchained(reader, fields, roster),
    rosterEpoch:
      reader.wholeNumber(fields["roster_epoch"], "roster_epoch", 0, MAX_EPOCH) ??
      DEFAULT_CONFIG.rosterEpoch,
    signing: readSigning(reader, fields),
    domains: readDomains(reader, fields, roster),
    limits: readLimits(limit),
    answerTimes: readAnswerTimes(limit),
  };
  if (reader.problems.length > 0) {
    return { ok: false, reason: "invalid", detail: reader.problems.join("\n") };
  }
  return { ok: true, config };
}

function readWireId(reader: DocumentReader, fields: JsonObject): string | undefined {
  const id = reader.text(fields["wire_id"], "wire_id");
  // It names private folders, so it has to be as tame as a handle.
  if (id === undefined || isHandle(id)) return id;
  reader.problem(
    "wire_id",
    `is ${shown(id)}; expected letters, digits, ".", "_" and "-", at most 128`,
  );
  return undefined;
}

function readRoster(reader: DocumentReader, fields: JsonObject): readonly string[] {
  const names = reader.texts(fields["roster"], "roster") ?? [];
  const roster = names.map((name) => agentName(name) ?? name);
  for (const problem of rosterProblems(roster)) reader.problems.push(`${FILE}: ${problem}`);
  return roster;
}

function readUnchained(
  reader: DocumentReader,
  fields: JsonObject,
  roster: readonly string[],
): readonly string[] {
  const names = reader.texts(fields["unchained"], "unchained") ?? [];
  const handles = names.map((name) => agentName(name) ?? name);
  for (const handle of handles.filter((each) => !roster.includes(each)))
    reader.problem("unchained", `has ${shown(handle)}, who is not in the roster`);
  return handles;
}

function readSigning(reader: DocumentReader, fields: JsonObject): SigningPolicy {
  const signing = reader.object(fields["v3_signing"], "v3_signing");
  const enforce = reader.flag(signing?.["enforce_signed"], "v3_signing.enforce_signed");
  const path = "v3_signing.allow_unsigned_from";
  const names = reader.texts(signing?.["allow_unsigned_from"], path) ?? [];
  return {
    enforceSigned: enforce ?? DEFAULT_SIGNING.enforceSigned,
    allowUnsignedFrom: names.flatMap(
      (name, at) => readHandle(reader, name, `${path}[${at}]`) ?? [],
    ),
  };
}

function readHandle(reader: DocumentReader, name: string, path: string): string | undefined {
  const handle = agentName(name);
  if (handle === undefined) reader.problem(path, `is ${shown(name)}; expected a handle`);
  return handle;
}

function readDomains(
  reader: DocumentReader,
  fields: JsonObject,
  roster: readonly string[],
): ReadonlyMap<string, Domain> {
  const domains = new Map<string, Domain>();
  const entries = Object.entries(reader.object(fields["domains"], "domains") ?? {});
  if (entries.length > MAX_DOMAINS) {
    reader.problem("domains", `has ${entries.length} entries; at most ${MAX_DOMAINS} are read`);
  }
  for (const [name, value] of entries.slice(0, MAX_DOMAINS)) {
    const path = `domains[${shown(name)}]`;
    const domain = reader.object(value, path);
    if (domain === undefined) continue;
    const paths = reader.texts(domain["paths"], `${path}.paths`) ?? [];
    if (paths.length > MAX_DOMAIN_PATHS) {
      reader.problem(`${path}.paths`, `has ${paths.length} patterns; at most ${MAX_DOMAIN_PATHS}`);
    }
    const stated = reader.text(domain["owner"], `${path}.owner`);
    if (stated === undefined) reader.problem(`${path}.owner`, "is missing; expected a handle");
    const owner = stated === undefined ? undefined : readHandle(reader, stated, `${path}.owner`);
    if (owner === undefined) continue;
    if (roster.length > 0 && !roster.includes(owner)) {
      reader.problem(`${path}.owner`, `is ${shown(owner)}, who is not in the roster`);
    }
    domains.set(name, { owner, paths });
  }
  return domains;
}

function readLimits(limit: LimitReader): Limits {
  return {
    // The line limit of 1 MiB stays above it all.
    maxMessageBodyKb: limit("max_message_body_kb", 1, 1_024, DEFAULT_LIMITS.maxMessageBodyKb),
    maxClockSkewSeconds: limit(
      "max_clock_skew_seconds",
      0,
      86_400,
      DEFAULT_LIMITS.maxClockSkewSeconds,
    ),
    rateLimitMsgPerMin: limit(
      "rate_limit_msg_per_min",
      1,
      60_000,
      DEFAULT_LIMITS.rateLimitMsgPerMin,
    ),
    maxRefs: limit("max_refs", 0, 10_000, DEFAULT_LIMITS.maxRefs),
  };
}

function readAnswerTimes(limit: LimitReader): AnswerTimes {
  return {
    answerMinutes: limit("answer_minutes", 0, 1_440, DEFAULT_ANSWER_TIMES.answerMinutes),
    proposalHours: limit("proposal_hours", 1, 720, DEFAULT_ANSWER_TIMES.proposalHours),
  };
}

type LimitReader = (key: string, from: number, to: number, byDefault: number) => number;

function limitReader(reader: DocumentReader, fields: JsonObject): LimitReader {
  const limits = reader.object(fields["limits"], "limits");
  return (key, from, to, byDefault) =>
    reader.wholeNumber(limits?.[key], `limits.${key}`, from, to) ?? byDefault;
}

/** Whether the policy alone lets somebody write unsigned lines. */
export function mayBeUnsigned(policy: SigningPolicy, handle: string): boolean {
  return !policy.enforceSigned || policy.allowUnsignedFrom.includes(handle);
}

import { agentName, isHandle, rosterProblems } from "../../wire/handle.ts";
import { isJsonObject, parseObject, type JsonObject } from "../../wire/json/json.ts";
import {
  DEFAULT_ANSWER_TIMES,
  DEFAULT_LIMITS,
  type AnswerTimes,
  type Limits,
} from "../../wire/limits.ts";
import { closedProblems } from "../../wire/layout.ts";
import { NOBODY_LEFT, type Absences } from "../../wire/roster/members.ts";
import { DocumentReader, shown } from "./document.ts";
import { readLeft } from "./left-members.ts";

/** Whose unsigned lines are admitted. Spec 1.5 (v2.0). */
export interface SigningPolicy {
  /** When false, everybody's. */
  readonly enforceSigned: boolean;
  readonly allowUnsignedFrom: readonly string[];
}

/** What holds when nothing is said. */
export const DEFAULT_SIGNING: SigningPolicy = { enforceSigned: true, allowUnsignedFrom: [] };

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
  readonly layout: "pairwise" | "outbox";
  /** Of a wire that has moved to outboxes: the logs of pairs that stay part of it. Spec 1.6. */
  readonly closedLogs: readonly string[];
  /** Empty when the file names none: then it comes from `--peer`. */
  readonly roster: readonly string[];
  /** Who of them left, and who came back. */
  readonly left: Absences;
  /** The proposal by which members changed last; undefined: by none. Spec 3.11. */
  readonly membersChangedBy: string | undefined;
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
const MAX_DOMAINS = 256;
const MAX_DOMAIN_PATHS = 256;

/** What a wire without `config.json` is. */
export const DEFAULT_CONFIG: WireConfig = {
  wireId: undefined,
  protocolVersion: "v3.1",
  layout: "pairwise",
  closedLogs: [],
  roster: [],
  left: NOBODY_LEFT,
  membersChangedBy: undefined,
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
  const left = readLeft(reader, fields, roster);
  const limit = limitReader(reader, fields);
  const config: WireConfig = {
    wireId: readWireId(reader, fields),
    protocolVersion,
    ...readLayout(reader, fields, roster),
    roster,
    left,
    membersChangedBy: reader.text(fields["members_changed_by"] ?? undefined, "members_changed_by"),
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

/** A name, or `{"kind": "outbox", "closed": [...]}` on a wire that has moved to outboxes. */
function readLayout(
  reader: DocumentReader,
  fields: JsonObject,
  roster: readonly string[],
): Pick<WireConfig, "layout" | "closedLogs"> {
  const stated = fields["layout"];
  if (!isJsonObject(stated)) {
    const layout = reader.text(stated, "layout") ?? DEFAULT_CONFIG.layout;
    if (layout === "pairwise" || layout === "outbox") return { layout, closedLogs: [] };
    reader.problem("layout", `is ${shown(layout)}; expected "pairwise" or "outbox"`);
    return DEFAULT_CONFIG;
  }
  const kind = reader.text(stated["kind"], "layout.kind");
  if (kind !== "outbox") {
    reader.problem("layout.kind", `is ${shown(kind ?? null)}; expected "outbox"`);
  }
  const closedLogs = reader.texts(stated["closed"], "layout.closed") ?? [];
  for (const problem of closedProblems(roster, closedLogs))
    reader.problem("layout.closed", problem);
  return { layout: "outbox", closedLogs };
}

function readRoster(reader: DocumentReader, fields: JsonObject): readonly string[] {
  const names = reader.texts(fields["roster"], "roster") ?? [];
  const roster = names.map((name) => agentName(name) ?? name);
  for (const problem of rosterProblems(roster)) reader.problems.push(`${FILE}: ${problem}`);
  return roster;
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

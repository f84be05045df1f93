import {
  isJsonObject,
  parseObject,
  type JsonObject,
  type JsonValue,
} from "../../wire/json/json.ts";
import { DocumentReader, shown } from "./document.ts";

/** The heartbeat tiers of spec 4.9, fastest first. */
const HEARTBEAT_TIERS = ["T0_HEADS_DOWN", "T1_active", "T2_idle", "T3_long_idle"] as const;
export type HeartbeatTier = (typeof HEARTBEAT_TIERS)[number];

const CONDITIONS = [
  "conflict_or_multi_edit",
  "state_change_posted",
  "idle_cycles",
  "non_heartbeat_message",
] as const;

/** What moves an agent from one tier to another. Spec 4.9. */
export interface Transition {
  /** The tiers that it leaves; `"*"` is any. */
  readonly from: readonly (HeartbeatTier | "*")[];
  readonly to: HeartbeatTier;
  readonly when: (typeof CONDITIONS)[number];
  /** How many idle cycles; only with `idle_cycles`. */
  readonly count?: number;
}

/** What `tiers.json` says. */
export interface HeartbeatTiers {
  /** Milliseconds between the beats of each tier. */
  readonly cadencesMs: Readonly<Record<HeartbeatTier, number>>;
  readonly transitions: readonly Transition[];
}

/** The file that we ship; also what holds on a wire without one. */
export const DEFAULT_HEARTBEAT_TIERS: HeartbeatTiers = {
  cadencesMs: {
    T0_HEADS_DOWN: 30_000,
    T1_active: 90_000,
    T2_idle: 270_000,
    T3_long_idle: 1_200_000,
  },
  transitions: [
    { from: ["*"], to: "T0_HEADS_DOWN", when: "conflict_or_multi_edit" },
    { from: ["T0_HEADS_DOWN"], to: "T1_active", when: "state_change_posted" },
    { from: ["T1_active"], to: "T2_idle", when: "idle_cycles", count: 3 },
    { from: ["T2_idle"], to: "T3_long_idle", when: "idle_cycles", count: 9 },
    { from: ["T2_idle", "T3_long_idle"], to: "T1_active", when: "non_heartbeat_message" },
  ],
};

export type HeartbeatTiersParse =
  | { readonly ok: true; readonly tiers: HeartbeatTiers }
  /** The detail names every problem, a line each. */
  | { readonly ok: false; readonly detail: string };

const FILE = "tiers.json";
const MIN_CADENCE_SECONDS = 1;
const MAX_CADENCE_SECONDS = 3_600;
const MAX_TRANSITIONS = 64;
const MAX_IDLE_CYCLES = 10_000;

/**
 * Reads `tiers.json`, ours or the Python reference's, whose transitions are prose: then ours hold.
 * Spec 4.9.
 */
export function parseHeartbeatTiers(bytes: Uint8Array): HeartbeatTiersParse {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return { ok: false, detail: `${FILE}: ${parsed.detail}` };
  const reader = new DocumentReader(FILE);
  const schema = parsed.value["schema_version"];
  if (schema !== "v1") {
    reader.problem("schema_version", `is ${shown(schema ?? null)}; expected "v1"`);
  }
  const cadencesMs = readCadences(reader, parsed.value);
  const transitions = readTransitions(reader, parsed.value["transitions"]);
  if (reader.problems.length > 0) return { ok: false, detail: reader.problems.join("\n") };
  return { ok: true, tiers: { cadencesMs, transitions } };
}

function readCadences(
  reader: DocumentReader,
  fields: JsonObject,
): Readonly<Record<HeartbeatTier, number>> {
  const tiers = reader.object(fields["tiers"], "tiers") ?? {};
  for (const name of Object.keys(tiers)) {
    if (heartbeatTierNamed(name) === undefined) {
      reader.problem(`tiers: ${shown(name)}`, `is no tier; expected ${HEARTBEAT_TIERS.join(", ")}`);
    }
  }
  const cadences = { ...DEFAULT_HEARTBEAT_TIERS.cadencesMs };
  for (const tier of HEARTBEAT_TIERS) {
    const path = `tiers.${tier}.cadence_seconds`;
    const stated = reader.object(tiers[tier], `tiers.${tier}`)?.["cadence_seconds"];
    if (stated === undefined) {
      reader.problem(
        path,
        `is missing; expected a whole number of seconds, such as ${cadences[tier] / 1_000}`,
      );
    }
    const seconds = reader.wholeNumber(stated, path, MIN_CADENCE_SECONDS, MAX_CADENCE_SECONDS);
    if (seconds !== undefined) cadences[tier] = seconds * 1_000;
  }
  return cadences;
}

function readTransitions(
  reader: DocumentReader,
  value: JsonValue | undefined,
): readonly Transition[] {
  if (isJsonObject(value) && Object.values(value).every((words) => typeof words === "string")) {
    return DEFAULT_HEARTBEAT_TIERS.transitions;
  }
  if (value === undefined) reader.problem("transitions", "is missing; expected a list");
  const list = reader.list(value, "transitions") ?? [];
  if (list.length > MAX_TRANSITIONS) {
    reader.problem(
      "transitions",
      `has ${list.length} entries; at most ${MAX_TRANSITIONS} are read`,
    );
  }
  return list
    .slice(0, MAX_TRANSITIONS)
    .flatMap((item, at) => readTransition(reader, item, `transitions[${at}]`) ?? []);
}

function readTransition(
  reader: DocumentReader,
  value: JsonValue,
  path: string,
): Transition | undefined {
  const fields = reader.object(value, path);
  if (fields === undefined) return undefined;
  const from = readFrom(reader, fields["from"], `${path}.from`);
  const to = heartbeatTierNamed(fields["to"]);
  if (to === undefined) {
    reader.problem(
      `${path}.to`,
      `is ${shown(fields["to"] ?? null)}; expected ${HEARTBEAT_TIERS.join(", ")}`,
    );
  }
  const when = CONDITIONS.find((condition) => condition === fields["when"]);
  if (when === undefined) {
    reader.problem(
      `${path}.when`,
      `is ${shown(fields["when"] ?? null)}; expected ${CONDITIONS.join(", ")}`,
    );
  }
  const count = reader.wholeNumber(fields["count"], `${path}.count`, 1, MAX_IDLE_CYCLES);
  if (when === "idle_cycles" && fields["count"] === undefined) {
    reader.problem(`${path}.count`, "is missing; expected how many idle cycles");
  }
  if (from === undefined || to === undefined || when === undefined) return undefined;
  return count === undefined ? { from, to, when } : { from, to, when, count };
}

function readFrom(
  reader: DocumentReader,
  value: JsonValue | undefined,
  path: string,
): Transition["from"] | undefined {
  const names = typeof value === "string" ? [value] : reader.texts(value, path);
  const from = names?.flatMap((name) => (name === "*" ? name : (heartbeatTierNamed(name) ?? [])));
  if (from !== undefined && from.length > 0 && from.length === names?.length) return from;
  reader.problem(
    path,
    `names no tier, or one that is none; expected "*" or ${HEARTBEAT_TIERS.join(", ")}`,
  );
  return undefined;
}

function heartbeatTierNamed(name: JsonValue | undefined): HeartbeatTier | undefined {
  return HEARTBEAT_TIERS.find((tier) => tier === name);
}

import { isJsonObject, type JsonValue } from "../../wire/json/json.ts";
import { openDocument, shown, type DocumentReader } from "./document.ts";

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
  const opened = openDocument(bytes, FILE);
  if (!opened.ok) return opened;
  const { reader } = opened;
  if (reader.value("schema_version") !== "v1") reader.unexpected("schema_version", '"v1"');
  const cadencesMs = readCadences(reader);
  const transitions = readTransitions(reader);
  if (reader.problems.length > 0) return { ok: false, detail: reader.problems.join("\n") };
  return { ok: true, tiers: { cadencesMs, transitions } };
}

function readCadences(reader: DocumentReader): Readonly<Record<HeartbeatTier, number>> {
  const tiers = reader.object("tiers");
  for (const name of tiers?.names ?? []) {
    if (heartbeatTierNamed(name) === undefined) {
      reader.problem(`tiers: ${shown(name)}`, `is no tier; expected ${HEARTBEAT_TIERS.join(", ")}`);
    }
  }
  const cadences = { ...DEFAULT_HEARTBEAT_TIERS.cadencesMs };
  for (const tier of HEARTBEAT_TIERS) {
    const fields = tiers?.object(tier);
    if (fields?.value("cadence_seconds") === undefined) {
      reader.problem(
        `tiers.${tier}.cadence_seconds`,
        `is missing; expected a whole number of seconds, such as ${cadences[tier] / 1_000}`,
      );
    }
    const seconds = fields?.wholeNumber(
      "cadence_seconds",
      MIN_CADENCE_SECONDS,
      MAX_CADENCE_SECONDS,
    );
    if (seconds !== undefined) cadences[tier] = seconds * 1_000;
  }
  return cadences;
}

function readTransitions(reader: DocumentReader): readonly Transition[] {
  const value = reader.value("transitions");
  if (isJsonObject(value) && Object.values(value).every((words) => typeof words === "string")) {
    return DEFAULT_HEARTBEAT_TIERS.transitions;
  }
  if (value === undefined) reader.problem("transitions", "is missing; expected a list");
  return reader.items("transitions", MAX_TRANSITIONS).flatMap((item, at) => {
    const fields = reader.objectAt(`transitions[${at}]`, item);
    return (fields && readTransition(fields)) ?? [];
  });
}

function readTransition(fields: DocumentReader): Transition | undefined {
  const from = readFrom(fields);
  const to = fields.oneOf("to", HEARTBEAT_TIERS);
  const when = fields.oneOf("when", CONDITIONS);
  const count = fields.wholeNumber("count", 1, MAX_IDLE_CYCLES);
  if (when === "idle_cycles" && fields.value("count") === undefined) {
    fields.problem("count", "is missing; expected how many idle cycles");
  }
  if (from === undefined || to === undefined || when === undefined) return undefined;
  return count === undefined ? { from, to, when } : { from, to, when, count };
}

function readFrom(fields: DocumentReader): Transition["from"] | undefined {
  const value = fields.value("from");
  const names = typeof value === "string" ? [value] : fields.texts("from");
  const from = names?.flatMap((name) => (name === "*" ? name : (heartbeatTierNamed(name) ?? [])));
  if (from !== undefined && from.length > 0 && from.length === names?.length) return from;
  fields.problem(
    "from",
    `names no tier, or one that is none; expected "*" or ${HEARTBEAT_TIERS.join(", ")}`,
  );
  return undefined;
}

function heartbeatTierNamed(name: JsonValue | undefined): HeartbeatTier | undefined {
  return HEARTBEAT_TIERS.find((tier) => tier === name);
}

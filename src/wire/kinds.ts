/** The published table of types and kinds. Spec 1.3; `request` 1210 is ours. */
const KIND_BY_TYPE = {
  heartbeat: 100,
  decision: 1,
  claim: 1100,
  release: 1101,
  ship: 1200,
  warning: 1201,
  request: 1210,
  feedback: 1300,
  incident: 1400,
  ack: 1500,
  proposal: 1600,
  correction: 1700,
  shutdown: 1800,
  agent_card: 10000,
  trust_tier_announcement: 10001,
} as const;

export type MessageType = keyof typeof KIND_BY_TYPE;

/**
 * Names that other programs give to requests and their answers, and the types that they are read as.
 * We write none of them. Spec 3.8.
 */
const OTHER_SPELLINGS: ReadonlyMap<string, MessageType> = new Map([
  ["shutdown_request", "request"],
  ["shutdown_response", "ack"],
  ["plan_approval_response", "ack"],
]);

const kindByType: ReadonlyMap<string, number> = new Map(Object.entries(KIND_BY_TYPE));
const typeByKind: ReadonlyMap<number, MessageType> = new Map(
  Object.entries(KIND_BY_TYPE).map(([type, kind]) => [kind, type as MessageType]),
);

export const MESSAGE_TYPES = Object.keys(KIND_BY_TYPE) as readonly MessageType[];

export function isMessageType(type: string): type is MessageType {
  return kindByType.has(type);
}

/** The type of the table that a name on a line means; undefined when it means none. */
export function typeSpelled(name: string): MessageType | undefined {
  return isMessageType(name) ? name : OTHER_SPELLINGS.get(name);
}

/** The kind of a type of the table. */
export function kindOf(type: string): number | undefined {
  return kindByType.get(type);
}

/** The type of a kind: its name in the table, or `kind:<n>` for a kind that we do not know. */
export function typeOf(kind: number): string {
  return typeByKind.get(kind) ?? `kind:${kind}`;
}

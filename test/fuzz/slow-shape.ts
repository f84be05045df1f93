import { member } from "./slow-reader.ts";
import type { Tree } from "../wire/json/slow-json.ts";

/** What a line says, as Spec 1.2 reads it: the oracle's own view of a message. */
export interface Said {
  readonly timestampMicros: bigint;
  readonly from: string;
  readonly to: readonly string[] | undefined;
  readonly type: string;
  readonly priority: string;
  readonly correlationId: string;
  readonly ackRequired: boolean;
  readonly body: Tree;
  readonly refs: number;
  readonly eventId: string | undefined;
  readonly publicKeyId: string | undefined;
  readonly signature: string | undefined;
  readonly wire: string | undefined;
  readonly log: string | undefined;
  readonly seq: number | undefined;
  readonly prev: string | undefined;
}

export const KINDS: Readonly<Record<string, number>> = {
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
};

const HANDLE = "[A-Za-z0-9][-A-Za-z0-9._]{0,127}";
export const SENDER = new RegExp(`^(?:did:wire:)?(${HANDLE})$`, "s");
const ADDRESSEE = new RegExp(`^(?:${HANDLE}|[*])$`, "s");

/** The rules of Spec 1.2 field by field; the name of the check that fails otherwise. */
export function slowShape(line: Tree): Said | "schema" | "kind_mismatch" {
  const fields = new Fields(line);
  const timestamp = fields.text("timestamp");
  const micros = timestamp === undefined ? undefined : microsOf(timestamp);
  const from = SENDER.exec(fields.text("from") ?? "")?.[1];
  const subject = fields.text("subject");
  const correlationId = fields.text("correlation_id");
  const body = member(line, "body");
  const to = fields.texts("to");
  const kind = fields.integer("kind");
  const type = fields.text("type") ?? nameOf(kind);
  const seq = fields.integer("seq");
  const priority = fields.text("priority") ?? "normal";
  const ackRequired = fields.flag("ack_required");
  const said = {
    refs: fields.texts("refs")?.length ?? 0,
    eventId: fields.text("event_id"),
    publicKeyId: fields.text("public_key_id"),
    signature: fields.text("signature"),
    wire: fields.text("wire"),
    log: fields.text("log"),
    prev: fields.text("prev"),
  };
  const sound =
    fields.sound &&
    micros !== undefined &&
    from !== undefined &&
    subject !== undefined &&
    body !== undefined &&
    type !== undefined &&
    correlationId !== undefined &&
    [...subject].length <= 500 &&
    correlationId !== "" &&
    [...correlationId].length <= 256 &&
    (fields.text("type") === undefined || Object.hasOwn(KINDS, type)) &&
    (to ?? []).length <= 1_024 &&
    (to ?? []).every((name) => ADDRESSEE.test(name)) &&
    ["low", "medium", "normal", "high"].includes(priority) &&
    (seq === undefined || seq >= 1) &&
    !(type === "ack" && correlationId === timestamp) &&
    !(type === "proposal" && ackRequired !== true);
  if (!sound) return "schema";
  if (fields.text("type") !== undefined && kind !== undefined && KINDS[type] !== kind) {
    return "kind_mismatch";
  }
  const stated = priority === "normal" ? "medium" : priority;
  return {
    ...said,
    timestampMicros: micros,
    from,
    to,
    type,
    priority: subject.startsWith("urgent:") ? "high" : stated,
    correlationId,
    ackRequired: ackRequired ?? false,
    body,
    seq,
  };
}

function nameOf(kind: number | undefined): string | undefined {
  if (kind === undefined) return undefined;
  const known = Object.entries(KINDS).find(([, number]) => number === kind);
  return known?.[0] ?? `kind:${kind}`;
}

/** Reads fields by their type; `sound` falls as soon as one has another. */
class Fields {
  sound = true;
  private readonly line: Tree;

  constructor(line: Tree) {
    this.line = line;
  }

  private field<Value>(key: string, read: (tree: Tree) => Value | undefined): Value | undefined {
    const tree = member(this.line, key);
    if (tree === undefined) return undefined;
    const value = read(tree);
    if (value === undefined) this.sound = false;
    return value;
  }

  text(key: string): string | undefined {
    return this.field(key, (tree) => (tree.is === "string" ? tree.text : undefined));
  }

  flag(key: string): boolean | undefined {
    return this.field(key, (tree) =>
      tree.is === "word" && tree.text !== "null" ? tree.text === "true" : undefined,
    );
  }

  integer(key: string): number | undefined {
    return this.field(key, (tree) => {
      if (tree.is !== "integer") return undefined;
      const exact = BigInt(tree.text);
      const largest = 2n ** 53n - 1n;
      return exact >= -largest && exact <= largest ? Number(exact) : undefined;
    });
  }

  texts(key: string): string[] | undefined {
    return this.field(key, (tree) => {
      if (tree.is !== "array") return undefined;
      const texts = tree.members.flatMap((each) => (each.is === "string" ? each.text : []));
      return texts.length === tree.members.length ? texts : undefined;
    });
  }
}

const TIMESTAMP =
  /^(?<date>\d{4}-\d{2}-\d{2})T(?<time>\d{2}:\d{2})(?::(?<second>\d{2})(?:[.](?<fraction>\d{1,18}))?)?(?:Z|(?<sign>[-+])(?<hours>\d{2})(?::?(?<minutes>\d{2}))?)$/s;

/** Microseconds since 1970, digits beyond the sixth cut; undefined for what no calendar has. */
function microsOf(text: string): bigint | undefined {
  const parts = TIMESTAMP.exec(text)?.groups;
  if (parts === undefined || text.length > 64) return undefined;
  const { date = "", time = "", second = "00", fraction = "", sign = "+" } = parts;
  const { hours = "00", minutes = "00" } = parts;
  // The calendar is Date's: a day or hour that does not exist comes back as another, or not at all.
  const utc = `${date}T${time}:${second}.000Z`;
  const ms = Date.parse(utc);
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== utc || date.startsWith("0000")) {
    return undefined;
  }
  if (hours > "23" || minutes > "59") return undefined;
  const east = BigInt(`${sign === "-" ? "-" : ""}${Number(hours) * 60 + Number(minutes)}`);
  return BigInt(ms) * 1_000n - east * 60_000_000n + BigInt(fraction.padEnd(6, "0").slice(0, 6));
}

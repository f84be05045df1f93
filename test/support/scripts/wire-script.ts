import { fromPlain } from "../../../src/wire/json/json.ts";
import { composeLine, type ChainHead } from "../../../src/wire/compose.ts";
import { closingBody, continuingBody } from "../../../src/wire/roster/closing.ts";
import { makeLayout, ownLogs, pairNames, type Layout } from "../../../src/wire/layout.ts";
import { proved } from "../../../src/admission/rules/proved.ts";
import type { AdmittedMessage } from "../../../src/admission/admitted-message.ts";
import type { Message } from "../../../src/wire/message.ts";
import { keyId } from "../../../src/wire/signature.ts";
import { formatMicros } from "../../../src/wire/timestamp.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import type { Env } from "../../../src/protocol/env.ts";
import { DEFAULT_ANSWER_TIMES } from "../../../src/wire/limits.ts";
import { DEFAULT_HEARTBEAT_TIERS } from "../../../src/trust/policy/heartbeat-tiers.ts";
import type { Tier } from "../../../src/trust/tiers.ts";

/** Noon of an ordinary day: where scripted conversations begin. */
export const NOON = Date.UTC(2026, 10, 20, 12);
export const seconds = (count: number): number => count * 1_000;
export const minutes = (count: number): number => count * 60_000;
export const hours = (count: number): number => count * 3_600_000;

export interface Saying {
  type: string;
  body?: unknown;
  subject?: string;
  to?: readonly string[];
  thread?: string;
  /** Makes a line as from a peer that neither signs nor chains. */
  unsigned?: boolean;
}

export interface ScriptLine {
  readonly log: string;
  readonly line: number;
  readonly at: number;
  readonly message: AdmittedMessage;
  readonly raw: string;
}

export type ScriptHeads = Record<
  string,
  { lines: number; read?: number; refused?: [number, string][]; wrong?: boolean }
>;

/**
 * Logs of a wire, written line by line: what is signed is chained as the real thing, but the
 * signatures are blank, because nothing here verifies them.
 */
export class WireScript {
  readonly layout: Layout;
  readonly lines = new Map<string, ScriptLine[]>();
  private readonly heads = new Map<string, ChainHead>();

  /** `moving`: a pairwise wire that moves to outboxes, as those see it who have taken that. */
  constructor(kind: Layout["kind"] | "moving", roster: readonly string[]) {
    this.layout =
      kind === "moving"
        ? makeLayout("outbox", roster, undefined, pairNames(roster))
        : makeLayout(kind, roster);
  }

  /** Closes the logs of an agent and goes on in its outbox. */
  move(handle: string, at: number): ScriptLine[] {
    const own = ownLogs(this.layout, handle);
    const closed = own.filter(({ into }) => into !== undefined);
    const ends = closed.map(({ name }) =>
      this.say(name, at, { type: "correction", body: closingBody(name, handle) }),
    );
    const heads = ends.map(({ log, message }) => ({ log, id: message.id, seq: message.seq ?? 0 }));
    return [...ends, this.say(handle, at, { type: "correction", body: continuingBody(heads) })];
  }

  say(log: string, at: number, saying: Saying): ScriptLine {
    const owner = this.layout.logs.get(log)?.owner;
    if (owner === undefined) throw new Error(`no log ${log}`);
    const lines = this.lines.get(log) ?? [];
    this.lines.set(log, lines);
    const composed = composeLine(
      {
        to: saying.to ?? ["*"],
        type: saying.type,
        subject: saying.subject ?? saying.type,
        body: fromPlain(saying.body ?? {}),
        ackRequired: saying.type === "proposal",
        ...(saying.thread === undefined ? {} : { correlationId: saying.thread }),
      },
      {
        timestamp: formatMicros(Math.round(at * 1_000)),
        log,
        wireId: undefined,
        head: this.heads.get(log),
      },
      { handle: owner, keyId: keyId(owner, new Uint8Array(32)), sign: () => new Uint8Array(64) },
    );
    const signed = saying.unsigned !== true;
    if (signed) this.heads.set(log, { seq: composed.message.seq ?? 0, id: composed.id });
    const line: ScriptLine = {
      log,
      line: lines.length + 1,
      at,
      message: proved(signed ? composed.message : unsigned(composed.message), lines.length + 1),
      raw: new TextDecoder().decode(composed.line),
    };
    lines.push(line);
    return line;
  }

  beat(log: string, at: number, heads: ScriptHeads = {}, extra: object = {}): ScriptLine {
    const nextEta = new Date(at + DEFAULT_HEARTBEAT_TIERS.cadencesMs.T1_active).toISOString();
    const stated = Object.entries(heads).map(([name, head]) => [name, this.head(name, head)]);
    const body = {
      wakeup_count: 1,
      state: "idle",
      next_eta: nextEta,
      inbox_unread_count: 0,
      ...(stated.length === 0 ? {} : { heads: Object.fromEntries(stated) as object }),
      ...extra,
    };
    return this.say(log, at, { type: "heartbeat", body });
  }

  private head(name: string, head: ScriptHeads[string]): object {
    const chained = (this.lines.get(name) ?? [])
      .slice(0, head.lines)
      .findLast(({ message }) => message.seq !== undefined)?.message;
    return {
      lines: head.lines,
      ...(chained === undefined
        ? {}
        : { seq: chained.seq, event_id: head.wrong === true ? "0".repeat(64) : chained.id }),
      read_lines: head.read ?? 0,
      refused: head.refused ?? [],
    };
  }
}

export function lineEvent(
  line: ScriptLine,
  self: string,
  change: Partial<LineEvent> = {},
): LineEvent {
  return {
    kind: "line",
    log: line.log,
    line: line.line,
    at: line.at,
    live: true,
    own: line.message.from === self,
    message: line.message,
    raw: line.raw,
    refused: undefined,
    afterGap: false,
    ...change,
  };
}

/** What of an environment a test sets; policy and progress by their fields. */
export type EnvChange = Partial<Omit<Env, "policy" | "reading"> & Env["policy"] & Env["reading"]>;

export function scriptEnv(
  layout: Layout,
  self: string,
  tiers: Record<string, { tier: Tier; sinceMs?: number }> = {},
  change: EnvChange = {},
): Env {
  const { domains, cadences, answerTimes, transitions, heldPeers, holdsBack, caughtUp, ...rest } =
    change;
  return {
    self,
    layout,
    policy: {
      domains: domains ?? new Map(),
      cadences: cadences ?? DEFAULT_HEARTBEAT_TIERS.cadencesMs,
      answerTimes: answerTimes ?? DEFAULT_ANSWER_TIMES,
      ...(transitions === undefined ? {} : { transitions }),
    },
    tierOf: (handle) => ({
      tier: tiers[handle]?.tier ?? "TRUSTED",
      sinceMs: tiers[handle]?.sinceMs ?? 0,
    }),
    reading: {
      heldPeers: heldPeers ?? new Set(),
      holdsBack: holdsBack ?? (() => false),
      caughtUp: caughtUp ?? (() => true),
    },
    ...rest,
  };
}

function unsigned(message: Message): Message {
  return {
    ...message,
    version: "v2.0",
    eventId: undefined,
    publicKeyId: undefined,
    signature: undefined,
    seq: undefined,
    prev: undefined,
    log: undefined,
  };
}

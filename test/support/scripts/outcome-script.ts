import { apply } from "../../../src/protocol/core.ts";
import { proposalsView } from "../../../src/protocol/decisions/proposals-view.ts";
import { claimsView } from "../../../src/protocol/claims/claims-view.ts";
import { requestsView } from "../../../src/protocol/requests/requests-view.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import type { Env } from "../../../src/protocol/env.ts";
import { emptyState, type State } from "../../../src/protocol/state.ts";
import {
  lineEvent,
  NOON,
  scriptEnv,
  WireScript,
  type EnvChange,
  type ScriptLine,
} from "./wire-script.ts";

const STEP_MS = 1_000;

/**
 * A conversation about proposals, a step a line, one second apart:
 *
 *   a proposes P [needs=b,c] [counters=Q] [thread=X] [due=3600] [plain]
 *   b acks P | acks [bare] | agrees P | rejects P | asks R | acks R request=r1
 *   a reverts P [replaced=Q]
 *   a asks R request=<id> [type=shutdown] [to=b,c] [due=…]
 *   b approves R | declines R [request=<id>] [bare]; a cancels R [of=b] | expires R [of=b]
 *   a claims C paths=src/**,docs/* [mode=shared] [ttl=60] [to=b] | releases C; b grants C | denies C
 *   a moves: its logs are closed, and it goes on in its outbox
 *   a beats [H] [b=3] [read=b:2] [wrong=b] [refuses=b:2,b:4] [unread] [busy] [paused]
 *
 * Heads cover all of the others by default, as read unless the beat is `unread` or names lines. `due`
 * is in seconds after noon.
 *
 * `agrees` says `approve: true`, which `acks` does not. `plain` and `bare` lines are unchained, `bare` ones name nothing either. The thread is that of the
 * first proposal unless one is named. `@5` at the end of a step dates it five seconds after noon.
 */
export class OutcomeScript {
  readonly script: WireScript;
  readonly names = new Map<string, string>();
  readonly order: ScriptLine[] = [];
  private thread: string | undefined;
  /** Correlation id by the name of a claim: each begins its own thread. */
  private readonly claims = new Map<string, string>();
  /** `request_id` by the name of a request. */
  private readonly requests = new Map<string, string>();
  private readonly moved = new Set<string>();

  constructor(
    kind: "pairwise" | "outbox" | "moving",
    roster: readonly string[],
    steps: readonly string[],
  ) {
    this.script = new WireScript(kind, roster);
    for (const step of steps) this.take(step);
  }

  logOf(agent: string): string {
    const [log] = this.logsOf(agent).slice(this.moved.has(agent) ? -1 : 0);
    if (log === undefined) throw new Error(`no agent ${agent}`);
    return log;
  }

  /** Its logs in the order in which it writes them. */
  logsOf(agent: string): string[] {
    const own = [...this.script.layout.logs.values()].filter(({ owner }) => owner === agent);
    return own.map(({ name }) => name);
  }

  linesOf(agent: string): ScriptLine[] {
    return this.logsOf(agent).flatMap((log) => this.script.lines.get(log) ?? []);
  }

  take(step: string): void {
    const [agent = "", verb = "", ...rest] = step.split(" ");
    const dated = rest.find((word) => word.startsWith("@"));
    const words = rest.filter((word) => word !== dated);
    const ms = dated === undefined ? this.order.length * STEP_MS : Number(dated.slice(1)) * STEP_MS;
    const options = new Map(words.filter((word) => word.includes("=")).map(split));
    const [name] = words.filter((word) => !word.includes("=") && !FLAGS.has(word));
    if (verb === "moves") {
      this.order.push(...this.script.move(agent, NOON + ms));
      this.moved.add(agent);
      return;
    }
    const log = this.logOf(agent);
    if (verb === "beats") {
      const read = words.includes("unread") ? { read: "" } : {};
      const heads = this.heads(log, new Map([...options, ...Object.entries(read)]));
      const says = ["busy", "paused"].find((each) => words.includes(each));
      const state = says === undefined ? {} : { state: says };
      const beat = this.script.beat(log, NOON + ms, heads, state);
      if (name !== undefined) this.names.set(name, beat.message.id);
      this.order.push(beat);
      return;
    }
    const line = this.script.say(log, NOON + ms, {
      type: TYPES[verb] ?? verb,
      subject: `${verb} ${name ?? ""}`,
      body: this.body(verb, name, options, words),
      ...this.threadOf(verb, name, options),
      ...(options.has("to") ? { to: options.get("to")?.split(",") ?? [] } : {}),
      unsigned: words.includes("plain") || words.includes("bare"),
    });
    if (name !== undefined && !this.names.has(name)) this.names.set(name, line.message.id);
    if (verb === "claims" && name !== undefined) this.claims.set(name, line.message.correlationId);
    this.thread ??= line.message.correlationId;
    this.order.push(line);
  }

  private threadOf(
    verb: string,
    name: string | undefined,
    options: ReadonlyMap<string, string>,
  ): { thread?: string } {
    if (verb === "claims" && !options.has("thread")) return {};
    const claimed = this.claims.get(name ?? "");
    if (claimed !== undefined) return { thread: claimed };
    const named = options.get("thread");
    if (named === "new") return {};
    const thread = named ?? this.thread;
    return thread === undefined ? {} : { thread };
  }

  private body(
    verb: string,
    name: string | undefined,
    options: ReadonlyMap<string, string>,
    flags: readonly string[],
  ) {
    const id = name === undefined || flags.includes("bare") ? undefined : this.idOf(name);
    const needs = options.get("needs");
    const counters = options.get("counters");
    const request =
      options.get("request") ?? this.requests.get(ANSWERS.has(verb) ? (name ?? "") : "");
    if (verb === "asks" && name !== undefined && request !== undefined) {
      this.requests.set(name, request);
    }
    const of = options.get("of");
    const type = options.get("type");
    const due = options.get("due");
    const replaced = options.get("replaced");
    if (verb === "claims") return claimBody(options);
    return {
      ...(TYPES[verb] === "ack" && id !== undefined ? { acks: id } : {}),
      ...(["rejects", "declines", "denies"].includes(verb) ? { approve: false } : {}),
      ...(["agrees", "approves", "grants"].includes(verb) ? { approve: true } : {}),
      ...(verb === "cancels" ? { cancels: id } : {}),
      ...(verb === "expires" ? { expires: id } : {}),
      ...(of === undefined ? {} : { of }),
      ...(type === undefined ? {} : { request_type: type }),
      ...(verb === "reverts" ? { reverts: id } : {}),
      ...(needs === undefined ? {} : { required: needs.split(",").filter((each) => each !== "") }),
      ...(counters === undefined ? {} : { counters: this.idOf(counters) }),
      ...(request === undefined ? {} : { request_id: request }),
      ...(due === undefined ? {} : { due: new Date(NOON + Number(due) * 1_000).toISOString() }),
      ...(replaced === undefined ? {} : { replaced_by: this.idOf(replaced) }),
      ...(verb === "proposes" ? { decision: `text of ${name}` } : {}),
    };
  }

  idOf(name: string): string {
    return this.names.get(name) ?? name;
  }

  private heads(log: string, options: ReadonlyMap<string, string>) {
    const of = this.script.layout.logs.get(log);
    const answers = [...this.script.layout.logs.values()].filter(
      ({ owner, addressee }) =>
        owner !== of?.owner &&
        // In the log of a pair a beat speaks of the other log of that pair alone.
        (addressee === undefined ? of?.addressee === undefined : addressee === of?.owner),
    );
    if (options.has("none")) return {};
    const refused = (options.get("refuses") ?? "").split(",").filter((each) => each !== "");
    const read = options.get("read")?.split(",");
    // Lines of an agent that has moved are counted through its logs, one after the other.
    const lengthOf = (name: string): number => this.script.lines.get(name)?.length ?? 0;
    const before = (name: string, owner: string): number => {
      const logs = this.logsOf(owner);
      return logs.slice(0, logs.indexOf(name)).reduce((sum, each) => sum + lengthOf(each), 0);
    };
    const within = (count: number, name: string, owner: string): number =>
      Math.min(Math.max(count - before(name, owner), 0), lengthOf(name));
    const readOf = (name: string, owner: string, lines: number): number => {
      if (read === undefined) return lines;
      const named = read.find((each) => each.startsWith(`${owner}:`));
      return within(Number(named?.split(":")[1] ?? 0), name, owner);
    };
    return Object.fromEntries(
      answers.map(({ name, owner }) => {
        const all = options.get(owner);
        const isOne = this.logsOf(owner).length === 1;
        const lines = isOne
          ? Number(all ?? lengthOf(name))
          : within(Number(all ?? Infinity), name, owner);
        const head = {
          lines,
          read: isOne && read !== undefined ? readAlone(read, owner) : readOf(name, owner, lines),
          wrong: options.get("wrong") === owner,
          refused: refused
            .map((each) => each.split(":"))
            .filter(([who]) => who === owner)
            .map(([, line]) => Number(line) - before(name, owner))
            .filter((line) => line > 0 && line <= Math.max(lines, isOne ? Infinity : 0))
            .map((line): [number, string] => [line, "tier_refused"]),
        };
        return [name, head];
      }),
    );
  }

  env(self: string, change: EnvChange = {}): Env {
    return scriptEnv(this.script.layout, self, {}, change);
  }

  events(self: string, change: (line: ScriptLine) => Partial<LineEvent> = () => ({})): LineEvent[] {
    return this.order.map((line) => lineEvent(line, self, change(line)));
  }

  fold(self: string, events: readonly LineEvent[] = this.events(self)): State {
    const state = emptyState();
    for (const event of events) apply(state, event, this.env(self));
    return state;
  }

  /** `P ratified by a:3` for each proposal, in the order of their names. */
  outcomes(state: State, self = this.script.layout.roster[0] ?? ""): string[] {
    const names = new Map([...this.names].map(([name, id]) => [id, name]));
    return proposalsView(state.proposals, state.logs, this.env(self))
      .map((view) => {
        const by = view.decided_by === null ? "" : ` by ${this.place(view.decided_by)}`;
        return `${names.get(view.proposal_id)} ${view.status}${by}`;
      })
      .sort();
  }

  /** `R b approved by a:3` for each request and addressee, in the order of their names. */
  requestEnds(state: State, self = this.script.layout.roster[0] ?? ""): string[] {
    const names = new Map([...this.names].map(([name, id]) => [id, name]));
    return requestsView(state.requests, state.logs, this.env(self))
      .map(({ event_id, target, status, decided_by }) => {
        const by = decided_by === null ? "" : ` by ${this.place(decided_by)}`;
        return `${names.get(event_id)} ${target} ${status}${by}`;
      })
      .sort();
  }

  /** `C a held`, `C a lost D` for each claim, in the order of their names. */
  claimStandings(state: State, self: string, nowMs: number, change: EnvChange = {}): string[] {
    const names = new Map([...this.names].map(([name, id]) => [id, name]));
    const { claims, logs } = state;
    return claimsView({ claims, logs, env: this.env(self, change), nowMs })
      .map(({ event_id, from, status, against }) => {
        const others = against.map((other) => names.get(other.event_id) ?? "?");
        const to = others.length === 0 ? "" : ` ${others.join(" ")}`;
        return `${names.get(event_id)} ${from} ${status}${to}`;
      })
      .sort();
  }

  place(id: string): string {
    const line = this.order.find(({ message }) => message.id === id);
    return line === undefined ? "?" : `${line.message.from}:${line.line}`;
  }
}

const FLAGS = new Set(["plain", "bare", "unread", "busy", "paused"]);
const TYPES: Record<string, string> = {
  proposes: "proposal",
  acks: "ack",
  agrees: "ack",
  rejects: "ack",
  reverts: "correction",
  asks: "request",
  approves: "ack",
  declines: "ack",
  claims: "claim",
  releases: "release",
  grants: "ack",
  denies: "ack",
  cancels: "correction",
  expires: "correction",
};
const ANSWERS = new Set(["approves", "declines"]);

function readAlone(read: readonly string[], owner: string): number {
  const named = read.find((each) => each.startsWith(`${owner}:`));
  return Number(named?.split(":")[1] ?? 0);
}

function claimBody(options: ReadonlyMap<string, string>) {
  const mode = options.get("mode");
  const ttl = options.get("ttl");
  return {
    paths: (options.get("paths") ?? "").split(",").filter((path) => path !== ""),
    ...(mode === undefined ? {} : { mode }),
    ...(ttl === undefined ? {} : { ttl_seconds: Number.isNaN(Number(ttl)) ? ttl : Number(ttl) }),
  };
}

function split(word: string): [string, string] {
  const at = word.indexOf("=");
  return [word.slice(0, at), word.slice(at + 1)];
}

/** The outcomes that everybody who holds all lines agrees on. */
export function outcomesOf(
  steps: readonly string[],
  kind: "pairwise" | "outbox" | "moving" = "pairwise",
  roster: readonly string[] = ["a", "b"],
): string[] {
  const script = new OutcomeScript(kind, roster, steps);
  return script.outcomes(script.fold(roster[0] ?? ""));
}

/** The same read as written, and one whole log after another, in both directions. */
export function outcomesInAnyOrder(
  steps: readonly string[],
  roster: readonly string[] = ["a", "b"],
): string[][] {
  const script = new OutcomeScript(roster.length > 2 ? "outbox" : "pairwise", roster, steps);
  const events = script.events("a");
  const byLog = [...events].sort((a, b) => (a.log < b.log ? -1 : a.log > b.log ? 1 : 0));
  const backwards = [...events].sort((a, b) => (a.log < b.log ? 1 : a.log > b.log ? -1 : 0));
  return [events, byLog, backwards].map((order) => script.outcomes(script.fold("a", order)));
}

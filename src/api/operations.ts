import { newsOf, type NewsView } from "../agent/answers/mail.ts";
import { WAITED_FOR, type WaitedFor } from "../agent/answers/waited-for.ts";
import { parseViewRequest } from "../agent/answers/views.ts";
import { ASKED_KINDS } from "../agent/duties/agent-notices.ts";
import type { MemberChange } from "../agent/answers/members.ts";
import { AGENT_STATES } from "../protocol/beats/beat.ts";
import {
  asObject,
  count,
  flag,
  isTexts,
  kind,
  lineNumbers,
  listOf,
  nothing,
  object,
  oneOf,
  optional,
  options,
  type Parser,
  shortText,
  text,
  texts,
  whole,
} from "./arguments.ts";
import { parseSend, requestKey } from "./drafts.ts";
import { DeaddropError } from "./errors.ts";
import {
  MAX_WAIT_MS,
  type Asker,
  type OperatedAgent,
  type Service,
  type SessionRegistry,
} from "./service.ts";
import { MOMENTS, TOOLS, type WakeWay } from "./tool-sessions.ts";
import { actOn, TRANSPORT_ACTS } from "./transport.ts";
import type { ViewName } from "./views.ts";

interface Operation<Args, Answer> {
  /** Typed arguments from the JSON of a request. Throws DeaddropError ("usage"). */
  parse: Parser<Args>;
  run(service: Service, args: Args, asker: Asker): Promise<Answer>;
  /** Whether something happens that peers, or the agent itself, should see soon. */
  readonly acts: boolean;
}

const ids = kind(
  '"all" or a list of event ids',
  (value): value is "all" | readonly string[] => value === "all" || isTexts(value),
);
/** A line of a chain whose author is known. */
const linePlace = object({ seq: count, id: text });
const sessionName = { tool: oneOf(TOOLS), session: text };
const sessionProcess = object({ pid: count, started: text });
const pane = object({ server: text, pane: text });
const WAKE_WAYS = {
  tmux: pane,
  qwen: object({ socket: text, token: text }),
  codex: object({
    program: text,
    home: optional(text),
    newest: optional(text),
    namedAt: text,
    terminals: listOf(sessionProcess),
    keys: optional(pane),
  }),
};

/**
 * Everything that can be asked of an agent, by its name on the socket. The daemon's requests, its
 * clients and direct use all follow from this table. Spec 4.2.
 */
export const OPERATIONS = {
  send: operation(
    parseSend,
    (service, { drafts, key }) =>
      key === undefined
        ? service.send(drafts)
        : service.inTurn((agent) => agent.sendOnce(drafts, key)),
    "acts",
  ),
  answered: looking(object({ key: requestKey }), (agent, { key }) => agent.answered(key)),
  view: looking(parseViewRequest, (agent, { name, args }) => agent.view<ViewName>(name, args)),
  wait: operation(
    object({ for: oneOf(WAITED_FOR), limitMs: count }),
    (service, { limitMs, ...args }) => waitForNews(service, args, Math.min(limitMs, MAX_WAIT_MS)),
    "looks",
  ),
  /** The number of the newest line, when it is another one than `since` or the time is over. */
  changed: operation(
    object({ since: optional(whole), limitMs: count }),
    async (service, { since, limitMs }) => {
      const look = () => service.inTurn((agent) => agent.view("newest", undefined));
      const other = await service.until(
        async () => {
          const newest = await look();
          return newest === since ? undefined : newest;
        },
        Math.min(limitMs, MAX_WAIT_MS),
      );
      return other ?? look();
    },
    "looks",
  ),
  read: acting(object({ ids }), (agent, { ids }) => agent.markRead(ids)),
  status: acting(
    object({
      state: optional(oneOf(AGENT_STATES)),
      lastAction: optional(text),
      headsDown: optional(flag),
    }),
    (agent, change) => agent.setStatus(change),
  ),
  notify: acting(
    object({ kind: oneOf(ASKED_KINDS), about: shortText, text: shortText }),
    (agent, matter) => agent.notify(matter),
  ),
  wake: acting(nothing, (agent) => agent.wake()),
  reset_peer: acting(object({ peer: text, follow: optional(linePlace) }), (agent, args) =>
    agent.resetPeer(args.peer, args.follow),
  ),
  revoke_key: acting(object({ keyId: text, last: optional(linePlace) }), (agent, args) =>
    agent.revokeKey(args.keyId, args.last),
  ),
  change_members: acting(parseMemberChange, (agent, change) => agent.changeMembers(change)),
  leave: acting(nothing, (agent) => agent.leave()),
  reclaim: acting(options({ from: optional(texts) }), (agent, { from }) => agent.reclaim(from)),
  archive: acting(options({ year: optional(count) }), (agent, { year }) => agent.archive(year)),
  tick: looking(nothing, (agent) => agent.look()),
  hook: operation(
    object({
      ...sessionName,
      moment: oneOf(MOMENTS),
      isContinued: flag,
      isInteractive: flag,
      process: optional(sessionProcess),
      wake: optional(parseWakeWay),
    }),
    (service, event) => sessionsOf(service).event(event),
    "acts",
  ),
  named: operation(
    object({ ...sessionName, marks: lineNumbers }),
    (service, { marks, ...name }) => Promise.resolve(sessionsOf(service).named(name, marks)),
    "looks",
  ),
  await_wake: operation(
    object({ ...sessionName, process: optional(sessionProcess) }),
    (service, session, { gone }) => sessionsOf(service).awaitWake(session, gone),
    "looks",
  ),
  sessions: operation(
    nothing,
    (service) => Promise.resolve(service.sessions?.list() ?? []),
    "looks",
  ),
  rounds: operation(nothing, (service) => Promise.resolve(service.rounds?.look() ?? []), "looks"),
  transport: operation(
    options({ act: optional(oneOf(TRANSPORT_ACTS)) }),
    ({ transport }, { act }) => actOn(transport, act),
    "looks",
  ),
  reload: acting(nothing, (agent) => agent.reload()),
};

export type OperationName = keyof typeof OPERATIONS;
export type Arguments<N extends OperationName> = ReturnType<(typeof OPERATIONS)[N]["parse"]>;
export type Answer<N extends OperationName> = Awaited<ReturnType<(typeof OPERATIONS)[N]["run"]>>;

/** Asks for an operation; one that takes nothing is asked for by its name alone. */
export type Ask = <N extends OperationName>(
  name: N,
  ...args: undefined extends Arguments<N> ? [] : [args: Arguments<N>]
) => Promise<Answer<N>>;

/** The operation of that name, for arguments that its own `parse` has made. */
export function operationNamed(name: string): Operation<unknown, unknown> {
  if (!Object.hasOwn(OPERATIONS, name)) {
    throw new DeaddropError("usage", `the daemon knows no request "${name}"`, {
      hint: "daemon and command are of different versions: restart the daemon",
    });
  }
  return OPERATIONS[name as OperationName];
}

/** Asks in this process: nothing is packed and nothing is parsed. */
export function askDirectly(service: Service): Ask {
  return <N extends OperationName>(name: N, ...[args]: readonly unknown[]) =>
    operationNamed(name).run(service, args, STAYS) as Promise<Answer<N>>;
}

const STAYS: Asker = { gone: new AbortController().signal };

/** Throws DeaddropError ("storage") where no daemon keeps sessions. */
function sessionsOf({ sessions }: Service): SessionRegistry {
  if (sessions !== undefined) return sessions;
  throw new DeaddropError("storage", "no daemon runs", {
    hint: "hooks and waiters of tools ask a daemon: deaddrop service install",
  });
}

function operation<Args, Result>(
  parse: Parser<Args>,
  run: Operation<Args, Result>["run"],
  does: "acts" | "looks",
): Operation<Args, Result> {
  return { parse, run, acts: does === "acts" };
}

/** One call of the agent, which changes something. */
function acting<Args, Result>(
  parse: Parser<Args>,
  call: (agent: OperatedAgent, args: Args) => Promise<Result>,
): Operation<Args, Result> {
  return operation(parse, (service, args) => service.inTurn((agent) => call(agent, args)), "acts");
}

/** One call of the agent, which only reads. */
function looking<Args, Result>(
  parse: Parser<Args>,
  call: (agent: OperatedAgent, args: Args) => Promise<Result>,
): Operation<Args, Result> {
  return { ...acting(parse, call), acts: false };
}

function parseMemberChange(json: unknown): MemberChange {
  const { add, remove } = asObject(json);
  if (add !== undefined) return object({ add: text, chains: flag })(json);
  return remove === undefined ? object({ mark: text })(json) : object({ remove: text })(json);
}

function parseWakeWay(json: unknown): WakeWay {
  const { by } = object({ by: oneOf(["codex", "tmux", "qwen"]) })(json);
  return { by, ...WAKE_WAYS[by](json) } as WakeWay;
}

/** The last look: ready, or the time is over. */
async function waitForNews(
  service: Service,
  args: { readonly for: WaitedFor },
  limitMs: number,
): Promise<NewsView> {
  const look = async () =>
    newsOf(await service.inTurn((agent) => agent.view("mail", {})), args.for);
  let last: NewsView | undefined;
  await service.until(async () => {
    last = await look();
    return last.ready ? last : undefined;
  }, limitMs);
  return last ?? look();
}

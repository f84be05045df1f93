import { WAITED_FOR, type NewsView, type WaitedFor } from "../agent/answers/mail.ts";
import type { MemberChange } from "../agent/answers/members.ts";
import { ASKED_KINDS, type OwnMatter } from "../agent/duties/agent-notices.ts";
import { AGENT_STATES } from "../protocol/beats/beat.ts";
import type { LinePlace } from "../trust/store.ts";
import type { StatusChange } from "./client.ts";
import { parseDrafts, requestKey } from "./draft-arguments.ts";
import { parseAwait, parseHookEvent, parseNamed } from "./arguments/hook-arguments.ts";
import { DeaddropError } from "./errors.ts";
import {
  asObject,
  badRequest,
  count,
  flag,
  needed,
  oneOf,
  optional,
  shortText,
  text,
  texts,
} from "./arguments/json-arguments.ts";
import { MAX_WAIT_MS, type Asker, type Service, type SessionRegistry } from "./service.ts";
import { actOn, TRANSPORT_ACTS, type TransportAct } from "./transport.ts";
import { parseViewRequest } from "./arguments/view-arguments.ts";
import type { ViewArgs, ViewName } from "./views.ts";

interface Operation<Args, Answer> {
  /** Typed arguments from the JSON of a request. Throws DeaddropError ("usage"). */
  parse(json: unknown): Args;
  run(service: Service, args: Args, asker: Asker): Promise<Answer>;
  /** Whether something happens that peers, or the agent itself, should see soon. */
  readonly acts: boolean;
}

/**
 * Everything that can be asked of an agent, by its name on the socket. The daemon's requests, its
 * clients and direct use all follow from this table. Spec 4.2.
 */
export const OPERATIONS = {
  send: operation({
    parse: parseDrafts,
    run: (service, { drafts, key }) =>
      key === undefined
        ? service.send(drafts)
        : service.inTurn((agent) => agent.sendOnce(drafts, key)),
    acts: true,
  }),
  answered: operation({
    parse: (json) => ({ key: needed(asObject(json), "key", requestKey) }),
    run: (service, { key }) => service.inTurn((agent) => agent.answered(key)),
    acts: false,
  }),
  view: operation({
    parse: parseViewRequest,
    run: (service, { name, args }) => service.inTurn((agent) => agent.view<ViewName>(name, args)),
    acts: false,
  }),
  wait: operation({
    parse: parseWait,
    run: (service, { limitMs, ...args }) => waitForNews(service, args, limitMs),
    acts: false,
  }),
  read: operation({
    parse: parseIds,
    run: (service, { ids }) => service.inTurn((agent) => agent.markRead(ids)),
    acts: true,
  }),
  status: operation({
    parse: parseStatus,
    run: (service, change) => service.inTurn((agent) => agent.setStatus(change)),
    acts: true,
  }),
  notify: operation({
    parse: parseMatter,
    run: (service, matter) => service.inTurn((agent) => agent.notify(matter)),
    acts: true,
  }),
  wake: operation({
    parse: nothing,
    run: (service) => service.inTurn((agent) => agent.wake()),
    acts: true,
  }),
  reset_peer: operation({
    parse: (json): { peer: string; follow?: LinePlace } => ({
      peer: needed(asObject(json), "peer", text),
      ...linePlace(json, "follow"),
    }),
    run: (service, { peer, follow }) => service.inTurn((agent) => agent.resetPeer(peer, follow)),
    acts: true,
  }),
  revoke_key: operation({
    parse: (json): { keyId: string; last?: LinePlace } => ({
      keyId: needed(asObject(json), "keyId", text),
      ...linePlace(json, "last"),
    }),
    run: (service, { keyId, last }) => service.inTurn((agent) => agent.revokeKey(keyId, last)),
    acts: true,
  }),
  change_members: operation({
    parse: parseMemberChange,
    run: (service, change) => service.inTurn((agent) => agent.changeMembers(change)),
    acts: true,
  }),
  leave: operation({
    parse: nothing,
    run: (service) => service.inTurn((agent) => agent.leave()),
    acts: true,
  }),
  reclaim: operation({
    parse: (json): { from?: string[] } => optional(asObject(json ?? {}), "from", texts),
    run: (service, { from }) => service.inTurn((agent) => agent.reclaim(from)),
    acts: true,
  }),
  archive: operation({
    parse: (json): { year?: number } => optional(asObject(json ?? {}), "year", count),
    run: (service, { year }) => service.inTurn((agent) => agent.archive(year)),
    acts: true,
  }),
  tick: operation({
    parse: nothing,
    run: (service) => service.inTurn((agent) => agent.look()),
    acts: false,
  }),
  hook: operation({
    parse: parseHookEvent,
    run: (service, event) => sessionsOf(service).event(event),
    acts: true,
  }),
  named: operation({
    parse: parseNamed,
    run: (service, { name, marks }) => Promise.resolve(sessionsOf(service).named(name, marks)),
    acts: false,
  }),
  await_wake: operation({
    parse: parseAwait,
    run: (service, session, { gone }) => sessionsOf(service).awaitWake(session, gone),
    acts: false,
  }),
  sessions: operation({
    parse: nothing,
    run: (service) => Promise.resolve(service.sessions?.list() ?? []),
    acts: false,
  }),
  rounds: operation({
    parse: nothing,
    run: (service) => Promise.resolve(service.rounds?.look() ?? []),
    acts: false,
  }),
  transport: operation({
    parse: (json): { act?: TransportAct } =>
      optional(asObject(json ?? {}), "act", oneOf(TRANSPORT_ACTS)),
    run: ({ transport }, { act }) => actOn(transport, act),
    acts: false,
  }),
  reload: operation({
    parse: nothing,
    run: (service) => service.inTurn((agent) => agent.reload()),
    acts: true,
  }),
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

function operation<Args, Result>(row: Operation<Args, Result>): Operation<Args, Result> {
  return row;
}

function nothing(): undefined {
  return undefined;
}

/** A place in a chain whose author is known. */
function linePlace<Name extends string>(
  json: unknown,
  name: Name,
): { readonly [N in Name]?: LinePlace } {
  const given = asObject(json)[name];
  if (given === undefined) return {};
  const place = asObject(given);
  return { [name]: { seq: needed(place, "seq", count), id: needed(place, "id", text) } } as {
    [N in Name]: LinePlace;
  };
}

function parseMemberChange(json: unknown): MemberChange {
  const given = asObject(json);
  if (given["add"] !== undefined)
    return { add: needed(given, "add", text), chains: needed(given, "chains", flag) };
  if (given["remove"] !== undefined) return { remove: needed(given, "remove", text) };
  return { mark: needed(given, "mark", text) };
}

function parseMatter(json: unknown): OwnMatter {
  const given = asObject(json);
  return {
    kind: needed(given, "kind", oneOf(ASKED_KINDS)),
    about: needed(given, "about", shortText),
    text: needed(given, "text", shortText),
  };
}

function parseIds(json: unknown): { ids: readonly string[] | "all" } {
  const { ids } = asObject(json);
  if (ids === "all" || texts.is(ids)) return { ids };
  throw badRequest('ids must be "all" or a list of event ids');
}

/** The last look: ready, or the time is over. */
async function waitForNews(
  service: Service,
  args: ViewArgs["news"],
  limitMs: number,
): Promise<NewsView> {
  const look = () => service.inTurn((agent) => agent.view("news", args));
  let last: NewsView | undefined;
  await service.until(async () => {
    last = await look();
    return last.ready ? last : undefined;
  }, limitMs);
  return last ?? look();
}

function parseWait(json: unknown): { for: WaitedFor; limitMs: number } {
  const given = asObject(json);
  const limitMs = Math.min(needed(given, "limitMs", count), MAX_WAIT_MS);
  return { for: needed(given, "for", oneOf(WAITED_FOR)), limitMs };
}

function parseStatus(json: unknown): StatusChange {
  const given = asObject(json);
  return {
    ...optional(given, "state", oneOf(AGENT_STATES)),
    ...optional(given, "lastAction", text),
    ...optional(given, "headsDown", flag),
  };
}

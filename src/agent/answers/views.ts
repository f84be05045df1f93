import { join } from "node:path";
import {
  asObject,
  count,
  flag,
  lineNumbers,
  nothing,
  object,
  oneOf,
  optional,
  text,
  texts,
  type Parser,
} from "../../api/arguments.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { ViewArgs, ViewName, Views } from "../../api/views.ts";
import { CLAIM_MODES } from "../../protocol/claims/claim-line.ts";
import type { Core } from "../core.ts";
import { agentNoticesView } from "./agent-notices.ts";
import type { Asked } from "./asked.ts";
import { checkView, claimForecastView, claimsView } from "./claims.ts";
import { decisionsView } from "./decisions.ts";
import { growthView } from "./growth.ts";
import { incidentsView } from "./incidents.ts";
import { keysView } from "./keys.ts";
import { mailView } from "./mail.ts";
import { membersView } from "./members.ts";
import { inboxPage, resolveId, searchPage } from "./messages.ts";
import { pendingView } from "./pending.ts";
import { proposalsView } from "./proposals.ts";
import { requestsView } from "./requests.ts";
import { noticesView, safeModeView } from "./safe-mode.ts";
import { receiptView, sentView } from "./sent.ts";
import { statsView } from "./stats.ts";
import { peersView } from "./peers.ts";
import { statusFacts, statusView, whoamiView } from "./status.ts";
import { teamView } from "./team.ts";
import { threadView } from "./threads.ts";
import { troublesView } from "./troubles.ts";

interface View<Args, Answer> {
  readonly parse: Parser<Args>;
  render(core: Core, args: Args, asked: Asked): Answer;
}

function view<Args, Answer>(
  parse: Parser<Args>,
  render: View<Args, Answer>["render"],
): View<Args, Answer> {
  return { parse, render };
}

/** Which messages of the inbox are meant; all of them by default. */
const INBOX_QUERY = {
  unread: optional(flag),
  limit: optional(count),
  from: optional(text),
  /** A correlation id. */
  thread: optional(text),
  /** An event id. */
  id: optional(text),
};

/** What an agent can be asked: the arguments, and the answer. `limit` keeps the newest. Spec 4.4 */
export const VIEWS = {
  whoami: view(nothing, (_core, _args, asked) => whoamiView(asked)),
  status: view(nothing, (_core, _args, asked) => statusView(asked)),
  troubles: view(nothing, (_core, _args, asked) => troublesView(asked, statusFacts(asked))),
  peers: view(nothing, peersView),
  team: view(nothing, (core, _args, { isDaemon }) => teamView(core, isDaemon)),
  /** `limit` alone keeps the oldest, and has the others counted. */
  inbox: view(object({ ...INBOX_QUERY, newest: optional(flag), after: optional(text) }), inboxPage),
  /** `marks`: what the asker knows already. */
  mail: view(object({ marks: optional(lineNumbers) }), mailView),
  sent: view(object({ limit: optional(count) }), sentView),
  pending: view(nothing, pendingView),
  /** `by`: "event_id" takes it for no correlation id. */
  thread: view(object({ id: text, by: optional(oneOf(["event_id"])) }), threadView),
  /** `before`: the `next` of the page before. */
  search: view(object({ text, limit: optional(count), before: optional(text) }), searchPage),
  decisions: view(nothing, decisionsView),
  proposals: view(nothing, (core) => proposalsView(core)),
  /** `named`: those of which `request_id` or event id begin so (6 characters or more). */
  requests: view(object({ named: optional(text) }), (core, { named }) => requestsView(core, named)),
  check: view(object({ paths: texts }), checkView),
  claims: view(nothing, claimsView),
  claim_forecast: view(object({ paths: texts, mode: oneOf(CLAIM_MODES) }), claimForecastView),
  incidents: view(nothing, incidentsView),
  notices: view(nothing, noticesView),
  agent_notices: view(object({ unread: optional(flag) }), agentNoticesView),
  holds: view(object({ peer: text }), (_core, { peer }, { session }) =>
    session.decisions.holds(peer),
  ),
  safe_mode: view(nothing, safeModeView),
  receipt: view(object({ event_id: text }), receiptView),
  stats: view(nothing, (core, _args, { session: { carriers, config } }) => {
    const { folder, decisions, incidents } = config.wire;
    const logs = carriers.folder.list().map(({ name }) => join(folder, name));
    const files = { logs, decisions: [decisions], incidents: [incidents] };
    return statsView(core, growthView(core, files));
  }),
  members: view(nothing, membersView),
  /** The number of the newest line that is held: taken in, or ours. */
  newest: view(nothing, ({ store }) => store.lastN()),
  keys: view(nothing, (core, _args, { session }) => keysView(core, session.trust)),
  /** `id`: an event id, or a unique prefix of it (6 characters or more). */
  resolve_id: view(object({ id: text }), (core, { id }) => resolveId(core, id)),
};

/** Which view is asked for, with its arguments. */
export interface ViewRequest {
  readonly name: ViewName;
  readonly args: ViewArgs[ViewName];
}

/** @throws DeaddropError for a view that does not exist, and for arguments that it does not take */
export function parseViewRequest(json: unknown): ViewRequest {
  const { name, args } = asObject(json);
  if (typeof name !== "string" || !Object.hasOwn(VIEWS, name)) {
    throw new DeaddropError("usage", `there is no view "${String(name)}"`, {
      hint: `views: ${Object.keys(VIEWS).join(", ")}`,
    });
  }
  const known = name as ViewName;
  return { name: known, args: VIEWS[known].parse(args ?? {}) };
}

/** @throws DeaddropError for an id that does not exist */
export function viewOf<N extends ViewName>(asked: Asked, name: N, args: ViewArgs[N]): Views[N] {
  const { render } = VIEWS[name] as unknown as View<ViewArgs[N], Views[N]>;
  return render(asked.session.core, args ?? ({} as ViewArgs[N]), asked);
}

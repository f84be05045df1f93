import { join } from "node:path";
import type { ViewArgs, ViewName, Views } from "../../api/views.ts";
import { agentNoticesView } from "./agent-notices.ts";
import type { Asked } from "./asked.ts";
import { checkView, claimForecastView, claimsView } from "./claims.ts";
import { decisionsInForce, decisionsView } from "./decisions.ts";
import { growthView } from "./growth.ts";
import { incidentsView } from "./incidents.ts";
import { keysView } from "./keys.ts";
import { mailView, newsView } from "./mail.ts";
import { membersView } from "./members.ts";
import { inboxPage, inboxView, resolveId, searchPage } from "./messages.ts";
import { pendingView } from "./pending.ts";
import { proposalsView } from "./proposals.ts";
import { requestsView } from "./requests.ts";
import { noticesView, safeModeView } from "./safe-mode.ts";
import { receiptView, sentView } from "./sent.ts";
import { statsView } from "./stats.ts";
import { peerViews, statusFacts, statusView, whoamiView } from "./status.ts";
import { teamView } from "./team.ts";
import { threadView } from "./threads.ts";
import { troublesView } from "./troubles.ts";

type Render<N extends ViewName> = (asked: Asked, args: ViewArgs[N]) => Views[N];

const RENDERERS: { readonly [N in ViewName]: Render<N> } = {
  whoami: whoamiView,
  status: statusView,
  troubles: (asked) => troublesView(asked, statusFacts(asked)),
  peers: peerViews,
  team: (asked) => {
    const { core } = asked.session;
    const { isDaemon } = asked;
    return teamView(core, { isDaemon, peers: peerViews(asked), owed: pendingView(core) });
  },
  inbox: ({ session }, args) => [...inboxView(session.core, args)],
  inbox_page: ({ session }, args) => inboxPage(session.core, args),
  news: ({ session }, args) => newsView(session.core, args),
  mail: ({ session }, args) => mailView(session.core, args),
  sent: ({ session }, args) => sentView(session.core, args),
  pending: ({ session }) => pendingView(session.core),
  thread: ({ session }, args) => threadView(session.core, args),
  search_page: ({ session }, args) => searchPage(session.core, args),
  decisions: ({ session }) => decisionsView(session.core),
  proposals: ({ session }) => proposalsView(session.core),
  requests: ({ session }, args) => requestsView(session.core, args.named),
  check: ({ session: { core } }, args) => checkView(core, args, decisionsInForce(core)),
  claims: ({ session }) => claimsView(session.core),
  claim_forecast: ({ session }, args) => claimForecastView(session.core, args),
  incidents: ({ session }) => incidentsView(session.core),
  notices: ({ session }) => noticesView(session.core),
  agent_notices: ({ session }, args) => agentNoticesView(session.core, args),
  holds: ({ session }, args) => session.decisions.holds(args.peer),
  safe_mode: ({ session }) => safeModeView(session.core),
  receipt: ({ session }, args) => receiptView(session.core, args),
  stats: ({ session: { core, carriers, config } }) => {
    const { folder, decisions, incidents } = config.wire;
    const logs = carriers.folder.list().map(({ name }) => join(folder, name));
    const files = { logs, decisions: [decisions], incidents: [incidents] };
    return statsView(core, growthView(core, files));
  },
  members: ({ session }) => membersView(session.core),
  keys: ({ session }) => keysView(session.core, session.trust),
  resolve_id: ({ session }, args) => resolveId(session.core, args.id),
};

/** One view, by its name. @throws DeaddropError for an id that there is not. Spec 4.4 */
export function viewOf<N extends ViewName>(asked: Asked, name: N, args: ViewArgs[N]): Views[N] {
  const render: Render<N> = RENDERERS[name];
  return render(asked, args ?? ({} as ViewArgs[N]));
}

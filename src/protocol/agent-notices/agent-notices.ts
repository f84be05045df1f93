import type { Proposal } from "../decisions/proposal.ts";
import type { Effect } from "../effects.ts";
import type { Env, Now } from "../env.ts";
import type { CoreEvent } from "../events.ts";
import { MAX_NOTICES_PER_HOUR } from "../notices.ts";
import type { Refusal } from "../receipts/sent.ts";
import { claimNews } from "./claim-news.ts";
import type { Claim } from "../claims/claims-state.ts";
import type { Request } from "../requests/request.ts";
import type { State } from "../state.ts";
import { incidentLine } from "../incidents/incident-lines.ts";
import { matterKey, noticeOf, quoted, type Matter, type NoticeNews } from "./agent-notice.ts";
import { note, takeNoticed, takeRead, withinHour } from "./agent-notices-state.ts";
import { endsOf } from "./proposal-ends.ts";
import { requestEndsOf } from "./request-ends.ts";
import { refusalsOf, waitingMailOf } from "./refusals.ts";
import { standingNews } from "./standing.ts";

/** What an event has changed elsewhere in the state. */
export interface Changes {
  readonly proposals: ReadonlySet<Proposal>;
  readonly requests: ReadonlySet<Request>;
  readonly claims: readonly Claim[];
  readonly refusals: readonly Refusal[];
}

/** Folds one event, after everything else has. */
export function applyAgentNotices(
  all: State,
  event: CoreEvent,
  env: Env,
  { proposals, requests, claims, refusals }: Changes,
): void {
  const state = all.agentNotices;
  if (event.kind === "noticed") takeNoticed(state, event);
  if (event.kind === "read") takeRead(state, event.ids);
  // History is no news: it starts nothing, and tells nothing. Spec 2.4.
  if (!state.began || (event.kind === "line" && !event.live)) return;
  const facts = { proposals: all.proposals, logs: all.logs, env };
  note(state, [
    ...endsOf(facts, proposals, event),
    ...requestEndsOf(env, requests),
    ...claimNews({ claims: all.claims, logs: all.logs, env, nowMs: event.at }, claims),
    ...refusalsOf(refusals, event),
    ...waitingMailOf(all.receipts.sent, all.announcements, event),
    ...escalationOf(event),
  ]);
}

/** An escalation is our daemon's line, so our agent does not find it in its inbox. Spec 3.5. */
function escalationOf(event: CoreEvent): Matter[] {
  if (event.kind !== "line" || !event.own || event.message.type !== "incident") return [];
  const line = incidentLine(event.message);
  if (line.is !== "escalation") return [];
  const { incident, of } = line;
  const text = `Your incident was escalated (${quoted(event.message.subject)}): ${of} has read it and did not ack it in time.`;
  return [{ kind: "escalated", about: incident, text, peer: undefined }];
}

/**
 * What to tell our agent now: at most six of each peer and hour, then one summary. What is left out
 * is not told later. Spec 3.12.
 */
export function decideAgentNotices(all: State, env: Env, { wallMs }: Now): Effect[] {
  const state = all.agentNotices;
  if (!state.began) return [];
  const { matters, peers, safeMode } = standingNews(all, env, wallMs);
  const counts = new Map<string, number>();
  const notices: NoticeNews["notices"][number][] = [];
  const passed: string[] = [];
  for (const matter of [...state.due.values(), ...matters]) {
    const { peer } = matter;
    if (state.known.has(matterKey(matter))) continue;
    const count =
      peer === undefined ? 0 : (counts.get(peer) ?? withinHour(state, peer, wallMs).length);
    if (count > MAX_NOTICES_PER_HOUR) {
      passed.push(matterKey(matter));
      continue;
    }
    const isLast = peer !== undefined && count === MAX_NOTICES_PER_HOUR;
    if (isLast) passed.push(matterKey(matter));
    const told = isLast ? summary(peer, wallMs) : matter;
    notices.push({ ...noticeOf(told, wallMs), ...(peer === undefined ? {} : { peer }) });
    if (peer !== undefined) counts.set(peer, count + 1);
  }
  if (notices.length + passed.length + peers.length === 0 && safeMode === undefined) return [];
  return [
    {
      do: "notify",
      news: {
        notices,
        ...(passed.length === 0 ? {} : { passed }),
        ...(peers.length === 0 ? {} : { peers }),
        ...(safeMode === undefined ? {} : { safeMode }),
      },
    },
  ];
}

function summary(peer: string, nowMs: number): Matter {
  return {
    kind: "more_notices",
    about: `${peer} ${new Date(nowMs).toISOString()}`,
    text:
      `There were more than ${MAX_NOTICES_PER_HOUR} notices about ${peer} within the hour, so further ones are left out: ` +
      "deaddrop proposals and deaddrop sent show what became of everything.",
    peer,
  };
}

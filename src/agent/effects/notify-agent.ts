import { decideAgentNotices } from "../../protocol/agent-notices/agent-notices.ts";
import {
  matterKey,
  noticeOf,
  type NoticeNews,
  type OwnMatter,
} from "../../protocol/agent-notices/agent-notice.ts";
import type { NoticedEvent } from "../../protocol/events.ts";
import { sanitise } from "../../wire/quote.ts";
import { nowOf } from "../session/clock.ts";
import type { Session } from "../session/session.ts";
import { noticeLine } from "../state/notices-recovery.ts";

type Notifying = Pick<Session, "world" | "memory" | "files" | "recorder">;

/**
 * Tells our agent. The journal comes first, so nothing is told twice; after a crash the file is
 * given what the journal says. A listener is told once the file holds it, and not again after
 * a crash. Spec 3.12.
 */
export function notifyAgent(session: Notifying, news: NoticeNews): void {
  const { world, memory, files, recorder } = session;
  const lines = news.notices.map(noticeLine);
  const event: NoticedEvent = {
    kind: "noticed",
    at: world.clock.wallMs(),
    ...news,
    places: files.notices.place(lines),
  };
  recorder.local(event);
  files.notices.append(lines);
  memory.inbox = { ...memory.inbox, notices: { end: files.notices.end, from: memory.journalEnd } };
  for (const { peer: _limit, ...notice } of news.notices) {
    world.log.info({ notice: notice.kind, about: notice.about }, "a notice for the agent");
    world.hooks?.onNotice?.(notice);
  }
}

/** The same for what the operator's own program has to say, once. False: it was told before. */
export function notifyOnce(session: Notifying, { kind, about, text }: OwnMatter): boolean {
  const matter = { kind, about, text: sanitise(text), peer: undefined };
  if (session.memory.state.agentNotices.known.has(matterKey(matter))) return false;
  notifyAgent(session, { notices: [noticeOf(matter, session.world.clock.wallMs())] });
  return true;
}

/** What there is to tell now, where no daemon makes rounds. */
export function tellAgent(session: Notifying & Pick<Session, "env">): void {
  const { memory, env, world } = session;
  for (const effect of decideAgentNotices(memory.state, env, nowOf(world.clock))) {
    if (effect.do === "notify") notifyAgent(session, effect.news);
  }
}

/** From here on our agent is told: what happened before an older version did not tell is no news. */
export function beginNotices(session: Notifying): void {
  if (!session.memory.state.agentNotices.began) notifyAgent(session, { notices: [] });
}

import type { Client } from "../../api/client.ts";
import type { AgentNoticeView } from "../../api/views.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { SHOWN_TO_PEOPLE } from "../output/listing.ts";
import { emit, type Paint } from "../output/output.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { when } from "../../framing/when.ts";

/** One notice for people: what names it, when it came, and the daemon's own sentence. Spec 3.12. */
export function noticeText(notice: AgentNoticeView, paint: Paint, nowMs: number): string {
  const { at, id, text, read } = notice;
  const unread = read ? "" : ` ${paint("yellow", "[unread]")}`;
  const facts = `${paint("bold", id)} ${paint("magenta", "notice")} ${paint("dim", when(at, nowMs))}`;
  return `${facts}${unread}\n  ${sanitise(text)}`;
}

/**
 * The unread notices beside the messages of an inbox, oldest first, and how many are left; with
 * `markRead` those shown are marked. `shown` grows: what is in it is left out. Answers how many.
 */
export async function showNotices(
  cli: Cli,
  flags: GlobalFlags & { markRead?: boolean },
  client: Client,
  shown = new Set<string>(),
): Promise<number> {
  const unread = await client.view("agent_notices", { unread: true });
  const fresh = unread.filter(({ id }) => !shown.has(id));
  const notices = fresh.slice(0, SHOWN_TO_PEOPLE);
  for (const notice of notices) {
    shown.add(notice.id);
    emit(cli, flags, notice, (paint) => `${noticeText(notice, paint, cli.clock.nowMs())}\n`);
  }
  const more = fresh.length - notices.length;
  if (more > 0) cli.stdout.write(`${more} more notices: deaddrop notices --unread\n`);
  const ids = notices.map(({ id }) => id);
  if (flags.markRead === true && ids.length > 0) await client.ask("read", { ids });
  return notices.length;
}

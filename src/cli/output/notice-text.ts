import type { AgentNoticeView } from "../../api/views.ts";
import type { Paint } from "./output.ts";
import { sanitise } from "./sanitise.ts";
import { when } from "./text.ts";

/** One notice for people: what names it, when it came, and the daemon's own sentence. Spec 3.12. */
export function noticeText(notice: AgentNoticeView, paint: Paint, nowMs: number): string {
  const { at, id, text, read } = notice;
  const unread = read ? "" : ` ${paint("yellow", "[unread]")}`;
  const facts = `${paint("bold", id)} ${paint("magenta", "notice")} ${paint("dim", when(at, nowMs))}`;
  return `${facts}${unread}\n  ${sanitise(text)}`;
}

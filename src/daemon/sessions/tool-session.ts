import type {
  HookEvent,
  Moment,
  NotWokenView,
  SessionName,
  SessionProcess,
  ToolSessionView,
  WakeWay,
} from "../../api/tool-sessions.ts";
import type { Marks } from "../../api/views.ts";
import type { NotWoken } from "../../protocol/beats/beat.ts";
import { HOUR_MS, MINUTE_MS } from "../../wire/durations.ts";

/** What the sessions do to processes. */
export interface SessionsHost {
  /** Undefined: it cannot be told from here, so its session ends by what its hooks say. */
  readonly isAlive: (process: SessionProcess) => boolean | undefined;
  /** A screen still shows the thread of Codex that it showed when the way was named. */
  readonly isThreadShown: (way: WakeWay & { readonly by: "codex" }) => boolean;
  /** A person can be told on a desktop. */
  readonly hasDesktop: boolean;
  /** Goes one of the ways; false when the session could not be reached, or is at work. */
  reach(way: WakeWay, session: SessionName, text: string): Promise<boolean>;
}

/** A session that no hook has reported on for so long is no longer busy. Spec 8.3. */
const BUSY_LIMIT_MS = HOUR_MS;
/** A person may have interrupted the turn, which no hook tells: then a wake joins in, or waits. */
const SILENT_LIMIT_MS = 2 * MINUTE_MS;
/** What was said at a prompt is said again with a later one after this time, if it is still unread. */
const REMIND_MS = 30 * MINUTE_MS;

/** One session of a tool, as the daemon knows it: what its hooks have told. Owned by tool-sessions. */
export interface ToolSession {
  readonly event: HookEvent;
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly isBusy: boolean;
  /** What was shown in it, and when that was last done. */
  readonly named: Marks;
  readonly namedMs: number;
  /** It has not been told what was unread when it went on. */
  readonly isUntold: boolean;
  /** Since when a hook is being told, or has not shown yet what it was told; -Infinity: none is. */
  readonly tellingMs: number;
  /** What it was asked to go on for at the end of a turn; and the overdue answers then. */
  readonly askedFor: Marks;
  readonly askedOverdue: number;
  /** A waiter has waited for it: it is one that can be woken. */
  readonly hasWaited: boolean;
  /** It was told that another session is open too. */
  readonly knowsOthers: boolean;
}

export function newSession(event: HookEvent, nowMs: number): ToolSession {
  return {
    ...{ event, sinceMs: nowMs, lastMs: nowMs, isBusy: false },
    ...{
      named: {},
      namedMs: -Infinity,
      tellingMs: -Infinity,
      isUntold: false,
      askedFor: {},
      askedOverdue: 0,
      hasWaited: false,
      knowsOthers: false,
    },
  };
}

/** The session after that event. The way to wake it stays as it was when an event names none. */
export function afterEvent(session: ToolSession, event: HookEvent, nowMs: number): ToolSession {
  const { process = session.event.process, wake = session.event.wake } = event;
  const isBusy = busyAfter(event.moment) ?? session.isBusy;
  return { ...session, event: { ...event, process, wake }, lastMs: nowMs, isBusy };
}

function busyAfter(moment: Moment): boolean | undefined {
  if (moment === "prompt" || moment === "call") return true;
  return moment === "turn_end" || moment === "end" ? false : undefined;
}

export function isBusy({ isBusy: said, lastMs }: ToolSession, nowMs: number): boolean {
  return said && nowMs - lastMs < BUSY_LIMIT_MS;
}

/** One without a terminal is not: nobody would see its turn. */
export function isWakeable({ event, hasWaited }: ToolSession): boolean {
  return hasWaited || event.wake !== undefined;
}

/**
 * A turn of it would be seen: the terminals that it may be in are all open, and show its thread. Keys go
 * to what is on the screen, whatever that is.
 */
export function isSeenOpen(
  { event: { wake } }: ToolSession,
  { isAlive, isThreadShown }: Pick<SessionsHost, "isAlive" | "isThreadShown">,
): boolean {
  if (wake?.by !== "codex") return true;
  return (
    wake.terminals.every((each) => isAlive(each) === true) &&
    (wake.keys !== undefined || isThreadShown(wake))
  );
}

/** Two sessions of Codex share a terminal: the one that was written in last is on its screen. */
export function isInSameTerminal(a: WakeWay | undefined, b: WakeWay | undefined): boolean {
  if (a?.by !== "codex" || b?.by !== "codex") return false;
  return a.terminals.some((each) => b.terminals.some((other) => isSameProcess(each, other)));
}

/** It may be that nobody would see its turn: it is not woken until an event names a way again. */
export function afterHiding(session: ToolSession): ToolSession {
  return { ...session, event: { ...session.event, wake: undefined } };
}

/** How a session is woken. */
export type Way = { readonly by: "waiter" } | WakeWay;

/** A person is told where nothing else can be done. Undefined: nobody can be. */
export function wayTo(
  { event, hasWaited }: ToolSession,
  at: { readonly hasWaiter: boolean; readonly hasDesktop: boolean },
): Way | undefined {
  if (at.hasWaiter) return { by: "waiter" };
  if (event.wake !== undefined) return event.wake;
  return at.hasDesktop && !hasWaited ? { by: "desktop" } : undefined;
}

/** A session at work hears of mail between its calls, and is not woken. */
export function mayWake(session: ToolSession, nowMs: number): boolean {
  return !session.isBusy || nowMs - session.lastMs > SILENT_LIMIT_MS;
}

/** Whether what is unread, though it was shown, is said again. */
export function isReminded({ event, namedMs, isUntold }: ToolSession, nowMs: number): boolean {
  if (event.moment === "start" || isUntold) return true;
  return event.moment === "prompt" && nowMs - namedMs > REMIND_MS;
}

/** No hook is telling it anything. */
export function afterTelling(session: ToolSession): ToolSession {
  return { ...session, tellingMs: -Infinity };
}

/** It has been shown what these marks tell. */
export function afterNaming(session: ToolSession, marks: Marks, nowMs: number): ToolSession {
  const named = higher(session.named, marks);
  return { ...afterTelling(session), named, namedMs: nowMs, isUntold: false };
}

function higher(a: Marks, b: Marks): Marks {
  const all = Object.entries(b).map(([log, line]) => [log, Math.max(line, a[log] ?? 0)] as const);
  return { ...a, ...Object.fromEntries(all) };
}

/**
 * A session that goes on: not every tool shows its model what is said then. What is unread is told with
 * the next prompt or call, and wakes nobody, as if it had been told.
 */
export function afterResume(session: ToolSession, marks: Marks, nowMs: number): ToolSession {
  return { ...afterNaming(session, marks, nowMs), isUntold: true };
}

/** One process has one session at a time: a new one takes the place of the one before. */
export function isSameProcess(a: SessionProcess | undefined, b: typeof a): boolean {
  return a !== undefined && b !== undefined && a.pid === b.pid && a.started === b.started;
}

export function sessionView(
  session: ToolSession,
  { nowMs, wallMs }: { readonly nowMs: number; readonly wallMs: number },
  by: {
    readonly way: ToolSessionView["wake"];
    readonly isSecond: boolean;
    readonly usedUp: readonly NotWokenView[];
  },
): ToolSessionView {
  const { event, sinceMs, lastMs } = session;
  const time = (ms: number): string => new Date(wallMs - (nowMs - ms)).toISOString();
  return {
    tool: event.tool,
    session: event.session,
    state: isBusy(session, nowMs) ? "busy" : "idle",
    since: time(sinceMs),
    last_event: time(lastMs),
    wake: by.way,
    is_second: by.isSecond,
    ...(by.usedUp.length === 0 ? {} : { wakes_used_up: by.usedUp }),
  };
}

export function notWokenView(peer: string, { untilMs, urgentUntilMs }: NotWoken): NotWokenView {
  const iso = (ms: number): string => new Date(ms).toISOString();
  const urgent = urgentUntilMs === undefined ? {} : { urgent_until: iso(urgentUntilMs) };
  return { peer, until: iso(untilMs), ...urgent };
}

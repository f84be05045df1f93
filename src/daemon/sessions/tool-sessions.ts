import type {
  HookAnswer,
  HookEvent,
  SessionName,
  SessionProcess,
  ToolSessionView,
  WakeAnswer,
} from "../../api/tool-sessions.ts";
import type { Marks } from "../../api/views.ts";
import { mailText, otherSessionText, wakeText, type MailLook } from "../../framing/mail-text.ts";
import { MINUTE_MS, SECOND_MS } from "../../wire/durations.ts";
import {
  afterEvent,
  afterNaming,
  isBusy,
  isReminded,
  isSameProcess,
  isWakeable,
  mayWake,
  newSession,
  sessionView,
  wayTo,
  type ToolSession,
  type Way,
} from "./tool-session.ts";
import type { ToolSessions, ToolSessionsOptions } from "./registry.ts";
import { WakeBudget, type WakingMessage } from "./wake-budget.ts";

/** What a session is told, and the marks of the mail that it is about. */
interface Said {
  readonly say: string;
  readonly marks: Marks;
}

interface Waiter {
  answer(answer: WakeAnswer): void;
}

const MAX_SESSIONS = 64;
const MAX_ANNOUNCED = 8;
/** Mail that comes together wakes once; what is urgent waits for nothing. */
const COALESCE_MS = 5 * SECOND_MS;
/** A session that could not be reached is tried again. */
const AGAIN_MS = MINUTE_MS;
const NOTHING: HookAnswer = { say: null, goOn: false, marks: {} };

export function makeToolSessions(options: ToolSessionsOptions): ToolSessions {
  return new Registry(options);
}

class Registry implements ToolSessions {
  readonly #options: ToolSessionsOptions;
  readonly #sessions = new Map<string, ToolSession>();
  readonly #waiters = new Map<string, Waiter>();
  readonly #budget = new WakeBudget();
  #state: "busy" | "idle" | undefined;
  #isLooking = false;
  #isOverBudget = false;
  /** What no session was told yet. */
  #announced: readonly string[] = [];
  #callOff = (): void => undefined;

  constructor(options: ToolSessionsOptions) {
    this.#options = options;
  }

  async event(event: HookEvent): Promise<HookAnswer> {
    const nowMs = this.#options.clock.monoMs();
    this.#dropEnded();
    this.#take(event, nowMs);
    await this.#tellState();
    if (event.moment === "end") {
      this.#end(keyOf(event));
      return NOTHING;
    }
    return event.moment === "turn_end" ? this.#atTurnEnd(event) : this.#amid(event);
  }

  named(name: SessionName, marks: Marks): void {
    this.#change(keyOf(name), (session) =>
      afterNaming(session, marks, this.#options.clock.monoMs()),
    );
  }

  awaitWake(
    name: SessionName & { readonly process: SessionProcess | undefined },
    gone: AbortSignal,
  ): Promise<WakeAnswer> {
    const key = keyOf(name);
    const { monoMs } = this.#options.clock;
    this.#dropEnded();
    // After a restart of the daemon its waiter may be the first that speaks of a session.
    const event = { ...name, moment: "turn_end", isContinued: false, wake: undefined } as const;
    if (!this.#sessions.has(key)) this.#take(event, monoMs());
    this.#change(key, (session) => ({ ...session, hasWaited: true }));
    this.#waiters.get(key)?.answer({ why: "replaced" });
    return new Promise((resolve) => {
      const answer = (why: WakeAnswer): void => {
        if (this.#waiters.get(key) === waiter) this.#waiters.delete(key);
        gone.removeEventListener("abort", left);
        resolve(why);
      };
      const left = (): void => answer({ why: "ended" });
      const waiter: Waiter = { answer };
      this.#waiters.set(key, waiter);
      if (gone.aborted) left();
      else gone.addEventListener("abort", left);
      this.rounded();
    });
  }

  list(): ToolSessionView[] {
    this.#dropEnded();
    const { monoMs, wallMs } = this.#options.clock;
    const now = { nowMs: monoMs(), wallMs: wallMs() };
    const first = this.#first();
    return [...this.#sessions].map(([key, session]) =>
      sessionView(session, now, {
        way: this.#wayOf(key, session)?.by ?? null,
        isSecond: isWakeable(session) && key !== first,
      }),
    );
  }

  announce(text: string): void {
    this.#announced = [...this.#announced, text].slice(-MAX_ANNOUNCED);
    this.rounded();
  }

  rounded(): void {
    if (this.#isLooking || this.#sessions.size === 0) return;
    this.#isLooking = true;
    this.#look()
      .catch((error: unknown) => {
        this.#options.log.warn({ detail: String(error) }, "could not look whether to wake");
      })
      .finally(() => (this.#isLooking = false));
  }

  /** Waiters are not answered: they lose their connection, and come again to the next daemon. */
  stop(): void {
    this.#callOff();
  }

  #take(event: HookEvent, nowMs: number): void {
    const key = keyOf(event);
    const known = this.#sessions.get(key);
    if (known === undefined) {
      for (const [other, { event: before }] of this.#sessions) {
        if (isSameProcess(before.process, event.process)) this.#end(other);
      }
      const [oldest] = this.#sessions.keys();
      if (this.#sessions.size >= MAX_SESSIONS && oldest !== undefined) this.#end(oldest);
    }
    this.#sessions.set(key, afterEvent(known ?? newSession(event, nowMs), event, nowMs));
  }

  async #amid(event: HookEvent): Promise<HookAnswer> {
    const key = keyOf(event);
    const session = this.#sessions.get(key);
    if (session === undefined) return NOTHING;
    const nowMs = this.#options.clock.monoMs();
    const mail = await this.#options.agent.mail(session.named);
    const others = this.#othersOf(key);
    const says: string[] = [...this.#announced];
    this.#announced = [];
    const isNews = mail.fresh.count > 0;
    const isLeft = mail.unread + mail.owed + mail.notices > 0 && isReminded(session, nowMs);
    if (isNews || isLeft) says.push(mailText(mail, this.#teller()));
    if (others.length > 0 && !session.knowsOthers) {
      says.push(otherSessionText(others));
      this.#change(key, (each) => ({ ...each, knowsOthers: true }));
    }
    return says.length === 0
      ? NOTHING
      : { say: says.join("\n"), goOn: false, marks: isNews || isLeft ? mail.marks : {} };
  }

  /** Asks to go on only for urgent or overdue mail, and once for each. Spec 8.3. */
  async #atTurnEnd(event: HookEvent): Promise<HookAnswer> {
    const key = keyOf(event);
    const session = this.#sessions.get(key);
    if (session === undefined || event.isContinued || this.#options.operator.isQuiet())
      return NOTHING;
    const mail = await this.#options.agent.mail(session.askedFor);
    const urgent = mail.fresh.lines.filter((line) => line.urgent && !line.automatic);
    const isLate = mail.overdue > session.askedOverdue;
    if (urgent.length === 0 && !isLate) return NOTHING;
    const own = { from: this.#options.agent.handle, thread: "overdue" };
    const allowed = this.#allowed(urgent.length > 0 ? urgent : [own]);
    if (allowed.length === 0) return NOTHING;
    this.#budget.spend(allowed, this.#options.clock.monoMs());
    const [askedFor, askedOverdue] = [mail.marks, mail.overdue];
    this.#change(key, (each) => ({ ...each, askedFor, askedOverdue, isBusy: true }));
    await this.#tellState();
    return { say: wakeText(mail, this.#options.agent), goOn: true, marks: mail.marks };
  }

  #teller(): MailLook {
    return { handle: this.#options.agent.handle, nowMs: this.#options.clock.wallMs() };
  }

  /** Looks at what is unread now, and wakes the first session for it. */
  async #look(): Promise<void> {
    this.#dropEnded();
    await this.#tellState();
    const key = this.#first();
    const session = key === undefined ? undefined : this.#sessions.get(key);
    const { agent, clock, operator } = this.#options;
    if (key === undefined || session === undefined || operator.isQuiet()) return;
    const way = this.#wayOf(key, session);
    if (way === undefined || !mayWake(session, clock.monoMs())) return;
    // What a person was told the session has not been shown.
    const mail = await agent.mail(way.by === "desktop" ? session.askedFor : session.named);
    const waking = mail.fresh.lines.filter(({ automatic }) => !automatic);
    if (this.#announced.length > 0) {
      await this.#reachForAnnounced(key, session, way);
      return;
    }
    if (waking.length === 0) return;
    const oldestMs = Math.min(...waking.map((line) => Date.parse(line.received_at)));
    const restMs = oldestMs + COALESCE_MS - this.#options.clock.wallMs();
    if (!waking.some(({ urgent }) => urgent) && restMs > 0) {
      this.#lookIn(Math.min(restMs, COALESCE_MS));
      return;
    }
    const allowed = this.#allowed(waking);
    if (allowed.length === 0) return;
    const said = { say: wakeText(mail, agent), marks: mail.marks };
    if (!(await this.#reach(key, session, way, said))) {
      this.#lookIn(AGAIN_MS);
      return;
    }
    this.#budget.spend(allowed, clock.monoMs());
    // It was asked already: the end of that turn does not ask again.
    this.#change(key, (each) => ({ ...each, askedFor: mail.marks, askedOverdue: mail.overdue }));
  }

  async #reachForAnnounced(key: string, session: ToolSession, way: Way): Promise<void> {
    const { agent, clock } = this.#options;
    const allowed = this.#allowed([{ from: agent.handle, thread: "rounds" }]);
    if (allowed.length === 0) return;
    const announced = this.#announced;
    if (!(await this.#reach(key, session, way, { say: announced.join(" "), marks: {} }))) {
      this.#lookIn(AGAIN_MS);
      return;
    }
    this.#budget.spend(allowed, clock.monoMs());
    this.#announced = this.#announced.filter((text) => !announced.includes(text));
  }

  async #reach(key: string, { event }: ToolSession, way: Way, said: Said): Promise<boolean> {
    const { clock, host, log } = this.#options;
    const { tool, session } = event;
    const { say, marks } = said;
    if (way.by === "waiter") {
      this.#waiters.get(key)?.answer({ why: "mail", say, marks });
    } else {
      const isReached = await host.reach(way, { tool, session }, say);
      // A desktop that shows nothing now will not do so in a minute: the next message tries again.
      if (!isReached && way.by !== "desktop") return false;
      if (way.by !== "desktop") {
        this.#change(key, (each) => afterNaming(each, marks, clock.monoMs()));
      }
    }
    log.info(
      { tool, by: way.by },
      way.by === "desktop" ? "the person is told" : "the agent is woken",
    );
    return true;
  }

  #wayOf(key: string, session: ToolSession): Way | undefined {
    const hasWaiter = this.#waiters.has(key);
    return wayTo(session, { hasWaiter, hasDesktop: this.#options.host.hasDesktop });
  }

  #lookIn(ms: number): void {
    this.#callOff();
    this.#callOff = this.#options.clock.wake(ms, () => this.rounded());
  }

  #allowed(messages: readonly WakingMessage[]): readonly WakingMessage[] {
    const { agent, clock, operator } = this.#options;
    const at = { peers: agent.peers(), nowMs: clock.monoMs() };
    const allowed = this.#budget.allowed(messages, operator.limits(), at);
    if (allowed.length === 0 && !this.#isOverBudget) operator.overBudget();
    this.#isOverBudget = allowed.length === 0;
    return allowed;
  }

  /** Of two sessions of one agent that can be woken the one that began first is. */
  #first(): string | undefined {
    for (const [key, session] of this.#sessions) if (isWakeable(session)) return key;
    return [...this.#sessions.keys()][0];
  }

  #othersOf(key: string): string[] {
    return [...this.#sessions].flatMap(([other, { event }]) => (other === key ? [] : event.tool));
  }

  #change(key: string, how: (session: ToolSession) => ToolSession): void {
    const session = this.#sessions.get(key);
    if (session !== undefined) this.#sessions.set(key, how(session));
  }

  #dropEnded(): void {
    for (const [key, { event }] of this.#sessions) {
      if (event.process !== undefined && !this.#options.host.isAlive(event.process)) this.#end(key);
    }
  }

  #end(key: string): void {
    this.#sessions.delete(key);
    this.#waiters.get(key)?.answer({ why: "ended" });
  }

  /** The agent is busy while one of its sessions is. Told when it changes. */
  async #tellState(): Promise<void> {
    const nowMs = this.#options.clock.monoMs();
    const isAtWork = [...this.#sessions.values()].some((session) => isBusy(session, nowMs));
    const state = isAtWork ? "busy" : "idle";
    if (state === this.#state) return;
    this.#state = state;
    await this.#options.agent.setState(state);
  }
}

function keyOf({ tool, session }: SessionName): string {
  return `${tool} ${session}`;
}

import type {
  HookAnswer,
  HookEvent,
  SessionName,
  SessionProcess,
  ToolSessionView,
  WakeAnswer,
} from "../../api/tool-sessions.ts";
import type { Logger } from "../../agent/session/world.ts";
import type { RoundRegistry, Turn } from "../../api/rounds.ts";
import type { MailView, Marks } from "../../api/views.ts";
import type { NotWoken } from "../../protocol/beats/beat.ts";
import {
  mailText,
  otherSessionText,
  turnText,
  wakeText,
  type MailLook,
} from "../../framing/mail-text.ts";
import { SECOND_MS } from "../../wire/durations.ts";
import {
  afterNaming,
  afterResume,
  afterTelling,
  isBusy,
  isReminded,
  isWakeable,
  mayWake,
  notWokenView,
  sessionView,
  wayTo,
  type SessionsHost,
  type ToolSession,
  type Way,
} from "./tool-session.ts";
import type { Wake } from "../wake.ts";
import { Looks } from "./looks.ts";
import { keyOf, SessionTable } from "./session-table.ts";
import { WakeBudget, type SpentWakes, type WakeLimits, type WakingMessage } from "./wake-budget.ts";

/** What the sessions are given of their agent, its operator and the machine. */
export interface ToolSessionsOptions {
  readonly agent: {
    readonly handle: string;
    peers(): readonly string[];
    /** What is unread beyond the marks. */
    mail(marks: Marks): Promise<MailView>;
    /** The agent is at work, or it is not; and for whose mail it is not woken. */
    setState(state: "busy" | "idle", notWoken: Readonly<Record<string, NotWoken>>): Promise<void>;
  };
  /** The agent's turns in collaboration rounds that it was not told of. Spec 6.3. */
  readonly rounds: Pick<RoundRegistry, "turns" | "told">;
  readonly operator: {
    limits(): WakeLimits;
    /** Nobody is to be woken now. */
    isQuiet(): boolean;
    /** The budget is used up. */
    overBudget(): void;
  };
  readonly spent: SpentWakes;
  readonly host: SessionsHost;
  readonly clock: { monoMs(): number; wallMs(): number; readonly wake: Wake };
  readonly log: Logger;
}

/** What a session is told, and the marks that say so. */
interface Said {
  readonly say: string;
  readonly marks: Marks;
}

/** What there is beyond some marks: mail, and turns in rounds. */
interface News {
  readonly mail: MailView;
  readonly turns: readonly Turn[];
  readonly turnTexts: readonly string[];
  /** Of all of it. */
  readonly marks: Marks;
}

/** Mail that comes together wakes once; what is urgent waits for nothing. */
const COALESCE_MS = 5 * SECOND_MS;
/** A waiter starts beside the hook that tells of the same mail, and a tool is at work while that runs. */
const AFTER_HOOK_MS = 500;
/** What a hook was answered has been shown by then, or never is: no hook runs for longer. */
const TELLING_MS = 2_500;
/** A session that could not be reached is tried again, first after this time, then after twice as long. */
const AGAIN_MS = { first: 2 * SECOND_MS, longest: 10 * SECOND_MS };
const NOTHING: HookAnswer = { say: null, goOn: false, marks: {} };

/** The sessions of tools that our agent runs in: what they are told, and when they are woken. */
export class ToolSessions {
  readonly #options: ToolSessionsOptions;
  readonly #table = new SessionTable();
  readonly #budget: WakeBudget;
  readonly #looks: Looks;
  /** What the agent was last told of itself. */
  #said: string | undefined;
  /** How often in a row the session could not be reached. */
  #misses = 0;
  #isOverBudget = false;

  constructor(options: ToolSessionsOptions) {
    this.#options = options;
    this.#budget = new WakeBudget(options.spent);
    const { clock, log } = options;
    this.#looks = new Looks({ clock, log, look: () => this.#look() });
  }

  /** A hook of a tool was run. */
  async event(event: HookEvent): Promise<HookAnswer> {
    const nowMs = this.#options.clock.monoMs();
    this.#table.dropEnded(this.#options.host);
    this.#table.take(event, nowMs);
    // From now on: whether something is said is known only when its mail was looked at.
    this.#table.change(keyOf(event), (session) => ({ ...session, tellingMs: nowMs }));
    await this.#tellAgent();
    if (event.moment === "end") {
      this.#table.end(keyOf(event));
      return NOTHING;
    }
    const answer = await this.#answer(event);
    if (answer.say === null) this.#table.change(keyOf(event), afterTelling);
    if (event.moment === "turn_end" && !answer.goOn) this.#looks.after(AFTER_HOOK_MS);
    return answer;
  }

  #answer(event: HookEvent): Promise<HookAnswer> {
    if (event.moment === "resume") return this.#atResume(event);
    return event.moment === "turn_end" ? this.#atTurnEnd(event) : this.#tellNews(event);
  }

  /** What was answered has been shown. */
  named(name: SessionName, marks: Marks): void {
    this.#shown(keyOf(name), marks);
    this.rounded();
  }

  /** Answers when the session is to be woken. `gone`: who waits has ended. */
  awaitWake(
    name: SessionName & { readonly process: SessionProcess | undefined },
    gone: AbortSignal,
  ): Promise<WakeAnswer> {
    const key = keyOf(name);
    const { monoMs } = this.#options.clock;
    this.#table.dropEnded(this.#options.host);
    // After a restart of the daemon its waiter may be the first that speaks of a session.
    const at = { moment: "turn_end", isContinued: false, isInteractive: true } as const;
    const event = { ...name, ...at, wake: undefined };
    if (this.#table.get(key) === undefined) this.#table.take(event, monoMs());
    this.#table.change(key, (session) => ({ ...session, hasWaited: true }));
    const answered = this.#table.wait(key, gone);
    this.#looks.after(AFTER_HOOK_MS);
    return answered;
  }

  list(): ToolSessionView[] {
    this.#table.dropEnded(this.#options.host);
    const { monoMs, wallMs } = this.#options.clock;
    const now = { nowMs: monoMs(), wallMs: wallMs() };
    const first = this.#table.first();
    const usedUp = Object.entries(this.#usedUp()).map(([peer, at]) => notWokenView(peer, at));
    return this.#table.entries().map(([key, session]) =>
      sessionView(session, now, {
        way: this.#wayOf(key, session)?.by ?? null,
        isSecond: isWakeable(session) && key !== first,
        usedUp,
      }),
    );
  }

  /** There may be mail, or a turn in a round. */
  rounded(): void {
    if (this.#table.size > 0) this.#looks.now();
  }

  /** Waiters are not answered: they lose their connection, and come again to the next daemon. */
  stop(): void {
    this.#looks.stop();
  }

  async #news(marks: Marks): Promise<News> {
    const { agent, rounds } = this.#options;
    const mail = await agent.mail(marks);
    const turns = rounds.turns().filter(({ key, seq }) => seq !== marks[key]);
    const ofTurns = Object.fromEntries(turns.map(({ key, seq }) => [key, seq]));
    const turnTexts = turns.map(({ folder, participant }) => turnText(folder, participant));
    return { mail, turns, turnTexts, marks: { ...mail.marks, ...ofTurns } };
  }

  /** The session has been shown what these marks tell. */
  #shown(key: string, marks: Marks): void {
    this.#options.rounds.told(marks);
    this.#table.change(key, (session) => afterNaming(session, marks, this.#options.clock.monoMs()));
  }

  async #tellNews(event: HookEvent): Promise<HookAnswer> {
    const key = keyOf(event);
    const session = this.#table.get(key);
    if (session === undefined) return NOTHING;
    const nowMs = this.#options.clock.monoMs();
    const { mail, turns, turnTexts, marks } = await this.#news(session.named);
    const others = this.#table.othersOf(key);
    const says = [...turnTexts];
    const isNews = mail.fresh.count > 0 || turns.length > 0;
    const isLeft = mail.unread + mail.owed + mail.notices > 0 && isReminded(session, nowMs);
    if (mail.fresh.count > 0 || isLeft) says.push(mailText(mail, this.#teller()));
    if (others.length > 0 && !session.knowsOthers) {
      says.push(otherSessionText(others));
      this.#table.change(key, (each) => ({ ...each, knowsOthers: true }));
    }
    if (says.length === 0) return NOTHING;
    return { say: says.join("\n"), goOn: false, marks: isNews || isLeft ? marks : {} };
  }

  async #atResume(event: HookEvent): Promise<HookAnswer> {
    const nowMs = this.#options.clock.monoMs();
    const { marks } = await this.#options.agent.mail({});
    this.#table.change(keyOf(event), (session) => afterResume(session, marks, nowMs));
    return NOTHING;
  }

  /** Asks to go on only for urgent or overdue mail, and once for each. Spec 8.3. */
  async #atTurnEnd(event: HookEvent): Promise<HookAnswer> {
    const key = keyOf(event);
    const session = this.#table.get(key);
    const { agent, operator } = this.#options;
    if (session === undefined || event.isContinued) return NOTHING;
    if (!event.isInteractive) return this.#atLastTurnEnd();
    if (operator.isQuiet()) return NOTHING;
    const mail = await agent.mail(session.askedFor);
    const urgent = mail.fresh.lines.filter((line) => line.urgent && !line.quiet);
    const isLate = mail.overdue > session.askedOverdue;
    if (urgent.length === 0 && !isLate) return NOTHING;
    const own = { from: agent.handle, thread: "overdue", urgent: true };
    const allowed = this.#allowed(urgent.length > 0 ? urgent : [own]);
    if (allowed.length === 0) return NOTHING;
    this.#budget.spend(allowed, this.#options.clock.wallMs());
    const askedOverdue = mail.overdue;
    this.#table.change(key, (each) => {
      const askedFor = { ...each.askedFor, ...mail.marks };
      return { ...each, askedFor, askedOverdue, isBusy: true };
    });
    await this.#tellAgent();
    return { say: wakeText(mail, agent), goOn: true, marks: mail.marks };
  }

  /** A run that ends by itself is never kept from it: what is left unread is said to its person. */
  async #atLastTurnEnd(): Promise<HookAnswer> {
    const mail = await this.#options.agent.mail({});
    return mail.unread === 0 ? NOTHING : { ...NOTHING, say: mailText(mail, this.#teller()) };
  }

  #teller(): MailLook {
    return { handle: this.#options.agent.handle, nowMs: this.#options.clock.wallMs() };
  }

  /** Looks at what there is now, and wakes the first session for it. */
  async #look(): Promise<void> {
    this.#table.dropEnded(this.#options.host);
    await this.#tellAgent();
    const key = this.#table.first();
    const session = key === undefined ? undefined : this.#table.get(key);
    const { agent, clock, operator } = this.#options;
    if (key === undefined || session === undefined || operator.isQuiet()) return;
    const way = this.#wayOf(key, session);
    if (way === undefined || !mayWake(session, clock.monoMs())) return;
    const tellingMs = session.tellingMs + TELLING_MS - clock.monoMs();
    if (tellingMs > 0) {
      this.#looks.after(tellingMs);
      return;
    }
    // What a person was told the session has not been shown.
    const known = way.by === "desktop" ? session.askedFor : session.named;
    const { mail, turns, turnTexts, marks } = await this.#news(known);
    const waking = mail.fresh.lines.filter(({ quiet }) => !quiet);
    if (waking.length === 0 && turns.length === 0) return;
    const oldestMs = Math.min(...waking.map((line) => Date.parse(line.received_at)));
    const restMs = oldestMs + COALESCE_MS - clock.wallMs();
    if (turns.length === 0 && !waking.some(({ urgent }) => urgent) && restMs > 0) {
      this.#looks.after(Math.min(restMs, COALESCE_MS));
      return;
    }
    const own = turns.map((turn) => ({ from: agent.handle, thread: turn.key, urgent: false }));
    const allowed = this.#allowed([...waking, ...own]);
    if (allowed.length === 0) return;
    const mailTexts = waking.length > 0 ? [wakeText(mail, agent)] : [];
    const say = [...turnTexts, ...mailTexts].join(" ");
    if (!(await this.#reach(key, session, way, { say, marks }))) {
      this.#looks.after(Math.min(AGAIN_MS.first * 2 ** this.#misses, AGAIN_MS.longest));
      this.#misses += 1;
      return;
    }
    this.#misses = 0;
    this.#budget.spend(allowed, clock.wallMs());
    // It was asked already: the end of that turn does not ask again.
    const askedOverdue = mail.overdue;
    this.#table.change(key, (each) => ({ ...each, askedFor: marks, askedOverdue }));
    await this.#tellAgent();
  }

  async #reach(key: string, { event }: ToolSession, way: Way, said: Said): Promise<boolean> {
    const { host, log } = this.#options;
    const { tool, session } = event;
    const { say, marks } = said;
    if (way.by === "waiter") {
      this.#table.waiterOf(key)?.answer({ why: "mail", say, marks });
    } else {
      const isReached = await host.reach(way, { tool, session }, say);
      // A desktop that shows nothing now will not do so in a minute: the next message tries again.
      if (!isReached && way.by !== "desktop") return false;
      if (way.by !== "desktop") this.#shown(key, marks);
    }
    const done = way.by === "desktop" ? "the person is told" : "the agent is woken";
    log.info({ tool, by: way.by }, done);
    return true;
  }

  #wayOf(key: string, session: ToolSession): Way | undefined {
    const hasWaiter = this.#table.waiterOf(key) !== undefined;
    return wayTo(session, { hasWaiter, hasDesktop: this.#options.host.hasDesktop });
  }

  #allowed(messages: readonly WakingMessage[]): readonly WakingMessage[] {
    const { operator } = this.#options;
    const allowed = this.#budget.allowed(messages, operator.limits(), this.#budgetTime());
    if (allowed.length === 0 && !this.#isOverBudget) operator.overBudget();
    this.#isOverBudget = allowed.length === 0;
    return allowed;
  }

  #budgetTime(): { readonly peers: readonly string[]; readonly nowMs: number } {
    return { peers: this.#options.agent.peers(), nowMs: this.#options.clock.wallMs() };
  }

  #usedUp(): Readonly<Record<string, NotWoken>> {
    return this.#budget.usedUp(this.#options.operator.limits(), this.#budgetTime());
  }

  /**
   * The agent is busy while one of its sessions is, and peers hear when it is not woken for their mail. Told
   * when it changes.
   */
  async #tellAgent(): Promise<void> {
    const nowMs = this.#options.clock.monoMs();
    const isAtWork = this.#table.entries().some(([, session]) => isBusy(session, nowMs));
    const state = isAtWork ? "busy" : "idle";
    const notWoken = this.#usedUp();
    const said = JSON.stringify([state, notWoken]);
    if (said === this.#said) return;
    this.#said = said;
    await this.#options.agent.setState(state, notWoken);
  }
}

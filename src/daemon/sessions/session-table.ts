import type { HookEvent, SessionName, WakeAnswer } from "../../api/tool-sessions.ts";
import {
  afterEvent,
  afterHiding,
  isInSameTerminal,
  isSameProcess,
  isSeenOpen,
  isWakeable,
  newSession,
  type SessionsHost,
  type ToolSession,
} from "./tool-session.ts";

/** What waits for the wake of a session. */
export interface Waiter {
  answer(answer: WakeAnswer): void;
}

const MAX_SESSIONS = 64;

/** The sessions of an agent and their waiters, by name. A session that ends has its waiter go. */
export class SessionTable {
  readonly #sessions = new Map<string, ToolSession>();
  readonly #waiters = new Map<string, Waiter>();

  get size(): number {
    return this.#sessions.size;
  }

  /** Those that began first come first. */
  entries(): [key: string, session: ToolSession][] {
    return [...this.#sessions];
  }

  get(key: string): ToolSession | undefined {
    return this.#sessions.get(key);
  }

  /** The session after that event; a new one takes the place of the one before it in its process. */
  take(event: HookEvent, nowMs: number): void {
    const key = keyOf(event);
    const known = this.#sessions.get(key);
    if (known === undefined) {
      for (const [other, { event: before }] of this.#sessions) {
        if (isSameProcess(before.process, event.process)) this.end(other);
      }
      const [oldest] = this.#sessions.keys();
      if (this.#sessions.size >= MAX_SESSIONS && oldest !== undefined) this.end(oldest);
    }
    for (const [other, { event: before }] of this.entries()) {
      if (other !== key && isInSameTerminal(before.wake, event.wake))
        this.change(other, afterHiding);
    }
    this.#sessions.set(key, afterEvent(known ?? newSession(event, nowMs), event, nowMs));
  }

  change(key: string, how: (session: ToolSession) => ToolSession): void {
    const session = this.#sessions.get(key);
    if (session !== undefined) this.#sessions.set(key, how(session));
  }

  end(key: string): void {
    this.#sessions.delete(key);
    this.#waiters.get(key)?.answer({ why: "ended" });
  }

  /** Ends the sessions of which the process has ended. */
  dropEnded(host: Pick<SessionsHost, "isAlive" | "isThreadShown">): void {
    for (const [key, session] of this.entries()) {
      const { process } = session.event;
      if (process !== undefined && host.isAlive(process) === false) this.end(key);
      else if (!isSeenOpen(session, host)) this.change(key, afterHiding);
    }
  }

  /** Of two sessions that can be woken the one that began first is. */
  first(): string | undefined {
    for (const [key, session] of this.#sessions) if (isWakeable(session)) return key;
    return [...this.#sessions.keys()][0];
  }

  /** The tools of the other sessions. */
  othersOf(key: string): string[] {
    return this.entries().flatMap(([other, { event }]) => (other === key ? [] : event.tool));
  }

  waiterOf(key: string): Waiter | undefined {
    return this.#waiters.get(key);
  }

  /** One waiter waits for a session: a later one takes the place of the one before. */
  wait(key: string, gone: AbortSignal): Promise<WakeAnswer> {
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
    });
  }
}

export function keyOf({ tool, session }: SessionName): string {
  return `${tool} ${session}`;
}

import type { Member, Stage } from "../stage/stage.ts";
import { kept } from "./broken.ts";
import type { Genuine } from "./genuine.ts";
import type { Ledger } from "./ledger.ts";

/** How long an agent has to answer a proposal that it has read, and that names no time. Spec 3.4. */
const ANSWER_MS = 30 * 60_000;

/**
 * What a transport promises of deadlines, spec 5: an agent takes a proposal back for want of an answer, and
 * escalates an incident, only after a fetch that began late enough to bring the answer. Seen from outside:
 * by the lines that it writes, and by when its host has fetched.
 */
export class Deadlines {
  readonly #stage: Stage;
  /** How many lines of the ledger were looked at. */
  #seen = 0;
  /** When each line was first seen in its author's log, monotonic ms. */
  readonly #writtenMs = new Map<string, number>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  look(ledger: Ledger): void {
    if (this.#stage.remote === undefined || ledger.byId.size === this.#seen) return;
    const fresh = [...ledger.byId.values()].slice(this.#seen);
    this.#seen = ledger.byId.size;
    for (const line of fresh) {
      this.#writtenMs.set(line.id, this.#stage.timers.monoMs);
      this.#judge(line, ledger);
    }
  }

  #judge(line: Genuine, ledger: Ledger): void {
    const { type, body } = line;
    const member = this.#stage.member(line.from);
    // By hand an agent names no reason.
    const isRevert = type === "correction" && body["reason"] !== undefined;
    if (isRevert && body["replaced_by"] === undefined) {
      const proposal = ledger.byId.get(String(body["reverts"]));
      if (proposal !== undefined) this.#judgeRevert(member, proposal);
    }
    const escalated = ledger.byId.get(String(body["escalates"]));
    if (type === "incident" && escalated !== undefined) {
      this.#judgeEscalation(member, escalated, String(body["of"]));
    }
  }

  #judgeRevert(member: Member, proposal: Genuine): void {
    const required = (proposal.body["required"] ?? []) as string[];
    if (!required.some((handle) => this.#isElsewhere(member, handle))) return;
    this.#askedSince(member, proposal, "takes back");
    if (this.#isAnyClockOff()) return;
    const { due } = proposal.body as { readonly due?: string };
    const endsMs = due === undefined ? Date.parse(proposal.timestamp) + ANSWER_MS : Date.parse(due);
    const { nowMs, timers } = this.#stage;
    const fetchedAt = nowMs - timers.monoMs + member.host.fetchedMs;
    kept(
      10,
      fetchedAt >= endsMs,
      () =>
        `${member.handle} takes back ${proposal.id.slice(0, 8)} too early: ${this.#ago(member)}`,
    );
  }

  #judgeEscalation(member: Member, incident: Genuine, of: string): void {
    if (!this.#isElsewhere(member, of)) return;
    this.#askedSince(member, incident, "escalates");
  }

  #askedSince(member: Member, { id }: Genuine, does: string): void {
    const isAsked = member.host.fetchedMs > (this.#writtenMs.get(id) ?? -Infinity);
    const about = `${member.handle} ${does} ${id.slice(0, 8)} and did not ask`;
    kept(10, isAsked, () => `${about}: ${this.#ago(member)}`);
  }

  #isElsewhere({ host }: Member, handle: string): boolean {
    return this.#stage.member(handle).host !== host;
  }

  #isAnyClockOff(): boolean {
    return [...this.#stage.members.values()].some(
      ({ clockWasSet, clockOffMs }) => clockWasSet || clockOffMs !== 0,
    );
  }

  #ago({ host }: Member): string {
    const agoMs = this.#stage.timers.monoMs - host.fetchedMs;
    return `the last fetch began ${Math.round(agoMs / 1_000)} s ago`;
  }
}

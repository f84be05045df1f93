import { OutcomeScript } from "./outcome-script.ts";
import { lineEvent, type ScriptLine } from "./wire-script.ts";

/** What an honest agent may do next; what it cannot do now it leaves. */
export const ACTS = [
  "propose",
  "read",
  "refuse",
  "agree",
  "reject",
  "revert",
  "beat",
  "remark",
] as const;
export interface Act {
  readonly agent: "a" | "b";
  readonly act: (typeof ACTS)[number] | "move";
}

/**
 * Two honest agents in one thread. Each knows what it has read, answers what it knows to be open,
 * agrees to nothing once it knows of a decision, and its heads claim what it has read. It may refuse
 * lines, which its next heartbeat names, and still answer what they say. An agent that does not chain
 * has no heads.
 */
export class HonestPair {
  readonly script: OutcomeScript;
  private readonly moved = new Set<string>();
  private readonly read = { a: 0, b: 0 };
  /** Lines of the other that an agent has refused. */
  private readonly refused = { a: new Set<number>(), b: new Set<number>() };
  private readonly chains: Readonly<Record<"a" | "b", boolean>>;
  private count = 0;

  constructor(
    chains: Readonly<Record<"a" | "b", boolean>>,
    kind: "pairwise" | "moving" = "pairwise",
  ) {
    this.script = new OutcomeScript(kind, ["a", "b"], []);
    this.chains = chains;
  }

  take({ agent, act }: Act): void {
    const other = agent === "a" ? "b" : "a";
    const flag = this.chains[agent] ? "" : " plain";
    const views = this.known(agent);
    const isDecided = views.some(({ status }) => status === "ratified");
    const open = (by: string) => views.find((view) => view.from === by && view.status === "open");
    switch (act) {
      case "read":
        this.read[agent] += this.unread(agent, other).length;
        return;
      case "refuse":
        if (this.chains[agent]) this.refuseNext(agent, other);
        return;
      case "beat":
        if (this.chains[agent]) this.beat(agent, other);
        return;
      case "propose":
        if (open(agent) === undefined && !isDecided) {
          this.script.take(`${agent} proposes ${agent}${(this.count += 1)}${flag}`);
        }
        return;
      case "remark":
        if (views.length > 0) this.script.take(`${agent} asks S${(this.count += 1)}${flag}`);
        return;
      case "revert":
        this.say(agent, "reverts", open(agent)?.name, flag);
        return;
      case "agree":
        if (!isDecided) this.say(agent, "agrees", open(other)?.name, flag);
        return;
      case "reject":
        this.say(agent, "rejects", open(other)?.name, flag);
        return;
      case "move":
        if (!this.moved.has(agent)) this.script.take(`${agent} moves`);
        this.moved.add(agent);
    }
  }

  /** Everybody reads all, and beats until nothing is new. */
  end(): void {
    for (let round = 0; round < 3; round += 1) {
      for (const act of ["read", "beat"] as const) {
        for (const agent of ["a", "b"] as const) this.take({ agent, act });
      }
    }
  }

  /** Takes in the next line of the other and refuses it, unless it is a heartbeat. */
  private refuseNext(agent: "a" | "b", other: "a" | "b"): void {
    const [next] = this.unread(agent, other);
    if (next === undefined) return;
    this.read[agent] += 1;
    if (next.message.type !== "heartbeat") this.refused[agent].add(this.read[agent]);
  }

  private beat(agent: "a" | "b", other: "a" | "b"): void {
    const refuses = [...this.refused[agent]].map((line) => `${other}:${line}`).join(",");
    this.script.take(`${agent} beats ${other}=${this.read[agent]} refuses=${refuses}`);
  }

  private say(agent: string, verb: string, name: string | undefined, flag: string): void {
    if (name !== undefined) this.script.take(`${agent} ${verb} ${name}${flag}`);
  }

  private unread(agent: "a" | "b", other: "a" | "b") {
    // Who has not moved does not read the outbox of one that has.
    const logs = this.script.logsOf(other).slice(0, this.moved.has(agent) ? 2 : 1);
    const lines = this.script.linesOf(other).filter(({ log }) => logs.includes(log));
    return lines.slice(this.read[agent]);
  }

  private isRefused(agent: "a" | "b", line: ScriptLine): boolean {
    return line.message.from !== agent && this.refused[agent].has(this.countOf(line));
  }

  /** Which of all lines of its author that is. */
  private countOf({ log, line, message: { from } }: ScriptLine): number {
    const first = this.script.logsOf(from)[0] ?? "";
    return log === first ? line : line + (this.script.script.lines.get(first)?.length ?? 0);
  }

  private known(agent: "a" | "b") {
    const seen = this.script.order.filter(
      (line) => line.message.from === agent || this.countOf(line) <= this.read[agent],
    );
    const events = seen.map((line) =>
      lineEvent(line, agent, this.isRefused(agent, line) ? { refused: "tier_refused" } : {}),
    );
    const state = this.script.fold(agent, events);
    return this.script.outcomes(state, agent).map((outcome) => {
      const [name = "", status = ""] = outcome.split(" ");
      return { name, status, from: name.slice(0, 1) };
    });
  }
}

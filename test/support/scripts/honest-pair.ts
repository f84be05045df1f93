import { OutcomeScript } from "./outcome-script.ts";

/** What an honest agent may do next; what it cannot do now it leaves. */
export const ACTS = ["propose", "read", "agree", "reject", "revert", "beat", "remark"] as const;
export interface Act {
  readonly agent: "a" | "b";
  readonly act: (typeof ACTS)[number];
}

/**
 * Two honest agents in one thread. Each knows what it has read, answers what it knows to be open,
 * agrees to nothing once it knows of a decision, and its heads claim what it has read. An agent that
 * does not chain has no heads.
 */
export class HonestPair {
  readonly script = new OutcomeScript("pairwise", ["a", "b"], []);
  private readonly read = { a: 0, b: 0 };
  private readonly chains: Readonly<Record<"a" | "b", boolean>>;
  private count = 0;

  constructor(chains: Readonly<Record<"a" | "b", boolean>>) {
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
        this.read[agent] = this.linesOf(other);
        return;
      case "beat":
        if (this.chains[agent]) this.script.take(`${agent} beats ${other}=${this.read[agent]}`);
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

  private say(agent: string, verb: string, name: string | undefined, flag: string): void {
    if (name !== undefined) this.script.take(`${agent} ${verb} ${name}${flag}`);
  }

  private linesOf(agent: string): number {
    return this.script.script.lines.get(this.script.logOf(agent))?.length ?? 0;
  }

  private known(agent: "a" | "b") {
    const own = this.script.logOf(agent);
    const events = this.script
      .events(agent)
      .filter(({ log, line }) => log === own || line <= this.read[agent]);
    const state = this.script.fold(agent, events);
    return this.script.outcomes(state, agent).map((outcome) => {
      const [name = "", status = ""] = outcome.split(" ");
      return { name, status, from: name.slice(0, 1) };
    });
  }
}

import { toPlain } from "../../src/wire/json.ts";
import type { OutcomeScript } from "../support/outcome-script.ts";
import type { ScriptLine } from "../support/wire-script.ts";

/**
 * Spec 3.4, "One log decides", word for word over whole logs, for conversations in one thread whose
 * proposals are all chained. Deliberately slow and without any state: every question is asked of
 * all lines again.
 */
export function slowOutcomes(script: OutcomeScript): string[] {
  const wire = new WholeWire(script);
  return [...script.names]
    .flatMap(([name, id]) => {
      const proposal = script.order.find(({ message }) => message.id === id);
      if (proposal?.message.type !== "proposal") return [];
      const end = wire.outcomeOf(proposal);
      const place = end.by === undefined ? "" : ` by ${script.place(end.by.message.id)}`;
      return `${name} ${end.status}${place}`;
    })
    .sort();
}

interface Body {
  acks?: string;
  approve?: boolean;
  reverts?: string;
  request_id?: string;
  required?: string[];
  heads?: Record<string, Head>;
}

interface Head {
  lines: number;
  seq?: number;
  event_id?: string;
  refused: ([number, string] | [number, number, string])[];
}

/** Line by line what its entries say; one that goes beyond the lines of its heads says nothing. */
function namedLines({ lines, refused }: Head): number[] {
  return refused.flatMap((entry) => {
    const first = entry[0];
    const last = entry.length === 3 ? entry[1] : first;
    if (first < 1 || last > lines) return [];
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);
  });
}

interface End {
  readonly status: string;
  readonly by?: ScriptLine;
}

const bodyOf = ({ message }: ScriptLine): Body => toPlain(message.body) as Body;
const says = (line: ScriptLine, type: string): boolean => line.message.type === type;
const isBeat = (line: ScriptLine): boolean => says(line, "heartbeat");

class WholeWire {
  private readonly script: OutcomeScript;

  constructor(script: OutcomeScript) {
    this.script = script;
  }

  private log(name: string): readonly ScriptLine[] {
    return this.script.script.lines.get(name) ?? [];
  }

  private logOf(agent: string): string {
    return this.script.logOf(agent);
  }

  private authorOf(line: ScriptLine): string {
    return this.script.script.layout.logs.get(line.log)?.owner ?? "";
  }

  /** The proposer's log from the proposal on: the first line that decides. */
  outcomeOf(proposal: ScriptLine): End {
    for (const line of this.log(proposal.log).slice(proposal.line)) {
      const status = this.decides(line, proposal);
      if (status !== undefined) return { status, by: line };
    }
    return { status: "open" };
  }

  private decides(line: ScriptLine, proposal: ScriptLine): string | undefined {
    const { id } = proposal.message;
    const body = bodyOf(line);
    if (says(line, "correction") && body.reverts === id) return "reverted";
    if (says(line, "proposal")) return "superseded";
    if (says(line, "ack") && body.approve !== false && this.isRival(body.acks, proposal)) {
      return "withdrawn";
    }
    if (!isBeat(line)) return undefined;
    const parties = this.requiredOf(proposal);
    const heard = parties.map((party) => this.heard(party, line));
    if (heard.some((lines) => this.rejects(lines, proposal))) return "rejected";
    return heard.every((lines) => this.supports(lines, proposal)) ? "ratified" : undefined;
  }

  /** Another party's proposal with a lower id. */
  private isRival(target: string | undefined, proposal: ScriptLine): boolean {
    const rival = this.script.order.find(({ message }) => message.id === target);
    if (target === undefined || rival === undefined || !says(rival, "proposal")) return false;
    return rival.log !== proposal.log && target < proposal.message.id;
  }

  private requiredOf(proposal: ScriptLine): readonly string[] {
    const { roster } = this.script.script.layout;
    const others = roster.filter((agent) => agent !== this.authorOf(proposal));
    return bodyOf(proposal).required ?? others;
  }

  /** The lines of a party that count for a beat: covered by it, and never named as refused. */
  private heard(party: string, beat: ScriptLine): readonly ScriptLine[] {
    const name = this.logOf(party);
    const heads = this.log(beat.log)
      .slice(0, beat.line)
      .filter(isBeat)
      .flatMap((each) => bodyOf(each).heads?.[name] ?? []);
    const covered = Math.max(0, ...heads.map((head) => this.covers(head, name)));
    const refused = heads.flatMap(namedLines);
    return this.log(name)
      .slice(0, covered)
      .filter(({ line }) => !refused.includes(line));
  }

  /** Heads that name an event id which does not stand at that place cover nothing. */
  private covers(head: Head, name: string): number {
    const last = this.log(name)
      .slice(0, head.lines)
      .findLast(({ message }) => message.seq !== undefined);
    return head.event_id === last?.message.id ? head.lines : 0;
  }

  /** A rejection speaks about the proposal it names, until the same party acks that one. */
  private rejects(lines: readonly ScriptLine[], proposal: ScriptLine): boolean {
    const words = lines.filter((line) => says(line, "ack") && this.means(line, proposal));
    const last = words.at(-1);
    return last !== undefined && bodyOf(last).approve === false;
  }

  /** The last of its approving acks and own proposals is an ack of this one. */
  private supports(lines: readonly ScriptLine[], proposal: ScriptLine): boolean {
    const words = lines.filter(
      (line) =>
        says(line, "proposal") ||
        (says(line, "ack") &&
          bodyOf(line).approve !== false &&
          (bodyOf(line).acks !== undefined || this.means(line, proposal))),
    );
    const last = words.at(-1);
    return last !== undefined && says(last, "ack") && this.means(last, proposal);
  }

  /** What an ack names, or, unchained and naming nothing, what it can only mean. */
  private means(ack: ScriptLine, proposal: ScriptLine): boolean {
    const { acks, request_id: request } = bodyOf(ack);
    if (acks !== undefined) return acks === proposal.message.id;
    if (ack.message.seq !== undefined || request !== undefined) return false;
    const own = this.log(proposal.log);
    const covering = own.filter(isBeat).find((beat) => this.coveredBy(beat, ack.log) >= ack.line);
    const before = own.slice(0, covering === undefined ? undefined : covering.line - 1);
    const siblings = before.filter((line) => says(line, "proposal"));
    return siblings.length === 1 && siblings[0]?.message.id === proposal.message.id;
  }

  private coveredBy(beat: ScriptLine, name: string): number {
    const head = bodyOf(beat).heads?.[name];
    return head === undefined ? 0 : this.covers(head, name);
  }
}

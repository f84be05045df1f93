import { toPlain } from "../../../src/wire/json/json.ts";
import type { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import type { ScriptLine } from "../../support/scripts/wire-script.ts";

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
      const withdraws = isBeat(line) ? this.withdraws(proposal, line) : undefined;
      if (withdraws !== undefined) return { status: "withdrawn", by: withdraws };
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
    if (isBeat(line)) {
      const heard = this.requiredOf(proposal).map((party) => this.heard(party, line));
      if (heard.some((lines) => this.rejects(lines, proposal))) return "rejected";
      const isAgreed = heard.every((lines) => this.supports(lines, proposal, line));
      return isAgreed ? "ratified" : undefined;
    }
    return this.reads(line, proposal, line) ? "withdrawn" : undefined;
  }

  /** The first ack since the beat before that withdraws by what this beat covers. */
  private withdraws(proposal: ScriptLine, beat: ScriptLine): ScriptLine | undefined {
    const log = this.log(beat.log).slice(0, beat.line - 1);
    const before = log.findLast(isBeat)?.line ?? 0;
    const acks = log.slice(Math.max(before, proposal.line));
    return acks.find((ack) => this.reads(ack, proposal, beat));
  }

  /** An approving ack of another party's proposal with a lower id, covered by then. */
  private reads(ack: ScriptLine, proposal: ScriptLine, upTo: ScriptLine): boolean {
    const { acks: target, approve, request_id: request } = bodyOf(ack);
    if (!says(ack, "ack") || approve === false || request !== undefined) return false;
    const rival = this.script.order.find(({ message }) => message.id === target);
    if (target === undefined || rival === undefined || !says(rival, "proposal")) return false;
    if (rival.log === proposal.log || target >= proposal.message.id) return false;
    return this.coveredUpTo(upTo, rival.log) >= rival.line;
  }

  private requiredOf(proposal: ScriptLine): readonly string[] {
    const { roster } = this.script.script.layout;
    const others = roster.filter((agent) => agent !== this.authorOf(proposal));
    return bodyOf(proposal).required ?? others;
  }

  /**
   * The lines of a party that count for a beat: covered by it, and never named as refused, unless it
   * is a proposal that the author of the beat has agreed to.
   */
  private heard(party: string, beat: ScriptLine): readonly ScriptLine[] {
    const name = this.logOf(party);
    const heads = this.headsUpTo(beat, name);
    const refused = heads.flatMap(namedLines);
    return this.log(name)
      .slice(0, this.coveredUpTo(beat, name))
      .filter((line) => !refused.includes(line.line) || this.hasAgreed(line, beat));
  }

  private hasAgreed(line: ScriptLine, beat: ScriptLine): boolean {
    const acks = this.log(beat.log)
      .slice(0, beat.line)
      .filter((each) => says(each, "ack"));
    const agrees = acks.map(bodyOf).filter((ack) => ack.approve !== false && !ack.request_id);
    return says(line, "proposal") && agrees.some((ack) => ack.acks === line.message.id);
  }

  private headsUpTo(line: ScriptLine, name: string): readonly Head[] {
    return this.log(line.log)
      .slice(0, line.line)
      .filter(isBeat)
      .flatMap((each) => bodyOf(each).heads?.[name] ?? []);
  }

  private coveredUpTo(line: ScriptLine, name: string): number {
    return Math.max(0, ...this.headsUpTo(line, name).map((head) => this.covers(head, name)));
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

  /** The last of its own proposals and of its approving acks that count is an ack of this one. */
  private supports(lines: readonly ScriptLine[], proposal: ScriptLine, beat: ScriptLine): boolean {
    const words = lines.filter(
      (line) => says(line, "proposal") || (says(line, "ack") && this.moves(line, proposal, beat)),
    );
    const last = words.at(-1);
    return last !== undefined && says(last, "ack") && this.means(last, proposal);
  }

  /** Whether an approving ack counts: by what is in its own log, or in the proposer's by then. */
  private moves(ack: ScriptLine, proposal: ScriptLine, beat: ScriptLine): boolean {
    const { acks: target, approve, request_id: request } = bodyOf(ack);
    if (approve === false || request !== undefined) return false;
    if (target === undefined) return this.means(ack, proposal);
    const isTarget = ({ message }: ScriptLine): boolean => message.id === target;
    const first = this.log(proposal.log)
      .slice(proposal.line, beat.line)
      .find((line) => isBeat(line) && this.coveredUpTo(line, ack.log) >= ack.line);
    const before = this.log(proposal.log).slice(0, (first ?? beat).line - 1);
    const named =
      this.log(ack.log)
        .slice(0, ack.line - 1)
        .find(isTarget) ?? before.find(isTarget);
    return named === undefined ? approve === true : says(named, "proposal");
  }

  /** What an ack names, or, unchained and naming nothing, what it can only mean. */
  private means(ack: ScriptLine, proposal: ScriptLine): boolean {
    const { acks, request_id: request } = bodyOf(ack);
    if (request !== undefined) return false;
    if (acks !== undefined) return acks === proposal.message.id;
    if (ack.message.seq !== undefined) return false;
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

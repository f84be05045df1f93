import { expect } from "vitest";
import type { AgentPaths } from "../../../src/storage/paths.ts";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import { FALSE_ALARMS } from "./false-alarms.ts";
import type { SimulatedWire } from "./simulated-wire.ts";

interface Standing {
  readonly line: string;
  readonly from: string;
  readonly to?: readonly string[];
  readonly type: string;
  readonly timestamp: string;
  readonly seq?: number;
  readonly prev?: string;
  readonly event_id: string;
  readonly body?: unknown;
}

type Heads = Readonly<Record<string, readonly [number, string, number]>>;

/** What is looked at of a wire: one folder of it, and the agents with their private files. */
export type CheckedWire = Pick<SimulatedWire, "roster" | "agent" | "lines" | "read" | "carrier"> & {
  paths(handle: string): Pick<AgentPaths, "inbox">;
};

/**
 * Checks the promises of docs/reliability.md on a simulated wire. It remembers each line that it has
 * seen in a carrier, also one that a power cut has taken back, and each answer that a sender got.
 */
export class PromiseChecker {
  readonly #wire: CheckedWire;
  readonly #bytesAt = new Map<string, string>();
  readonly #promised: string[] = [];

  constructor(wire: CheckedWire) {
    this.#wire = wire;
  }

  /** A sender was told that these lines are sent: they have to be in its carrier in the end. */
  promised(lines: readonly { readonly event_id: string }[]): void {
    for (const { event_id: id } of lines) this.#promised.push(id);
  }

  /** No number of an author is ever seen with two different lines, durable or not. */
  look(): void {
    for (const handle of this.#wire.roster) {
      for (const line of this.#linesOf(handle)) {
        const parsed = parse(line);
        if (parsed?.seq === undefined) continue;
        const key = `${parsed.from} ${parsed.seq}`;
        const before = this.#bytesAt.get(key) ?? line;
        expect(line, `${key} has other bytes than before`).toBe(before);
        this.#bytesAt.set(key, line);
      }
    }
  }

  /**
   * What must hold when all agents run and nothing is left to do: what each agent said is one chain with every
   * promised line in it, each inbox has every line for it once and in order, nobody was given a false alarm, and no decision
   * or incident is in its shared file twice.
   *
   * @param trueAlarms what agents may be told, since it has happened
   */
  async check(trueAlarms: readonly string[] = []): Promise<void> {
    this.look();
    const standing = this.#wire.roster.flatMap((handle) => this.#chain(handle));
    const ids = standing.map(({ event_id: id }) => id);
    for (const id of this.#promised) expect(ids, "a promised line is missing").toContain(id);
    for (const handle of this.#wire.roster) {
      this.#checkInbox(handle, standing);
      const notices = await this.#wire.agent(handle).view("notices", undefined);
      const alarms = notices.filter(
        ({ cause }) => FALSE_ALARMS.has(cause) && !trueAlarms.includes(cause),
      );
      expect(alarms, `${handle} was told what is not true`).toEqual([]);
    }
    this.#checkShared(standing);
  }

  /** After a restart, before the first tick: what the last heartbeat covers is in the inbox. */
  checkClaims(handle: string): void {
    const inbox = new Set(this.inbox(handle));
    for (const [author, [seq]] of Object.entries(this.#lastHeads(handle))) {
      for (const each of this.#said(author)) {
        if (each.seq === undefined || each.seq > seq || !isFor(handle, each)) continue;
        expect(inbox.has(each.line), `${handle} claims a line that it has not delivered`).toBe(
          true,
        );
      }
    }
  }

  inbox(handle: string): string[] {
    const text = this.#wire.read(this.#wire.paths(handle).inbox);
    expect(text === "" || text.endsWith("\n"), `${handle}'s inbox is torn`).toBe(true);
    return text.split("\n").slice(0, -1);
  }

  /** A carrier is not there before its author has published, nor a part of it before it was archived. */
  #linesOf(handle: string): string[] {
    const name = this.#wire.carrier(handle);
    return [archivedPart(name), name].flatMap((path) => {
      try {
        return this.#wire.lines(path);
      } catch (error) {
        if (!(error instanceof StorageError)) throw error;
        return [];
      }
    });
  }

  /** What an agent has written into its carrier of its own. */
  #said(handle: string): Standing[] {
    const parsed = this.#linesOf(handle).flatMap((line) => parse(line) ?? []);
    return parsed.filter(({ from }) => from === handle);
  }

  /** In which order its lines stand in a carrier, and whether one is there twice, means nothing. */
  #chain(handle: string): Standing[] {
    const said = this.#said(handle);
    const numbered = said.flatMap((each) =>
      each.seq === undefined ? [] : [[each.seq, each] as const],
    );
    const chain = [...new Map(numbered)].toSorted(([one], [other]) => one - other);
    let head: Standing | undefined;
    for (const [seq, each] of chain) {
      expect(seq, `${handle} has a gap or a fork`).toBe((head?.seq ?? 0) + 1);
      expect(each.prev, `${handle} is no chain`).toBe(head?.event_id);
      const isLater = head === undefined || each.timestamp > head.timestamp;
      expect(isLater, `${handle}: time stands still`).toBe(true);
      head = each;
    }
    return [...chain.map(([, each]) => each), ...said.filter(({ seq }) => seq === undefined)];
  }

  #checkInbox(handle: string, standing: readonly Standing[]): void {
    const routed = standing.filter((each) => isFor(handle, each));
    const found = this.inbox(handle);
    const expected = routed.map(({ line }) => short(line));
    expect(found.map(short).toSorted(), `${handle}'s inbox`).toEqual(expected.toSorted());
    for (const author of this.#wire.roster) {
      const chained = routed.filter(({ from, seq }) => from === author && seq !== undefined);
      const lines = new Set(chained.map(({ line }) => line));
      expect(found.filter((line) => lines.has(line))).toEqual([...lines]);
    }
  }

  #checkShared(standing: readonly Standing[]): void {
    // A process that died may have left a torn line: readers count and skip it.
    const proposals = this.#wire
      .lines("decisions.jsonl")
      .filter(isJson)
      .map((line) => JSON.stringify((JSON.parse(line) as { proposal?: unknown }).proposal));
    expect(new Set(proposals).size, "a decision is recorded twice").toBe(proposals.length);
    const incidents = this.#wire.lines("incident_log.jsonl").filter(isJson);
    expect(new Set(incidents).size, "an incident is mirrored twice").toBe(incidents.length);
    const raised = standing.filter(({ type }) => type === "incident");
    for (const { line } of raised) expect(incidents, "an incident is not mirrored").toContain(line);
  }

  /** The last that a handle has said of each author. */
  #lastHeads(handle: string): Heads {
    const beats = this.#said(handle).filter(({ type, seq }) => type === "heartbeat" && seq);
    const heads = beats.flatMap(({ body }) =>
      Object.entries((body as { heads?: Heads }).heads ?? {}),
    );
    return Object.fromEntries(heads);
  }
}

/** Where scenes archive: in the year in which they play, once. */
function archivedPart(carrier: string): string {
  return `archive/2026/${carrier.slice(carrier.lastIndexOf("/") + 1)}`;
}

function isFor(handle: string, { from, to, type }: Standing): boolean {
  if (from === handle || type === "heartbeat") return false;
  return to?.some((each) => each === "*" || each === handle) ?? true;
}

function parse(line: string): Standing | undefined {
  return isJson(line) ? { ...(JSON.parse(line) as Standing), line } : undefined;
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** Enough of a line to know it by in a report. */
function short(line: string): string {
  const { from, type, subject, seq, event_id: id } = JSON.parse(line) as Record<string, unknown>;
  return [from, type, subject, seq, id].map(String).join(" ").slice(0, 90);
}

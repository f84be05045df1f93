import { Buffer } from "node:buffer";
import { expect } from "vitest";
import type { AgentPaths } from "../../../src/storage/paths.ts";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import { saysClosed, saysContinued } from "../../../src/wire/roster/closing.ts";
import { makeLayout, pairNames, type Log } from "../../../src/wire/layout.ts";
import { parseMessage, type Message } from "../../../src/wire/message.ts";
import { FALSE_ALARMS } from "./false-alarms.ts";
import type { SimulatedWire } from "./simulated-wire.ts";

interface Standing {
  readonly log: Log;
  readonly line: string;
  readonly message: Message;
}

/** What is looked at of a wire: one folder of it, and the agents with their private files. */
export type CheckedWire = Pick<SimulatedWire, "roster" | "agent" | "lines" | "read"> & {
  paths(handle: string): Pick<AgentPaths, "inbox">;
};

/**
 * Checks the promises of docs/reliability.md on a simulated wire. It remembers each line that it has
 * seen in a log, also one that a power cut has taken back, and each answer that a sender got.
 */
export class PromiseChecker {
  readonly #wire: CheckedWire;
  readonly #logs: readonly Log[];
  readonly #bytesAt = new Map<string, string>();
  readonly #promised: { readonly log: string; readonly id: string }[] = [];

  constructor(wire: CheckedWire, kind: "pairwise" | "outbox" = "pairwise") {
    this.#wire = wire;
    // A pairwise wire may have moved to outboxes.
    const closed = kind === "pairwise" ? pairNames(wire.roster) : [];
    this.#logs = [...makeLayout("outbox", wire.roster, undefined, closed).logs.values()];
  }

  /** A sender was told that these lines are sent: they have to be in their logs in the end. */
  promised(lines: readonly { readonly log: string; readonly event_id: string }[]): void {
    for (const { log, event_id: id } of lines) this.#promised.push({ log, id });
  }

  /** No number of a log is ever seen with two different lines, durable or not. */
  look(): void {
    for (const log of this.#logs) {
      for (const line of this.#linesOf(log)) {
        const parsed = parseMessage(Buffer.from(line, "utf8"));
        if (!parsed.ok) continue;
        const key = `${log.name} ${parsed.message.seq}`;
        const before = this.#bytesAt.get(key) ?? line;
        expect(line, `${key} has other bytes than before`).toBe(before);
        this.#bytesAt.set(key, line);
      }
    }
  }

  /**
   * What must hold when all agents run and nothing is left to do: each log is one chain with every
   * promised line in it, each inbox has every line for it once and in order, nobody was given a
   * false alarm, and no decision or incident is in its shared file twice.
   */
  async check(): Promise<void> {
    this.look();
    const standing = this.#logs.flatMap((log) => this.#chain(log));
    const ids = standing.map(({ log, message }) => `${log.name} ${message.id}`);
    for (const { log, id } of this.#promised) {
      expect(ids, "a promised line is missing").toContain(`${log} ${id}`);
    }
    for (const handle of this.#wire.roster) {
      this.#checkInbox(handle, standing);
      const notices = await this.#wire.agent(handle).view("notices", undefined);
      const alarms = notices.filter(({ cause }) => FALSE_ALARMS.has(cause));
      expect(alarms, `${handle} was told what is not true`).toEqual([]);
    }
    this.#checkShared(standing);
  }

  /** After a restart, before the first tick: what the last heartbeat covers is in the inbox. */
  checkClaims(handle: string): void {
    const claims = this.#lastClaims(handle);
    const inbox = new Set(this.inbox(handle));
    for (const log of this.#logs) {
      const covered = this.#linesOf(log).slice(0, claims[log.name]?.lines ?? 0);
      for (const line of covered) {
        const parsed = parseMessage(Buffer.from(line, "utf8"));
        if (!parsed.ok || !this.#isFor(handle, { log, line, message: parsed.message })) continue;
        expect(inbox.has(line), `${handle} claims a line that it has not delivered`).toBe(true);
      }
    }
  }

  inbox(handle: string): string[] {
    const text = this.#wire.read(this.#wire.paths(handle).inbox);
    expect(text === "" || text.endsWith("\n"), `${handle}'s inbox is torn`).toBe(true);
    return text.split("\n").slice(0, -1);
  }

  /** An outbox that goes on with closed logs is not there before the wire has moved. */
  #linesOf({ path, continues }: Log): string[] {
    try {
      return this.#wire.lines(path);
    } catch (error) {
      if (continues === undefined || !(error instanceof StorageError)) throw error;
      return [];
    }
  }

  #chain(log: Log): Standing[] {
    const text = this.#linesOf(log).length === 0 ? "" : this.#wire.read(log.path);
    expect(text === "" || text.endsWith("\n"), `${log.name} is torn`).toBe(true);
    let head: Message | undefined;
    return this.#linesOf(log).map((line) => {
      const parsed = parseMessage(Buffer.from(line, "utf8"));
      if (!parsed.ok) throw new Error(`${log.name}: ${parsed.detail}: ${line.slice(0, 80)}`);
      const { message } = parsed;
      expect(message.seq, `${log.name} has a gap or a fork`).toBe((head?.seq ?? 0) + 1);
      expect(message.prev, `${log.name} is no chain`).toBe(head?.id);
      if (head !== undefined) {
        expect(message.timestamp > head.timestamp, `${log.name}: time stands still`).toBe(true);
      }
      head = message;
      return { log, line, message };
    });
  }

  #isFor(handle: string, { log, message }: Standing): boolean {
    if (log.owner === handle || message.type === "heartbeat") return false;
    if (saysClosed(message) || saysContinued(message)) return false;
    const isNamed = message.to?.some((to) => to === "*" || to === handle) ?? true;
    return (log.addressee ?? handle) === handle && isNamed;
  }

  #checkInbox(handle: string, standing: readonly Standing[]): void {
    const routed = standing.filter((each) => this.#isFor(handle, each));
    const found = this.inbox(handle);
    const expected = routed.map(({ line }) => line);
    expect(found.map(short).toSorted(), `${handle}'s inbox`).toEqual(
      expected.map(short).toSorted(),
    );
    for (const { name } of this.#logs) {
      const ofLog = routed.filter(({ log }) => log.name === name).map(({ line }) => line);
      expect(found.filter((line) => ofLog.includes(line))).toEqual(ofLog);
    }
  }

  #checkShared(standing: readonly Standing[]): void {
    const decided = this.#wire.lines("decisions.jsonl").filter((line) => line !== "");
    const proposals = decided.map((line) => {
      try {
        return (JSON.parse(line) as { proposal_id: string }).proposal_id;
      } catch {
        return undefined; // the torn line of a process that died: readers count and skip it
      }
    });
    const whole = proposals.filter((id) => id !== undefined);
    expect(new Set(whole).size, "a decision is recorded twice").toBe(whole.length);
    const incidents = this.#wire.lines("incident_log.jsonl").filter(isJson);
    expect(new Set(incidents).size, "an incident is mirrored twice").toBe(incidents.length);
    const raised = standing.filter(({ message }) => message.type === "incident");
    for (const { line } of raised) expect(incidents, "an incident is not mirrored").toContain(line);
  }

  #lastClaims(handle: string): Record<string, { lines: number }> {
    const claims: Record<string, { lines: number }> = {};
    for (const log of this.#logs.filter(({ owner }) => owner === handle)) {
      const beat = this.#linesOf(log).findLast((line) => line.includes('"heads":'));
      const { heads } = beat === undefined ? {} : bodyOf(beat);
      Object.assign(claims, heads);
    }
    return claims;
  }
}

function bodyOf(beat: string): { heads?: Record<string, { lines: number }> } {
  return (JSON.parse(beat) as { body: { heads?: Record<string, { lines: number }> } }).body;
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

import { join } from "node:path";
import { WIRE } from "../../support/scenes/scene-folder.ts";
import { kept } from "./broken.ts";
import type { Genuine, Notary } from "./genuine.ts";
import type { Ledger } from "./ledger.ts";
import type { Host } from "../stage/hosts.ts";
import type { Stage } from "../stage/stage.ts";

type Json = Record<string, unknown>;

/** By whom and what files are judged. */
interface Witnesses {
  readonly notary: Notary;
  readonly ledger: Ledger;
  readonly honest: readonly string[];
}

/** On one host. Promise 5: a decision is recorded once, and only with proof; an incident is mirrored once. */
export class SharedFiles {
  readonly #host: Host;
  readonly #hostOf: (handle: string) => string;
  readonly #notary: Notary;
  readonly #ledger: Ledger;
  readonly #honest: readonly string[];
  #decisionBytes = "";
  #incidentBytes = "";
  /** Proposals that are in decisions.jsonl. */
  recorded = new Set<string>();

  constructor(host: Host, stage: Stage, { notary, ledger, honest }: Witnesses) {
    this.#host = host;
    this.#hostOf = (handle) => stage.member(handle).host.name;
    this.#notary = notary;
    this.#ledger = ledger;
    this.#honest = honest;
  }

  look(): void {
    const decisions = this.#fingerprint("decisions.jsonl");
    if (decisions !== this.#decisionBytes) {
      this.#decisionBytes = decisions;
      this.#lookAtDecisions();
    }
    const incidents = this.#fingerprint("incident_log.jsonl");
    if (incidents !== this.#incidentBytes) {
      this.#incidentBytes = incidents;
      const lines = this.#lines("incident_log.jsonl").map((line) => JSON.stringify(line));
      kept(5, new Set(lines).size === lines.length, () => "an incident is mirrored twice");
    }
  }

  /** Every honest incident that all `known` hold is in the file for operators. */
  checkMirrors(known: ReadonlySet<string>): void {
    const mirrored = new Set(this.#lines("incident_log.jsonl").map((line) => line["event_id"]));
    for (const { from, id, type, body } of this.#ledger.all) {
      if (type !== "incident" || body["severity"] === undefined) continue;
      if (!this.#honest.includes(from) || !known.has(id)) continue;
      kept(5, mirrored.has(id), () => `${from}'s incident ${id.slice(0, 8)} is not mirrored`);
    }
  }

  #lookAtDecisions(): void {
    this.recorded = new Set();
    const twins = new Set<string>();
    for (const record of this.#lines("decisions.jsonl")) {
      const by = String(record["recorded_by"]);
      if (!this.#honest.includes(by) || !this.#notary.signedRecord(record)) continue;
      const proposal = String(record["proposal_id"]);
      // Recorders on two hosts may not have seen each other. Spec 3.4.
      const twin = `${proposal} ${this.#hostOf(by)}`;
      kept(5, !twins.has(twin), () => `${proposal.slice(0, 8)} is recorded twice`);
      twins.add(twin);
      this.recorded.add(proposal);
      this.#checkProof(record, proposal);
    }
  }

  #checkProof(record: Json, id: string): void {
    const proposal = this.#ledger.byId.get(id);
    const beat = this.#ledger.byId.get(String(record["ratified_by"]));
    // In a pair's log a proposal may name nobody: its reader is meant.
    const required = (proposal?.body["required"] ?? proposal?.to ?? []) as string[];
    const what = `the decision on ${id.slice(0, 8)}`;
    kept(5, proposal?.type === "proposal", () => `${what} has no proposal`);
    // Of a proposer who does not chain the ack itself decides.
    const isPlain = proposal?.seq === 0;
    const by = isPlain ? required : [proposal?.from];
    kept(5, beat?.type === (isPlain ? "ack" : "heartbeat"), () => `${what} has no ratifying line`);
    kept(5, by.includes(beat?.from), () => `${what} was ratified by another's line`);
    const acks = ((record["ack_ids"] ?? []) as string[]).map((ack) => this.#ledger.byId.get(ack));
    for (const party of required) {
      const ack = acks.find((each) => each?.from === party);
      kept(5, ack?.type === "ack", () => `${what} has no ack by ${party}`);
      const named = ack?.body["acks"] ?? (ack?.seq === 0 ? id : undefined);
      kept(5, named === id, () => `${what} rests on ${party}'s ack of something else`);
      kept(
        5,
        isPlain || (beat !== undefined && ack !== undefined && this.#covers(beat, ack)),
        () => `${what} rests on an ack that its beat does not cover`,
      );
    }
  }

  /** By its own heads, or by those of an earlier beat: heads that go back change nothing. Spec 3.4. */
  #covers(beat: Genuine, { log, seq }: Genuine): boolean {
    return [...this.#ledger.byId.values()].some((each) => {
      if (each.type !== "heartbeat" || each.log !== beat.log || each.seq > beat.seq) return false;
      const heads = (each.body["heads"] ?? {}) as Record<string, { seq?: number }>;
      return (heads[log]?.seq ?? 0) >= seq;
    });
  }

  #fingerprint(name: string): string {
    const inode = this.#host.whole(join(WIRE, name));
    return inode === undefined ? "" : `${inode.ino} ${inode.size}`;
  }

  /** Whole lines that are JSON objects: what is torn is skipped by every reader. */
  #lines(name: string): Json[] {
    const inode = this.#host.whole(join(WIRE, name));
    if (inode === undefined) return [];
    const text = Buffer.from(inode.read(inode.size, 0)).toString("utf8");
    return text.split("\n").slice(0, -1).flatMap(parsed);
  }
}

function parsed(line: string): Json[] {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? [value as Json] : [];
  } catch {
    return [];
  }
}

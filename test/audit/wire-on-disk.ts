import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runAudit, type AuditPlan, type AuditReport } from "../../src/audit/audit.ts";
import { keyHistory, type KeyLine } from "../../src/audit/key-history.ts";
import { filePlan, wirePlan, type Keys } from "../../src/audit/plan.ts";
import type { UnsignedDecision } from "../../src/protocol/decisions/record/decision-record.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { DEFAULT_CONFIG } from "../../src/trust/policy/config.ts";
import { DEFAULT_HEARTBEAT_TIERS } from "../../src/trust/policy/heartbeat-tiers.ts";
import { EMPTY_STORE, newPeer, type Peer, type PinnedKey } from "../../src/trust/store.ts";
import { composeLine, type ChainHead, type Draft } from "../../src/wire/compose.ts";
import { eventId } from "../../src/wire/canonical.ts";
import { fromPlain, type JsonObject, type JsonValue } from "../../src/wire/json/json.ts";
import { keyId, makeSigner, publicKeyOf } from "../../src/wire/signature.ts";
import { verifyHere } from "../support/verify-here.ts";

export const WIRE_ID = "7c3a91e2b4d05f16";
const ROSTER = ["forge", "scribe"];
const BEGIN_MS = Date.UTC(2026, 5, 1, 10);

const SEEDS: Record<string, Uint8Array> = {
  forge: new Uint8Array(32).fill(1),
  scribe: new Uint8Array(32).fill(2),
};
export const signerOf = (handle: string) => makeSigner(handle, SEEDS[handle] ?? new Uint8Array(32));

export function pinned(handle: string): Peer {
  const key = publicKeyOf(SEEDS[handle] ?? new Uint8Array(32));
  const pin = { keyId: keyId(handle, key), key, addedAt: "", active: true };
  return { ...newPeer(handle), tier: "ATTESTED", attestedSinceMs: 0, keys: [pin] };
}

export const PINNED: Keys = {
  from: "pinned",
  store: { version: 1, peers: new Map(ROSTER.map((handle) => [handle, pinned(handle)])) },
};
export const NO_KEYS: Keys = { from: "none", store: EMPTY_STORE };

/** Lines that a daemon would write, into real files; every line is a second after the one before. */
export class WireOnDisk {
  readonly root = mkdtempSync(join(tmpdir(), "deaddrop-audit-"));
  readonly #heads = new Map<string, { head: ChainHead; lines: number }>();
  #nowMs = BEGIN_MS;

  path(...names: string[]): string {
    return join(this.root, ...names);
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  logOf(from: string): string {
    return from === "forge" ? "forge_to_scribe" : "scribe_to_forge";
  }

  /** Signs a line without writing it; the chain goes on from it. */
  sign(from: string, draft: Partial<Draft>, wireId = WIRE_ID): { line: string; id: string } {
    const log = this.logOf(from);
    const known = this.#heads.get(log);
    this.#nowMs += 1_000;
    const { line, id, message } = composeLine(
      { to: [], type: "feedback", subject: "word", body: "", ...draft },
      { timestamp: new Date(this.#nowMs).toISOString(), log, wireId, head: known?.head },
      signerOf(from),
    );
    const head = { seq: message.seq ?? 0, id };
    this.#heads.set(log, { head, lines: (known?.lines ?? 0) + 1 });
    return { line: Buffer.from(line).toString("utf8"), id };
  }

  say(from: string, draft: Partial<Draft>): string {
    const to = [from === "forge" ? "scribe" : "forge"];
    const { line, id } = this.sign(from, { to, ...draft });
    this.write(`${this.logOf(from)}.jsonl`, `${line}\n`);
    return id;
  }

  /** A beat whose heads cover all that the other side has written. */
  beat(from: string): string {
    const other = this.logOf(from === "forge" ? "scribe" : "forge");
    const covered = this.#heads.get(other);
    const head = covered && {
      lines: covered.lines,
      seq: covered.head.seq,
      event_id: covered.head.id,
      read_lines: covered.lines,
      refused: [],
    };
    const body: JsonValue = {
      wakeup_count: 1,
      state: "idle",
      next_eta: new Date(this.#nowMs + 90_000).toISOString(),
      heads: head === undefined ? {} : { [other]: head },
    };
    return this.say(from, { type: "heartbeat", subject: "beat", body, priority: "low" });
  }

  /** A proposal, its ack, and the beat that ratifies it. */
  decide(): { proposal: string; ack: string; beat: string } {
    const correlationId = `decision ${this.#nowMs}`;
    const proposal = this.say("forge", {
      type: "proposal",
      subject: "freeze the format",
      body: { required: ["scribe"], decision: "frozen" },
      ackRequired: true,
      correlationId,
    });
    this.beat("scribe");
    const ack = this.say("scribe", {
      type: "ack",
      subject: "ack",
      body: { acks: proposal },
      correlationId,
    });
    return { proposal, ack, beat: this.beat("forge") };
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(this.path(name)), { recursive: true });
    appendFileSync(this.path(name), text);
  }

  /** As a daemon records it: signed like a message. */
  record(decision: UnsignedDecision, by = "forge"): void {
    const unsigned = { ...decision, recorded_by: by };
    const id = eventId(fromPlain(unsigned) as JsonObject);
    const { keyId: public_key_id, sign } = signerOf(by);
    const signature = Buffer.from(sign(Buffer.from(id, "hex"))).toString("base64");
    const entry = { ...unsigned, event_id: id, public_key_id, signature };
    this.write("decisions.jsonl", `${JSON.stringify(entry)}\n`);
  }

  replace(name: string, text: string): void {
    writeFileSync(this.path(name), text);
  }

  audit(keys: Keys = PINNED, journal?: string, verifyAll = verifyHere): Promise<AuditReport> {
    return runAudit(this.#plan(keys, journal), verifyAll);
  }

  /** What a key of that agent has signed, by this trust store. */
  keyHistory(
    key: PinnedKey,
    keys: Keys = PINNED,
    journal?: string,
    sinceMs = -Infinity,
  ): KeyLine[] {
    return keyHistory(this.#plan(keys, journal), key, sinceMs);
  }

  #plan(keys: Keys, journal: string | undefined): AuditPlan {
    const config = { ...DEFAULT_CONFIG, wireId: WIRE_ID, roster: ROSTER };
    const by = { config, tiers: DEFAULT_HEARTBEAT_TIERS, roster: ROSTER, journal };
    return wirePlan(nodeDisk(), this.root, keys, by);
  }

  auditFiles(names: readonly string[], keys: Keys = NO_KEYS): Promise<AuditReport> {
    const paths = names.map((name) => this.path(name));
    const planned = filePlan(nodeDisk(), paths, keys);
    if (!planned.ok) throw new Error(planned.detail);
    return runAudit(planned.plan, verifyHere);
  }
}

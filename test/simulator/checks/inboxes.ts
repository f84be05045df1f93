import type { Tier } from "../../../src/trust/tiers.ts";
import { kept } from "./broken.ts";
import type { Genuine, Notary } from "./genuine.ts";
import type { Ledger } from "./ledger.ts";
import type { Member, Stage } from "../stage/stage.ts";

interface Box {
  bytes: number;
  ino: number;
  readonly delivered: Map<string, Genuine>;
  readonly lastSeq: Map<string, number>;
}

/** Promises 6, 7 and 9: what reaches an inbox is genuine, allowed, in order, and comes once. */
export class Inboxes {
  readonly #stage: Stage;
  readonly #notary: Notary;
  readonly #tierOf: (of: string, forWhom: string) => Tier;
  readonly #honest: readonly string[];
  readonly #paths = new Map<string, string>();
  readonly #boxes = new Map<string, Box>();
  delivered = 0;

  constructor(
    stage: Stage,
    notary: Notary,
    honest: readonly string[],
    tierOf: (of: string, forWhom: string) => Tier,
  ) {
    this.#stage = stage;
    this.#notary = notary;
    this.#honest = honest;
    this.#tierOf = tierOf;
    for (const handle of honest) this.#paths.set(handle, stage.paths(stage.member(handle)).inbox);
  }

  look(): void {
    for (const handle of this.#honest) {
      // What a power cut has left of it is fixed before its daemon runs.
      if (this.#stage.member(handle).running !== undefined) this.#lookAt(handle);
    }
  }

  /** The file is read again: it was removed, and what it held comes again, or the power was cut. */
  forget({ handle }: Member): void {
    this.#boxes.delete(handle);
  }

  /** All run and nothing is left to do: every honest line of those `known` is there. */
  checkComplete(
    ledger: Ledger,
    known: ReadonlySet<string>,
    by: {
      /** Those who are there. */
      readonly handles: readonly string[];
      /** Whether it was written by one that was away. */
      isLate(line: Genuine): boolean;
    },
  ): void {
    this.look();
    for (const handle of by.handles) {
      const { delivered } = this.#box(handle);
      const isAhead = this.#datedAhead(handle);
      for (const log of this.#stage.logs) {
        if (log.owner === handle || !this.#honest.includes(log.owner)) continue;
        for (const each of ledger.standing(log.name)) {
          if (!this.#isFor(handle, log.addressee, each) || isAhead(each.id)) continue;
          if (!known.has(each.id) || by.isLate(each)) continue;
          kept(6, delivered.has(each.id), () => `${handle} was never given ${said(each)}`);
        }
      }
    }
  }

  /** A power cut took it out of its log and out of the inbox: better late than never. */
  #wasLost(handle: string, id: string): boolean {
    return this.#journalOf(handle).some((line) => line.includes('"instead"') && line.includes(id));
  }

  #journalOf(handle: string): string[] {
    const member = this.#stage.member(handle);
    const inode = member.host.disk.lookUp(this.#stage.paths(member).journal);
    return inode === undefined
      ? []
      : Buffer.from(inode.read(inode.size, 0)).toString("utf8").split("\n");
  }

  /** Spec 1.2: what is dated five minutes ahead of the reader's clock is refused, and told. */
  #datedAhead(handle: string): (id: string) => boolean {
    const skewed = this.#journalOf(handle).filter((line) => line.includes('"clock_skew"'));
    return (id) => skewed.some((line) => line.includes(id));
  }

  #isFor(handle: string, addressee: string | undefined, { type, to, body }: Genuine): boolean {
    // What ends a log and begins an outbox is no mail. Spec 1.6.
    if (body["closes"] !== undefined || body["continues"] !== undefined) return false;
    if (STATE.has(type) || (addressee ?? handle) !== handle) return false;
    return to.includes("*") || to.includes(handle);
  }

  #lookAt(handle: string): void {
    const inode = this.#stage.member(handle).host.disk.lookUp(this.#paths.get(handle) as string);
    let box = this.#box(handle);
    if (inode === undefined) return;
    if (inode.ino !== box.ino || inode.size < box.bytes) {
      // A power cut took what was not synced; from here on it may come once more.
      this.#boxes.set(handle, newBox(inode.ino));
      box = this.#box(handle);
    }
    if (inode.size === box.bytes) return;
    const fresh = Buffer.from(inode.read(inode.size - box.bytes, box.bytes));
    const whole = fresh.lastIndexOf(0x0a) + 1;
    for (const line of fresh.subarray(0, whole).toString("utf8").split("\n").slice(0, -1)) {
      this.#take(handle, box, line);
    }
    box.bytes += whole;
  }

  #take(handle: string, box: Box, line: string): void {
    // Stands for a line that the inbox had, and that its author has taken out of the log since.
    if (line.trim() === "") return;
    const genuine = this.#notary.read(line);
    if (genuine === undefined) {
      kept(7, false, () => `${handle} was given what nobody signed: ${line.slice(0, 120)}`);
      return;
    }
    const { from, id, log, seq, type } = genuine;
    kept(6, !box.delivered.has(id), () => `${handle} was given ${said(genuine)} twice`);
    const last = box.lastSeq.get(log) ?? 0;
    const inOrder =
      seq === 0 || seq > last || !this.#honest.includes(from) || this.#wasLost(handle, id);
    kept(6, inOrder, () => `${handle} was given ${said(genuine)} after line ${last} of ${log}`);
    const into = this.#stage.layout.logs.get(log)?.into;
    const isAfterOutbox = into !== undefined && box.lastSeq.has(into);
    const isBeforeOutbox = !isAfterOutbox || this.#wasLost(handle, id);
    kept(6, isBeforeOutbox, () => `${handle} was given ${said(genuine)} after lines of ${into}`);
    kept(
      9,
      from !== handle && allows(this.#tierOf(from, handle), type),
      () => `${handle} was given ${said(genuine)} by one whose tier forbids it`,
    );
    box.delivered.set(id, genuine);
    box.lastSeq.set(log, seq);
    this.delivered += 1;
  }

  #box(handle: string): Box {
    const known = this.#boxes.get(handle);
    if (known !== undefined) return known;
    const box = newBox(0);
    this.#boxes.set(handle, box);
    return box;
  }
}

function newBox(ino: number): Box {
  return { bytes: 0, ino, delivered: new Map(), lastSeq: new Map() };
}

/** What says only how an agent is; the simulated agents ask for no heartbeats. */
const STATE: ReadonlySet<string> = new Set(["heartbeat", "agent_card", "trust_tier_announcement"]);

/** Spec 2.3, for what members of a simulation write. */
function allows(tier: Tier, type: string): boolean {
  if (STATE.has(type) || tier === "UNTRUSTED") return false;
  return tier !== "VERIFIED" || type !== "claim";
}

function said({ from, type, log, seq, id }: Genuine): string {
  return `${from}'s ${type} ${id.slice(0, 8)} (${log} ${seq})`;
}

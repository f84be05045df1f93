import type { Log } from "../../../src/wire/layout.ts";
import { kept } from "./broken.ts";
import { HOSTILE } from "../stage/cast.ts";
import type { Genuine, Notary } from "./genuine.ts";
import type { Whole } from "../stage/hosts.ts";
import type { Member, Stage } from "../stage/stage.ts";

function checkChain(place: string, head: Genuine | undefined, next: Genuine): void {
  kept(2, next.seq === (head?.seq ?? 0) + 1, () => `${place} follows ${head?.seq ?? "nothing"}`);
  kept(2, next.prev === head?.id, () => `${place} is chained to another line`);
}

/** What stands in one log, read on as it grows. */
interface Reading {
  readonly log: Log;
  bytes: number;
  ino: number;
  /** Its last bytes before there: who fixes its log may change what was read. */
  end: Buffer;
  /** Genuine lines that stand there, in order. */
  lines: Genuine[];
}

const END_BYTES = 4_096;
const NO_BYTES = Buffer.alloc(0);

function endOf(inode: Whole, at: number): Buffer {
  const from = Math.max(0, at - END_BYTES);
  return Buffer.from(inode.read(at - from, from));
}

/**
 * Remembers every genuine line that ever stood in a log and every one that was promised, and holds
 * the logs of honest agents to promises 1 to 4.
 */
export class Ledger {
  readonly #stage: Stage;
  readonly #notary: Notary;
  readonly #honest: ReadonlySet<string>;
  readonly #readings: readonly Reading[];
  readonly #bytesAt = new Map<string, string>();
  readonly #promised = new Map<string, Set<string>>();
  readonly byId = new Map<string, Genuine>();
  /** How many lines were promised. */
  acknowledged = 0;

  constructor(stage: Stage, notary: Notary, honest: readonly string[]) {
    this.#stage = stage;
    this.#notary = notary;
    this.#honest = new Set(honest);
    this.#readings = stage.logs.map((log) => ({ log, bytes: 0, ino: 0, end: NO_BYTES, lines: [] }));
  }

  promise(log: string, id: string): void {
    const ids = this.#promised.get(log) ?? new Set();
    this.#promised.set(log, ids.add(id));
    this.acknowledged += 1;
  }

  standing(log: string): readonly Genuine[] {
    return this.#readings.find((each) => each.log.name === log)?.lines ?? [];
  }

  get all(): readonly Genuine[] {
    return this.#readings.flatMap(({ lines }) => lines);
  }

  /** Whether a log lacks lines that it had: an older copy of it was put back, and its author has not restored it. */
  get isBehind(): boolean {
    this.look();
    const ids = new Set(this.all.map(({ id }) => id));
    return [...this.byId.keys()].some((id) => !ids.has(id));
  }

  /** After every step: what is new in the logs. */
  look(): void {
    for (const reading of this.#readings) {
      const inode = this.#stage.log(reading.log);
      if (inode === undefined) continue;
      const isSame = inode.ino === reading.ino && inode.size >= reading.bytes;
      if (!isSame || !endOf(inode, reading.bytes).equals(reading.end)) {
        Object.assign(reading, { ino: inode.ino, bytes: 0, lines: [] });
      }
      if (inode.size === reading.bytes) continue;
      const fresh = Buffer.from(inode.read(inode.size - reading.bytes, reading.bytes));
      const whole = fresh.lastIndexOf(0x0a) + 1;
      for (const line of fresh.subarray(0, whole).toString("utf8").split("\n").slice(0, -1)) {
        this.#take(reading, line);
      }
      reading.bytes += whole;
      reading.end = endOf(inode, reading.bytes);
    }
  }

  /** A daemon has started: every line that it ever promised stands, and its logs end well. */
  checkOwn({ handle }: Member): void {
    for (const reading of this.#readings) {
      if (reading.log.owner === handle) reading.bytes = Infinity;
    }
    this.look();
    for (const { log, lines } of this.#readings) {
      if (log.owner !== handle) continue;
      const ids = new Set(lines.map(({ id }) => id));
      for (const id of this.#promised.get(log.name) ?? []) {
        kept(1, ids.has(id), () => `${log.name} has lost the promised line ${id.slice(0, 8)}`);
      }
      const inode = this.#stage.log(log);
      const last =
        inode === undefined || inode.size === 0 ? 0x0a : inode.read(1, inode.size - 1)[0];
      kept(2, last === 0x0a, () => `${log.name} is torn although its writer has started`);
    }
  }

  #take(reading: Reading, line: string): void {
    const { log, lines } = reading;
    const genuine = this.#notary.read(line);
    if (!this.#honest.has(log.owner)) {
      if (genuine?.from === log.owner) this.#keep(lines, genuine);
      return;
    }
    // Who can write in the folder can copy anything into a log; it is not its owner's word.
    if (genuine === undefined || genuine.from !== log.owner || genuine.log !== log.name) return;
    const place = `${log.name} ${genuine.seq}`;
    const before = this.#bytesAt.get(place);
    kept(3, before === undefined || before === line, () => `${place} was signed twice`);
    this.#bytesAt.set(place, line);
    const head = lines.at(-1);
    if (head !== undefined && genuine.seq <= head.seq) return; // somebody's copy of an old line
    kept(2, head?.body["closes"] !== log.name, () => `${place} comes after the closing line`);
    // What a power cut has left is fixed when the writer starts.
    const isMended = this.#stage.member(log.owner).running !== undefined;
    if (isMended && !this.#stage.members.has(HOSTILE)) checkChain(place, head, genuine);
    kept(
      10,
      head === undefined ||
        genuine.seq !== head.seq + 1 ||
        genuine.timestamp > head.timestamp ||
        this.#stage.member(log.owner).clockSetBack,
      () => `${place} is not later than the line before it`,
    );
    this.#keep(lines, genuine);
  }

  #keep(lines: Genuine[], genuine: Genuine): void {
    lines.push(genuine);
    this.byId.set(genuine.id, genuine);
  }
}

import { readFileSync, truncateSync } from "node:fs";
import type { Sent } from "../../../src/agent/core.ts";
import { DecisionRecord } from "../../../src/agent/duties/decision-record.ts";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import type { HeldLine } from "../../../src/store/store.ts";
import type { Draft } from "../../../src/wire/compose.ts";
import { HOUR_MS, SECOND_MS } from "../../../src/wire/durations.ts";
import { CoreWire, type CoreAgent } from "../../support/core-wire.ts";
import { Crashed } from "../../support/disk/memory-file.ts";
import { check } from "../checks/broken.ts";
import type { Luck } from "../luck.ts";
import { Carrying, type CarrierFile } from "./carrying.ts";
import { castOf, HOSTILE, PLAIN, type Cast } from "./cast.ts";
import { Hostile } from "./hostile.ts";
import { PlainMember } from "./plain-member.ts";

/** A line as its author has called it sent. */
export interface Said {
  readonly author: string;
  readonly seq: number;
  readonly id: string;
  readonly to: readonly string[];
}

/** An ask that somebody has made, and who has to answer it. */
export interface Asked {
  readonly line: Pick<HeldLine, "author" | "seq" | "id" | "thread">;
  readonly is: "proposal" | "request";
  readonly parties: readonly string[];
}

/** One run: its agents, what happens to them, and what they have promised so far. */
export class Stage {
  readonly luck: Luck;
  readonly cast: Cast;
  readonly carrying: Carrying;
  readonly wire: CoreWire;
  readonly plain: PlainMember | undefined;
  readonly hostile: Hostile | undefined;
  readonly said: Said[] = [];
  readonly asked: Asked[] = [];
  /** Each line that an agent was seen to have signed, by author and number. */
  readonly signed = new Map<string, string>();
  /** Bytes of lines as their authors signed them, by id. */
  readonly bytes = new Map<string, string>();
  readonly kept = new Map<string, string>();
  /** Agents that were no members at some time. */
  readonly unsteady = new Set<string>();
  readonly #seen = new Map<string, number>();
  crashes = 0;
  powerCuts = 0;

  constructor(root: string, luck: Luck) {
    this.luck = luck;
    this.cast = castOf(luck);
    const { honest, roster, newcomer, hasHosts, hasPlain, hasHostile } = this.cast;
    if (newcomer !== undefined) this.unsteady.add(newcomer);
    const carrying = new Carrying(root, hasHosts, luck);
    this.carrying = carrying;
    this.wire = new CoreWire(
      root,
      honest,
      carrying.transports,
      ({ name }) =>
        (ground) => [new DecisionRecord(ground, carrying.folder(name))],
      (_agent, place) => ({
        ...place,
        pinned: { roster, epoch: 0 },
        believed: (author) => ({ ...place.believed(author), allowUnchained: author === PLAIN }),
      }),
    );
    this.plain = hasPlain ? new PlainMember(this) : undefined;
    this.hostile = hasHostile ? new Hostile(this) : undefined;
  }

  get agents(): CoreAgent[] {
    return [...this.wire.agents.values()].filter((agent) => this.isThere(agent));
  }

  /** A newcomer begins to run when some member's roster has it. */
  isThere({ name }: CoreAgent): boolean {
    if (name !== this.cast.newcomer) return true;
    return [...this.wire.agents.values()].some(
      ({ name: other, core }) => other !== name && core.members.has(name),
    );
  }

  others({ name }: CoreAgent): CoreAgent[] {
    return this.agents.filter((each) => each.name !== name);
  }

  /** Every handle that writes into folders. */
  get writers(): string[] {
    return [
      ...this.cast.honest,
      ...(this.plain === undefined ? [] : [PLAIN]),
      ...(this.hostile === undefined ? [] : [HOSTILE]),
    ];
  }

  get folders(): string[] {
    return [...new Set(this.writers.map((name) => this.carrying.folder(name)))];
  }

  /** What agents published: they repair it themselves. */
  carriers(): CarrierFile[] {
    return this.folders
      .flatMap((folder) => this.carrying.files(folder))
      .filter(({ owner }) => this.cast.honest.includes(owner));
  }

  /** Does something for an agent that may die of it, or find its disk full. */
  async attempt(agent: CoreAgent, act: () => unknown): Promise<string> {
    try {
      await act();
      return "";
    } catch (error) {
      if (error instanceof Crashed) {
        agent.die();
        this.crashes += 1;
        return ", and dies";
      }
      if (!(error instanceof StorageError)) throw error;
      return ", and has no room";
    }
  }

  say(agent: CoreAgent, draft: Partial<Draft>): HeldLine | undefined {
    const whole = { type: "ship", to: ["*"], subject: `${this.said.length}`, body: "", ...draft };
    const [line] = this.send(agent, [whole]);
    return line;
  }

  /** Sends these lines, and remembers what was acknowledged. */
  send(agent: CoreAgent, drafts: readonly Draft[]): readonly HeldLine[] {
    const sent: Sent = agent.core.send(drafts);
    if (sent.is !== "sent") {
      check("everybody goes on", sent.is === "not ready" || sent.is === "safe mode", () =>
        [agent.name, sent.is].join(" "),
      );
      return [];
    }
    for (const [at, { author, seq, id, bytes }] of sent.lines.entries()) {
      if (seq === null) continue;
      this.said.push({ author, seq, id, to: drafts[at]?.to ?? [] });
      this.bytes.set(id, Buffer.from(bytes).toString());
    }
    if (this.luck.chance(0.7)) agent.core.publish();
    return sent.lines;
  }

  /** Lines of all others reach an agent, or do not. */
  fetch(agent: CoreAgent): void {
    for (const from of this.luck.shuffled(this.writers)) this.carrying.carry(from, agent.name);
    this.hostile?.read();
    this.plain?.read();
  }

  /** The power of an agent's machine fails: what was not synced is lost. */
  cutPower(agent: CoreAgent): void {
    agent.die();
    this.powerCuts += 1;
    const own = this.carrying
      .files(this.carrying.folder(agent.name))
      .filter(({ owner }) => owner === agent.name)
      .map(({ path }) => path);
    for (const path of [...own, agent.inboxPath]) {
      const size = sizeOf(path);
      if (size > 0 && this.luck.chance(0.5))
        truncateSync(path, size - this.luck.between(0, Math.min(size, 4_096)));
    }
  }

  /** Nothing of an agent's chain is ever signed anew. */
  look(): void {
    for (const { name, core } of this.wire.agents.values()) {
      const { seq } = core.store.chains.whole(name);
      const seen = this.#seen.get(name) ?? 0;
      const after = seq < seen ? 0 : seen;
      for (const line of core.store.chain(name, { after, limit: 10_000 })) this.noteSigned(line);
      this.#seen.set(name, seq);
    }
  }

  noteSigned({ author, seq, id }: Pick<HeldLine, "author" | "seq" | "id">): void {
    const key = `${author} ${seq}`;
    const known = this.signed.get(key) ?? id;
    check("nothing is signed twice", known === id, () => key);
    this.signed.set(key, known);
  }

  /** Nothing more happens: everybody reads, beats and closes for some hours. */
  async calm(): Promise<void> {
    for (const agent of this.wire.agents.values()) {
      if (this.luck.chance(0.3)) agent.die();
      else agent.heal();
    }
    this.plain?.write();
    for (let time = 0; time < 12; time += 1) await this.settle(2, 100 * SECOND_MS);
    await this.settle(4, HOUR_MS);
    await this.settle(2, 100 * SECOND_MS);
    this.look();
  }

  async settle(rounds: number, stepMs: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      this.wire.nowMs += stepMs;
      for (const agent of this.agents) {
        for (const from of this.writers) this.carrying.carryWell(from, agent.name);
        while (await agent.core.round());
      }
    }
  }
}

function sizeOf(path: string): number {
  try {
    return readFileSync(path).length;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}

/** The lines of an agent's chain, as a store holds them. */
export function chainIn({ core }: CoreAgent, author: string): HeldLine[] {
  return core.store.chain(author, { after: 0, limit: 10_000 });
}

import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { StorageError } from "../../src/storage/disk/disk.ts";
import type { HeldLine } from "../../src/store/store.ts";
import type { Draft } from "../../src/wire/compose.ts";
import { HOUR_MS, SECOND_MS } from "../../src/wire/durations.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import { placeJson } from "../../src/wire/places.ts";
import { CoreWire, type CoreAgent, type Transports } from "./core-wire.ts";
import { Crashed } from "./disk/memory-file.ts";
import { randomFrom } from "./random.ts";

/** A line as its author has called it sent. */
interface Said {
  readonly author: string;
  readonly seq: number;
  readonly id: string;
  readonly to: readonly string[];
}

interface Asked {
  readonly line: HeldLine;
  readonly parties: readonly string[];
}

/** How lines get from one agent to others, when they share no folder. */
export interface Carrying {
  readonly transports: Transports;
  /** Where the files of the wire of an agent are. */
  folderOf(name: string): string;
  /** Sends and fetches. */
  sync(agent: CoreAgent): Promise<void>;
}

/** Agents that do anything at random, and all that happens to them meanwhile. */
export class CoreStorm {
  readonly wire: CoreWire;
  /** What was done, for whoever looks for the reason. */
  readonly told: string[] = [];
  readonly #random: () => number;
  readonly #carrying: Carrying | undefined;
  readonly #said: Said[] = [];
  readonly #asked: Asked[] = [];
  /** Each line that anybody was seen to have signed, by author and number. */
  readonly #signed = new Map<string, string>();
  /** As it was signed, by id. */
  readonly #bytes = new Map<string, string>();
  readonly #kept = new Map<string, { readonly path: string; readonly seq: number }>();
  readonly #older = new Map<string, Buffer>();

  constructor(root: string, seed: number, carrying?: Carrying) {
    this.#random = randomFrom(seed);
    const names = seed % 2 === 0 ? ["forge", "scribe"] : ["forge", "scribe", "ann"];
    this.wire = new CoreWire(root, names, carrying?.transports);
    this.#carrying = carrying;
  }

  get sent(): number {
    return this.#said.length;
  }

  async rage(steps: number): Promise<void> {
    await this.#settle(2, SECOND_MS);
    for (let step = 0; step < steps; step += 1) {
      const agent = this.#pick([...this.wire.agents.values()]);
      try {
        await this.#step(agent);
      } catch (error) {
        if (error instanceof Crashed) agent.die();
        else if (!(error instanceof StorageError)) throw error;
        this.told.push(`  ${agent.name} ${error instanceof Crashed ? "has died" : "has no room"}`);
      }
      for (const each of this.wire.agents.values()) this.#lookAt(each);
    }
  }

  /** Nothing more happens: everybody reads, beats and closes for some hours. */
  async calm(): Promise<void> {
    this.told.push("calm");
    for (const agent of this.wire.agents.values()) {
      if (this.#random() < 0.3) agent.die();
      else agent.heal();
    }
    for (let time = 0; time < 16; time += 1) await this.#settle(2, 100 * SECOND_MS);
    await this.#settle(4, HOUR_MS);
    for (const agent of this.wire.agents.values()) this.#lookAt(agent);
  }

  check(): void {
    const agents = [...this.wire.agents.values()];
    for (const agent of agents) {
      const { store, readiness } = agent.core;
      expect([agent.name, readiness]).toEqual([agent.name, { is: "ready" }]);
      const own = store.chains.whole(agent.name);
      expect([agent.name, agent.mark]).toEqual([agent.name, { seq: own.seq, id: own.id }]);
      expect(chainOf(agent, agent.name).map(({ seq }) => seq)).toEqual(
        Array.from({ length: own.seq }, (_, at) => at + 1),
      );
      for (const author of this.wire.names) {
        expect([author, store.chains.whole(author).fork]).toEqual([author, null]);
        expect([agent.name, author, idsOf(agent, author)]).toEqual([
          agent.name,
          author,
          idsOf(this.wire.agent(author), author),
        ]);
        this.#checkBytes(agent, author);
      }
      this.#checkCarriers(agent);
      this.#checkMail(agent);
    }
    this.#checkAsks(agents);
  }

  async #settle(rounds: number, stepMs: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      for (const agent of this.wire.agents.values()) await this.#carrying?.sync(agent);
      await this.wire.settle(1, stepMs);
    }
  }

  /** Copies are equal byte for byte, but for those whose signature is damaged and that a later line proves. */
  #checkBytes(agent: CoreAgent, author: string): void {
    for (const { isVerified, id, text } of chainOf(agent, author)) {
      if (!isVerified) continue;
      const known = this.#bytes.get(id) ?? text;
      expect([agent.name, author, text]).toEqual([agent.name, author, known]);
      this.#bytes.set(id, known);
    }
  }

  /** Each line that was called sent is in its author's chain, and everybody's mail has what is for it once. */
  #checkMail(agent: CoreAgent): void {
    const { store } = agent.core;
    const mail = store.mail.after({}, 0, 10_000).map((n) => store.line(n));
    const ids = mail.map((line) => line?.id ?? "");
    expect(new Set(ids).size).toBe(ids.length);
    for (const { author, seq, id, to } of this.#said) {
      const state = store.chains.stateOf({ author, seq, id });
      expect([agent.name, author, seq, state]).toEqual([agent.name, author, seq, "linked"]);
      const isFor = author !== agent.name && (to.includes(agent.name) || to.includes("*"));
      expect([agent.name, author, seq, ids.includes(id)]).toEqual([agent.name, author, seq, isFor]);
    }
    const inbox = readFileSync(agent.inboxPath, "utf8").split("\n").slice(0, -1);
    const repeated = inbox.map((text) => (JSON.parse(text) as { event_id: string }).event_id);
    expect([agent.name, repeated.toSorted()]).toEqual([agent.name, ids.toSorted()]);
  }

  /** Each line of a chain is in the carriers of its author. */
  #checkCarriers(agent: CoreAgent): void {
    const texts = new Set(
      this.#carriers()
        .filter((path) => ownerOf(path) === agent.name)
        .flatMap((path) => readFileSync(path, "utf8").split("\n")),
    );
    const missing = chainOf(agent, agent.name).filter(({ text }) => !texts.has(text));
    expect([agent.name, missing]).toEqual([agent.name, []]);
  }

  #checkAsks(agents: readonly CoreAgent[]): void {
    for (const { line, parties } of this.#asked) {
      const states = agents.map((agent) =>
        agent.core.store.asks
          .ofThread(line.thread, 100)
          .filter(({ ask }) => ask.place.id === line.id)
          .map(({ state }) => state),
      );
      expect(states).toEqual(states.map(() => states[0]));
      const [state] = states[0] ?? [];
      expect(["open", "approved", "ended"]).toContain(state);
      // A counter in its thread moves positions too.
      if (this.#asked.filter((each) => each.line.thread === line.thread).length > 1) continue;
      const said = parties.map((party) => this.#answersOf(party, line));
      const isAgreed = said.every((each) => each.length > 0 && !each.includes(false));
      const isRejected = said.some((each) => each.at(-1) === false);
      if (isAgreed)
        expect([line.author, line.seq, state]).toEqual([line.author, line.seq, "approved"]);
      if (isRejected) expect([line.author, line.seq, state]).not.toContain("open");
    }
  }

  /** What a party has said of an ask, in the order of its chain. */
  #answersOf(party: string, ask: HeldLine): boolean[] {
    const own = JSON.stringify(placeJson(ask));
    return chainOf(this.wire.agent(party), party).flatMap(({ text }) => {
      const { type, body } = JSON.parse(text) as { type: string; body: Record<string, unknown> };
      if (type === "ack" && JSON.stringify(body["acks"]) === own) return [body["approve"] === true];
      return JSON.stringify(body["counters"]) === own ? [false] : [];
    });
  }

  async #step(agent: CoreAgent): Promise<void> {
    const act = this.#pick(ACTS);
    this.told.push(`${agent.name} ${act}`);
    switch (act) {
      case "round":
        if (this.#random() < 0.7) await this.#carrying?.sync(agent);
        while (await agent.core.round());
        return;
      case "time":
        this.wire.nowMs += Math.floor(this.#random() * 20 * SECOND_MS);
        return;
      case "beat":
        agent.core.heart.beat();
        agent.core.publish();
        return;
      case "read":
        agent.core.markRead("all");
        return;
      case "publish":
        agent.core.publish();
        return;
      case "say":
        this.#say(agent, this.#words(agent));
        return;
      case "propose": {
        const parties = this.#others(agent).filter((_, at) => at === 0 || this.#random() < 0.5);
        const body = fromPlain({ required: parties, decision: "do it" });
        return this.#ask(agent, parties, { body, to: parties });
      }
      case "answer":
        return this.#answer(agent);
      default:
        return this.#trouble(agent, act);
    }
  }

  #trouble(agent: CoreAgent, act: (typeof ACTS)[number]): void {
    switch (act) {
      case "die soon":
        agent.dieIn(1 + Math.floor(this.#random() * 12));
        return;
      case "full disk":
        agent.fillDiskIn(1 + Math.floor(this.#random() * 9), 1 + Math.floor(this.#random() * 9));
        return;
      case "die":
        agent.die();
        return;
      case "restart":
        agent.restart();
        return;
      case "keep store": {
        const { seq } = agent.core.store.chains.whole(agent.name);
        this.#kept.set(agent.name, { path: agent.keepStore(), seq });
        return;
      }
      case "lose store":
        if (this.#mayLose(agent)) agent.loseStore();
        else this.told.push("  no");
        return;
      case "put store back": {
        const kept = this.#kept.get(agent.name);
        if (kept !== undefined && this.#mayLose(agent)) agent.putBackStore(kept.path);
        else this.told.push("  no");
        return;
      }
      case "delete wire":
        for (const folder of this.#folders()) {
          rmSync(folder, { recursive: true });
          mkdirSync(folder);
        }
        return;
      default:
        this.#damage(act);
    }
  }

  /** What others hold of an agent comes back; what it has told nobody is lost with its store. */
  #mayLose(agent: CoreAgent): boolean {
    const own = agent.core.store.chains.whole(agent.name).seq;
    const least = Math.max(own, agent.mark?.seq ?? 0);
    const others = this.#others(agent).map((name) => this.wire.agent(name));
    return (
      others.some(({ core }) => core.store.chains.whole(agent.name).seq >= least) &&
      others.every(
        ({ name, core, mark }) => core.store.chains.whole(name).seq >= (mark?.seq ?? Infinity),
      )
    );
  }

  #damage(act: (typeof ACTS)[number]): void {
    const carriers = this.#carriers();
    if (carriers.length === 0) return;
    const path = this.#pick(carriers);
    const bytes = readFileSync(path);
    const older = this.#older.get(path);
    const at = Math.floor(this.#random() * bytes.length);
    switch (act) {
      case "truncate":
        return truncateSync(path, at);
      case "keep file":
        this.#older.set(path, bytes);
        return;
      case "put file back":
        if (older !== undefined) writeFileSync(path, older);
        return;
      case "delete file":
        return rmSync(path);
      case "flip":
        bytes[at] = (bytes[at] ?? 0) ^ 1;
        return writeFileSync(path, bytes);
      case "tear":
        return appendFileSync(path, '{"from":"forge","seq":1,"ty');
      case "junk":
        return appendFileSync(path, `${"x".repeat(at % 100)}\n\n{}\n[1]\n\u0000\n`);
      case "copy lines": {
        const from = readFileSync(this.#pick(carriers), "utf8").split("\n").slice(0, -1);
        const some = from.filter(() => this.#random() < 0.5);
        return appendFileSync(path, `\n${some.join("\n")}\n`);
      }
      default: {
        const lines = bytes.toString().split("\n").slice(0, -1);
        const mixed = lines
          .map((line) => [this.#random(), line] as const)
          .toSorted(([one], [other]) => one - other);
        return writeFileSync(path, mixed.map(([, line]) => `${line}\n`).join(""));
      }
    }
  }

  #say(agent: CoreAgent, draft: Partial<Draft>): HeldLine | undefined {
    const { core } = agent;
    const whole = { type: "ship", to: ["*"], subject: `${this.#said.length}`, body: "", ...draft };
    const sent = core.send([whole]);
    if (sent.is !== "sent") {
      this.told.push(`  ${sent.is}`);
      expect(sent.is).toBe("not ready");
      expect(core.readiness.is).toBe("behind");
      return undefined;
    }
    const [line] = sent.lines;
    if (line === undefined || line.seq === null) throw new Error("nothing is sent");
    const { author, seq, id } = line;
    this.told.push(`  ${author} ${seq}`);
    this.#said.push({ author, seq, id, to: whole.to });
    this.#bytes.set(id, textOf(line));
    if (this.#random() < 0.7) core.publish();
    return line;
  }

  #ask(agent: CoreAgent, parties: readonly string[], draft: Partial<Draft>): void {
    const line = this.#say(agent, { type: "proposal", ackRequired: true, ...draft });
    if (line !== undefined) this.#asked.push({ line, parties });
  }

  #answer(agent: CoreAgent): void {
    const known = this.#asked.filter(
      ({ line, parties }) =>
        parties.includes(agent.name) &&
        agent.core.store.chains.stateOf({ ...line, seq: line.seq ?? 0 }) === "linked",
    );
    if (known.length === 0) return;
    const { line } = this.#pick(known.slice(-4));
    const draft = { to: [line.author], correlationId: line.thread };
    if (this.#random() < 0.1) {
      const body = { required: [line.author], decision: "not so", counters: placeJson(line) };
      return this.#ask(agent, [line.author], { ...draft, body: fromPlain(body) });
    }
    const approve = this.#random() < 0.8;
    const body = fromPlain({ acks: placeJson(line), approve });
    this.#say(agent, { ...draft, type: "ack", body });
  }

  /** Words that name some line that their author holds. */
  #words({ core }: CoreAgent): Partial<Draft> {
    const lines = core.store
      .lines({ after: 0, limit: 10_000 })
      .filter(({ seq, branch }) => seq !== null && branch !== null);
    if (lines.length === 0 || this.#random() < 0.3) return {};
    const line = this.#pick(lines);
    const thread = this.#random() < 0.5 && line.thread !== "" ? { correlationId: line.thread } : {};
    return { ...thread, body: fromPlain({ about: placeJson(line), text: "of this" }) };
  }

  /** Nothing of an agent's chain is ever signed anew. */
  #lookAt(agent: CoreAgent): void {
    for (const { seq, id } of chainOf(agent, agent.name)) {
      const key = `${agent.name} ${seq}`;
      const known = this.#signed.get(key) ?? id;
      if (known !== id) throw new Error(`${key} is signed twice`);
      this.#signed.set(key, known);
    }
  }

  #others({ name }: CoreAgent): string[] {
    return this.wire.names.filter((each) => each !== name);
  }

  #folders(): readonly string[] {
    const carrying = this.#carrying;
    return carrying === undefined
      ? [this.wire.dir]
      : this.wire.names.map((name) => carrying.folderOf(name));
  }

  #carriers(): string[] {
    return this.#folders()
      .flatMap((folder) => [folder, join(folder, "outbox")])
      .filter((folder) => existsSync(folder))
      .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
      .filter((path) => path.endsWith(".jsonl"))
      .toSorted();
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }
}

const ACTS = [
  ...repeat(12, "round"),
  ...repeat(6, "say"),
  ...repeat(3, "propose"),
  ...repeat(6, "answer"),
  ...repeat(3, "time"),
  ...repeat(2, "beat"),
  ...["read", "publish"],
  ...repeat(3, "die soon"),
  ...repeat(2, "full disk"),
  ...["die", "restart", "keep store", "lose store", "put store back", "delete wire"],
  ...["truncate", "keep file", "put file back", "delete file", "flip", "tear", "junk"],
  ...["copy lines", "shuffle"],
] as const;

function repeat<T extends string>(times: number, act: T): T[] {
  return Array.from({ length: times }, () => act);
}

function ownerOf(path: string): string {
  const base = path.slice(dirname(path).length + 1, -".jsonl".length);
  return base.split("_to_")[0] ?? "";
}

function chainOf(agent: CoreAgent, author: string) {
  return agent.core.store
    .chain(author, { after: 0, limit: 10_000 })
    .map((line) => ({ ...line, text: textOf(line) }));
}

function idsOf(agent: CoreAgent, author: string) {
  return chainOf(agent, author).map(({ seq, id }) => [seq, id]);
}

function textOf({ bytes }: HeldLine): string {
  return Buffer.from(bytes).toString();
}

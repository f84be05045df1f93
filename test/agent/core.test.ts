import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { Core, type CorePlace } from "../../src/agent/core.ts";
import { readMark, writeMark, type Mark } from "../../src/agent/lines/mark.ts";
import { FolderTransport, makeWireLayout } from "../../src/carriers/folder.ts";
import { sentState } from "../../src/protocol/beats/receipts.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { Database } from "../../src/store/database.ts";
import { Store, type HeldLine } from "../../src/store/store.ts";
import type { Draft } from "../../src/wire/compose.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import { DEFAULT_ANSWER_TIMES, DEFAULT_LIMITS } from "../../src/wire/limits.ts";
import { placeJson } from "../../src/wire/places.ts";
import { makeSigner, publicKeyOf, verifyEach } from "../../src/wire/signature.ts";

// Agents on one wire over real files: lines go out, come in, are answered, and what was agreed is closed.

const root = mkdtempSync(join(tmpdir(), "deaddrop-core-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});
const WIRE_ID = "0d4be1a97725c83f";
const disk = nodeDisk();

/** A wire in a folder, and the time that passes there. */
class Wire {
  readonly dir: string;
  readonly names: readonly string[];
  readonly agents = new Map<string, Agent>();
  nowMs = Date.parse("2026-06-01T12:00:00Z");

  constructor(...names: readonly string[]) {
    this.dir = mkdtempSync(join(root, "wire-"));
    this.names = names;
    for (const name of names) this.agents.set(name, new Agent(this, name));
  }

  agent(name: string): Agent {
    const agent = this.agents.get(name);
    if (agent === undefined) throw new Error(`nobody is ${name}`);
    return agent;
  }

  /** Everybody reads and acts, until nothing new comes. */
  async settle(rounds = 4, stepMs = 1_000): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      this.nowMs += stepMs;
      for (const agent of this.agents.values()) while (await agent.core.round());
    }
  }

  beat(): void {
    for (const agent of this.agents.values()) {
      agent.core.beat();
      agent.core.publish();
    }
  }
}

const keys = new Map<string, Uint8Array>();
function keyOf(name: string): Uint8Array {
  const key = keys.get(name) ?? publicKeyOf(secretOf(name));
  keys.set(name, key);
  return key;
}

function secretOf(name: string): Uint8Array {
  return createHash("sha256").update(name).digest();
}

class Agent {
  readonly name: string;
  readonly #wire: Wire;
  readonly #home: string;
  core: Core;

  constructor(wire: Wire, name: string) {
    this.#wire = wire;
    this.name = name;
    this.#home = mkdtempSync(join(root, `${name}-`));
    writeMark(disk, this.markPath, { seq: 0, id: null });
    this.core = this.#open();
  }

  get markPath(): string {
    return join(this.#home, "mark");
  }

  get inboxPath(): string {
    return join(this.#home, "inbox.jsonl");
  }

  get mark(): Mark | undefined {
    return readMark(disk, this.markPath);
  }

  /** The process dies, and another one begins. */
  restart(): void {
    this.core.close();
    this.core = this.#open();
  }

  loseStore(): void {
    this.core.close();
    rmSync(join(this.#home, "store.db"));
    this.core = this.#open();
  }

  say(subject: string, said: Partial<Draft> = {}): HeldLine {
    const to = this.#wire.names.filter((name) => name !== this.name);
    const sent = this.core.send([{ type: "ship", to, subject, body: "", ...said }]);
    if (sent.is !== "sent") throw new Error(`${this.name} may not send: ${JSON.stringify(sent)}`);
    this.core.publish();
    return sent.lines[0] as HeldLine;
  }

  propose(decision: string, required: readonly string[]): HeldLine {
    const body = fromPlain({ required, decision });
    return this.say(decision, { type: "proposal", to: required, ackRequired: true, body });
  }

  answer(ask: HeldLine, approve: boolean): HeldLine {
    return this.say("answer", {
      ...{ type: "ack", to: [ask.author], correlationId: ask.thread },
      body: fromPlain({ acks: placeJson(ask), approve }),
    });
  }

  get mail(): string[] {
    const { store } = this.core;
    return store.mail.after({}, 0, 100).map((n) => subjectOf(store.line(n)));
  }

  /** What became of the asks of a thread here. */
  states(thread: string): string[] {
    return this.core.store.askParts(thread, 10).map(({ state }) => state);
  }

  receipt(line: HeldLine, by: string): string {
    const { store, history } = this.core;
    const place = { author: line.author, seq: line.seq ?? 0, id: line.id };
    const tip = (author: string) => {
      const { seq, id } = store.chains.whole(author);
      return id === null ? undefined : { author, seq, id };
    };
    const facts = { tip, publishedMs: () => 0, lifeMs: () => undefined };
    return sentState(history, facts, { place, thread: line.thread }, by).is;
  }

  #open(): Core {
    const { name } = this;
    const members = new Map(this.#wire.names.map((each) => [each, true]));
    const layout = makeWireLayout({ handle: name, handles: this.#wire.names, members });
    const wire = this.#wire;
    const clock = {
      wallMs: () => wire.nowMs,
      micros: () => 0,
      monoMs: () => wire.nowMs,
      nextTurn: () => Promise.resolve(),
    };
    const place: CorePlace = {
      ...{ self: name, wireId: WIRE_ID, limits: DEFAULT_LIMITS, version: "v3.1" },
      ...{ answerTimes: DEFAULT_ANSWER_TIMES, markPath: this.markPath },
      inboxPath: this.inboxPath,
      signing: { enforceSigned: true, allowUnsignedFrom: [] },
      signer: makeSigner(name, secretOf(name)),
      pinned: { roster: members, epoch: 0 },
      cadences: { T1_active: 90_000, T3_long_idle: 1_200_000 },
      believed: (author) => ({
        ...{ tier: "ATTESTED", isBlocked: false, allowsUnchained: false, allowsUnsigned: false },
        keys: [
          { keyId: makeSigner(author, secretOf(author)).keyId, key: keyOf(author), isActive: true },
        ],
      }),
    };
    const store = new Store(Database.open(join(this.#home, "store.db")));
    const world = {
      ...{
        disk,
        clock,
        verifyAll: (items: Parameters<typeof verifyEach>[0]) => Promise.resolve(verifyEach(items)),
      },
    };
    return new Core(world, place, store, this.mark, (ours) => [
      new FolderTransport({
        ...{ disk, wireDir: this.#wire.dir, mode: 0o600, ours, layout: () => layout },
        world: { clock, after: () => () => undefined, watch: () => () => undefined },
      }),
    ]);
  }
}

function subjectOf(line: HeldLine | undefined): string {
  const fields = JSON.parse(Buffer.from(line?.bytes ?? "{}").toString()) as { subject: string };
  return fields.subject;
}

test("mail arrives once, is shown read, and survives restarts of both sides", async () => {
  const wire = new Wire("forge", "scribe");
  await wire.settle();
  const sent = wire.agent("forge").say("hello");
  await wire.settle();
  expect(wire.agent("scribe").mail).toEqual(["hello"]);
  for (const agent of wire.agents.values()) agent.restart();
  wire.agent("forge").core.publish();
  await wire.settle();
  expect(wire.agent("scribe").mail).toEqual(["hello"]);
  wire.beat();
  await wire.settle();
  expect(wire.agent("forge").receipt(sent, "scribe")).toBe("delivered");
  const inbox = readFileSync(wire.agent("scribe").inboxPath, "utf8");
  expect(inbox).toBe(`${Buffer.from(sent.bytes).toString()}\n`);
  wire.agent("scribe").core.markRead("all");
  wire.beat();
  await wire.settle();
  expect(wire.agent("forge").receipt(sent, "scribe")).toBe("read");
});

test("what all have agreed to is closed by the asker, and approved for everybody", async () => {
  const wire = new Wire("forge", "scribe", "ann");
  await wire.settle();
  const ask = wire.agent("forge").propose("Freeze the format.", ["scribe", "ann"]);
  await wire.settle();
  wire.agent("scribe").answer(ask, true);
  await wire.settle();
  expect(wire.agent("ann").states(ask.thread)).toEqual(["open"]);
  wire.agent("ann").answer(ask, true);
  await wire.settle();
  for (const agent of wire.agents.values())
    expect([agent.name, agent.states(ask.thread)]).toEqual([agent.name, ["approved"]]);
});

test("a rejecting answer ends what was asked", async () => {
  const wire = new Wire("forge", "scribe");
  await wire.settle();
  const ask = wire.agent("forge").propose("Rewrite it.", ["scribe"]);
  await wire.settle();
  wire.agent("scribe").answer(ask, false);
  await wire.settle();
  for (const agent of wire.agents.values()) expect(agent.states(ask.thread)).toEqual(["ended"]);
});

test("the wire's folder is deleted while all run: everything is back, byte for byte", async () => {
  const wire = new Wire("forge", "scribe", "ann");
  await wire.settle();
  for (const each of ["one", "two"]) wire.agent("forge").say(each);
  wire.agent("ann").say("three");
  await wire.settle();
  const chainsOf = (): string[] =>
    ["forge", "ann"].map((name) =>
      readFileSync(join(wire.dir, "outbox", `${name}.jsonl`), "utf8")
        .split("\n")
        .filter((line) => line.includes('"seq":'))
        .join("\n"),
    );
  const before = chainsOf();
  rmSync(wire.dir, { recursive: true });
  mkdirSync(wire.dir);
  await wire.settle();
  expect(chainsOf()).toEqual(before);
  expect(wire.agent("scribe").mail.toSorted()).toEqual(["one", "three", "two"]);
});

test("an incident that is read and not acked stops the addressee until it acks", async () => {
  const wire = new Wire("forge", "scribe");
  await wire.settle();
  const body = fromPlain({ severity: "high", text: "CI is red" });
  const incident = wire.agent("forge").say("red", { type: "incident", priority: "high", body });
  await wire.settle();
  const { core } = wire.agent("scribe");
  core.markRead("all");
  for (let time = 0; time < 10; time += 1) {
    wire.beat();
    await wire.settle(2, 90_000);
  }
  expect(core.safeMode).toMatchObject({ active: true, author: "forge", incident_id: incident.id });
  const ship: Draft = { to: ["forge"], type: "ship", subject: "work", body: "" };
  expect(core.send([ship]).is).toBe("safe mode");
  expect(wire.agent("forge").core.safeMode?.incident_id).toBe(incident.id);
  wire.agent("scribe").say("ok", {
    ...{ type: "ack", correlationId: incident.thread },
    body: fromPlain({ about: placeJson(incident) }),
  });
  await wire.settle();
  for (const agent of wire.agents.values()) expect(agent.core.safeMode).toBeUndefined();
  expect(core.send([ship]).is).toBe("sent");
});

test("a quiet wire does not grow in anybody's store", async () => {
  const wire = new Wire("forge", "scribe", "ann");
  await wire.settle();
  wire.agent("forge").say("one");
  await wire.settle();
  const beatOften = async (): Promise<void> => {
    for (let time = 0; time < 6; time += 1) {
      wire.beat();
      await wire.settle(2, 90_000);
    }
  };
  await beatOften();
  const held = (): number[] =>
    [...wire.agents.values()].map(
      ({ core }) => core.store.lines({ after: 0, limit: 1_000 }).length,
    );
  const before = held();
  await beatOften();
  expect(held()).toEqual(before);
});

test("a lost store is rebuilt from the carriers, and nothing is signed before our lines are back", async () => {
  const wire = new Wire("forge", "scribe");
  await wire.settle();
  wire.agent("forge").say("one");
  wire.agent("scribe").say("two");
  await wire.settle();
  const { mark } = wire.agent("forge");
  wire.agent("forge").loseStore();
  const { core } = wire.agent("forge");
  expect(core.send([{ to: ["scribe"], type: "ship", subject: "early", body: "" }]).is).toBe(
    "not ready",
  );
  await wire.settle();
  expect(core.readiness).toEqual({ is: "ready" });
  const next = wire.agent("forge").say("three");
  expect(next.seq).toBeGreaterThan(mark?.seq ?? 0);
  await wire.settle();
  expect(wire.agent("forge").mail).toEqual(["two"]);
  expect(wire.agent("scribe").mail).toEqual(["one", "three"]);
  expect(wire.agent("scribe").core.store.chains.whole("forge").fork).toBeNull();
});

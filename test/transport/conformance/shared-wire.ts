import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect } from "vitest";
import type { Agent } from "../../../src/agent/agent.ts";
import { wholeLogs } from "../../../src/storage/archive/whole-logs.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import type { Places } from "../../../src/storage/paths.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { makeLayout } from "../../../src/wire/layout.ts";
import { seeded } from "../../support/disk/memory-disk.ts";
import { PromiseChecker, type CheckedWire } from "../../support/scenes/promise-checker.ts";
import { expectAuditEquals } from "../../support/scenes/scene-audit.ts";
import { BEGIN_MS, makeScene } from "../../support/scenes/scene-folder.ts";
import { outcomeOf } from "../../support/scenes/scene-outcome.ts";
import type { PlainDraft } from "../../support/scenes/simulated-wire.ts";
import { programsOf, startProcess, type AgentProcess, type Told } from "./agent-process.ts";

/** How hosts share a wire: all of them in one folder, or each with its own, through a repository. */
export const WAYS = ["folder", "git"] as const;
export type Way = (typeof WAYS)[number];

interface Member {
  readonly handle: string;
  readonly host: number;
  readonly wireDir: string;
  readonly home: string;
  readonly told: Told;
  /** Absent until it has joined. */
  places: Places | undefined;
  process: AgentProcess | undefined;
  lives: number;
}

/** The longest that a daemon waits for its next look at the remote while it is active. */
const LOOK_MS = 30_000;

/**
 * Real agents on real folders, with a real repository between hosts and a clock that the test moves.
 * The same behaviour is asked of every way to share a wire.
 */
export class SharedWire {
  readonly way: Way;
  readonly roster: readonly string[];
  readonly #remote: string;
  readonly #root = mkdtempSync(join(tmpdir(), "deaddrop-shared-"));
  readonly #members: ReadonlyMap<string, Member>;
  readonly #layout: "pairwise" | "outbox";
  readonly #checkers = new Map<string, PromiseChecker>();
  #nowMs = BEGIN_MS;

  /** `hosts`: who lives on each of them. */
  constructor(way: Way, hosts: readonly (readonly string[])[]) {
    this.way = way;
    this.roster = hosts.flat().toSorted();
    this.#layout = this.roster.length > 2 ? "outbox" : "pairwise";
    this.#remote = join(this.#root, "wire.git");
    execFileSync("git", ["init", "--quiet", "--bare", "--initial-branch=main", this.#remote]);
    const members = hosts.flatMap((handles, host) =>
      handles.map((handle) => this.#newMember(handle, host)),
    );
    this.#members = new Map(members.map((member) => [member.handle, member]));
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  #newMember(handle: string, host: number): Member {
    const wireDir = join(this.#root, this.way === "folder" ? "wire" : `wire ${host}`);
    const home = join(this.#root, `home ${host}`);
    mkdirSync(home, { recursive: true });
    if (!existsSync(wayOut({ home }))) symlinkSync(this.#remote, wayOut({ home }));
    const told = { notices: [], troubles: [] };
    return { handle, host, wireDir, home, told, places: undefined, process: undefined, lives: 0 };
  }

  /** Makes what these have on their hosts, and starts their daemons; all of them when none is named. */
  async start(...handles: readonly string[]): Promise<void> {
    for (const handle of handles.length === 0 ? this.roster : handles) await this.begin(handle);
    await this.settle();
  }

  /** Starts one daemon. `isHeld`: its git can be held. */
  async begin(handle: string, { isHeld = false } = {}): Promise<AgentProcess> {
    const member = this.#member(handle);
    const { wireDir, home, host, told } = member;
    member.places ??= this.#join(member);
    member.lives += 1;
    const place = { handle, wireDir, home, places: member.places };
    member.process = await startProcess(
      {
        ...place,
        remote: this.way === "git" ? wayOut(member) : undefined,
        nowMs: () => this.#nowMs,
        random: seeded(host + member.lives),
      },
      told,
      isHeld ? programsOf(join(home, handle), member.lives) : undefined,
    );
    return member.process;
  }

  #join({ handle, wireDir, home }: Member): Places {
    const seeds = new Map(
      this.roster.map((each, at) => [each, new Uint8Array(32).fill(at + 1)] as const),
    );
    const ground = { wireDir, members: [handle], homeOf: () => home };
    const all = makeScene(nodeDisk(), this.roster, { layout: this.#layout }, seeds, ground);
    this.#checkers.set(wireDir, this.#checkers.get(wireDir) ?? this.#checkerOf(wireDir));
    const places = all.get(handle);
    if (places === undefined) throw new Error(`${handle} is not in this scene`);
    return places;
  }

  /** The promises, as far as one folder shows them. */
  #checkerOf(wireDir: string): PromiseChecker {
    const read = (name: string): string => textOf(wireDir, name);
    const looked: CheckedWire = {
      roster: this.roster,
      agent: (handle) => this.agent(handle),
      paths: (handle) => this.agent(handle).place.paths,
      read,
      lines: (name) => read(name).split("\n").slice(0, -1),
    };
    return new PromiseChecker(looked, this.#layout);
  }

  agent(handle: string): Agent {
    return this.process(handle).agent;
  }

  process(handle: string): AgentProcess {
    const { process } = this.#member(handle);
    if (process === undefined) throw new Error(`${handle}'s daemon does not run`);
    return process;
  }

  told(handle: string): Told {
    return this.#member(handle).told;
  }

  folderOf(handle: string): string {
    return this.#member(handle).wireDir;
  }

  isUp(handle: string): boolean {
    return this.#member(handle).process !== undefined;
  }

  kill(handle: string): void {
    const member = this.#member(handle);
    member.process?.kill();
    member.process = undefined;
  }

  /** It has died by itself; what it has called may go on. */
  isDead(handle: string): void {
    this.#member(handle).process = undefined;
  }

  /** The answer "sent" is a promise that is checked at the end. */
  async say(from: string, draft: Partial<PlainDraft> & { subject: string }): Promise<string> {
    const { body = { text: draft.subject }, ...rest } = draft;
    // A thread is named by its time: two that begin at the same one would be the same.
    this.#nowMs += 1;
    const message = { to: ["*"], type: "feedback", ...rest, body: fromPlain(body) };
    const [answer] = await this.agent(from).send([[message]]);
    const lines = answer?.messages ?? [];
    for (const checker of this.#checkers.values()) checker.promised(lines);
    return lines[0]?.event_id ?? "";
  }

  /** Each daemon works and carries, until nothing moves any more. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 2;) {
      const before = this.#texts();
      await this.round();
      quiet = this.#texts() === before ? quiet + 1 : 0;
    }
  }

  /** One round of each daemon. */
  async round(): Promise<void> {
    for (const { process } of this.#up()) await process.round();
  }

  /** The same, of all of them at the same moment. */
  async roundAtOnce(): Promise<void> {
    await Promise.all(this.#up().map(({ process }) => process.round()));
  }

  /** Lets time pass: each daemon works when it has to, and looks at the remote as often as it does. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    while (this.#nowMs < endMs) {
      const due = this.#up().map(({ process }) => process.agent.nextDueMs());
      const next = Math.min(endMs, this.#nowMs + LOOK_MS, ...due);
      this.#nowMs = Math.max(this.#nowMs + 1_000, next);
      await this.round();
    }
    await this.settle();
  }

  /** Nobody works meanwhile. */
  suspend(ms: number): void {
    this.#nowMs += ms;
  }

  /** The hosts of these agents cannot reach the remote. */
  part(...handles: readonly string[]): void {
    for (const handle of handles) rmSync(wayOut(this.#member(handle)));
  }

  heal(...handles: readonly string[]): void {
    for (const handle of handles) symlinkSync(this.#remote, wayOut(this.#member(handle)));
  }

  /** Of each message to that agent, by its subject, in the order of its inbox. */
  subjects(handle: string): string[] {
    const { inbox } = this.agent(handle).place.paths;
    const lines = textOf(this.folderOf(handle), inbox).split("\n").slice(0, -1);
    return lines.map((line) => (JSON.parse(line) as { subject: string }).subject);
  }

  /**
   * What must hold of every host when nothing is left to carry: all have the same logs, each of them one
   * chain with every promised line in it; each inbox has every line for it once, in the order of its log;
   * nothing strange was told; an audit of each folder finds nothing wrong, and what the agents saw.
   */
  async check(): Promise<void> {
    await this.settle();
    const logs = [...makeLayout(this.#layout, this.roster).logs.values()];
    for (const { path } of logs) {
      const texts = [...this.#folders()].map((folder) => textOf(folder, path));
      expect(new Set(texts).size, `${path} is not the same everywhere`).toBe(1);
    }
    for (const checker of this.#checkers.values()) await checker.check();
    for (const { handle, process, told } of this.#up()) {
      expect(told.troubles, `${handle}'s transport has found something`).toEqual([]);
      expect(process.transport?.health().problem).toBeUndefined();
      const { place } = process.agent;
      const live = await outcomeOf(process.agent);
      await expectAuditEquals(live, { disk: nodeDisk(), place, violations: {} });
    }
  }

  async remove(): Promise<void> {
    for (const { process } of this.#up()) {
      process.kill();
      await process.transport?.stop();
    }
    rmSync(this.#root, { recursive: true, force: true });
  }

  #up(): (Member & { process: AgentProcess })[] {
    return [...this.#members.values()].filter(
      (member): member is Member & { process: AgentProcess } => member.process !== undefined,
    );
  }

  #folders(): Set<string> {
    return new Set(this.#up().map(({ wireDir }) => wireDir));
  }

  /** How far everything is that is written on the wire. */
  #texts(): string {
    const disk = nodeDisk();
    const paths = [...makeLayout(this.#layout, this.roster).logs.values()].map(({ path }) => path);
    const all = [...paths, "decisions.jsonl", "incident_log.jsonl"];
    return [...this.#folders()]
      .flatMap((folder) => all.map((path) => disk.stat(join(folder, path))?.size ?? 0))
      .join(" ");
  }

  #member(handle: string): Member {
    const member = this.#members.get(handle);
    if (member === undefined) throw new Error(`${handle} is not in this scene`);
    return member;
  }
}

/** By which a host reaches the remote. */
function wayOut({ home }: Pick<Member, "home">): string {
  return join(home, "remote.git");
}

/** A file of a folder, of a log the archived lines too. */
function textOf(folder: string, name: string): string {
  const file = wholeLogs(nodeDisk(), folder).open(resolve(folder, name), "read");
  try {
    return Buffer.from(file.read(file.stat().size, 0)).toString("utf8");
  } finally {
    file.close();
  }
}

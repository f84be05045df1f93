import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PartNames } from "../../../src/carriers/archive.ts";
import type { ListedCarrier, OwnCarrier, WireLayout } from "../../../src/carriers/carrier.ts";
import { GitTransport } from "../../../src/carriers/git/git-transport.ts";
import type { ExtraLine, OwnLine } from "../../../src/carriers/publisher.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { afterMs } from "../../support/after-ms.ts";

/** The id of the scene's wire. */
const WIRE_ID = "0d4be1a97725c83f";
export const CONFIG = `${JSON.stringify({ wire_id: WIRE_ID })}\n`;
const AGENTS = ["forge", "scribe", "ann"];
const DATE = "2026-06-01T10:00:00Z";
const BUDGET = { bytes: 1 << 20, lines: 1_000 };

/** A bare repository, and machines that share a wire of forge, scribe and ann through it. */
export class GitScene {
  readonly root = mkdtempSync(join(tmpdir(), "deaddrop-carriers-"));
  readonly remote = join(this.root, "wire.git");
  readonly #agents: GitAgent[] = [];

  constructor(...options: readonly string[]) {
    git(this.root, "init", "--quiet", "--bare", "--initial-branch=main", ...options, this.remote);
  }

  /** An agent on a machine; two on one machine share its folder and its mirror. */
  agent(handle: string, machine = handle, change: AgentChange = {}): GitAgent {
    const agent = new GitAgent(join(this.root, machine), handle, this.remote, change);
    this.#agents.push(agent);
    return agent;
  }

  /** A clone as people have one. */
  clone(...options: readonly string[]): string {
    const folder = mkdtempSync(join(this.root, "clone-"));
    git(this.root, "clone", "--quiet", ...options, this.remote, folder);
    git(folder, "config", "user.name", "mallory");
    git(folder, "config", "user.email", "mallory@example.org");
    return folder;
  }

  /** Changes what the repository holds, by an ordinary commit. */
  tamper(work: (clone: string) => void): void {
    const clone = this.clone();
    work(clone);
    git(clone, "add", "--all");
    git(clone, "commit", "--quiet", "--allow-empty", "-m", "tampered");
    git(clone, "push", "--quiet", "origin", "HEAD:main");
  }

  inRemote(path: string): string {
    return git(this.remote, "show", `main:${path}`);
  }

  async remove(): Promise<void> {
    for (const agent of this.#agents) await agent.transport.stop();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 3 });
  }
}

export interface AgentChange {
  readonly env?: NodeJS.ProcessEnv;
  readonly wireId?: string;
  readonly remote?: string;
  readonly prefix?: string;
  readonly layout?: WireLayout;
}

/** One agent: its chain, what it has read, and its transport. */
export class GitAgent {
  readonly handle: string;
  readonly wire: string;
  readonly state: string;
  readonly transport: GitTransport;
  readonly chain: OwnLine[] = [];
  readonly beats: ExtraLine[] = [];
  /** How often lines of its chain were taken in from carriers. */
  adopted = 0;
  /** Lines that were read, as text. */
  readonly held = new Set<string>();
  marked = 0;
  wallMs = Date.parse(DATE);
  readonly #cursors = new Map<string, string>();

  constructor(machine: string, handle: string, remote: string, change: AgentChange) {
    this.handle = handle;
    this.wire = join(machine, "wire");
    this.state = join(machine, "state");
    const home = join(machine, "home");
    for (const folder of [home, this.wire]) mkdirSync(folder, { recursive: true });
    const layout = change.layout ?? layoutOf(handle);
    const url = change.remote ?? remote;
    let monoMs = 0;
    this.transport = new GitTransport({
      disk: nodeDisk(),
      world: {
        clock: { wallMs: () => this.wallMs, monoMs: () => (monoMs += 1_000_000) },
        after: (inMs, act) => afterMs(Math.min(inMs, 50), act),
        random: () => 0.5,
        cadenceMs: () => 30_000,
        log: { warn: () => undefined },
        failed: (error) => {
          throw error;
        },
      },
      env: { PATH: process.env["PATH"], HOME: home, ...change.env },
      remote: { url, scheme: url.startsWith("ssh:") ? "ssh" : "file" },
      ...{ branch: "main", prefix: change.prefix ?? "" },
      ...{ stateFolder: this.state, wireFolder: this.wire, wireId: change.wireId ?? WIRE_ID },
      ours: {
        handle,
        chain: () => ({
          last: this.chain.length,
          adopted: this.adopted,
          after: (seq, limit) => this.chain.slice(seq, seq + limit),
          extras: (after) => this.beats.filter(({ e }) => e > after),
        }),
        beforeAppend: ({ seq }) => {
          this.marked = Math.max(this.marked, seq);
        },
      },
      layout: () => layout,
      isLocal: (other) => other === handle,
    });
  }

  /** Commits lines to its store. */
  say(...bodies: readonly string[]): void {
    for (const body of bodies) {
      const seq = this.chain.length + 1;
      const bytes = Buffer.from(JSON.stringify({ from: this.handle, seq, body, timestamp: DATE }));
      this.chain.push({ seq, bytes });
    }
  }

  /** Commits an unchained beat to its store. */
  beat(): string {
    const text = JSON.stringify({ from: this.handle, type: "heartbeat", timestamp: DATE });
    this.beats.push({ e: this.beats.length + 1, bytes: Buffer.from(text) });
    return text;
  }

  /** A fetch and a push, then it reads all that is new. Returns the problem that the turn ended with. */
  async turn(due = { fetch: true, push: true }): Promise<string | undefined> {
    this.wallMs += 60_000;
    await this.transport.turn(due);
    this.readAll();
    const { problem } = this.transport.health();
    return problem === undefined ? undefined : `${problem.code}: ${problem.detail}`;
  }

  readAll(): void {
    for (const carrier of this.transport.list()) while (this.#read(carrier)) continue;
  }

  /** Whose lines it has, in the order of their numbers: `{forge: ["f1"]}`. */
  bodies(author: string): string[] {
    return [...this.held]
      .flatMap((text) => parse(text))
      .filter(({ from }) => from === author)
      .toSorted((a, b) => a.seq - b.seq)
      .map(({ body }) => body);
  }

  troubles(): string {
    return this.transport
      .health()
      .troubles.map(({ cause, where, detail }) => `${cause} ${where}: ${detail}`)
      .join("\n");
  }

  mirrored(path: string): string {
    const at = join(this.state, "mirror", path);
    return existsSync(at) ? readFileSync(at, "utf8") : "";
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.wire, path)), { recursive: true });
    writeFileSync(join(this.wire, path), text);
  }

  append(path: string, text: string): void {
    appendFileSync(join(this.wire, path), text);
  }

  read(path: string): string {
    return readFileSync(join(this.wire, path), "utf8");
  }

  #read(carrier: ListedCarrier): boolean {
    const read = this.transport.read(carrier, this.#cursors.get(carrier.name), BUDGET);
    for (const line of read.lines) this.held.add(Buffer.from(line).toString("utf8"));
    if (read.cursor === undefined) this.#cursors.delete(carrier.name);
    else this.#cursors.set(carrier.name, read.cursor);
    return read.hasMore;
  }
}

/** The files of three agents that all chain, each in its outbox. */
export function layoutOf(handle: string): WireLayout {
  const carriers = AGENTS.flatMap((owner) => [
    { name: `outbox/${owner}.jsonl`, owner, reader: undefined },
    ...AGENTS.filter((reader) => reader !== owner).map((reader) => ({
      ...{ name: `${owner}_to_${reader}.jsonl`, owner, reader },
    })),
  ]);
  const ours: OwnCarrier[] = [{ path: `outbox/${handle}.jsonl` }];
  const byPath = new Map(carriers.map((carrier) => [carrier.name, carrier]));
  return { carriers: byPath, parts: new PartNames(byPath.keys()), ours, handles: AGENTS };
}

function parse(text: string): { from: string; seq: number; body: string }[] {
  try {
    const { from, seq, body } = JSON.parse(text) as { from: string; seq: number; body: string };
    return [{ from, seq, body }];
  } catch {
    return [];
  }
}

export function git(folder: string, ...args: readonly string[]): string {
  return execFileSync("git", ["-C", folder, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 1 << 28,
  });
}

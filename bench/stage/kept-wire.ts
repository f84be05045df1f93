import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Agent } from "../../src/agent/agent.ts";
import { sum } from "../row.ts";
import { openLogAuthor, type SignedLine } from "./log-author.ts";
import { checkout, pause, type Running } from "./processes.ts";
import { openWireIn, peerNames, READER, keptFolder, type Wire } from "./wire.ts";
import { copyFolder } from "./copy-folder.ts";

/** How many bytes a line has, in every row. */
export const LINE_BYTES = 600;
export const PEERS = 8;
/** So many lines after each other are of one thread. */
const LINES_PER_THREAD = 100;
const LINES_AT_ONCE = 8_000;
const HOUR_MICROS = 3_600_000_000;
const LOOK_AGAIN_MS = 250;

/** A wire whose carriers 8 peers have filled, kept between runs: making it can take minutes. */
export interface KeptWire extends Wire {
  readonly lines: number;
  /** The reader's home and its own carrier as before it took in the first of these lines. */
  reset(): void;
  /** A daemon that was started has taken in all of it: its heartbeats say so. */
  untilTakenIn(): Promise<void>;
  /** A daemon takes in all of it from the beginning; `look` is told of it before it ends. */
  takeIn(look?: (daemon: Running) => Promise<void>): Promise<void>;
  /** The reader has taken in all of it, by the program as it is built now; no daemon runs. */
  takenIn(): Promise<void>;
}

/**
 * Each line is signed and chained, has 600 B and is for the reader. `followed`: the reader has
 * begun when the carriers were empty, so that the lines are no history to it.
 */
export async function keepWire(lines: number, how: "followed" | "history"): Promise<KeptWire> {
  const folder = keptFolder(`${how}-${lines}`);
  const complete = join(folder, "complete");
  if (!existsSync(complete)) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const wire = openWireIn(folder, peerNames(PEERS));
  if (!existsSync(complete)) {
    if (how === "followed") await follow(wire);
    copyFolder(wire.home, join(folder, "fresh"));
    writeLines(wire, lines);
    writeFileSync(complete, String(statSync(wire.carrierOf(READER)).size));
  }
  return keptWire(wire, lines);
}

/** The reader looks at the carriers once, while there is nothing in them. */
async function follow({ world, dir }: Wire): Promise<void> {
  const agent = new Agent(world, { wireDir: dir, handle: READER });
  try {
    agent.lockIdentity(1_000);
    while (await agent.tick());
  } finally {
    agent.close();
  }
}

/** The peers in turns, one line each. */
function writeLines(wire: Wire, lines: number): void {
  const beginMicros = Date.now() * 1_000 - HOUR_MICROS;
  const authors = wire.peers.map((peer) => openLogAuthor(wire, peer));
  for (let first = 0; first < lines; first += LINES_AT_ONCE) {
    const batches: SignedLine[][] = authors.map(() => []);
    for (let at = first; at < Math.min(lines, first + LINES_AT_ONCE); at += 1) {
      const author = authors[at % authors.length]!;
      const thread = `thread ${Math.floor(at / LINES_PER_THREAD)}`;
      batches[at % authors.length]!.push(author.padded(beginMicros + at, LINE_BYTES, thread));
    }
    for (const [at, batch] of batches.entries()) authors[at]!.append(batch);
  }
}

function keptWire(wire: Wire, lines: number): KeptWire {
  const { folder } = wire;
  const own = wire.carrierOf(READER);
  const takenBy = join(folder, "taken-in-by");
  const ownBytes = Number(readFileSync(join(folder, "complete"), "utf8"));

  function reset(): void {
    rmSync(takenBy, { force: true });
    rmSync(wire.home, { recursive: true, force: true });
    copyFolder(join(folder, "fresh"), wire.home);
    truncateSync(own, ownBytes);
  }

  async function untilTakenIn(): Promise<void> {
    while (linesTakenIn(own) < lines) await pause(LOOK_AGAIN_MS);
  }

  async function takeIn(look?: (daemon: Running) => Promise<void>): Promise<void> {
    reset();
    const daemon = await wire.startDaemon(READER);
    await untilTakenIn();
    await look?.(daemon);
    await daemon.stop();
    writeFileSync(takenBy, buildHash());
  }

  return {
    ...wire,
    lines,
    reset,
    untilTakenIn,
    takeIn,
    async takenIn() {
      if (!existsSync(takenBy) || readFileSync(takenBy, "utf8") !== buildHash()) await takeIn();
    },
  };
}

/** How many lines of its peers the reader has taken in, by the heads of its heartbeats in that file. */
function linesTakenIn(path: string): number {
  if (!existsSync(path)) return 0;
  const heads = new Map<string, number>();
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  for (const line of lines) {
    const { body } = JSON.parse(line) as {
      body?: { heads?: Record<string, [number, ...unknown[]]> };
    };
    for (const [author, [seq]] of Object.entries(body?.heads ?? {})) heads.set(author, seq);
  }
  return sum([...heads.values()]);
}

/** Private files are made by the program that is measured: another build makes them again. */
function buildHash(): string {
  const dist = join(checkout, "dist");
  const hash = createHash("sha256");
  for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" }).sort()) {
    if (name.endsWith(".js")) hash.update(name).update(readFileSync(join(dist, name)));
  }
  return hash.digest("hex");
}

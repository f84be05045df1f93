import { createHash } from "node:crypto";
import {
  cpSync,
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
import { openAgent } from "../../src/agent/agent.ts";
import { lastLine } from "./last-line.ts";
import { openLogAuthor, type SignedLine } from "./log-author.ts";
import { checkout, pause, type Running } from "./processes.ts";
import { openWireIn, PEER, peerNames, READER, keptFolder, type Wire } from "./wire.ts";

/** How many bytes a line has, in every row. */
export const LINE_BYTES = 600;
export const PEERS = 8;
/** So many lines after each other are of one thread. */
const LINES_PER_THREAD = 100;
const LINES_AT_ONCE = 8_000;
const HOUR_MICROS = 3_600_000_000;
const LOOK_AGAIN_MS = 250;

/** A wire whose logs 8 peers have filled, kept between runs: making it can take minutes. */
export interface KeptWire extends Wire {
  readonly lines: number;
  /** The reader's home and its own log as before it took in the first of these lines. */
  reset(): void;
  /** A daemon that was started has taken in all of it: its heartbeat says so. */
  untilTakenIn(): Promise<void>;
  /** A daemon takes in all of it from the beginning; `look` is told of it before it ends. */
  takeIn(look?: (daemon: Running) => Promise<void>): Promise<void>;
  /** The reader has taken in all of it, by the program as it is built now; no daemon runs. */
  takenIn(): Promise<void>;
}

/**
 * Each line is signed and chained, has 600 B and is for the reader. `followed`: the reader's journal
 * has begun when the logs were empty, so that the lines are no history to it.
 */
export async function keepWire(lines: number, how: "followed" | "history"): Promise<KeptWire> {
  const folder = keptFolder(`${how}-${lines}`);
  const complete = join(folder, "complete");
  if (!existsSync(complete)) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const wire = openWireIn(folder, peerNames(PEERS));
  if (!existsSync(complete)) {
    if (how === "followed") await follow(wire);
    cpSync(wire.home, join(folder, "fresh"), { recursive: true });
    writeLines(wire, lines);
    writeFileSync(complete, String(statSync(wire.logOf(READER).path).size));
  }
  return keptWire(wire, lines);
}

/** The reader looks at its logs once, while there is nothing in them. */
async function follow({ world, dir }: Wire): Promise<void> {
  const agent = openAgent(world, { wireDir: dir, handle: READER });
  try {
    await agent.lockIdentity(1_000);
    while (await agent.tick());
    await agent.sync();
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
  const own = wire.logOf(READER).path;
  const takenBy = join(folder, "taken-in-by");
  const ownBytes = Number(readFileSync(join(folder, "complete"), "utf8"));

  function reset(): void {
    rmSync(takenBy, { force: true });
    rmSync(wire.home, { recursive: true, force: true });
    cpSync(join(folder, "fresh"), wire.home, { recursive: true });
    truncateSync(own, ownBytes);
  }

  async function untilTakenIn(): Promise<void> {
    while (coveredLines(own) < lines) await pause(LOOK_AGAIN_MS);
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

/** How many lines of its peers the last heartbeat in that log covers. */
function coveredLines(path: string): number {
  const last = lastLine(path);
  if (last === undefined) return 0;
  const { body } = JSON.parse(last) as { body?: { heads?: Record<string, { lines?: number }> } };
  const heads = Object.entries(body?.heads ?? {}).filter(([log]) => log.startsWith(PEER));
  return heads.reduce((total, [, head]) => total + (head.lines ?? 0), 0);
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

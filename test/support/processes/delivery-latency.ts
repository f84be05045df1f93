import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  watch,
} from "node:fs";
import { join } from "node:path";
import { composeLine, type ChainHead } from "../../../src/wire/compose.ts";
import { makeSigner } from "../../../src/wire/signature.ts";
import { formatMicros } from "../../../src/wire/timestamp.ts";
import { WIRE_ID, type LiveWire } from "./live-wire.ts";
import { CONDITION_LIMIT_MS } from "../hang-guard.ts";
import { pause } from "./real-processes.ts";

/**
 * How much more memory a reader may take while peers do their worst. It is far below what they
 * write, and far above what a collector leaves lying about on a busy machine.
 */
export const MAX_GROWTH_BYTES = 256 * 1_048_576;

/** A quiet peer without a daemon: says one line at a time and times how long each is under way. */
export interface QuietPeer {
  /** Appends a line to its log; milliseconds from then until it stands in the reader's inbox. */
  deliver(): Promise<number>;
  readonly delivered: readonly string[];
  close(): void;
}

/** The watcher only says "look"; where it misses something, this does. */
const LOOK_EVERY_MS = 20;
const CHUNK_BYTES = 1_048_576;
const SAMPLES_A_WINDOW = 15;
/** Between two lines; different from one to the next, so that no timer falls into step with it. */
const GAPS_MS = [7, 13, 9, 16, 11, 5, 14];
const WINDOWS = 2;
const SHARES = [0.5, 0.9];

/** `log`: its log's name, and the file's path in the wire folder. */
export function quietPeer(
  wire: LiveWire,
  handle: string,
  log: { readonly name: string; readonly path: string },
  reader = "forge",
): QuietPeer {
  const { paths } = wire;
  const signer = makeSigner(handle, readFileSync(paths(handle).identity.key));
  const inbox = tailOf(paths(reader).inbox);
  const delivered: string[] = [];
  let head: ChainHead | undefined;

  return {
    delivered,
    async deliver() {
      const draft = { to: [reader], type: "feedback", subject: "quiet", body: { said: "little" } };
      const timestamp = formatMicros(Date.now() * 1_000);
      const at = { timestamp, log: log.name, wireId: WIRE_ID, head };
      const { line, id } = composeLine(draft, at, signer);
      head = { seq: (head?.seq ?? 0) + 1, id };
      const tookMs = await inbox.until(id, () => {
        appendFileSync(join(wire.dir, log.path), Buffer.concat([line, Buffer.from("\n")]));
      });
      delivered.push(id);
      return tookMs;
    },
    close: () => inbox.close(),
  };
}

/** Follows a file that grows, however fast it does. */
function tailOf(path: string) {
  const fd = openSync(path, "r");
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let at = 0;
  let kept = Buffer.alloc(0);
  let look: (() => void) | undefined;
  const watcher = watch(path, () => look?.());

  function hasNew(text: string): boolean {
    for (;;) {
      const count = readSync(fd, chunk, 0, CHUNK_BYTES, at);
      if (count === 0) return false;
      at += count;
      const seen = Buffer.concat([kept, chunk.subarray(0, count)]);
      if (seen.includes(text)) return true;
      kept = seen.subarray(-text.length);
    }
  }

  return {
    until: (text: string, act: () => void) =>
      new Promise<number>((resolve, reject) => {
        const giveUp = setTimeout(() => {
          done();
          reject(new Error(`nothing arrives in ${path}`));
        }, CONDITION_LIMIT_MS);
        const again = setInterval(() => look?.(), LOOK_EVERY_MS);
        const done = (): void => {
          clearTimeout(giveUp);
          clearInterval(again);
          look = undefined;
        };
        hasNew(text);
        const beganMs = performance.now();
        look = () => {
          if (!hasNew(text)) return;
          done();
          resolve(performance.now() - beganMs);
        };
        act();
      }),
    close() {
      watcher.close();
      closeSync(fd);
    },
  };
}

/** What goes on around the quiet peer. */
interface Surroundings {
  baseline(): void;
  load(): void;
  /** Called after each line that arrives under load. */
  heard?(): void;
  /** Ends whatever was begun, and waits until nothing of it is left to do. */
  rest(): Promise<unknown>;
}

/**
 * Lets the quiet peer speak in turns, in a window of the baseline and in one under load. Returns
 * its latency in words: a figure to read, not to assert, since it is the machine's as well.
 */
export async function compareLatency(
  what: string,
  quiet: QuietPeer,
  around: Surroundings,
): Promise<string> {
  const baselineMs: number[] = [];
  const loadMs: number[] = [];
  for (let window = 1; window <= WINDOWS; window += 1) {
    around.baseline();
    await sample(quiet, baselineMs);
    await around.rest();
    around.load();
    await sample(quiet, loadMs, around.heard);
    await around.rest();
  }
  const text = SHARES.map((share) => {
    const [base, load] = [percentile(baselineMs, share), percentile(loadMs, share)];
    return `p${share * 100} ${load.toFixed(1)} ms, baseline ${base.toFixed(1)} ms`;
  });
  return `${what}, ${loadMs.length} samples: ${text.join("; ")}`;
}

async function sample(quiet: QuietPeer, into: number[], heard?: () => void): Promise<void> {
  for (let at = 0; at < SAMPLES_A_WINDOW; at += 1) {
    await pause(GAPS_MS[at % GAPS_MS.length] as number);
    into.push(await quiet.deliver());
    heard?.();
  }
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

/** Why a process's memory cannot be read here; undefined when it can. */
export function whyNoMemory(): string | undefined {
  return existsSync("/proc/self/status") ? undefined : "there is no /proc/<pid>/status here";
}

/** A field of /proc/<pid>/status in bytes: VmRSS is what it has now, VmHWM the most it ever had. */
export function memoryBytes(pid: number, field: "VmRSS" | "VmHWM"): number {
  const found = new RegExp(`^${field}:\\s+([0-9]+) kB$`, "m").exec(
    readFileSync(`/proc/${pid}/status`, "utf8"),
  );
  if (found === null) throw new Error(`/proc/${pid}/status has no ${field}`);
  return Number(found[1]) * 1_024;
}

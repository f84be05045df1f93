import { createPrivateKey, sign as nodeSign } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  openSync,
  closeSync,
  readFileSync,
  readSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { composeLine, type ChainHead } from "../../../src/wire/compose.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { keyId, publicKeyOf, type Signer } from "../../../src/wire/signature.ts";
import { until } from "../../support/processes/real-processes.ts";
import {
  makeWire,
  removeWires,
  WIRE_ID,
  type Daemon,
  type Line,
} from "../../support/processes/live-wire.ts";

// The whole million takes minutes: DEADDROP_NIGHTLY=1 asks for it, DEADDROP_LINES for another number.
const IS_NIGHTLY = process.env["DEADDROP_NIGHTLY"] === "1";
const LINES = Number(process.env["DEADDROP_LINES"] ?? (IS_NIGHTLY ? 1_000_000 : 20_000));
const THREADS = 500;
const CHUNK = 5_000;
const [NODE = 20] = process.versions.node.split(".").map(Number);
/** V8 of newer versions lets its heap grow further before it collects. */
const BASE_MIB = NODE < 22 ? 300 : 400;
/** What a daemon may hold: the ids of the lines, and beside them nothing that grows with the logs. */
const MAX_MEMORY_MIB = BASE_MIB + (LINES * 100) / 1_048_576;

const LOG = "scribe_to_forge";

afterEach(removeWires);

/** As the product signs, only faster: Ed25519 is deterministic. */
function fastSigner(handle: string, secret: Uint8Array): Signer {
  const prefix = Buffer.from("302e020100300506032b657004220420", "hex");
  const der = Buffer.concat([prefix, secret]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  return {
    handle,
    keyId: keyId(handle, publicKeyOf(secret)),
    sign: (bytes) => new Uint8Array(nodeSign(null, bytes, key)),
  };
}

/** Appends the lines from `first` to `last` of one chain; returns its head. */
function appendLines(
  path: string,
  signer: Signer,
  first: number,
  last: number,
  head: ChainHead | undefined,
): ChainHead | undefined {
  const beginMs = Date.now() - 3_600_000;
  let after = head;
  for (let at = first; at <= last;) {
    const chunk: string[] = [];
    for (; at <= last && chunk.length < CHUNK; at += 1) {
      const draft = {
        ...{ to: ["forge"], type: "feedback", subject: `line ${at}` },
        ...{ body: fromPlain({ at }), correlationId: `thread ${at % THREADS}` },
      };
      const timestamp = new Date(beginMs + at).toISOString();
      const { id, line } = composeLine(draft, { timestamp, wireId: WIRE_ID, head: after }, signer);
      after = { seq: (after?.seq ?? 0) + 1, id };
      chunk.push(`${Buffer.from(line).toString("utf8")}\n`);
    }
    appendFileSync(path, chunk.join(""));
  }
  return after;
}

const sizeOf = (path: string): number => (existsSync(path) ? statSync(path).size : 0);

/** Where two files first differ; undefined when they hold the same bytes. */
function firstDifference(one: string, other: string): number | undefined {
  if (sizeOf(one) !== sizeOf(other)) return Math.min(sizeOf(one), sizeOf(other));
  const files = [openSync(one, "r"), openSync(other, "r")] as const;
  const buffers = [Buffer.alloc(1 << 20), Buffer.alloc(1 << 20)] as const;
  try {
    for (let offset = 0; ;) {
      const read = readSync(files[0], buffers[0], 0, 1 << 20, offset);
      readSync(files[1], buffers[1], 0, 1 << 20, offset);
      if (read === 0) return undefined;
      if (!buffers[0].subarray(0, read).equals(buffers[1].subarray(0, read))) return offset;
      offset += read;
    }
  } finally {
    for (const file of files) closeSync(file);
  }
}

/** The most memory that a process has held; undefined where the kernel does not tell. */
function peakMib({ pid }: Daemon): number | undefined {
  const path = `/proc/${pid}/status`;
  if (!existsSync(path)) return undefined;
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(path, "utf8"))?.[1]) / 1_024;
}

it(`${LINES} valid lines: each delivered once, byte for byte, with bounded memory, and not again`, async () => {
  const wire = makeWire({ cadenceSeconds: 60 });
  const log = join(wire.dir, `${LOG}.jsonl`);
  const secret = readFileSync(wire.paths("scribe").identity.key);
  const signer = fastSigner("scribe", secret);
  const head = appendLines(log, signer, 1, LINES, undefined);
  const { inbox } = wire.paths("forge");

  const beganMs = Date.now();
  const first = await wire.daemon("forge");
  await until("all is delivered", () => sizeOf(inbox) >= sizeOf(log));
  const tookSeconds = (Date.now() - beganMs) / 1_000;
  const peak = peakMib(first);
  expect(await first.stop()).toMatchObject({ code: 0, stderr: "" });
  expect(firstDifference(inbox, log)).toBeUndefined();
  expect(wire.privateLines("forge", "quarantine")).toEqual([]);
  expect(lastHead(wire.lines("forge_to_scribe.jsonl"))?.slice(0, 2)).toEqual([LINES, head?.id]);

  // It goes on where it was: what was read is neither read nor delivered again.
  const took = [tookSeconds];
  const peaks = [peak];
  let last = head;
  for (let start = 0; start < 2; start += 1) {
    const startedMs = Date.now();
    const again = await wire.daemon("forge");
    took.push((Date.now() - startedMs) / 1_000);
    const next = (last?.seq ?? 0) + 1;
    last = appendLines(log, signer, next, next, last);
    again.child.kill("SIGUSR1");
    await until("the next one is delivered", () => sizeOf(inbox) >= sizeOf(log));
    peaks.push(peakMib(again));
    expect(await again.stop()).toMatchObject({ code: 0, stderr: "" });
    expect(firstDifference(inbox, log)).toBeUndefined();
  }
  for (const held of peaks) if (held !== undefined) expect(held).toBeLessThan(MAX_MEMORY_MIB);
  const [seconds, mebibytes] = [took.map((each) => each.toFixed(1)), peaks.map(rounded)];
  process.stdout.write(
    `many-lines: ${LINES}; taken in, started again twice in ` +
      `${seconds.join(", ")} s, with ${mebibytes.join(", ")} MiB at most\n`,
  );
});

function rounded(mebibytes: number | undefined): string {
  return mebibytes?.toFixed(0) ?? "?";
}

/** Up to where the reader has taken in scribe's lines, as it said last. */
function lastHead(beats: readonly Line[]): unknown[] | undefined {
  const heads = beats.map(({ body }) => (body["heads"] ?? {}) as Record<string, unknown[]>);
  return heads.findLast((each) => each["scribe"] !== undefined)?.["scribe"];
}

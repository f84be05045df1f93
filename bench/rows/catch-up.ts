import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { openRawVerify, type RawVerify } from "../baseline/raw-verify.ts";
import { amount, type Plan } from "../plan.ts";
import { rowOf, type Row, type Side } from "../row.ts";
import { checkout, has, onOneCore, runModule } from "../stage/processes.ts";
import { keepWire, type KeptWire } from "../stage/kept-wire.ts";
import type { Took } from "../stage/took.ts";
import { READER } from "../stage/wire.ts";
import { inTurns } from "../turns.ts";

const LINES = 100_000;
const UNIT = "lines/s";

/**
 * P1: an agent that was away reads, checks, stores and routes what its peers wrote meanwhile, against
 * nothing but the signature checks of the same lines on all cores.
 */
export async function benchCatchUp(plan: Plan): Promise<Row[]> {
  const wire = await keepWire(amount(plan, LINES, 8), "followed");
  const what = `catch-up of ${wire.lines} lines, to raw checks on all cores`;
  const rows: Row[] = [];
  const sodium = hasSodium() ? openRawVerify(wire, "libsodium") : undefined;
  const openssl = openRawVerify(wire, "openssl");
  try {
    const turns = await inTurns(
      plan.turns,
      () => catchUp(wire),
      async () => ({ sodium: await raw(sodium, wire), openssl: await raw(openssl, wire) }),
    );
    const against = (engine: "sodium" | "openssl") =>
      turns.map(({ ours, baseline }) => ({ ours, baseline: baseline[engine] ?? ours }));
    const common = { id: "P1", unit: UNIT, compared: "ratio" } as const;
    rows.push(
      sodium === undefined
        ? { id: "P1", what: `${what} by libsodium`, skipped: "sodium-native does not load" }
        : rowOf(
            { ...common, what: `${what} by libsodium`, target: { atLeast: 0.6 } },
            against("sodium"),
          ),
      rowOf(
        { ...common, what: `${what} by OpenSSL`, target: { atLeast: 1.2 } },
        against("openssl"),
      ),
    );
  } finally {
    await sodium?.close();
    await openssl.close();
  }
  return rows;
}

/** P2: the same on one core, and on all, against a peer in Python on one. */
export async function benchOneCore(plan: Plan): Promise<Row[]> {
  const what = "catch-up, to a peer in Python on one core";
  if (!has("taskset") || !has("python3")) {
    return [{ id: "P2", what, skipped: "there is no taskset or no python3" }];
  }
  const wire = await keepWire(amount(plan, LINES, 8), "followed");
  const first = pythonPeer(wire);
  if (first === undefined) {
    return [{ id: "P2", what, skipped: "python3 cannot load libsodium" }];
  }
  const turns = await inTurns(
    plan.turns,
    () => ({ one: catchUp(wire, "one"), all: catchUp(wire) }),
    () => pythonPeer(wire) ?? first,
  );
  const common = { id: "P2", unit: UNIT, compared: "ratio" } as const;
  return [
    rowOf(
      { ...common, what: `${what}: ours on one`, target: { atLeast: 0.6 } },
      turns.map(({ ours, baseline }) => ({ ours: ours.one, baseline })),
    ),
    rowOf(
      { ...common, what: `${what}: ours on all`, target: { atLeast: 1.15 } },
      turns.map(({ ours, baseline }) => ({ ours: ours.all, baseline })),
    ),
  ];
}

/** Lines a second, and the CPU time of one, from the same beginning each time. */
export function catchUp(wire: KeptWire, cores?: "one"): Side {
  wire.reset();
  const args = ["--wire", wire.dir, "--as", READER, "--lines", String(wire.lines)];
  const how = { env: wire.env, ...(cores === undefined ? {} : { cores }) };
  return sideOf(runModule<Took>("stage/catch-up", args, how), wire);
}

function sideOf({ wallMs, cpuMs }: Took, { lines }: KeptWire): Side {
  return { value: (1_000 * lines) / wallMs, cpuMs: cpuMs / lines };
}

async function raw(verify: RawVerify | undefined, wire: KeptWire): Promise<Side | undefined> {
  return verify === undefined ? undefined : sideOf(await verify.run(), wire);
}

function hasSodium(): boolean {
  try {
    createRequire(import.meta.url)("sodium-native");
    return true;
  } catch {
    return false;
  }
}

const NO_LIBSODIUM = 3;

function pythonPeer(wire: KeptWire): Side | undefined {
  const logs = wire.peers.map((peer) => {
    const key = Buffer.from(wire.place(peer).identity.publicKey).toString("hex");
    return `${key}=${wire.carrierOf(peer)}`;
  });
  const script = join(checkout, "bench", "baseline", "python-peer.py");
  const [command = "", ...args] = onOneCore(["python3", script, ...logs]);
  const done = spawnSync(command, args, { encoding: "utf8" });
  if (done.status === NO_LIBSODIUM) return undefined;
  if (done.status !== 0) throw new Error(`the peer in Python: ${done.stderr}`);
  const took = JSON.parse(done.stdout) as Took & { valid: number };
  if (took.valid !== wire.lines) throw new Error(`it verified ${took.valid} of ${wire.lines}`);
  return sideOf(took, wire);
}

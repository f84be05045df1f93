import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "../../src/api/client.ts";
import { amount, type Plan } from "../plan.ts";
import { rowAlone, rowOf, sum, type Row, type Side } from "../row.ts";
import { watchGrowth } from "../stage/growth.ts";
import { LINE_BYTES } from "../stage/kept-wire.ts";
import { cpuMsOf, has, pause, since, type Running } from "../stage/processes.ts";
import { bareHost, PEER, READER, reportsFolder, type Wire } from "../stage/wire.ts";
import { inTurns } from "../turns.ts";

const MESSAGES = 5;
/** Beats alone, for what one costs. */
const BEATS = 40;
/** A receipt and the rest after a push are over. */
const QUIET_MS = 4_000;
const LOOK_MS = 2;
const DAY_SECONDS = 86_400;
const CADENCES = { T0_heads_down: 30, T1_active: 90, T2_idle: 270, T3_long_idle: 1_200 } as const;
const WHAT = "through git: append on one host → in an inbox on another";

/**
 * P12: a message through a bare repository on disk into an inbox of another host, against the commit,
 * push and fetch that somebody makes by hand. When a host is to fetch, it is told at once: how often it
 * looks by itself is a setting. And what a heartbeat leaves in the repository.
 */
export async function benchGit(plan: Plan): Promise<Row[]> {
  if (!has("git")) return [{ id: "P12", what: WHAT, skipped: "there is no git" }];
  const folder = mkdtempSync(join(reportsFolder(), "bench-git-"));
  try {
    const remote = join(folder, "wire.git");
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", remote);
    const hosts = joinedHosts(folder, remote);
    return [await delivery(plan, folder, remote, hosts), ...beatCosts(plan, folder)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface TwoHosts {
  readonly sender: Wire;
  readonly reader: Wire;
}

/** Two hosts that share nothing but the repository, and trust each other. */
function joinedHosts(folder: string, remote: string): TwoHosts {
  const sender = bareHost(join(folder, "sender"), [READER]);
  const reader = bareHost(join(folder, "reader"), [PEER]);
  const run = (wire: Wire, ...args: readonly string[]): string =>
    execFileSync(process.execPath, [...args], { env: wire.env, encoding: "utf8" });
  const enter = (wire: Wire, me: string, peer: string, verb: string, ...rest: string[]): string => {
    const [program = ""] = wire.command(me, verb);
    const said = run(
      wire,
      ...[program, verb, ...rest, "--me", me, "--peer", peer, "--wire", wire.dir, "--json"],
    );
    return (JSON.parse(said) as { own_key: { fingerprint: string } }).own_key.fingerprint;
  };
  const keys = { [PEER]: enter(sender, PEER, READER, "init", "--remote", remote), [READER]: "" };
  keys[READER] = enter(reader, READER, PEER, "join", remote);
  // The cards of both are in both folders after this.
  enter(sender, PEER, READER, "init", "--remote", remote);
  const pins = [
    [sender, PEER, READER],
    [reader, READER, PEER],
  ] as const;
  for (const [wire, me, peer] of pins) {
    const how = ["--tier", "VERIFIED", "--fingerprint", keys[peer] ?? "", "--yes"];
    run(wire, ...wire.command(me, "trust", "pin", peer, ...how, "--reason", "a bench"));
  }
  return { sender, reader };
}

async function delivery(
  plan: Plan,
  folder: string,
  remote: string,
  { sender, reader }: TwoHosts,
): Promise<Row> {
  const daemons = [await sender.startDaemon(PEER), await reader.startDaemon(READER)] as const;
  const client = await sender.client(PEER);
  const count = amount(plan, MESSAGES, 1);
  try {
    const byHand = clones(folder);
    const turns = await inTurns(
      plan.turns,
      () => ours(count, remote, { client, daemons, reader }),
      () => byHand(count),
    );
    return rowOf(
      { id: "P12", what: WHAT, unit: "ms", compared: "ratio", target: { atMost: 1.5 } },
      turns,
    );
  } finally {
    client.close();
    for (const daemon of daemons) await daemon.stop();
  }
}

interface Ours {
  readonly client: Client;
  readonly daemons: readonly [sender: Running, reader: Running];
  readonly reader: Wire;
}

async function ours(
  count: number,
  remote: string,
  { client, daemons, reader }: Ours,
): Promise<Side> {
  const inbox = watchGrowth(reader.place(READER).paths.inbox);
  const cpu = (): number => sum(daemons.map(({ pid }) => cpuMsOf(pid) ?? 0));
  const tookMs: number[] = [];
  let cpuMs = 0;
  try {
    for (let at = 0; at < count; at += 1) {
      await pause(QUIET_MS);
      const [before, head] = [cpu(), headOf(remote)];
      const took = await inbox.until(async () => {
        const body = "x".repeat(LINE_BYTES / 2);
        const draft = { to: [READER], type: "feedback" as const, subject: "through git", body };
        await client.ask("send", { drafts: [draft] });
        while (headOf(remote) === head) await pause(LOOK_MS);
        daemons[1].child.kill("SIGUSR1");
      });
      tookMs.push(took);
      cpuMs += since(before, cpu()) ?? 0;
    }
  } finally {
    inbox.close();
  }
  return { value: sum(tookMs) / count, cpuMs: cpuMs / count };
}

/** Two ordinary clones, and what somebody types in them. */
function clones(folder: string): (count: number) => Side {
  const remote = join(folder, "by-hand.git");
  git(folder, "init", "--quiet", "--bare", "--initial-branch=main", remote);
  const [a, b] = [join(folder, "a"), join(folder, "b")] as const;
  git(folder, "clone", "--quiet", remote, a);
  const log = join(a, "log.jsonl");
  const say = (): void => {
    appendFileSync(log, `${"x".repeat(LINE_BYTES)}\n`);
    git(a, "add", "log.jsonl");
    git(a, "commit", "--quiet", "--message", "a line");
    git(a, "push", "--quiet", "origin", "HEAD:main");
  };
  say();
  git(folder, "clone", "--quiet", remote, b);
  return (count) => {
    let tookMs = 0;
    for (let at = 0; at < count; at += 1) {
      const startedMs = performance.now();
      say();
      git(b, "fetch", "--quiet");
      tookMs += performance.now() - startedMs;
    }
    return { value: tookMs / count };
  };
}

/** What beats alone make of a repository: commits, and bytes when it is packed, in a day. */
function beatCosts(plan: Plan, folder: string): Row[] {
  const { commits, bytes } = beatsIn(join(folder, "beats"), amount(plan, BEATS, 2));
  return Object.entries(CADENCES).flatMap(([tier, seconds]) => {
    const perDay = DAY_SECONDS / seconds;
    const what = `heartbeats through git at ${tier}, an agent-day`;
    return [
      rowAlone({ id: "P12", what: `${what}: commits`, unit: "" }, [{ value: perDay * commits }]),
      rowAlone({ id: "P12", what: `${what}: bytes`, unit: "B" }, [{ value: perDay * bytes }]),
    ];
  });
}

/** Commits and packed bytes for one beat, of so many that are pushed one by one. */
function beatsIn(folder: string, count: number): { commits: number; bytes: number } {
  mkdirSync(folder);
  const remote = join(folder, "wire.git");
  git(folder, "init", "--quiet", "--bare", "--initial-branch=main", remote);
  const host = bareHost(join(folder, "host"), [READER]);
  const [program = ""] = host.command(PEER, "init");
  const init = ["init", "--me", PEER, "--peer", READER, "--wire", host.dir, "--remote", remote];
  execFileSync(process.execPath, [program, ...init], { env: host.env });
  const before = weight(remote);
  for (let at = 0; at < count; at += 1) {
    execFileSync(process.execPath, host.command(PEER, "daemon", "--once"), { env: host.env });
  }
  const after = weight(remote);
  return {
    commits: (after.commits - before.commits) / count,
    bytes: (after.bytes - before.bytes) / count,
  };
}

function weight(remote: string): { commits: number; bytes: number } {
  git(remote, "gc", "--quiet", "--prune=now");
  const counted = git(remote, "count-objects", "-v");
  const kib = Number(/^size-pack: (\d+)$/m.exec(counted)?.[1] ?? 0);
  return { commits: Number(git(remote, "rev-list", "--count", "main")), bytes: kib * 1_024 };
}

function headOf(remote: string): string {
  return readFileSync(join(remote, "refs", "heads", "main"), "utf8");
}

const PERSON = ["-c", "user.name=bench", "-c", "user.email=bench@deaddrop.invalid"];

function git(folder: string, ...args: readonly string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  const done = spawnSync("git", ["-C", folder, ...PERSON, ...args], { env, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`git ${args.join(" ")}: ${done.stderr}`);
  return done.stdout;
}

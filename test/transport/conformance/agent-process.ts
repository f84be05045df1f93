import { join } from "node:path";
import { localFolder, keepLines } from "../../../src/daemon/transport/local-side.ts";
import { systemClock } from "../../../src/agent/session/clock.ts";
import { openAgent, type Agent } from "../../../src/agent/agent.ts";
import { silentLogger, type RemoteLogs } from "../../../src/agent/session/world.ts";
import type { AgentNotice } from "../../../src/protocol/agent-notices/agent-notice.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import type { Places } from "../../../src/storage/paths.ts";
import { GitRemote } from "../../../src/transport/git/git-remote.ts";
import { openHostState } from "../../../src/transport/host-state.ts";
import type { TransportTrouble } from "../../../src/transport/port.ts";
import { RemoteTransport } from "../../../src/transport/remote-transport.ts";
import { transportPaths } from "../../../src/transport/transport-settings.ts";
import { afterMs } from "../../support/after-ms.ts";
import { Crashed } from "../../support/disk/memory-file.ts";
import { mortalDisk, type MortalDisk } from "../../support/disk/mortal-disk.ts";
import { pause } from "../../support/processes/real-processes.ts";
import { verifyHere } from "../../support/verify-here.ts";
import { heldGit, type HeldGit } from "./held-git.ts";

/** Where an agent runs, and what time it is there. */
export interface ProcessPlace {
  readonly handle: string;
  readonly wireDir: string;
  readonly home: string;
  readonly places: Places;
  /** The repository that its wire is shared through; undefined: the folder is the shared one. */
  readonly remote: string | undefined;
  nowMs(): number;
  random(): number;
}

/** What the agent was told, and what its operator was: also by processes that have died since. */
export interface Told {
  readonly notices: AgentNotice[];
  readonly troubles: TransportTrouble[];
}

/** One life of an agent's daemon, with its transport: what `run-daemon.ts` puts together, without a loop. */
export interface AgentProcess {
  readonly agent: Agent;
  readonly disk: MortalDisk;
  /** Undefined where it was not asked for, and for a folder. */
  readonly git: HeldGit | undefined;
  readonly transport: RemoteTransport | undefined;
  /** Takes in and acts; fetches and pushes; takes in what was fetched. */
  round(): Promise<void>;
  /** That work; true when the process has died in it. */
  diesIn(work: () => Promise<unknown>): Promise<boolean>;
  kill(): void;
  stop(): Promise<void>;
}

/** `programs`: a folder for a git that can be held. */
export async function startProcess(
  place: ProcessPlace,
  told: Told,
  programs?: string,
): Promise<AgentProcess> {
  const { handle, wireDir, places, nowMs, random } = place;
  const disk = mortalDisk(nodeDisk({ wireDir }));
  const git = programs === undefined ? undefined : heldGit(programs);
  const link: { to: RemoteLogs | undefined } = { to: undefined };
  const clock = { ...systemClock, wallMs: nowMs, micros: () => 0, monoMs: nowMs };
  const agent = openAgent(
    {
      ...{ disk: disk.disk, places, clock, random, verifyAll: verifyHere, log: silentLogger },
      remote: {
        isRemote: (of) => link.to?.isRemote(of) === true,
        fetchedMs: (nowMs) => link.to?.fetchedMs(nowMs),
        // Every round fetches.
        fetchSoon: () => undefined,
      },
      hooks: { onNotice: (notice) => told.notices.push(notice) },
    },
    { wireDir, handle },
  );
  await agent.lockIdentity(0);
  const opened = transportOf(place, agent, disk, git?.path);
  link.to = opened?.remote;
  const transport = opened?.transport;
  transport?.onPulled(({ troubles }) => told.troubles.push(...troubles));

  function kill(): void {
    disk.kill();
    // Its calls of git do not end by themselves.
    transport?.stop().catch(ignoreCrash);
  }

  return {
    ...{ agent, disk, git, transport, kill },
    async round() {
      await agent.tick();
      await transport?.turn({ fetch: true, push: true });
      await agent.tick();
    },
    async diesIn(work) {
      let isOver = false;
      const ended = work()
        .then(() => false, ignoreCrash)
        .finally(() => {
          isOver = true;
        });
      while (!isOver && git?.isReached() !== true) await Promise.race([pause(2), ended]);
      if (!isOver) disk.kill();
      return isOver ? ended : true;
    },
    async stop() {
      await agent.farewell();
      await transport?.turn({ fetch: false, push: true });
      await transport?.stop();
      agent.close();
    },
  };
}

function ignoreCrash(error: unknown): boolean {
  if (error instanceof Crashed) return true;
  throw error;
}

function transportOf(
  { handle, home, places, remote, nowMs, random }: ProcessPlace,
  agent: Agent,
  { disk }: MortalDisk,
  path = process.env["PATH"],
): { readonly transport: RemoteTransport; readonly remote: RemoteLogs } | undefined {
  if (remote === undefined) return undefined;
  const { paths } = agent.place;
  const host = openHostState(disk, transportPaths(places, paths.wireKey), remote);
  const folder = localFolder(disk, places, agent.place);
  const gitRemote = new GitRemote({
    ...{ disk, folder, paths, wallMs: nowMs },
    env: { PATH: path, HOME: home, GIT_CONFIG_NOSYSTEM: "1" },
    settings: { remote: { url: remote, scheme: "file" }, branch: "main", prefix: "" },
  });
  const transport = new RemoteTransport(
    {
      world: {
        ...{ random, log: silentLogger, cadenceMs: () => agent.cadenceMs() },
        clock: { wallMs: nowMs, monoMs: nowMs },
        after: afterMs,
        failed: (error) => {
          throw error;
        },
      },
      ...{ host, folder },
      isSigned: (log, line) => agent.isSignedLine(log, line),
      isWhole: (log) => agent.isWholeLog(log),
      keep: (log, lines) => keepLines(disk, paths, log, lines),
    },
    gitRemote,
  );
  return {
    transport,
    remote: {
      isRemote: (of) => of !== handle && !folder.local().has(of),
      fetchedMs: (nowMs) => host.fetchedMs(nowMs),
      fetchSoon: () => undefined,
    },
  };
}

/** The folder in which the programs of a process are. */
export function programsOf(home: string, life: number): string {
  return join(home, "programs", String(life));
}

import { incidentOf } from "../../api/troubles.ts";
import type { Agent } from "../../agent/agent.ts";
import type { Queue } from "../../agent/session/queue.ts";
import type { Logger } from "../../agent/session/world.ts";
import { HOUR_MS } from "../../wire/durations.ts";
import { readWhole, StorageError } from "../../storage/disk/disk.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";
import { processWakes } from "../wake.ts";
import { isThreadShown } from "./codex-threads.ts";
import { isAlive } from "./session-process.ts";
import { ToolSessions, type ToolSessionsOptions } from "./tool-sessions.ts";
import { isQuietAt, type SpentWake, type SpentWakes } from "./wake-budget.ts";
import { hasDesktop, reachSession } from "./wakers.ts";

const MAX_SPENT_BYTES = 4 * 1_048_576;

/** The registry of a daemon. */
export function openToolSessions(
  agent: Agent,
  queue: Queue,
  rounds: ToolSessionsOptions["rounds"],
  /** `soon`: has the daemon make a round, so that a heartbeat that is owed goes out. */
  { log, soon }: { readonly log: Logger; soon(): void },
): ToolSessions {
  const { handle } = agent.place;
  const wallMs = (): number => Date.now();
  return new ToolSessions({
    agent: {
      handle,
      peers: () =>
        [...agent.carriers.membership().members.keys()].filter((each) => each !== handle),
      mail: (marks) => queue(() => agent.view("mail", { marks })),
      async setState(state, notWoken) {
        await queue(() => agent.setStatus({ state, notWoken }));
        if (Object.keys(notWoken).length > 0) soon();
      },
    },
    rounds,
    spent: spentWakes(agent, log),
    operator: {
      limits: () => agent.place.settings,
      isQuiet: () => isQuietAt(agent.place.settings["wake.quiet"], new Date(wallMs())),
      overBudget: () => tellOverBudget(agent, queue, log, wallMs()),
    },
    host: { isAlive, isThreadShown, hasDesktop: hasDesktop(process.env), reach: reachSession },
    clock: { monoMs: () => agent.monoMs(), wallMs, wake: processWakes },
    log,
  });
}

/** A file in the agent's private folder; what it cannot hold is forgotten by the next daemon. */
function spentWakes({ disk, place }: Agent, log: Logger): SpentWakes {
  const path = place.paths.wakes;
  return {
    load() {
      try {
        const bytes = readWhole(disk, path, MAX_SPENT_BYTES);
        const spent: unknown = JSON.parse(Buffer.from(bytes ?? "[]").toString("utf8"));
        return Array.isArray(spent) && spent.every(isSpentWake) ? spent : [];
      } catch (error) {
        if (!(error instanceof StorageError) && !(error instanceof SyntaxError)) throw error;
        return [];
      }
    },
    save(spent) {
      try {
        disk.replace(path, Buffer.from(`${JSON.stringify(spent)}\n`, "utf8"), PRIVATE_FILE);
      } catch (error) {
        if (!(error instanceof StorageError)) throw error;
        log.warn({ detail: error.message }, "cannot note that the agent was woken");
      }
    },
  };
}

function isSpentWake(value: unknown): value is SpentWake {
  const { atMs, peers, threads } = (value ?? {}) as Partial<Record<keyof SpentWake, unknown>>;
  return typeof atMs === "number" && Array.isArray(peers) && Array.isArray(threads);
}

/** Once in an hour: that mail waits because the agent was woken as often as it may be. Spec 8.3. */
function tellOverBudget(agent: Agent, queue: Queue, log: Logger, nowMs: number): void {
  const { settings } = agent.place;
  const [all, perPeer, perThread] = [
    settings["wake.per_hour"],
    settings["wake.per_peer"],
    settings["wake.per_thread"],
  ];
  const hour = String(Math.floor(nowMs / HOUR_MS));
  const incident = incidentOf("wake_budget", { perPeer, perThread, all }, hour);
  const told = queue(() => agent.tell(incident));
  told.catch((error: unknown) => log.warn({ detail: String(error) }, "the operator is not told"));
}

import type { Agent } from "../../agent/agent.ts";
import type { Queue } from "../../agent/session/queue.ts";
import type { Logger } from "../../agent/session/world.ts";
import { hourlyKey } from "../../protocol/notices.ts";
import { processWakes } from "../wake.ts";
import { isQuietAt } from "./quiet-times.ts";
import { isThreadShown } from "./codex-threads.ts";
import { isAlive } from "./session-process.ts";
import type { SessionsRounds, ToolSessions } from "./registry.ts";
import { makeToolSessions } from "./tool-sessions.ts";
import { hasDesktop } from "./desktop.ts";
import { reachSession } from "./wakers.ts";

/** The registry of a daemon. */
export function openToolSessions(
  agent: Agent,
  queue: Queue,
  rounds: SessionsRounds,
  log: Logger,
): ToolSessions {
  const { handle } = agent.place;
  const wallMs = (): number => Date.now();
  return makeToolSessions({
    agent: {
      handle,
      peers: () => agent.place.layout.members.filter((each) => each !== handle),
      mail: (marks) => queue(() => agent.view("mail", { marks })),
      setState: (state) => queue(() => agent.setStatus({ state })),
    },
    rounds,
    operator: {
      limits: () => agent.place.settings.wake,
      isQuiet: () => isQuietAt(agent.place.settings.wake.quiet, new Date(wallMs())),
      overBudget: () => tellOverBudget(agent, queue, log, wallMs()),
    },
    host: { isAlive, isThreadShown, hasDesktop: hasDesktop(process.env), reach: reachSession },
    clock: { monoMs: () => agent.monoMs(), wallMs, wake: processWakes },
    log,
  });
}

/** Once in an hour: that mail waits because the agent was woken as often as it may be. Spec 8.3. */
function tellOverBudget(agent: Agent, queue: Queue, log: Logger, nowMs: number): void {
  const { perPeer, perThread, inAll } = agent.place.settings.wake;
  const told = queue(() =>
    agent.tell({
      key: hourlyKey("wake_budget", nowMs),
      cause: "wake_budget",
      subject: "mail waits: the agent was woken as often as it may be within an hour",
      detail: `${inAll} times in all, ${perPeer} for a peer, ${perThread} for a thread; see wake.per_hour in deaddrop config list`,
      concernsWire: false,
    }),
  );
  told.catch((error: unknown) => log.warn({ detail: String(error) }, "the operator is not told"));
}

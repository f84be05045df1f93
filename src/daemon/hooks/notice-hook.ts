import type { Logger } from "../../agent/session/world.ts";
import type { Notice } from "../../store/notices.ts";
import { HOUR_MS } from "../../wire/durations.ts";
import { startHook, type HookEnd, type HookHost } from "./run-hook.ts";

/** Notices of one burst are told together. */
const BURST_MS = 1_000;
/** So many are named to one run; more are only counted. */
const MAX_HOOK_LINES = 100;

/** How long the next run has to wait: at most `perHour` begin within any hour. Pure. Spec 8.3. */
function budgetWaitMs(begunMs: readonly number[], perHour: number, nowMs: number): number {
  const oldest = begunMs.at(-perHour);
  return oldest === undefined ? 0 : Math.max(0, oldest + HOUR_MS - nowMs);
}

/**
 * Runs the operator's command for the notices that its result is called with; it returns at once and never throws.
 * One run at a time: what comes meanwhile, and what comes when the hour's runs are used up, is told by the next
 * run, so nothing is left out. Spec 8.3.
 */
export function makeNoticeHook(
  host: HookHost,
  clock: { monoMs(): number; wallMs(): number },
): (notice: Notice) => void {
  const { log, settings, signal } = host;
  let waiting: Notice[] = [];
  let count = 0;
  let begunMs: number[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isRunning = false;
  let isOverBudget = false;

  function schedule(): void {
    if (isRunning || timer !== undefined || count === 0 || signal.aborted) return;
    const runsPerHour = settings()["hooks.runs_per_hour"];
    const budgetMs = budgetWaitMs(begunMs, runsPerHour, clock.monoMs());
    if (budgetMs > 0 && !isOverBudget) {
      log.warn(
        { hook: "on_notice", runs: runsPerHour, wait_seconds: Math.ceil(budgetMs / 1_000) },
        "the hook has used up its runs of this hour: the next one tells what waits",
      );
    }
    isOverBudget = budgetMs > 0;
    timer = setTimeout(begin, Math.max(BURST_MS, budgetMs)).unref();
  }

  function begin(): void {
    timer = undefined;
    const { "hooks.on_notice": command, "hooks.runs_per_hour": runsPerHour } = settings();
    const [told, total] = [waiting, count];
    [waiting, count] = [[], 0];
    if (command.length === 0 || signal.aborted) return;
    begunMs = [...begunMs, clock.monoMs()].slice(-runsPerHour);
    isRunning = true;
    const input = inputOf(told, clock.wallMs());
    startHook(host, { command, input, facts: factsOf(told, total) }, (end) => {
      logEnd(log, end, command[0] ?? "");
      isRunning = false;
      schedule();
    });
  }

  return (notice) => {
    if (settings()["hooks.on_notice"].length === 0) return;
    if (waiting.length < MAX_HOOK_LINES) waiting.push(notice);
    count += 1;
    schedule();
  };
}

function logEnd(log: Logger, { how, detail, said }: HookEnd, program: string): void {
  const facts = { hook: "on_notice", program, how, detail };
  if (how === "done") log.debug(facts, "the hook has run");
  else log.warn({ ...facts, ...(said === "" ? {} : { said }) }, "the hook did not work");
}

function factsOf(told: readonly Notice[], total: number): Record<string, string> {
  return {
    DEADDROP_HOOK: "on_notice",
    DEADDROP_NOTICES: String(total),
    DEADDROP_KINDS: [...new Set(told.map(({ kind }) => kind))].join(","),
  };
}

/** A line of JSON for each. The text is left out: it quotes subjects of peers. Spec 3.12. */
function inputOf(notices: readonly Notice[], nowMs: number): string {
  const lines = notices.map(({ id, kind, at }) => {
    const ageSeconds = Math.max(0, Math.floor((nowMs - Date.parse(at)) / 1_000));
    return JSON.stringify({ id, kind, age_seconds: ageSeconds });
  });
  return lines.map((line) => `${line}\n`).join("");
}

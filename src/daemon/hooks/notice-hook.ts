import type { HookSettings } from "../../agent/config/settings.ts";
import type { Logger } from "../../agent/session/world.ts";
import type { Notice } from "../../store/notices.ts";
import { HOUR_MS } from "../../wire/durations.ts";
import { notStarted, type HookEnd, type HookRun } from "./run-hook.ts";

/** Runs the operator's command when the agent was given a notice. Spec 8.3. */
export interface NoticeHook {
  /** Returns at once and never throws. */
  heard(notice: Notice): void;
  /** The daemon ends: nothing more is run, and a command that runs is asked to end. */
  stop(): void;
}

export interface NoticeHookOptions {
  /** What the operator has set now. */
  settings(): HookSettings;
  /** Who the agent is: `DEADDROP_AS` and `DEADDROP_WIRE`. */
  who(): Readonly<Record<string, string>>;
  monoMs(): number;
  wallMs(): number;
  run(run: HookRun): Promise<HookEnd>;
  readonly log: Logger;
}

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
 * One run at a time. What comes meanwhile, and what comes when the hour's runs are used up, is told by
 * the next run: nothing is left out.
 */
export function makeNoticeHook(options: NoticeHookOptions): NoticeHook {
  const { log, settings } = options;
  const stopping = new AbortController();
  let waiting: Notice[] = [];
  let count = 0;
  let begunMs: number[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isRunning = false;
  let isOverBudget = false;

  function schedule(): void {
    if (isRunning || timer !== undefined || count === 0 || stopping.signal.aborted) return;
    const { runsPerHour } = settings();
    const budgetMs = budgetWaitMs(begunMs, runsPerHour, options.monoMs());
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
    const { onNotice: command, timeoutSeconds, runsPerHour } = settings();
    const [told, total] = [waiting, count];
    [waiting, count] = [[], 0];
    if (command.length === 0) return;
    begunMs = [...begunMs, options.monoMs()].slice(-runsPerHour);
    isRunning = true;
    const facts = { ...options.who(), ...factsOf(told, total) };
    const input = inputOf(told, options.wallMs());
    const { signal } = stopping;
    const over = (end: HookEnd): void => {
      logEnd(log, end, command[0] ?? "");
      isRunning = false;
      schedule();
    };
    options
      .run({ command, input, facts, timeoutMs: timeoutSeconds * 1_000, signal })
      .then(over, (error: unknown) => over(notStarted(error)));
  }

  return {
    heard(notice) {
      if (settings().onNotice.length === 0) return;
      if (waiting.length < MAX_HOOK_LINES) waiting.push(notice);
      count += 1;
      schedule();
    },
    stop() {
      clearTimeout(timer);
      stopping.abort();
    },
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

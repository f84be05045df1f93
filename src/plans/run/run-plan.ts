import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import {
  decidePlan,
  type Dispatch,
  type LocalWork,
  type PlanEffect,
  type RunLimits,
  type Telling,
} from "../coordinator/decide.ts";
import { sentStep, stepRequest } from "../coordinator/step-request.ts";
import { fixStep, markEdits, type Change } from "../plan/changes.ts";
import type { Owners } from "../plan/owners.ts";
import { stepNamed, titleOf, planRequestId, type Plan, type Step } from "../plan/plan.ts";
import { failureReport, workStep, type Adapter } from "../work/work-step.ts";
import { askOperator } from "./ask-operator.ts";
import type { HeldPlan } from "./held-plan.ts";
import { keepLog, keepReport, localWork, noteBegun, type PlanPlaces } from "./plan-folder.ts";
import { makePatience, Waits, WorkInFlight, type Outside } from "./patience.ts";
import { sendStep, readDispatches } from "./step-messages.ts";

/** What the coordinator tells the one who watches. */
export interface RunEvent {
  readonly event: "started" | "sent" | "complete" | "blocked" | "told" | "ended";
  readonly step: string | null;
  readonly level: Telling["level"] | null;
  readonly text: string;
}

/** What happens around a step in a repository. */
export interface Checkpoints {
  before(step: Step): void;
  after(step: Step): void;
}

export interface RunOptions {
  readonly limits: RunLimits;
  readonly owners: Owners;
  /** What works at the runner's own steps; undefined: the runner itself, who reports then. */
  readonly adapter: Adapter | undefined;
  readonly checkpoints: Checkpoints | undefined;
}

/** A plan at the place where it is run. */
export interface RunPlace {
  readonly disk: Disk;
  readonly places: PlanPlaces;
  readonly held: HeldPlan;
  /** Undefined: without a wire. */
  readonly client: Client | undefined;
}

export type RunOutside = Outside<RunEvent>;

/** Things that are told once: beyond, the oldest may be told again. */
const MAX_TOLD_ONCE = 10_000;

export type RunEnd = "complete" | "stuck" | "stopped";

/**
 * Runs a plan to its end. Every round asks the file and the wire for all that is known, and carries out
 * what follows; nothing that matters is remembered in between, so it may be killed anywhere and run
 * again, by anybody who has the file. Spec 7.5.
 */
export async function runPlan(
  place: RunPlace,
  options: RunOptions,
  outside: RunOutside,
): Promise<RunEnd> {
  const run = new Run(place, options, outside);
  const patience = makePatience(outside);
  try {
    while (!outside.signal.aborted) {
      const end = await patience(() => run.round());
      if (end !== undefined) return end;
    }
  } finally {
    // Also after a failure: the lock of the run is held while a program of ours works.
    await run.inFlight.allEnded();
  }
  return "stopped";
}

class Run {
  readonly #place: RunPlace;
  readonly #options: RunOptions;
  readonly #outside: RunOutside;
  /** Work of ours, by request id. */
  readonly inFlight = new WorkInFlight();
  readonly #waits: Waits;
  readonly #told = new Set<string>();
  /** Requests that this process has sent. */
  readonly #sent = new Set<string>();
  #turn = 0;

  constructor(place: RunPlace, options: RunOptions, outside: RunOutside) {
    this.#place = place;
    this.#options = options;
    this.#outside = outside;
    this.#waits = new Waits(place.client, outside);
  }

  /** Looks, decides, does it; then waits, if there was nothing to do. */
  async round(): Promise<RunEnd | undefined> {
    this.inFlight.settle();
    const { held, client } = this.#place;
    held.look();
    if (client?.viaDaemon === false) await client.ask("tick");
    const { plan } = held.document;
    this.#turn += 1;
    let isQuiet = true;
    for (const effect of await this.#decide(plan, this.#turn)) {
      if (effect.do === "end") return this.#end(plan, effect.outcome);
      isQuiet = !(await this.#carryOut(effect)) && isQuiet;
    }
    if (isQuiet) await this.#waits.next(this.inFlight.nextEnd());
    return undefined;
  }

  async #decide(plan: Plan, turn: number | "all"): Promise<PlanEffect[]> {
    const { client } = this.#place;
    const none = new Map<string, Dispatch>();
    const dispatches =
      client === undefined ? none : await readDispatches(client, named(plan), turn);
    const facts = { dispatches, local: this.#localFacts(plan) };
    const { owners, limits } = this.#options;
    return decidePlan({ plan, facts, owners }, this.#outside.nowMs(), limits);
  }

  /** All that came late is told before the end. */
  async #end(plan: Plan, outcome: RunEnd): Promise<RunEnd> {
    for (const effect of await this.#decide(plan, "all")) {
      if (effect.do === "tell") await this.#tell(effect.about, effect.text);
    }
    return outcome;
  }

  #localFacts(plan: Plan): Map<string, LocalWork> {
    const { disk, places } = this.#place;
    const own = plan.steps.filter(({ status }) => status === "in_progress" || status === "pending");
    return new Map(
      own.map((step) => {
        const isRunning = this.inFlight.has(nameOf(plan, step));
        return [step.id, localWork(disk, places, step, isRunning)] as const;
      }),
    );
  }

  /** Whether it changed anything. */
  async #carryOut(effect: Exclude<PlanEffect, { do: "end" }>): Promise<boolean> {
    const { disk, places, held } = this.#place;
    switch (effect.do) {
      case "mark":
        this.#mark(effect.step, effect.status);
        return true;
      case "amend":
        await this.#amend(effect.step, effect.error);
        return true;
      case "keep_report":
        return keepReport(disk, places, effect.report);
      case "tell":
        return this.#tell(effect.about, effect.text);
      case "send":
        return this.#send(stepNamed(held.document.plan, effect.step), effect.to);
      case "run":
        return this.#begin(stepNamed(held.document.plan, effect.step));
    }
  }

  #mark(id: string, status: Step["status"]): void {
    const { checkpoints } = this.#options;
    const step = stepNamed(this.#place.held.document.plan, id);
    if (step === undefined || step.status === status) return;
    if (status === "in_progress") checkpoints?.before(step);
    if (status === "complete") checkpoints?.after(step);
    this.#change(id, (_document, now) => ({ ok: true, edits: markEdits(now, status) }));
    if (status === "complete" || status === "blocked") {
      this.#say(status, id, `${step.owner}: ${step.description}`);
    }
  }

  /** Where no step can be added, a person looks at it. */
  async #amend(id: string, error: string): Promise<void> {
    try {
      this.#change(id, ({ plan }, step) => fixStep(plan, step, error));
    } catch (refused) {
      if (!(refused instanceof DeaddropError) || refused.code !== "refused") throw refused;
      await this.#tell({ step: id, level: "asks" }, `step ${id} is blocked: ${refused.message}`);
      this.#mark(id, "blocked");
    }
  }

  /** A step that a person has removed meanwhile is left alone. */
  #change(id: string, change: (document: { plan: Plan }, step: Step) => Change): void {
    this.#place.held.change((document) => {
      const step = stepNamed(document.plan, id);
      return step === undefined ? { ok: true, edits: [] } : change(document, step);
    });
  }

  /** Kept before it is said, and before the step is marked: a run that is killed here asks again. */
  async #tell(about: Telling, text: string): Promise<boolean> {
    if (this.#told.has(text)) return false;
    const { plan } = this.#place.held.document;
    await askOperator(this.#place, named(plan), about, text, this.#outside.nowMs());
    if (this.#told.size >= MAX_TOLD_ONCE) this.#told.clear();
    this.#told.add(text);
    this.#outside.say({ event: "told", ...about, text });
    return false;
  }

  /**
   * Sends the request, then marks the step: a send that is refused leaves it pending, and after a crash in
   * between the wire says that it was sent. A request that waits for its log is sent again, which sends
   * nothing.
   */
  async #send(step: Step | undefined, to: string): Promise<boolean> {
    const { client, held } = this.#place;
    if (step === undefined || client === undefined) return false;
    const request = stepRequest(named(held.document.plan).id, held.hash, step);
    const isNew = !this.#sent.has(request.request_id);
    try {
      this.#options.checkpoints?.before(step);
      await sendStep(client, to, request);
    } catch (error) {
      const isRefused =
        error instanceof DeaddropError &&
        ["bad_draft", "refused", "unknown_recipient"].includes(error.code);
      if (!isRefused) throw error;
      const text = `step ${step.id} is blocked: ${error.message}`;
      await this.#tell({ step: step.id, level: "asks" }, text);
      this.#mark(step.id, "blocked");
      return true;
    }
    this.#sent.add(request.request_id);
    this.#mark(step.id, "in_progress");
    if (isNew) this.#say("sent", step.id, `to ${to}: ${titleOf(step)}`);
    return isNew;
  }

  /** Notes the begin durably, starts the program, and only then says so: no attempt is begun twice. */
  async #begin(step: Step | undefined): Promise<boolean> {
    const { disk, places, held } = this.#place;
    const { adapter } = this.#options;
    if (step === undefined) return false;
    if (adapter === undefined) {
      const text = `step ${step.id} is yours: ${step.description} (then deaddrop plan report add ${step.id} --outcome success --details "…")`;
      await this.#tell({ step: step.id, level: "asks" }, text);
      this.#mark(step.id, "in_progress");
      return step.status === "pending";
    }
    this.#options.checkpoints?.before(step);
    const { plan } = held.document;
    noteBegun(disk, places, step);
    const { hash } = held;
    this.inFlight.start(nameOf(plan, step), () => this.#work(step, plan, hash, adapter));
    this.#mark(step.id, "in_progress");
    this.#say("started", step.id, `${step.owner}: ${step.description}`);
    return true;
  }

  async #work(step: Step, plan: Plan, planHash: string, adapter: Adapter): Promise<void> {
    const { disk, places } = this.#place;
    const { signal, nowMs } = this.#outside;
    const { attempt, skill } = step;
    const asked = { plan_id: named(plan).id, plan_hash: planHash, attempt, skill };
    const request = { ...asked, request_id: nameOf(plan, step), step: sentStep(step) };
    const { report, log } = await workStep(request, adapter, signal, nowMs);
    keepLog(disk, places, step, log);
    const stopped = signal.aborted
      ? failureReport(step.id, "the run was stopped while it was worked at", nowMs())
      : report;
    keepReport(disk, places, { attempt, by: undefined, report: stopped });
  }

  #say(event: RunEvent["event"], step: string, text: string): void {
    this.#outside.say({ event, step, level: null, text });
  }
}

/** Every plan that runs has a name: the run has given it one. */
function named(plan: Plan): Plan & { readonly id: string } {
  const { id } = plan;
  if (id !== undefined) return { ...plan, id };
  throw new DeaddropError("refused", "plan_id was removed from the plan while it runs", {
    hint: "put it back: the requests on the wire are named by it",
  });
}

function nameOf(plan: Plan, { id, attempt }: Step): string {
  return planRequestId(named(plan).id, id, attempt);
}

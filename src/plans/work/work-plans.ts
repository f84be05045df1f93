import type { Client } from "../../api/client.ts";
import type { RequestView, ThreadMessage } from "../../api/views.ts";
import { fromPlain } from "../../wire/json/json.ts";
import {
  readStepRequest,
  type RequestRead,
  type StepRequest,
} from "../coordinator/step-request.ts";
import type { Report } from "../report/report.ts";
import { answerStep, shipReport, type AskedStep } from "../run/send-step.ts";
import { isReport, reportOf, threadOf } from "../run/wire-facts.ts";
import { makePatience, mayPass } from "../run/patience.ts";
import { isBelieved, isStepForUs } from "./asked-steps.ts";
import { failureReport, workStep, type Adapter } from "./work-step.ts";

/** What happened, for the one who watches. */
export interface WorkEvent {
  readonly event: "accepted" | "refused" | "reported" | "repeated" | "interrupted";
  readonly step: string;
  readonly from: string;
  readonly detail: string;
}

export interface WorkOptions {
  readonly adapter: Adapter;
  /** Whose steps are taken; undefined: of every peer that is at least VERIFIED. */
  readonly from: readonly string[] | undefined;
  readonly maxParallel: number;
  /** Ends when there is nothing to do. */
  readonly once: boolean;
}

export interface WorkOutside {
  readonly client: Client;
  nowMs(): number;
  sleep(durationMs: number): Promise<void>;
  say(event: WorkEvent): void;
  /** The operator ends it; what runs is ended too. */
  readonly signal: AbortSignal;
}

/** How often the worker looks for steps. */
const WORK_POLL_MS = 250;

/**
 * Takes the steps that peers ask for, works at each once, and ships the reports. What was accepted and
 * not reported when a worker ended is reported as a failure: nobody knows how far it came. Spec 7.5.
 */
export async function workPlans(outside: WorkOutside, options: WorkOptions): Promise<void> {
  const worker = new Worker(outside, options);
  const patience = makePatience(outside);
  while (!outside.signal.aborted) {
    const isIdle = await patience(() => worker.look());
    if (options.once && isIdle === true) return;
    await outside.sleep(WORK_POLL_MS);
  }
  await worker.ended();
}

class Worker {
  readonly #outside: WorkOutside;
  readonly #options: WorkOptions;
  /** Event ids of requests that need nothing more. */
  readonly #settled = new Set<string>();
  /** By the name of the work: its report. The same work may be asked for by another coordinator. */
  readonly #reports = new Map<string, Report>();
  readonly #running = new Map<string, Promise<void>>();
  /** By event id: what a thread said, until the request has another answer. */
  #read = new Map<string, ReadStep>();
  #failed: Error | undefined;

  constructor(outside: WorkOutside, options: WorkOptions) {
    this.#outside = outside;
    this.#options = options;
  }

  /** True when there is nothing to do. Throws what has stopped a work. */
  async look(): Promise<boolean> {
    if (this.#failed !== undefined) throw this.#failed;
    const { client } = this.#outside;
    if (!client.viaDaemon) await client.ask("tick");
    const requests = await client.view("requests");
    const open = requests.filter((each) => this.#isOpen(each));
    const ids = new Set(open.map(({ event_id: id }) => id));
    this.#read = new Map([...this.#read].filter(([id]) => ids.has(id)));
    for (const request of open) await this.#handle(request);
    return this.#running.size === 0;
  }

  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  #isOpen(request: RequestView): boolean {
    const { from, event_id: id } = request;
    const isAllowed = this.#options.from?.includes(from) ?? true;
    return isAllowed && !this.#settled.has(id) && isStepForUs(this.#outside.client, request);
  }

  async #handle(request: RequestView): Promise<void> {
    const { event_id: id, from, correlation_id: thread, request_id: requestId, subject } = request;
    const step = await this.#step(request);
    if (step === undefined) return;
    const asked: AskedStep = { eventId: id, from, thread, requestId, subject };
    const { work } = step;
    if (!step.isBelieved) this.#settled.add(id);
    else if (!work.ok) await this.#refuse(asked, work.detail);
    else {
      const named = { name: `${requestId.toLowerCase()} ${work.digest}`, request: work.request };
      await this.#goOn(asked, named, request.answer, step.shipped);
    }
  }

  /**
   * What a request asks, and what we have reported. Its words never change, and nobody reports before an
   * answer, so a step that waits is read once. Undefined while its text is in no log.
   */
  async #step({ event_id: id, answer }: RequestView): Promise<ReadStep | undefined> {
    const { client } = this.#outside;
    const known = this.#read.get(id);
    if (known?.isAnswered === (answer !== null)) return known;
    const messages = await threadOf(client, id);
    const message = messages.find(({ _meta: meta }) => meta.id === id);
    if (message === undefined) return undefined;
    const step: ReadStep = {
      isAnswered: answer !== null,
      isBelieved: isBelieved(message),
      work: readStepRequest(fromPlain(message.body)),
      shipped: messages.find((each) => isReport(each) && each.from === client.handle),
    };
    this.#read.set(id, step);
    return step;
  }

  async #goOn(
    asked: AskedStep,
    work: Work,
    answer: RequestView["answer"],
    shipped: ThreadMessage | undefined,
  ): Promise<void> {
    const { name, request } = work;
    if (shipped !== undefined || answer?.approve === false) {
      this.#settled.add(asked.eventId);
      const read = shipped === undefined ? undefined : reportOf(shipped).read;
      if (read?.ok === true && !this.#reports.has(name)) this.#reports.set(name, read.report);
      return;
    }
    if (this.#running.has(name)) {
      if (answer === null) await this.#accept(asked, request);
      return;
    }
    const known = this.#reports.get(name);
    if (known !== undefined) {
      if (answer === null) await this.#accept(asked, request);
      await this.#ship(asked, known, "repeated");
    } else if (answer !== null) {
      const error = "the worker ended while it worked at this step; look at what was done";
      const report = failureReport(request.step.id, error, this.#outside.nowMs());
      await this.#ship(asked, report, "interrupted");
    } else if (this.#running.size < this.#options.maxParallel) {
      await this.#accept(asked, request);
      this.#begin(asked, work);
    }
  }

  #begin(asked: AskedStep, { name, request }: Work): void {
    const { signal, nowMs } = this.#outside;
    const work = async (): Promise<void> => {
      const { report } = await workStep(request, this.#options.adapter, signal, nowMs);
      this.#reports.set(name, report);
      await this.#ship(asked, report, "reported");
    };
    const ended = work()
      .catch((error: unknown) => {
        // The report is there: the next look ships it.
        if (mayPass(error)) return;
        this.#failed ??= error instanceof Error ? error : new Error(String(error));
      })
      .finally(() => this.#running.delete(name));
    this.#running.set(name, ended);
  }

  async #accept(asked: AskedStep, { step }: StepRequest): Promise<void> {
    await answerStep(this.#outside.client, asked, true);
    // What is taken is no news for the agent any more.
    await this.#outside.client.ask("read", { ids: [asked.eventId] });
    this.#say("accepted", asked, step.id, step.description);
  }

  async #refuse(asked: AskedStep, detail: string): Promise<void> {
    this.#settled.add(asked.eventId);
    await answerStep(this.#outside.client, asked, false, detail);
    this.#say("refused", asked, "", detail);
  }

  async #ship(asked: AskedStep, report: Report, event: WorkEvent["event"]): Promise<void> {
    await shipReport(this.#outside.client, asked, report);
    this.#settled.add(asked.eventId);
    this.#say(
      event,
      asked,
      report.step_id,
      `${report.outcome}${report.error === undefined ? "" : `: ${report.error}`}`,
    );
  }

  #say(event: WorkEvent["event"], { from }: AskedStep, step: string, detail: string): void {
    this.#outside.say({ event, step, from, detail });
  }
}

interface ReadStep {
  /** When it was read. */
  readonly isAnswered: boolean;
  readonly isBelieved: boolean;
  readonly work: RequestRead;
  /** The report of ours. */
  readonly shipped: ThreadMessage | undefined;
}

interface Work {
  /** The name of the request with a digest of what it asks. */
  readonly name: string;
  readonly request: StepRequest;
}

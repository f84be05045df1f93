import type { Client } from "../../api/client.ts";
import type { HeldMessage, RequestView } from "../../api/views.ts";
import { fromPlain } from "../../wire/json/json.ts";
import {
  readStepRequest,
  type RequestRead,
  type StepRequest,
} from "../coordinator/step-request.ts";
import type { Report } from "../report/report.ts";
import {
  answerStep,
  shipReport,
  isReport,
  reportOf,
  threadOf,
  isBelieved,
  askedStep,
  isStepForUs,
  type AskedStep,
} from "../run/step-messages.ts";
import { makePatience, Waits, WorkInFlight, type Outside } from "../run/patience.ts";
import type { BegunWork } from "./begun-work.ts";
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

export interface WorkOutside extends Outside<WorkEvent> {
  readonly client: Client;
  readonly begun: BegunWork;
}

/**
 * Takes the steps that peers ask for, works at each once, and ships the reports. The order, so that no
 * attempt is begun twice and none is said to be begun that is not: note the begin durably, start the
 * program, answer the request, keep the report durably, ship it. After a crash
 * - before the note, the step is begun;
 * - after it and before the report is kept, a failure is reported: nobody knows how far the program came;
 * - after that, the kept report is shipped.
 * Spec 7.5.
 */
export async function workPlans(outside: WorkOutside, options: WorkOptions): Promise<void> {
  const worker = new Worker(outside, options);
  const patience = makePatience(outside);
  const waits = new Waits(outside.client, outside);
  try {
    while (!outside.signal.aborted) {
      const isIdle = await patience(() => worker.look());
      if (options.once && isIdle === true) return;
      await waits.next(worker.inFlight.nextEnd());
    }
  } finally {
    // Also after a failure: the lock of the worker is held while a program works, and its report is kept.
    await worker.inFlight.allEnded();
  }
  await patience(() => worker.look());
}

class Worker {
  readonly #outside: WorkOutside;
  readonly #options: WorkOptions;
  /** Event ids of requests that need nothing more. */
  readonly #settled = new Set<string>();
  /** By the name of the work: its report. The same work may be asked for by another coordinator. */
  readonly #reports = new Map<string, Report>();
  readonly inFlight = new WorkInFlight();
  /** Work that this process has begun and not shipped. */
  readonly #unshipped = new Set<string>();
  /** By event id: what a thread said, until the request has another answer. */
  #read = new Map<string, ReadStep>();

  constructor(outside: WorkOutside, options: WorkOptions) {
    this.#outside = outside;
    this.#options = options;
  }

  /** True when there is nothing to do. Throws what has stopped a work. */
  async look(): Promise<boolean> {
    this.inFlight.settle();
    const { client } = this.#outside;
    if (!client.viaDaemon) await client.ask("tick");
    const requests = await client.view("requests");
    const open = requests.filter((each) => this.#isOpen(each));
    const ids = new Set(open.map(({ event_id: id }) => id));
    this.#read = new Map([...this.#read].filter(([id]) => ids.has(id)));
    const mayAnswer = (await client.view("safe_mode")) === null;
    for (const request of open) await this.#handle(request, mayAnswer);
    return this.#unshipped.size === 0 && (mayAnswer || open.length === 0);
  }

  #isOpen(request: RequestView): boolean {
    const { from, event_id: id } = request;
    const isAllowed = this.#options.from?.includes(from) ?? true;
    return isAllowed && !this.#settled.has(id) && isStepForUs(this.#outside.client, request);
  }

  /** `mayAnswer`: in safe mode nothing is begun, since it could not be said. */
  async #handle(request: RequestView, mayAnswer: boolean): Promise<void> {
    const step = await this.#step(request);
    if (step === undefined) return;
    const asked = askedStep(request);
    const { work } = step;
    if (!step.isBelieved) this.#settled.add(asked.eventId);
    else if (!mayAnswer) return;
    else if (!work.ok) await this.#refuse(asked, work.detail);
    else {
      const named = {
        name: `${asked.requestId.toLowerCase()} ${work.digest}`,
        request: work.request,
      };
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
    shipped: HeldMessage | undefined,
  ): Promise<void> {
    const { name, request } = work;
    const { begun, signal } = this.#outside;
    if (shipped !== undefined || answer?.approve === false) {
      this.#settled.add(asked.eventId);
      const read = shipped === undefined ? undefined : reportOf(shipped).read;
      if (read?.ok === true && !this.#reports.has(name)) this.#reports.set(name, read.report);
      if (!this.inFlight.has(name)) begun.forget(name);
      return;
    }
    const mayBegin = this.inFlight.size < this.#options.maxParallel && !signal.aborted;
    const isKnown = this.inFlight.has(name) || this.#reports.has(name) || begun.isBegun(name);
    if (!isKnown && answer === null) {
      if (!mayBegin) return;
      this.#begin(work);
      await this.#accept(asked, request);
      return;
    }
    if (answer === null) await this.#accept(asked, request);
    if (this.inFlight.has(name)) return;
    const repeated = this.#reports.get(name);
    const kept = repeated ?? begun.report(name);
    if (kept !== undefined) {
      await this.#ship(asked, name, kept, repeated === undefined ? "reported" : "repeated");
      return;
    }
    const error = isKnown
      ? "the worker ended after this step was begun and before its report; look at what was done"
      : "the step was accepted before, and this worker has no report of it; look at what was done";
    const report = failureReport(request.step.id, error, this.#outside.nowMs());
    await this.#ship(asked, name, report, "interrupted");
  }

  /** Its report is kept when the program ends; the next look answers and ships. */
  #begin({ name, request }: Work): void {
    const { signal, nowMs, begun } = this.#outside;
    begun.noteBegun(name);
    this.#unshipped.add(name);
    this.inFlight.start(name, async () => {
      const { report } = await workStep(request, this.#options.adapter, signal, nowMs);
      begun.noteReport(name, report);
    });
  }

  async #accept(asked: AskedStep, { step }: StepRequest): Promise<void> {
    await answerStep(this.#outside.client, asked, true);
    this.#say("accepted", asked, step.id, step.description);
    // What is taken is no news for the agent any more.
    await this.#outside.client.ask("read", { ids: [asked.eventId] });
  }

  async #refuse(asked: AskedStep, detail: string): Promise<void> {
    this.#settled.add(asked.eventId);
    await answerStep(this.#outside.client, asked, false, detail);
    this.#say("refused", asked, "", detail);
  }

  async #ship(
    asked: AskedStep,
    name: string,
    report: Report,
    event: WorkEvent["event"],
  ): Promise<void> {
    await shipReport(this.#outside.client, asked, report);
    this.#settled.add(asked.eventId);
    this.#reports.set(name, report);
    this.#unshipped.delete(name);
    this.#outside.begun.forget(name);
    const { step_id: step, outcome, error } = report;
    this.#say(event, asked, step, error === undefined ? outcome : `${outcome}: ${error}`);
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
  readonly shipped: HeldMessage | undefined;
}

interface Work {
  /** The name of the request with a digest of what it asks. */
  readonly name: string;
  readonly request: StepRequest;
}

import { DeaddropError } from "../../../api/errors.ts";
import { partOf } from "../../../framing/frame.ts";
import { shortId } from "../../../framing/short-id.ts";
import { OUTCOMES, readReport } from "../../../plans/report/report.ts";
import {
  answerStep,
  reportDraft,
  openSteps,
  type OpenStep,
} from "../../../plans/run/step-messages.ts";
import { MIN_ID_PREFIX } from "../../../wire/limits.ts";
import { cut, fitting } from "../peer-words.ts";
import type { Prepared } from "../../../verbs/prepared.ts";
import type { Call } from "../tool.ts";

interface Reported {
  /** The request that asked for the step, by its request id or event id. */
  readonly request: string;
  readonly details: string;
  /** The rest is checked as any report is. */
  readonly outcome?: unknown;
  readonly error?: unknown;
  readonly artifacts?: unknown;
}

/** Of the words of one step. */
const STEP_TOKENS = 600;

/** Steps of plans that peers ask our agent to do, and that have no report yet. Spec 8.1, 7.5. */
export async function stepsText({ client, frame }: Call): Promise<string> {
  const open = await openSteps(client);
  if (open.length === 0) return "No step waits for you.";
  const shown = fitting(open, ({ asked, request, isTaken }) => {
    const head = `request ${shortId(asked.requestId)} of ${asked.from}, attempt ${request.attempt}, ${isTaken ? "taken" : "not taken yet"}:`;
    return `${head}\n${frame.around(stepRows({ request }))}`;
  });
  const left = open.length - shown.length;
  return [
    frame.notice,
    ...shown,
    ...(left === 0 ? [] : [`(${left} more)`]),
    `Report once: send {"type":"report","reply_to":"<request>","body":"what you did","outcome":"${OUTCOMES.join("|")}","error":"unless success","artifacts":[{"file":"…","status":"changed"},{"test":"…","result":"passed"}]}`,
  ].join("\n");
}

function stepRows({ request }: Pick<OpenStep, "request">): string[] {
  const { plan_id: plan, skill, step } = request;
  const { text: words, left } = partOf(step.description, 0, STEP_TOKENS);
  const lists = { criteria: step.criteria, files: step.files, commands: step.commands };
  return [
    cut(`step ${step.id} of plan ${plan}, with the skill ${skill}`),
    left === 0 ? words : `${words}…`,
    ...Object.entries(lists)
      .filter(([, list]) => list.length > 0)
      .map(([name, list]) => cut(`${name}: ${list.join("; ")}`)),
    ...(step.risk_notes === undefined ? [] : [cut(`risk_notes: ${step.risk_notes}`)]),
  ];
}

/** Reports what became of a step; it takes the step if that was not done yet. */
export async function prepareReport({ client, nowMs }: Call, args: Reported): Promise<Prepared> {
  const { request: name, outcome, details, error, artifacts } = args;
  const wanted = name.toLowerCase();
  const isMeant = ({ asked }: OpenStep) =>
    [asked.requestId, asked.eventId].some((id) => id.toLowerCase().startsWith(wanted));
  const found = wanted.length < MIN_ID_PREFIX ? [] : (await openSteps(client)).filter(isMeant);
  const [only, another] = found;
  if (only === undefined || another !== undefined) {
    throw new DeaddropError("unknown_id", "that names no step that waits for your report", {
      hint: 'call read {"what":"steps"}, and give a request id of it as reply_to',
    });
  }
  const read = readReport({
    ...{ step_id: only.request.step.id, outcome, details },
    ...(error === undefined ? {} : { error }),
    ...(artifacts === undefined ? {} : { artifacts }),
    timestamp: new Date(nowMs).toISOString(),
  });
  if (!read.ok) {
    throw new DeaddropError("usage", `not sent: ${read.detail}`, { hint: "correct the report" });
  }
  if (!only.isTaken) await answerStep(client, only.asked, true);
  return { draft: reportDraft(only.asked, read.report) };
}

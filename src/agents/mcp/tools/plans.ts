import { DeaddropError } from "../../../api/errors.ts";
import { partOf } from "../../../framing/frame.ts";
import { shortId } from "../../../framing/short-id.ts";
import { OUTCOMES, type Artifact, type Outcome } from "../../../plans/report/report.ts";
import { readReport } from "../../../plans/report/parse-report.ts";
import { answerStep, reportDraft } from "../../../plans/run/send-step.ts";
import { openSteps, type OpenStep } from "../../../plans/work/asked-steps.ts";
import { MIN_ID_PREFIX } from "../../../wire/limits.ts";
import { cut, fitting } from "../peer-words.ts";
import { choice, object, text } from "../schema.ts";
import { REQUEST_KEY, say, type Repeatable } from "../say.ts";
import { tool, type Call } from "../tool.ts";

interface ReportArgs extends Repeatable {
  request: string;
  outcome: Outcome;
  details: string;
  error?: string;
  artifacts?: Artifact[];
}

/** Of the words of one step. */
const STEP_TOKENS = 600;

/** Steps of plans that peers ask our agent to do. Spec 8.1, 7.5. */
export const PLAN_TOOLS = [
  tool({
    name: "plan_next",
    description: "The steps of plans that peers ask you to do and that have no report yet.",
    input: object({}),
    effect: "reads",
    answersFacts: false,
    async run({ client, frame }) {
      const open = await openSteps(client);
      const shown = fitting(open, ({ asked, request, isTaken }) => {
        const head = `request ${shortId(asked.requestId)} of ${asked.from}, attempt ${request.attempt}, ${isTaken ? "taken" : "not taken yet"}:`;
        return `${head}\n${frame.around(stepRows({ request }))}`;
      });
      const left = open.length - shown.length;
      const words =
        open.length === 0
          ? "No step waits for you."
          : [frame.notice, ...shown, ...(left === 0 ? [] : [`(${left} more)`])].join("\n");
      return { words };
    },
  }),
  tool<ReportArgs>({
    name: "plan_report",
    description:
      "Reports what became of a step of plan_next, once; it takes the step if you have not yet. To refuse one: respond.",
    input: object(
      {
        request: text("its request id"),
        outcome: choice(OUTCOMES),
        details: text("what you did"),
        error: text("what went wrong, unless it is a success"),
        artifacts: {
          type: "array",
          items: { type: "object" },
          description: "{file,status}, {test,result}, {log} or {screenshot}",
        },
        ...REQUEST_KEY,
      },
      "request",
      "outcome",
      "details",
    ),
    effect: "sends",
    answersFacts: true,
    run: (call, args) => say(call, args, () => prepareReport(call, args)),
  }),
];

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

async function prepareReport({ client, nowMs }: Call, args: ReportArgs) {
  const { request: name, outcome, details, error, artifacts } = args;
  const wanted = name.toLowerCase();
  const isMeant = ({ asked }: OpenStep) =>
    [asked.requestId, asked.eventId].some((id) => id.toLowerCase().startsWith(wanted));
  const found = wanted.length < MIN_ID_PREFIX ? [] : (await openSteps(client)).filter(isMeant);
  const [only, another] = found;
  if (only === undefined || another !== undefined) {
    throw new DeaddropError("unknown_id", "that names no step that waits for your report", {
      hint: "call plan_next, and give a request id of it",
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

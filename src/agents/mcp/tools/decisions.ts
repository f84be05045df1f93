import type { DecisionRecord, CheckedPath } from "../../../api/views.ts";
import { DeaddropError } from "../../../api/errors.ts";
import { shortId } from "../../../framing/short-id.ts";
import { attribution } from "../../../framing/attribution.ts";
import { partOf, type Frame } from "../../../framing/frame.ts";
import { absentNote, filesNamed } from "../../../setup/guard/project-files.ts";
import { withNote } from "../../../sending/prepared.ts";
import { pathsGiven, projectHere } from "../project-here.ts";
import { prepareProposal } from "../../../sending/proposal.ts";
import { cut, fitting, lastFitting, LIST_TOKENS } from "../peer-words.ts";
import { flag, object, text, texts } from "../schema.ts";
import { REQUEST_KEY, say, type Repeatable } from "../say.ts";
import { tool, type Call } from "../tool.ts";

interface ProposeArgs extends Repeatable {
  subject: string;
  decision: string;
  reasons?: string;
  to?: string[];
  required?: string[];
  domains?: string[];
  paths?: string[];
  supersedes?: string;
  due?: string;
}

/** Of one decision among others. */
const DECISION_TOKENS = 400;

/** What is asked to be decided, and what has been. Spec 8.1, 3.4. */
export const DECISION_TOOLS = [
  tool<ProposeArgs>({
    name: "propose",
    description:
      "Asks for a decision that binds others. It is agreed when decisions lists it, not before; a notice tells you how it ended.",
    input: object(
      {
        subject: text(),
        decision: text("the exact words that are recorded"),
        reasons: text("why; never recorded"),
        to: texts(),
        required: texts("whose agreement it takes (default: all it is sent to)"),
        domains: texts(),
        paths: texts("patterns that it touches"),
        supersedes: text("the decision that it replaces: its id, or a unique prefix of it"),
        due: text("until when to answer: 30m, 4h, 2d or a time"),
        ...REQUEST_KEY,
      },
      "subject",
      "decision",
    ),
    effect: "sends",
    answersFacts: true,
    run: (call, args) => {
      const {
        subject,
        decision,
        reasons = "",
        to,
        required,
        domains,
        paths,
        supersedes,
        due,
      } = args;
      const about = {
        ...{ subject, decision, reasons, to, required, domains, paths, supersedes, due },
        extras: {},
      };
      return say(call, args, async () => {
        const { note, ...named } = pathsGiven(call.client, paths ?? []);
        const proposal = { ...about, paths: paths && named.paths };
        return withNote(await prepareProposal(call.client, proposal, call.nowMs), note);
      });
    },
  }),
  tool<{ skip?: number }>({
    name: "decisions",
    description: "The decisions in force, each proved from signed messages, the newest last.",
    input: object({
      skip: { type: "integer", minimum: 0, description: "newest ones to leave out" },
    }),
    effect: "reads",
    answersFacts: false,
    async run(call, { skip = 0 }) {
      const { in_force: inForce } = await call.client.view("decisions");
      const end = Math.max(0, inForce.length - skip);
      const lines = decisionLines(call, inForce.slice(0, end), LIST_TOKENS);
      const older = end - lines.shown;
      const words = [
        `You are ${call.client.handle}. ${inForce.length} decisions in force.`,
        ...(older > 0 ? [`(${older} older ones: skip ${skip + lines.shown})`] : []),
        ...(lines.shown === 0 ? [] : [call.frame.notice]),
        ...lines.texts,
      ];
      return { words: words.join("\n") };
    },
  }),
  tool<{ paths?: string[]; text?: string; all?: boolean }>({
    name: "check_decisions",
    description:
      "May you edit these paths, and which decisions in force apply to them or contain a text? Ask before you edit.",
    input: object({
      paths: texts("files, or folders with all files in them, from the project's folder"),
      text: text("words to look for in the decisions"),
      all: flag("also paths that you may edit"),
    }),
    effect: "reads",
    answersFacts: false,
    run: async (call, args) => ({ words: await checkText(call, args) }),
  }),
];

/** The newest of these that fit, as text. */
function decisionLines({ frame }: Call, records: readonly DecisionRecord[], tokens: number) {
  const texts = lastFitting(records, (each) => recordWords(frame, each), tokens);
  return { texts, shown: texts.length };
}

function recordWords(frame: Frame, record: DecisionRecord): string {
  const head = attribution({
    id: record.proposal_id,
    from: record.proposer,
    tier: record.proposer_tier,
    verified: true,
    type: "proposal",
    kind: undefined,
    at: record.ratified_at,
    thread: record.correlation_id,
    notes: ["decided, in force", `agreed to by ${record.acked_by.join(", ")}`],
  });
  const { text: words, left } = partOf(record.decision, 0, DECISION_TOKENS);
  const rows = [cut(`id: ${record.decision_id}`), left === 0 ? words : `${words}…`];
  const rest =
    left === 0 ? "" : `\n(${left} more characters: thread {"id":"${shortId(record.proposal_id)}"})`;
  return `${head}\n${frame.around(rows)}${rest}`;
}

interface CheckArgs {
  paths?: string[];
  text?: string;
  all?: boolean;
}

async function checkText(call: Call, args: CheckArgs): Promise<string> {
  const { paths = [], text: wanted = "", all = false } = args;
  if (paths.length === 0 && wanted === "") {
    throw new DeaddropError("usage", "which decisions?", { hint: "give paths, or a text" });
  }
  const { client, frame } = call;
  const { in_force: inForce } = await client.view("decisions");
  const project = paths.length === 0 ? undefined : projectHere(client);
  const files = project === undefined ? paths : filesNamed(project, paths);
  const absent = project === undefined ? undefined : absentNote(project, paths);
  const { paths: checked, behind } =
    files.length === 0 ? { paths: [], behind: [] } : await client.view("check", { paths: files });
  const stopped = checked.filter(({ verdict }) => verdict === "blocked");
  const ids = new Set(checked.flatMap(({ decisions }) => decisions));
  const low = wanted.toLowerCase();
  const applies = inForce.filter(
    ({ decision, decision_id: id }) =>
      ids.has(id) || (low !== "" && `${id}\n${decision}`.toLowerCase().includes(low)),
  );
  const listed = fitting(all ? checked : stopped, (each) => cut(pathRow(each)), LIST_TOKENS / 2);
  const lines = decisionLines(call, applies, LIST_TOKENS / 2);
  return [
    `You are ${client.handle}.${verdictText(files.length, stopped.length)}`,
    ...(absent === undefined ? [] : [absent]),
    ...(behind.length === 0 ? [] : ["Not all logs are read to their end, so this may change."]),
    applyText(applies.length, lines.shown),
    ...(listed.length + lines.shown === 0 ? [] : [frame.notice]),
    ...(listed.length === 0 ? [] : [frame.around(listed)]),
    ...lines.texts,
  ].join("\n");
}

function verdictText(asked: number, stopped: number): string {
  if (asked === 0) return "";
  if (stopped === 0) return " You may edit these paths.";
  return ` Do not edit ${stopped} of these ${asked} paths now: ask first.`;
}

/** Names of domains are the operator's; reasons and claims are words of peers. */
function pathRow({ path, verdict, blocked_by: blocks }: CheckedPath): string {
  const why = blocks.map((block) =>
    block.kind === "domain"
      ? `domain ${block.domain} of ${block.owner}: propose it to the owner`
      : `claimed by ${block.from} until ${block.until}${block.reason === null ? "" : `: ${block.reason}`}`,
  );
  return `${path}: ${[verdict, ...why].join("; ")}`;
}

function applyText(count: number, shown: number): string {
  if (count === 0) return "No decision in force applies.";
  const apply = count === 1 ? "1 decision in force applies" : `${count} decisions in force apply`;
  return shown === count ? `${apply}.` : `${apply}, of which ${shown} are shown.`;
}

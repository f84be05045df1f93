import type { DecisionView, CheckedPath } from "../../../api/views.ts";
import { DeaddropError } from "../../../api/errors.ts";
import { shortId } from "../../../framing/short-id.ts";
import { attribution } from "../../../framing/attribution.ts";
import { partOf, type Frame } from "../../../framing/frame.ts";
import { absentNote, filesNamed } from "../../../setup/guard/project-files.ts";
import { projectOf } from "../../../verbs/project.ts";
import { counter, propose } from "../../../verbs/propose.ts";
import { cut, fitting, lastFitting, LIST_TOKENS } from "../peer-words.ts";
import { object, pick, text } from "../schema.ts";
import { REQUEST_KEY, saying } from "../say.ts";
import { tool, type Call } from "../tool.ts";

const PROPOSE = object(
  {
    ...pick(propose.fields, "decision", "subject", "reasons", "to", "required"),
    counters: text("id of a proposal: this instead"),
    ...pick(propose.fields, "domains", "paths", "supersedes", "due"),
    ...REQUEST_KEY,
  },
  "decision",
);

/** Of one decision among others. */
const DECISION_TOKENS = 400;

/** What is asked to be decided. Spec 8.1, 3.4. */
export const PROPOSE_TOOL = tool({
  name: "propose",
  description:
    "Asks for a decision that binds others. Agreed when read decisions lists it, not before.",
  input: PROPOSE,
  effect: "sends",
  says: ["propose", "counter"],
  run: (call, args) => {
    const { counters: id, ...about } = args;
    return saying(call, args, () =>
      id === undefined ? propose.prepare(call, about) : counter.prepare(call, { ...about, id }),
    );
  },
});

/** The decisions in force, each proved from signed messages, the newest last. */
export async function decisionsText(
  call: Call,
  { skip = 0 }: { skip?: number | undefined },
): Promise<string> {
  const { in_force: inForce } = await call.client.view("decisions");
  const end = Math.max(0, inForce.length - skip);
  const lines = decisionLines(call, inForce.slice(0, end), LIST_TOKENS);
  const older = end - lines.shown;
  return [
    `You are ${call.client.handle}. ${inForce.length} decisions in force.`,
    ...(older > 0 ? [`(${older} older ones: skip ${skip + lines.shown})`] : []),
    ...(lines.shown === 0 ? [] : [call.frame.notice]),
    ...lines.texts,
  ].join("\n");
}

/** The newest of these that fit, as text. */
function decisionLines({ frame }: Call, records: readonly DecisionView[], tokens: number) {
  const texts = lastFitting(records, (each) => recordWords(frame, each), tokens);
  return { texts, shown: texts.length };
}

function recordWords(frame: Frame, record: DecisionView): string {
  const head = attribution({
    id: record.place[2],
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
    left === 0 ? "" : `\n(${left} more characters: read {"id":"${shortId(record.place[2])}"})`;
  return `${head}\n${frame.around(rows)}${rest}`;
}

interface CheckArgs {
  paths?: string[] | undefined;
  text?: string | undefined;
}

/** Whether these paths may be edited, and the decisions that apply to them or contain a text. */
export async function checkText(call: Call, args: CheckArgs): Promise<string> {
  const { paths = [], text: wanted = "" } = args;
  if (paths.length === 0 && wanted === "") {
    throw new DeaddropError("usage", "read check: paths is missing", {
      hint: 'read {"what":"check","paths":["src/api"]}, or with a text',
    });
  }
  const { client, frame } = call;
  const { in_force: inForce } = await client.view("decisions");
  const project = paths.length === 0 ? undefined : projectOf(call);
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
  const listed = fitting(stopped, (each) => cut(pathRow(each)), LIST_TOKENS / 2);
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

import { refusalRemedy } from "../../api/troubles.ts";
import type { Client, SendAnswer } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { ReceiptStage, ReceiptView } from "../../api/views.ts";
import { sanitise, sanitiseLines } from "../../framing/sanitise.ts";
import { shortId } from "../../framing/short-id.ts";
import { clockTime } from "../../framing/when.ts";
import { aboutParent } from "../../verbs/naming/parent.ts";
import type { Prepared } from "../../verbs/prepared.ts";
import { withRefsNote } from "../../verbs/project.ts";
import { sendPrepared, type Said } from "../../verbs/say.ts";
import type { Speaker } from "../../verbs/verb.ts";
import { type FlagsOf, type Options, seconds } from "../command.ts";
import { tellSigner, withClient, type Cli } from "../context.ts";
import { emit, type Paint } from "../output/output.ts";
import { WAITS_FOR } from "../output/text.ts";

/** What `--wait` can wait for. */
type WaitFor = "delivered" | "read" | "answered";

export const WAIT_OPTIONS = {
  "--wait <state>": {
    about: "wait until this is proved",
    choices: ["delivered", "read", "answered"],
  },
  "--timeout <seconds>": {
    about: "how long --wait waits (exit 3 after it; default 120)",
    parse: seconds,
  },
} as const satisfies Options;

/**
 * Sends the message that `prepare` makes, waits when --wait asks for it, and prints the answer:
 * `{outcome, messages}`, with `receipts` when it waited, with `answers` when it is an answer, and with a
 * `note` on what it does not do. Spec 3.2: never claims more than is proved.
 */
export async function deliver(
  cli: Cli,
  flags: FlagsOf<typeof WAIT_OPTIONS>,
  prepare: (by: Speaker) => Promise<Prepared>,
): Promise<void> {
  await withClient(cli, flags, async (client) => {
    const by = { client, nowMs: cli.clock.nowMs(), cwd: cli.cwd, env: cli.env };
    const prepared = await prepare(by);
    tellSigner(cli, flags);
    const answer = await sendPrepared(client, withRefsNote(by, prepared));
    if (flags.wait === undefined) {
      emit(cli, flags, answer, (paint) => sentText(answer, paint));
      return;
    }
    const limitMs = (flags.timeout ?? DEFAULT_TIMEOUT_SECONDS) * 1_000;
    const receipts = await waitFor(cli, client, answer, flags.wait, limitMs);
    emit(cli, flags, { ...answer, receipts }, (paint) =>
      [sentText(answer, paint), ...receipts.map((each) => receiptText(each, paint))].join("\n"),
    );
    complain(receipts, flags.wait, limitMs);
  });
}

type Waited = ReceiptView & { event_id: string };

const PARKS =
  "You are parked: peers are told that you are paused, and nothing new is begun until `deaddrop status wake`. `deaddrop status` says whether a stop hook has run.";

const STOPS_NOTHING = "It stops nothing: only the shutdown of a peer that is TRUSTED here does.";

const DEFAULT_TIMEOUT_SECONDS = 120;

const NAMES: Record<WaitFor, string> = {
  delivered: "delivery receipt",
  read: "read receipt",
  answered: "answer",
};

const FIRST_POLL_MS = 100;

const SLOWEST_POLL_MS = 1_000;

const RANK: Record<ReceiptStage, number> = {
  refused: -1,
  stored: 0,
  published: 1,
  delivered: 2,
  read: 3,
  answered: 4,
};

async function waitFor(
  cli: Cli,
  client: Client,
  answer: SendAnswer,
  wanted: ReceiptStage,
  limitMs: number,
): Promise<Waited[]> {
  const endMs = cli.clock.nowMs() + limitMs;
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 2, SLOWEST_POLL_MS)) {
    // Without a daemon nobody but us reads the peers' receipts.
    if (!client.viaDaemon) await client.ask("tick");
    const receipts: Waited[] = [];
    for (const { event_id } of answer.messages) {
      const known = await receiptsOf(client, event_id);
      receipts.push(...known.map((each) => ({ event_id, ...each })));
    }
    const undecided = receipts.some(
      ({ state }) => state !== "refused" && RANK[state] < RANK[wanted],
    );
    const leftMs = endMs - cli.clock.nowMs();
    if ((!undecided && receipts.length > 0) || leftMs <= 0) return receipts;
    await cli.clock.sleep(Math.min(pauseMs, leftMs));
  }
}

/** None of a message that is stored here and has not come to its log yet. */
async function receiptsOf(client: Client, event_id: string): Promise<ReceiptView[]> {
  try {
    return (await client.view("receipt", { event_id })).receipts;
  } catch (error) {
    if (error instanceof DeaddropError && error.code === "unknown_id") return [];
    throw error;
  }
}

function complain(receipts: readonly Waited[], wanted: WaitFor, limitMs: number): void {
  const refused = receipts.find(({ state }) => state === "refused");
  if (refused !== undefined) {
    throw new DeaddropError(
      "refused",
      `${refused.to} refused it: ${refused.reason ?? "no reason"}`,
      { hint: refusalRemedy(refused.reason ?? "", refused.to) },
    );
  }
  const missing = receipts.filter(({ state }) => RANK[state] < RANK[wanted]);
  if (missing.length === 0 && receipts.length > 0) return;
  const whose = missing.map(({ to, state }) => `${to} (${state})`).join(", ");
  const uncompared = missing.find(({ waits_for }) => waits_for === "mail_waits");
  if (uncompared !== undefined) {
    throw new DeaddropError(
      "timeout",
      `no ${NAMES[wanted]} within ${limitMs / 1_000} s: it ${WAITS_FOR.mail_waits} with ${uncompared.to}`,
      { hint: `do not send it again; compare them: deaddrop trust sas ${uncompared.to}` },
    );
  }
  throw new DeaddropError(
    "timeout",
    `no ${NAMES[wanted]} within ${limitMs / 1_000} s${whose === "" ? "" : `: ${whose}`}`,
    {
      hint:
        whose === ""
          ? "the message is stored here and goes out by itself: do not send it again"
          : "the message is sent, do not send it again; `deaddrop sent` shows its receipts",
    },
  );
}

function sentText(answer: Said, paint: Paint): string {
  const lines = answer.messages.map(
    ({ event_id, to, correlation_id }) =>
      `${paint("green", answer.outcome)} ${paint("bold", shortId(event_id))} to ${to.join(", ")}, thread ${sanitise(correlation_id)}`,
  );
  const { answers } = answer;
  if (answers !== undefined) {
    lines.push(`  to ${paint("bold", shortId(answers.event_id))}, ${aboutParent(answers)}`);
  }
  if (answer.decides !== undefined) {
    lines.push("  Recorded when all have agreed:", ...barred(answer.decides, paint));
  }
  if (answer.agrees_to !== undefined) {
    lines.push("  You agree that this is recorded:", ...barred(answer.agrees_to, paint));
  }
  if (answer.note !== undefined) lines.push(answer.note);
  if (answer.parks === true) lines.push(PARKS);
  else if (answers?.type === "shutdown") lines.push(STOPS_NOTHING);
  if (answer.unpublished !== undefined)
    lines.push(
      `Stored, but ${paint("yellow", "not published yet")}: ${sanitise(answer.unpublished)}. It is retried; do not send it again.`,
    );
  for (const peer of answer.paused ?? []) {
    lines.push(
      `${paint("yellow", peer)} is paused: it is stored, and waits there until it goes on.`,
    );
  }
  for (const { peer, until } of answer.not_woken ?? []) {
    lines.push(
      `${paint("yellow", peer)} is not woken: its wakes for your mail are used up until ${clockTime(until)}.`,
    );
  }
  for (const { peer, tier } of answer.refused_by ?? []) {
    lines.push(
      `${paint("yellow", peer)} will refuse it: you are ${tier} there, which is not enough for this type.`,
    );
  }
  for (const peer of answer.awaits_comparison ?? []) {
    lines.push(
      `${paint("yellow", peer)} gets it when the digits are compared: deaddrop trust sas ${peer} here, and on its side with you.`,
    );
  }
  return lines.join("\n");
}

function barred(text: string, paint: Paint): string[] {
  return sanitiseLines(text).map((line) => `  ${paint("dim", "│")} ${line}`);
}

function receiptText({ to, state, reason, waits_for }: Waited, paint: Paint): string {
  const style = state === "refused" ? "red" : "cyan";
  const why = reason ?? (waits_for === undefined ? undefined : WAITS_FOR[waits_for]);
  return `  ${to}: ${paint(style, state)}${why === undefined ? "" : ` (${why})`}`;
}

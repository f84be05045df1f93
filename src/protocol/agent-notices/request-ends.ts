import type { Env } from "../env.ts";
import type { Request, RequestAnswer, RequestOutcome } from "../requests/request.ts";
import { PLAN_APPROVAL, SHUTDOWN } from "../requests/request-line.ts";
import { listedSubject } from "../routing.ts";
import { quoted, type Matter } from "./agent-notice.ts";

/**
 * What our agent is told of requests: how its own ended, that one to it was taken back or is over,
 * and that an answer came too late. Spec 3.8, 3.12.
 */
export function requestEndsOf(env: Env, changed: ReadonlySet<Request>): Matter[] {
  return [...changed].flatMap((request) => {
    const { asker, addressee, outcome, refused } = request;
    // What we refuse is no news to our agent. Spec 2.3.
    if (
      outcome === undefined ||
      refused !== undefined ||
      (asker !== env.self && addressee !== env.self)
    )
      return [];
    const late = request.answers.filter(
      (answer) => answer.id !== outcome.answer?.id && !answer.refused,
    );
    return [
      ...endOf(env, request, outcome),
      ...late.map((answer) => lateAnswer(env, request, outcome, answer)),
    ];
  });
}

function endOf(env: Env, request: Request, { status }: RequestOutcome): Matter[] {
  const { key, asker, addressee } = request;
  const isOurs = asker === env.self;
  // What we answered or took back ourselves is no news.
  if (isOurs ? status === "cancelled" : status === "approved" || status === "rejected") return [];
  const what = nameOf(env, request);
  const words: Record<RequestOutcome["status"], string> = {
    approved: `${addressee} approved ${what}.`,
    rejected: `${addressee} rejected ${what}: \`deaddrop requests --all\` shows its reason.`,
    expired: isOurs
      ? `${addressee} did not answer ${what} in time, so it has expired.`
      : `${upper(what)}, which asked for your answer, has expired.`,
    cancelled: `${upper(what)}, which asked for your answer, was cancelled.`,
  };
  const peer = isOurs ? undefined : asker;
  return [{ kind: `request_${status}`, about: key, text: words[status], peer }];
}

function lateAnswer(
  env: Env,
  request: Request,
  { status }: RequestOutcome,
  { id, approves, parks }: RequestAnswer,
): Matter {
  const { asker, addressee } = request;
  const said = approves ? "approval" : "rejection";
  const [whose, peer] = addressee === env.self ? ["Your", asker] : [`${addressee}'s`, addressee];
  const still = parks ? parkedAllTheSame(addressee === env.self) : "";
  const text = `${whose} ${said} of ${nameOf(env, request)} came too late and changes nothing: it was ${status} before.${still}`;
  return { kind: "answer_late", about: id, text, peer };
}

/** Spec 3.8: parking does not wait for the asker's log, and lasts until somebody ends it. */
function parkedAllTheSame(isUs: boolean): string {
  return isUs
    ? " You are parked all the same, until `deaddrop wake`."
    : " It is parked all the same, until it is woken there.";
}

function nameOf(env: Env, { asker, requestType, subject }: Request): string {
  const whose = asker === env.self ? "your" : `${asker}'s`;
  const kind = NAMES.get(requestType) ?? "request";
  return `${whose} ${kind} ${quoted(listedSubject(env, asker, subject))}`;
}

/** A type that a peer has made up is not repeated. */
const NAMES: ReadonlyMap<string, string> = new Map([
  [SHUTDOWN, "shutdown request"],
  [PLAN_APPROVAL, "plan approval request"],
]);

/** Only `your` may begin a sentence; a handle is written as it is. */
function upper(name: string): string {
  return name.replace(/^your /u, "Your ");
}

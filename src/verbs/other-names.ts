/** What callers call one of a few values; the first one that may be given is meant. */
const VALUE_NAMES: Readonly<Record<string, readonly string[]>> = {
  accepted: ["accept", "approve"],
  accept: ["approve"],
  agents: ["peers"],
  agree: ["accept", "approve"],
  approve: ["accept"],
  approved: ["approve", "accept"],
  available: ["idle"],
  away: ["paused"],
  cancel: ["withdraw"],
  conversation: ["thread"],
  decline: ["reject"],
  deny: ["reject"],
  done: ["ship", "idle"],
  false: ["no", "reject"],
  free: ["idle"],
  info: ["feedback", "low"],
  major: ["high"],
  message: ["feedback", "thread"],
  minor: ["low"],
  no: ["reject"],
  normal: ["medium"],
  note: ["feedback"],
  question: ["feedback"],
  rejected: ["reject"],
  reply: ["feedback"],
  resolve: ["withdraw"],
  severe: ["critical"],
  stuck: ["blocked"],
  true: ["yes", "accept"],
  urgent: ["high"],
  waiting: ["blocked"],
  working: ["busy"],
  yes: ["accept"],
};

/** The same for the arguments of a call, in snake case. */
const ARGUMENT_NAMES: Readonly<Record<string, readonly string[]>> = {
  accept: ["answer"],
  agent: ["to", "from"],
  approve: ["answer"],
  approvers: ["required"],
  because: ["reason", "reasons"],
  body: ["reasons", "reason"],
  comment: ["reason", "body"],
  content: ["body"],
  count: ["limit"],
  deadline: ["due"],
  description: ["body", "reasons"],
  duration: ["lasts"],
  event_id: ["id", "reply_to"],
  file: ["paths"],
  files: ["paths", "refs"],
  id: ["ids"],
  include_bodies: ["bodies"],
  max: ["limit"],
  message: ["body", "reason", "decision"],
  message_id: ["id", "reply_to", "ids"],
  message_ids: ["ids"],
  note: ["reason", "body"],
  path: ["paths"],
  patterns: ["paths"],
  proposal: ["decision"],
  proposal_id: ["id", "counters"],
  q: ["text"],
  query: ["text"],
  reason: ["reasons", "body"],
  recipient: ["to"],
  recipients: ["to"],
  request_id: ["id"],
  request_type: ["type"],
  response: ["answer"],
  status: ["state"],
  text: ["body", "decision"],
  title: ["subject"],
  ttl: ["lasts"],
  unread_only: ["unread"],
  until: ["due", "lasts"],
  verdict: ["answer"],
  view: ["what"],
  vote: ["answer"],
};

/** The one of these values that is meant; undefined where it is none of them. */
export function valueNamed<V extends string>(given: string, choices: readonly V[]): V | undefined {
  const name = plain(given);
  const others = VALUE_NAMES[name] ?? [];
  const meant = [name, ...others];
  return meant.flatMap((each) => choices.filter((choice) => plain(choice) === each))[0];
}

function plain(value: string): string {
  return value.trim().toLowerCase().replaceAll("-", "_");
}

/** The argument that is meant, of those that a call takes. */
export function argumentNamed(snake: string, names: readonly string[]): string | undefined {
  return ARGUMENT_NAMES[snake]?.find((name) => names.includes(name));
}

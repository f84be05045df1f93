/**
 * Other words for commands, by the line that each stands for. A word of several parts (`set_status`) is also
 * meant by `set-status`, `setStatus` and `set status`. None of them is in the help.
 */
const ALIASES: Readonly<Record<string, string>> = {
  send: "msg message dm tell notify whisper privmsg post say write send_to send_message message_send",
  "send --to all": "broadcast announce",
  reply: "re reply_to",
  ack: "acknowledge",
  accept: "approve agree",
  reject: "deny decline refuse disagree",
  respond: "answer vote",
  propose: "suggest",
  withdraw: "retract cancel unsend take_back",
  inbox: "read list ls messages mails",
  "inbox --unread": "unread new check_mail check_inbox check_messages read_unread unread_messages",
  "inbox --unread --limit 1": "next",
  "inbox --unread --mark-read": "mark_read mark_all_read",
  thread: "show view get cat open describe conversation",
  search: "find grep",
  sent: "outbox sent_items sent_messages",
  peers: "peer agents who ps users roster names contacts online w",
  "peers show": "whois",
  whoami: "id me identity auth_status",
  claim: "lock reserve claim_files claim_paths reserve_files reserve_paths lock_files",
  release: "unlock unclaim unreserve",
  claims: "locks reservations",
  "incident raise": "alert raise escalate raise_incident incident_open open_incident",
  "incident list": "incidents",
  "status set": "set_status",
  "status set --state idle": "idle",
  "status set --state busy": "busy",
  "status set --state paused": "away",
  "status --check": "health",
  status: "st overview",
  "catch-up": "summary catchup digest",
  doctor: "diagnose",
  "key show": "keys fingerprint",
  "member list": "members",
  "member add": "invite",
  "config list": "settings",
  help: "commands man usage",
  "backup restore": "restore",
  "incident resume": "resume",
  "inbox notices": "notices",
  "key new": "keygen",
  "key reclaim": "reclaim",
  "member leave": "leave",
  "peers team": "team",
  "plan report": "report",
  "skills bench": "bench bench_skills",
  "status stats": "stats statistics",
  "status wake": "wake",
  "transport archive": "archive",
  "trust card": "card",
};

/** Words that could mean several commands. */
const AMBIGUOUS: Readonly<Record<string, readonly string[]>> = {
  ask: ["send", "request"],
  history: ["inbox", "sent"],
  log: ["inbox", "sent"],
  logs: ["service logs", "inbox", "sent"],
  mail: ["inbox", "send"],
  email: ["inbox", "send"],
  start: ["service start", "daemon --detach"],
  daemon_start: ["service start", "daemon --detach"],
  stop: ["service stop", "status set --state paused"],
  daemon_stop: ["service stop", "status set --state paused"],
};

const LIST = "list ls all";
const SHOW = "show view get read cat describe display fetch";
const MAKE = "create new add make";

interface Thing {
  readonly names: string;
  /** Commands by what is done. */
  readonly list?: string;
  readonly show?: string;
  readonly make?: string;
  readonly end?: string;
  /** Words for its end. */
  readonly ends?: string;
}

/** What is done with things, as `proposal create`, `create proposal` and `create_proposal` say it. */
const THINGS: readonly Thing[] = [
  { names: "message messages mail", list: "inbox", show: "thread", make: "send" },
  { names: "inbox", list: "inbox", show: "inbox" },
  {
    ...{ names: "proposal proposals", list: "proposals", show: "thread", make: "propose" },
    ...{ end: "withdraw", ends: "withdraw cancel delete remove" },
  },
  {
    ...{ names: "request requests", list: "requests", show: "thread", make: "request" },
    ...{ end: "requests cancel", ends: "cancel withdraw" },
  },
  {
    ...{ names: "incident incidents", list: "incident list", show: "thread" },
    ...{ make: "incident raise", end: "incident resolve", ends: "resolve close" },
  },
  {
    ...{ names: "claim claims reservation reservations lock", list: "claims", show: "thread" },
    ...{ make: "claim", end: "release", ends: "release delete remove rm drop" },
  },
  { names: "agent agents peer peers", list: "peers", show: "peers show" },
  { names: "decision decisions", list: "decisions", show: "thread" },
  { names: "thread threads conversation", list: "inbox", show: "thread" },
  { names: "member members", list: "member list", make: "member add" },
  { names: "setting settings config", list: "config list" },
  ...["status", "sent", "pending", "notices", "stats", "team", "plan", "guide", "whoami"].map(
    (names) => ({ names, list: names }),
  ),
];

/** Their second word is a command within them. */
const GROUPS =
  "backup collab config incident key member peers plan service skills status transport trust";

/** Commands about a message that is named by its id, which no name of a thing can be. */
const ABOUT_ID = "accept reject ack reply respond counter withdraw release thread";

const targets = new Map(
  Object.entries(ALIASES).flatMap(([line, names]) => names.split(" ").map((name) => [name, line])),
);

/** Words for commands that are one word themselves, with the line of each. */
export function oneWordAliases(): readonly (readonly [name: string, line: string])[] {
  return [...targets].filter(([name]) => !name.includes("_"));
}

function has(names: string, name: string): boolean {
  return names.split(" ").includes(name);
}

/** `checkInbox`, `check-inbox` and `check_inbox` are one word. */
function normalised(word: string): string {
  if (word.startsWith("-") || /\s/.test(word)) return word;
  return word
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase();
}

/** What a command line begins with, in the words of commands: the first `length` of its words mean `line`. */
export interface Meaning {
  readonly length: number;
  /** Several: it is not clear which one. */
  readonly lines: readonly string[];
}

/**
 * The meaning of words that begin with no command, or with one that is not meant: `claim list` is about no
 * file of that name, unless there is one.
 */
export function meaningOf(
  words: readonly string[],
  isCommand: (name: string) => boolean,
  exists: (path: string) => boolean,
): Meaning | undefined {
  const [first = "", second, third] = words.map(normalised);
  // A path need not exist to be checked, and the answer may be no.
  const isPath =
    words[0] === "check" || (has("claim lock reserve release", first) && exists(words[1] ?? ""));
  if (second !== undefined && !isPath && !has(GROUPS, first)) {
    const lines = phrase(first, second, third?.startsWith("-") === false);
    if (lines !== undefined) return { length: 2, lines };
  }
  if (isCommand(words[0] ?? "")) return undefined;
  const plain = first.replaceAll("_", "-");
  if (isCommand(plain)) return { length: 1, lines: [plain] };
  const [verb = "", noun] = first.split("_");
  const lines =
    single(first) ??
    (noun === undefined ? undefined : phrase(verb, noun, second?.startsWith("-") === false));
  return lines === undefined ? undefined : { length: 1, lines };
}

function single(word: string): readonly string[] | undefined {
  const line = targets.get(word);
  return line === undefined ? AMBIGUOUS[word] : [line];
}

/** Two words that mean a command together. */
function phrase(first: string, second: string, isMore: boolean): readonly string[] | undefined {
  const whole = single(`${first}_${second}`);
  if (whole !== undefined) return whole;
  const line = lineFor(first, second, isMore) ?? lineFor(second, first, isMore);
  if (line !== undefined) return [line];
  const verb = (word: string) => targets.get(word) ?? word;
  if (isMore && thingNamed(second) !== undefined) {
    if (has(`${ABOUT_ID} send search`, verb(first))) return [verb(first)];
  }
  const isAbout = thingNamed(first) !== undefined && has(ABOUT_ID, verb(second));
  return isAbout ? [verb(second)] : undefined;
}

function thingNamed(name: string): Thing | undefined {
  return THINGS.find(({ names }) => has(names, name));
}

/** What a word does with a thing. `show` without an id lists. */
function lineFor(verb: string, noun: string, isMore: boolean): string | undefined {
  const thing = thingNamed(noun);
  if (thing === undefined) return undefined;
  if (has(SHOW, verb)) return isMore ? (thing.show ?? thing.list) : thing.list;
  if (has(LIST, verb)) return thing.list;
  if (has(MAKE, verb)) return thing.make;
  return has(thing.ends ?? "", verb) ? thing.end : undefined;
}

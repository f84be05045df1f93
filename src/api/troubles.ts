import type { RefusalReason } from "../protocol/admit/refusals.ts";
import type { OperatorIncident } from "../store/told.ts";

const NOT_IN_CHAIN =
  "it does not find the line in your chain as it follows it; your operator should run deaddrop doctor, and its operator deaddrop peers show";

/** Words about one trouble. `{name}` in a text is a fact of the occasion. */
export interface TroubleRow {
  /** Else it is an error: `status --check` and `doctor` exit 1. */
  readonly severity?: "warning";
  /** Who can end it; the operator unless given. */
  readonly audience?: "agent" | "both";
  readonly title: string;
  /** Particulars, of any length. */
  readonly detail?: string;
  /** The command that ends it, or what a person has to do where no command can. */
  readonly end: string;
  /** What only an operator can do besides. */
  readonly operatorEnd?: string;
  /** Troubles that explain this one: it is not listed beside them, or beside those of the same peer. */
  readonly behind?: readonly string[];
  /** Other agents can see it too: `incident_log.jsonl` gets a line. Spec 3.5. */
  readonly concernsWire?: boolean;
}

/**
 * All that can be wrong with an agent, its wire and its machine. `status`, `doctor`, notices and automatic incidents
 * take their words from here; docs/troubles.md is generated from it. A code is never renamed.
 */
export const TROUBLES = {
  // The agent itself.
  no_daemon: {
    title:
      "no daemon runs: messages are received only while a command runs, and no heartbeat is sent",
    end: "deaddrop service install --wire {wire} --as {handle}, or deaddrop daemon --detach",
  },
  daemon_failed: {
    title: "the daemon does not answer",
    detail: "{problem}",
    end: "{hint}",
  },
  storage: {
    title: "{area} cannot be written or read, which is retried automatically",
    detail: "{problem}",
    end: "{hint}",
  },
  left_wire: {
    title: "{handle} has left this wire, so nothing is sent",
    end: "a member adds it again: deaddrop member add {handle}",
  },
  identity_in_use: {
    title:
      "line {seq} with our signature was not signed here: another copy of the key is in use, so nothing is sent",
    detail: "stop the other copy first",
    end: "deaddrop key reclaim",
    concernsWire: true,
  },
  mark_missing: {
    title:
      "nothing says what the key of {handle} has signed, because it was restored or is used elsewhere, so nothing is sent",
    end: "deaddrop key reclaim",
  },
  own_lines_missing: {
    title:
      "{handle} has signed {mark} lines and holds only {held}, so nothing is sent; the others are looked for in {folder} and requested from peers",
    end: "deaddrop key reclaim --from FILE",
  },
  safe_mode: {
    audience: "both",
    title: "{silent} did not ack an incident of {author}, so most types are not sent",
    end: "{end}",
    operatorEnd: 'deaddrop incident resume --reason "why it is safe to go on"',
  },
  config_drift: {
    title: "the wire's config.json or tiers.json differs from what you accepted",
    detail: "{differences}",
    end: "deaddrop config accept",
  },
  roster_forked: {
    title: "two changes of members follow the same one, so neither applies, nor any later one",
    end: "the operators agree on a roster, raise roster_epoch in config.json, and each runs: deaddrop config accept",
    concernsWire: true,
  },
  transport: {
    title: "the wire is not exchanged with other machines",
    detail: "{problem}",
    end: "{hint}",
  },
  offline: {
    severity: "warning",
    title: "the remote has been out of reach for less than an hour",
    detail: "{problem}",
    end: "{hint}",
  },
  round_unreadable: {
    audience: "both",
    title: "the collaboration round in {folder} cannot be read",
    detail: "{problem}",
    end: "deaddrop collab status --folder {folder}",
  },

  // A peer, and what is read of it.
  peer_held: {
    title:
      "{peer} is held, so nothing more of it is delivered; deaddrop peers show {peer} says why",
    end: "deaddrop peers reset {peer}",
  },
  log_forked: {
    title: "the chain of {peer} is forked at line {seq}, so nothing from there on is delivered",
    detail: "lines {lines}",
    end: "deaddrop peers show {peer}",
    behind: ["peer_held"],
    concernsWire: true,
  },
  key_revoked: {
    title: "lines of {peer} wait: a key of it was revoked, and no other was compared",
    end: "deaddrop peers show {peer}",
    behind: ["peer_held"],
  },
  clock_skew: {
    title: "the clocks of {peer} and of this machine differ",
    detail: "{difference}",
    end: "compare both clocks with a time server (timedatectl); to deliver what waits as it is dated: deaddrop peers reset {peer}",
    behind: ["peer_held"],
  },
  log_unreadable: {
    title: "a carrier cannot be read, which is retried automatically",
    detail: "{problem}",
    end: "look at what is there and move it away (ls -l), or at the system log (dmesg)",
    behind: ["peer_held"],
  },
  peer_silent: {
    title: "{peer} is silent: its daemon has stopped, or what it writes does not arrive here",
    end: "have its operator run deaddrop doctor as {peer}, where {peer} runs",
    behind: [
      ...["no_daemon", "transport", "offline", "storage"],
      ...["peer_held", "clock_skew", "log_unreadable"],
    ],
  },
  not_compared: {
    title: "mail of {peer} waits until digits were compared with it",
    end: "deaddrop trust sas {peer}",
    behind: ["peer_held"],
  },
  untrusted_key: {
    title: "lines of {peer} wait: {key} is not believed",
    end: "deaddrop peers show {peer}",
    behind: ["peer_held"],
  },
  log_gap: {
    title:
      "lines of {peer} behind line {seq} are missing and are requested; later ones are delivered, marked after_gap",
    end: "start the daemon of {peer}, which publishes them again: deaddrop daemon --as {peer}, where {peer} runs",
    behind: ["peer_held"],
    concernsWire: true,
  },
  rate_limited: {
    title: "lines of {peer} wait, because it writes more than is taken in",
    detail: "{problem}",
    end: "nothing: the rest is read later; if it lasts, ask the operator of {peer}",
    behind: ["peer_held"],
  },
  sent_ahead: {
    title:
      "your {message} to {peer} is dated {minutes} min ahead of this machine's clock, and waits there",
    end: "compare this machine's clock with a time server (timedatectl); {peer}'s operator may let it pass as it is: deaddrop peers reset {handle}",
  },
  mail_waits: {
    audience: "both",
    title: "messages of yours wait at {peer} until the digits are compared: {messages}",
    end: "deaddrop trust sas {peer}, on both sides",
  },
  undelivered: {
    title: "{peer} does not take in messages of yours, although its heartbeats arrive: {messages}",
    end: "have its operator run deaddrop status --check as {peer}, and compare the clocks of both machines (timedatectl)",
    behind: ["peer_held", "sent_ahead", "mail_waits"],
  },

  unowned_log: {
    severity: "warning",
    title: "files of the wire belong to nobody who was ever a member, and are not read",
    detail: "{files}",
    end: "find out who wrote them, and move them away",
  },

  // What is owed and unread.
  incident_unacked: {
    audience: "agent",
    title: "{severity} incident of {author}, {status}: {subject}",
    end: "deaddrop incident ack {id}",
  },
  incident_open: {
    audience: "both",
    title: "{severity} incident of {author}, {status}: {subject}",
    end: "{author} resolves it: deaddrop incident resolve {id} --as {author}",
  },
  incidents_left_out: {
    audience: "both",
    title: "more incidents that are not resolved: {count}",
    end: "deaddrop incident list",
  },
  overdue: {
    audience: "agent",
    title: "answers of yours that are overdue: {count}, the oldest to: {subject}",
    end: "deaddrop pending",
  },
  overdue_by_peers: {
    audience: "both",
    title: "answers to you that are overdue: {count}, the oldest to: {subject}",
    end: "deaddrop peers team",
  },
  notices: {
    audience: "agent",
    title: "unread notices: {count}",
    end: "deaddrop inbox notices --unread --mark-read",
  },
  incident_notices: {
    title: "incident notices that no operator has read: {count}, the newest: {subject}",
    end: "deaddrop incident notices --mark-read",
  },

  // This machine, and how the agent is set up: what `doctor` checks besides.
  check_failed: {
    title: "{what} cannot be checked",
    detail: "{problem}",
    end: "{hint}",
  },
  node_too_old: {
    title: "Node.js {version} is too old: {needed} or newer is needed",
    end: "install a current Node.js: https://nodejs.org",
  },
  no_locks: {
    title: "kernel locks cannot be taken",
    detail: "{problem}",
    end: "{hint}",
  },
  slow_signatures: {
    severity: "warning",
    title: "signatures are checked by {engine}, which takes twice as long as libsodium",
    end: "install deaddrop again with its optional package sodium-native; nothing else depends on it",
  },
  disk_full: {
    title: "only {mib} MiB are free in {folder}",
    end: "free some space: a full disk stops sending and receiving",
  },
  disk_low: {
    severity: "warning",
    title: "only {mib} MiB are free in {folder}",
    end: "free some space: a full disk stops sending and receiving",
    behind: ["disk_full"],
  },
  wire_in_memory: {
    severity: "warning",
    title: "{folder} is on tmpfs, in memory: all of it is lost when this machine restarts",
    end: "keep the wire on a disk, for example below your home folder",
  },
  no_file_events: {
    severity: "warning",
    title:
      "{folder} is on {filesystem}: changes made on other machines cause no events here, so the daemon polls every 5 seconds",
    end: "expect messages a few seconds later; only one machine may write each log",
  },
  own_clock: {
    title: "this machine's clock is wrong: it says {now}",
    detail: "{evidence}",
    end: "set the clock (timedatectl set-ntp true): peers refuse lines from the future",
  },
  folder_obstructed: {
    title: "{path} is not a folder",
    end: "look at it and move it away: ls -ld {path}",
  },
  writable_by_others: {
    title: "other users of this host can write {path}",
    end: "chmod {change} {path}",
  },
  folder_not_sticky: {
    severity: "warning",
    title: "members of group {group} can replace each other's files in {path}: it is not sticky",
    end: "its owner runs: chmod 3770 {path}",
  },
  own_file_foreign: {
    title: "{path} belongs to user {user}, who can change or replace it",
    end: "find out how that came about; then have its owner, or the folder's, move it away",
  },
  key_old: {
    severity: "warning",
    title: "{key} is {days} days old",
    end: "change keys twice a year: deaddrop key rotate",
  },
  key_not_advertised: {
    severity: "warning",
    title: "{key} is not in {file}, so peers cannot find it there",
    end: "deaddrop join {wire} --me {handle}",
  },
  trust_drift: {
    severity: "warning",
    title: "the wire advertises keys that you did not pin; they are not used",
    detail: "{difference}",
    end: "deaddrop trust list, and ask their owner, over another channel, whether they are theirs",
  },
  peer_unpinned: {
    severity: "warning",
    title: "no key with a tier is pinned of {peer}, so nothing it says is taken",
    end: "compare the digits with its operator by phone: deaddrop trust sas {peer} {place}",
  },
  peer_untrusted: {
    severity: "warning",
    title: "{peer} is UNTRUSTED: only its heartbeats are taken",
    end: "compare the digits with its operator by phone: deaddrop trust sas {peer} {place}",
    behind: ["not_compared"],
  },
  peer_blocked: {
    severity: "warning",
    title: "{peer} is blocked",
    end: "decide whether it stays so: deaddrop trust list",
  },
  peer_unchained: {
    severity: "warning",
    title: "{peer} does not chain its lines: what it wrote on another wire could be replayed here",
    end: "have {peer} use deaddrop, and then mark it: deaddrop member chains {peer}",
  },
  policy_weak: {
    severity: "warning",
    title: "the policy that you accepted is weaker than the defaults",
    detail: "{weakness}",
    end: "change the wire's config.json, and accept that: deaddrop config accept",
  },
  unsigned_taken: {
    severity: "warning",
    title:
      "unsigned lines of {peer} are taken whatever key is pinned: anybody who can write in the folder can speak as {peer}",
    end: "pin its key, once it signs: deaddrop trust pin {peer}",
  },
  domain_unmatched: {
    severity: "warning",
    title: "domain {domain} of {owner} protects nothing",
    detail: "{problem}",
    end: "if that is a mistake, correct it in {file}; then everybody runs: deaddrop config accept",
  },
  large: {
    severity: "warning",
    title: "{what} has grown: {size}",
    end: "{advice}",
  },
  git_missing: {
    severity: "warning",
    title: "git does not run here",
    end: "install git 2.32 or newer",
  },
  ssh_host_unknown: {
    severity: "warning",
    title: "ssh does not know {host}, and a service cannot be asked",
    end: "connect once by hand, and compare its key: ssh -T {host}",
  },
  ssh_agent_hidden: {
    severity: "warning",
    title: "the SSH agent's socket is in {folder}, which the service does not see",
    end: "use a key without a passphrase for this host, or an agent of the service manager: systemctl --user enable --now ssh-agent.socket, then systemctl --user import-environment SSH_AUTH_SOCK",
  },
  no_credential_helper: {
    severity: "warning",
    title: "git has no credential helper, and a service cannot be asked for a password",
    end: "configure one: git help credentials; or use an SSH URL",
  },
  coding_tool: {
    severity: "warning",
    title: "a coding tool is joined and does not do all of its part",
    detail: "{problem}",
    end: "{hint}",
  },
  sandbox: {
    severity: "warning",
    title: "a sandbox keeps this shell from the daemon",
    detail: "{problem}",
    end: "{hint}",
  },

  // What the operator is told once, as an automatic incident. Spec 3.5.
  line_refused: {
    title: "a line of {peer} was refused: {reason}",
    detail: "{line} is held and not delivered",
    end: "have {peer} send it again once the reason is gone; how far you believe it: deaddrop trust list",
  },
  foreign_lines: {
    title: "the carriers of {owner} hold lines that {owner} did not sign",
    detail:
      "{lines} lines ({bytes} bytes) within this hour; they prove nothing about {owner} and are skipped",
    end: "see who may write its files",
  },
  log_behind: {
    title: "{file} lacks lines that it had",
    detail: "nothing is lost: what is held of {peer} stays",
    end: "find out who shortened it or restored an older copy; its owner's daemon appends what is missing",
    concernsWire: true,
  },
  wire_tampered: {
    title: "{place} holds what does not belong there: {where}",
    detail: "{problem}",
    end: "find out who put it there, and remove it",
  },
  history_rewritten: {
    title: "the history of {place} was rewritten: {where}",
    detail: "{problem}",
    end: "find out by whom and why; to go on with it: deaddrop transport accept",
  },
  foreign_wire: {
    title: "{place} is another wire: {where}",
    detail: "{problem}",
    end: "name the right one: deaddrop transport switch git --remote URL",
  },
  safe_mode_sign: {
    title: "a SAFE_MODE file is in the wire without a reason",
    detail:
      "safe mode follows from signed lines alone, and none calls for it here; sending goes on",
    end: "remove the file",
  },
  incident_unread: {
    title: "the agent of {peer} has not read an incident: {subject}",
    detail: "{severity}, {id}; nothing escalates while that is so",
    end: "reach {peer} by another way",
  },
  incident_not_covered: {
    title: "an incident has not reached {peer}: {subject}",
    detail:
      "{severity}, {id}; no heartbeat of {peer} shows that it has arrived, so it cannot be escalated",
    end: "reach {peer} by another way",
  },
  decision_unproved: {
    title: "{peer} has signed that something is decided, and nothing proves it",
    detail: "{problem}",
    end: "nothing: it does not count; deaddrop decisions --all and deaddrop audit say which and why",
    concernsWire: true,
  },
  key_changed: {
    severity: "warning",
    title: "{key} is {change}",
    detail: "{why}",
    end: "nothing; deaddrop trust list shows what is believed now",
  },
  key_change_refused: {
    title: "{key} is not changed",
    detail: "{problem}",
    end: "deaddrop trust list",
  },
  stop_hook_failed: {
    title: "the stop hook did not work",
    detail:
      "the agent has approved the shutdown that {asker} asked for, and its daemon is parked; the command that ends it: {problem}",
    end: "end the agent by hand, and correct hooks.on_stop: deaddrop config set hooks.on_stop COMMAND",
  },
  wake_budget: {
    severity: "warning",
    title: "mail waits: the agent was woken as often as it may be within an hour",
    detail: "{all} times in all, {perPeer} for a peer, {perThread} for a thread",
    end: "see wake.per_hour in deaddrop config list",
  },
  audit_violations: {
    title: "the nightly audit found violations: {count}",
    detail: "{violations}",
    end: "deaddrop audit",
  },
} as const satisfies Readonly<Record<string, TroubleRow>>;

export type TroubleCode = keyof typeof TROUBLES;

type Names<T> = T extends `${string}{${infer N}}${infer Rest}` ? N | Names<Rest> : never;
type TextsOf<R extends TroubleRow> =
  R["title"] | R["end"] | (R extends { detail: infer D } ? D : never);
/** What a row names in braces. */
type Facts<C extends TroubleCode> = Readonly<
  Record<Names<TextsOf<(typeof TROUBLES)[C]>>, string | number>
> & { readonly peer?: string | undefined };

/** One that is there: a line for whoever can end it. Spec 8.6. */
export interface TroubleView {
  code: TroubleCode;
  /** An error is wrong now: `status --check` and `doctor` exit 1. */
  severity: "error" | "warning";
  /** Who can end it. */
  audience: "agent" | "operator" | "both";
  /** Which other agent it is about, if it is about one. */
  peer: string | null;
  /** One sentence: who or what, and why. */
  detail: string;
  /** The command that ends it, or what a person has to do where no command can. */
  end: string;
  /** What only an operator can do besides. */
  operator_end?: string;
  /** ISO-8601. Null when that is not known. */
  since: string | null;
}

/** @param since ISO-8601, or wall ms */
export function trouble<C extends TroubleCode>(
  code: C,
  facts: Facts<C>,
  since: string | number | null = null,
): TroubleView {
  const row: TroubleRow = TROUBLES[code];
  const { title, detail, end, operatorEnd } = row;
  return {
    ...{ code, severity: row.severity ?? "error", audience: row.audience ?? "operator" },
    peer: facts.peer ?? null,
    detail: fill(detail === undefined ? title : `${title}: ${detail}`, facts),
    end: fill(end, facts),
    ...(operatorEnd === undefined ? {} : { operator_end: operatorEnd }),
    since: typeof since === "number" ? new Date(since).toISOString() : since,
  };
}

/**
 * One that the operator is told.
 *
 * @param matter tells occasions of one code apart: each is told once
 */
export function incidentOf<C extends TroubleCode>(
  code: C,
  facts: Facts<C>,
  matter: string,
): OperatorIncident {
  const { title, detail, end, concernsWire = false }: TroubleRow = TROUBLES[code];
  return {
    ...{ key: `${code}:${matter}`, cause: code, peer: facts.peer, concernsWire },
    subject: fill(title, facts),
    detail: fill(detail === undefined ? end : `${detail}; ${end}`, facts),
  };
}

type AnyFacts = Readonly<Record<string, string | number | undefined>>;

function fill(text: string, facts: AnyFacts): string {
  return text.replaceAll(/\{(\w+)\}/gu, (_, name: string) => String(facts[name]));
}

/** Without those that others of them explain; of one peer each code once. */
export function unexplained(troubles: readonly TroubleView[]): TroubleView[] {
  return troubles.filter((trouble, at) => {
    const isSame = ({ code, peer }: TroubleView) =>
      code === trouble.code && peer !== null && peer === trouble.peer;
    const first = troubles.findIndex(isSame);
    return (first === -1 || first === at) && !troubles.some((other) => explains(other, trouble));
  });
}

/** Whether a trouble is nothing but a consequence of this one. */
function explains(
  { code, peer }: Pick<TroubleView, "code" | "peer">,
  other: Pick<TroubleView, "code" | "peer">,
): boolean {
  const { behind = [] }: TroubleRow = TROUBLES[other.code];
  return behind.includes(code) && (peer === null || peer === other.peer);
}

/**
 * What a sender can do about a message that was refused, by the reason that a heartbeat names. Spec 2.4, 3.2.3.
 *
 * @internal
 */
export const REFUSAL_REMEDIES: Readonly<Partial<Record<RefusalReason, string>>> = {
  tier_refused:
    "your tier there is too low for this type; ask its operator to raise it (deaddrop peers shows how far {peer} trusts you), then send it again",
  body_too_large:
    "its body is too large there; put the text into a file, name it with --ref and send it again",
  too_many_refs: "it has too many references; send it again with fewer",
  clock_skew:
    "it is dated ahead of the clock there; have both operators compare their clocks with a time server (timedatectl), then send it again",
  replayed: "it has that line already; there is nothing to do",
  wrong_wire:
    "its configuration has another wire id; the operators have to compare their config.json",
  unchained: NOT_IN_CHAIN,
  log_forked: NOT_IN_CHAIN,
  left_member: "to it you are no member of this wire any more; ask its operator",
  untrusted_key:
    "it could not prove that the line is yours; have your operator check that it has your key (deaddrop trust sas {peer})",
};
const OTHER_REMEDY =
  "its operator finds the reasons in its quarantine file; send it again when they are gone";

/** @param reason one that a heartbeat names */
export function refusalRemedy(reason: string, peer: string): string {
  const remedies: Readonly<Partial<Record<string, string>>> = REFUSAL_REMEDIES;
  return fill(remedies[reason] ?? OTHER_REMEDY, { peer });
}

/** The hint of an error that has none. */
export const NO_HINT = "see the message";

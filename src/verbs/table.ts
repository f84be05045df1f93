import type { AnyVerb } from "./verb.ts";

/** A verb in the table; only the file of the one that is called is loaded. */
export interface VerbEntry {
  /** A phrase for the overview. */
  readonly summary: string;
  /** A group of the overview; or it is a command within a command, such as `incident raise`. */
  readonly group?: "Talk" | "Agree";
  readonly command?: string;
  readonly load: () => Promise<AnyVerb>;
}

/**
 * Everything that an agent can say, by the name that the library and the tools give it. The commands,
 * the tools and the library are derived from this table: a new verb is a file and a line here.
 */
export const VERBS = {
  send: entry(
    { group: "Talk" },
    "send a message to agents",
    async () => (await import("./send.ts")).send,
  ),
  reply: entry(
    { group: "Talk" },
    "reply to a message",
    async () => (await import("./reply.ts")).reply,
  ),
  ack: entry(
    { group: "Talk" },
    "acknowledge a message",
    async () => (await import("./answer.ts")).ack,
  ),
  correct: entry(
    { group: "Talk" },
    "correct a message you sent",
    async () => (await import("./correct.ts")).correct,
  ),
  ship: entry(
    { group: "Talk" },
    "announce finished work",
    async () => (await import("./ship.ts")).ship,
  ),
  propose: entry(
    { group: "Agree" },
    "propose a decision",
    async () => (await import("./propose.ts")).propose,
  ),
  counter: entry(
    { group: "Agree" },
    "answer with a counterproposal",
    async () => (await import("./propose.ts")).counter,
  ),
  accept: entry(
    { group: "Agree" },
    "accept a proposal or request",
    async () => (await import("./answer.ts")).accept,
  ),
  reject: entry(
    { group: "Agree" },
    "reject a proposal or request",
    async () => (await import("./answer.ts")).reject,
  ),
  request: entry(
    { group: "Agree" },
    "ask for approval",
    async () => (await import("./request.ts")).request,
  ),
  respond: entry(
    { group: "Agree" },
    "answer a request: yes or no",
    async () => (await import("./request.ts")).respond,
  ),
  withdraw: entry(
    { group: "Agree" },
    "take back a proposal or request",
    async () => (await import("./withdraw.ts")).withdraw,
  ),
  claim: entry(
    { group: "Agree" },
    "reserve files while you edit",
    async () => (await import("./claim.ts")).claim,
  ),
  release: entry(
    { group: "Agree" },
    "end a reservation",
    async () => (await import("./claim.ts")).release,
  ),
  cancel_request: entry(
    { command: "requests cancel" },
    "take a request back",
    async () => (await import("./request.ts")).cancelRequest,
  ),
  raise_incident: entry(
    { command: "incident raise" },
    "tell of serious trouble",
    async () => (await import("./incident.ts")).raiseIncident,
  ),
  ack_incident: entry(
    { command: "incident ack" },
    "acknowledge an incident",
    async () => (await import("./incident.ts")).ackIncident,
  ),
  resolve_incident: entry(
    { command: "incident resolve" },
    "say that an incident is settled",
    async () => (await import("./incident.ts")).resolveIncident,
  ),
};

function entry<V>(
  place: Pick<VerbEntry, "group" | "command">,
  summary: string,
  load: () => Promise<V>,
) {
  return { ...place, summary, load };
}

import type { AnyVerb } from "./verb.ts";

/** A verb in the table; only the file of the one that is called is loaded. */
export interface VerbEntry {
  /** A phrase for the overview. */
  readonly summary: string;
  /** Where it is a command within a command: `incident raise`. */
  readonly command?: string;
  readonly load: () => Promise<AnyVerb>;
}

/**
 * Everything that an agent can say, by the name that the library and the tools give it. The commands,
 * the tools and the library are derived from this table: a new verb is a file and a line here.
 */
export const VERBS = {
  send: entry("send a message to agents", async () => (await import("./send.ts")).send),
  reply: entry("reply to a message", async () => (await import("./reply.ts")).reply),
  ack: entry("acknowledge a message", async () => (await import("./answer.ts")).ack),
  correct: entry("correct a message you sent", async () => (await import("./correct.ts")).correct),
  withdraw: entry(
    "take back a proposal or request",
    async () => (await import("./withdraw.ts")).withdraw,
  ),
  ship: entry("announce finished work", async () => (await import("./ship.ts")).ship),
  propose: entry("propose a decision", async () => (await import("./propose.ts")).propose),
  counter: entry(
    "answer with a counterproposal",
    async () => (await import("./propose.ts")).counter,
  ),
  accept: entry("accept a proposal or request", async () => (await import("./answer.ts")).accept),
  reject: entry("reject a proposal or request", async () => (await import("./answer.ts")).reject),
  request: entry("ask for approval", async () => (await import("./request.ts")).request),
  respond: entry("answer a request: yes or no", async () => (await import("./request.ts")).respond),
  cancel_request: entry(
    "take a request back",
    async () => (await import("./request.ts")).cancelRequest,
    "requests cancel",
  ),
  claim: entry("reserve files while you edit", async () => (await import("./claim.ts")).claim),
  release: entry("end a reservation", async () => (await import("./claim.ts")).release),
  raise_incident: entry(
    "tell of serious trouble",
    async () => (await import("./incident.ts")).raiseIncident,
    "incident raise",
  ),
  ack_incident: entry(
    "acknowledge an incident",
    async () => (await import("./incident.ts")).ackIncident,
    "incident ack",
  ),
  resolve_incident: entry(
    "say that an incident is settled",
    async () => (await import("./incident.ts")).resolveIncident,
    "incident resolve",
  ),
};

function entry<V>(summary: string, load: () => Promise<V>, command?: string) {
  return { summary, load, ...(command === undefined ? {} : { command }) };
}

import type { Client } from "../api/client.ts";
import { prepareAnswer, type Reasons } from "../sending/answer.ts";
import { prepareClaim, prepareRelease, type Claim } from "../sending/claim.ts";
import { prepareIncident, type Incident } from "../sending/incident.ts";
import { prepareMessage, type Message } from "../sending/message.ts";
import type { Extras, Prepared } from "../sending/prepared.ts";
import { prepareCounter, prepareProposal, type Proposal } from "../sending/proposal.ts";
import { prepareReply, type Reply } from "../sending/reply.ts";
import { prepareRequest, prepareResponse, type Request } from "../sending/request.ts";
import { sayOnce, type Said, type SayingCall } from "../sending/say-once.ts";
import { prepareShip, type Ship } from "../sending/ship.ts";
import { fromPlain } from "../wire/json/json.ts";

/** What every way to speak takes besides: `key` makes a repeated call safe for 24 hours. Spec 8.1. */
export interface Once {
  readonly key?: string;
}

/** Words as a program has them: any JSON value as body, and no more than it wants to say. */
type Words<About> = Once &
  Omit<About, "extras" | "body" | "reasons"> & { readonly body?: unknown } & Pick<
    Extras,
    "refs" | "priority"
  >;

/**
 * The ways in which an agent speaks. Each refuses what may not be said, with DeaddropError, and
 * resolves when it is durable. A message is named by its event id or the first 6 characters of it.
 */
export interface Speaker {
  /** One message; `type` is feedback unless given. */
  tell(about: Words<Omit<Message, "type">> & { readonly type?: string }): Promise<Said>;
  reply(id: string, about: Words<Omit<Reply, "type">> & { readonly type?: string }): Promise<Said>;
  /** Seen and taken; of a proposal it is agreement. Spec 3.4. */
  acknowledge(id: string, about?: Reasons & Once): Promise<Said>;
  accept(id: string, about?: Reasons & Once): Promise<Said>;
  reject(id: string, about: Reasons & Once): Promise<Said>;
  /** `decision`, else the subject, is what is recorded; `body` says why. Spec 3.4.7. */
  propose(about: Words<Proposal>): Promise<Said>;
  counter(id: string, about: Words<Proposal>): Promise<Said>;
  request(about: Words<Request>): Promise<Said>;
  /** The answer to a request, by its `request_id` or event id. Spec 3.8. */
  respond(request: string, about: Reasons & Once & { readonly approve: boolean }): Promise<Said>;
  claim(about: Claim & Once): Promise<Said>;
  release(id?: string, about?: Once): Promise<Said>;
  raiseIncident(about: Words<Incident>): Promise<Said>;
  /** `refs` are files below the working directory, of which the digest is taken. Spec 1.2. */
  ship(about: Words<Ship>): Promise<Said>;
}

export function speakerOf(client: Client): Speaker {
  const now = (): number => Date.now();
  /** `id`: the message that a call is about, where it is about one. */
  const say = (
    name: SayingCall["name"],
    { key, ...args }: Once,
    prepare: () => Promise<Prepared>,
    id?: string,
  ): Promise<Said> =>
    sayOnce(client, { name, args: id === undefined ? args : { ...args, id }, key }, prepare);
  const answer = (name: SayingCall["name"], verdict: "ack" | "accept" | "reject") => {
    return (id: string, about: Reasons & Once = {}): Promise<Said> =>
      say(name, about, () => prepareAnswer(client, id, verdict, about), id);
  };
  return {
    tell: (about) => {
      const words = { ...about, type: about.type ?? "feedback", ...spoken(about) };
      return say("tell", about, () => prepareMessage(client, words));
    },
    reply: (id, about) => {
      const words = { ...about, type: about.type ?? "feedback", ...spoken(about) };
      return say("reply", about, () => prepareReply(client, id, words), id);
    },
    acknowledge: answer("acknowledge", "ack"),
    accept: answer("accept", "accept"),
    reject: answer("reject", "reject"),
    propose: (about) => {
      const { body: reasons, extras } = spoken(about);
      const words = { ...about, reasons, extras };
      return say("propose", about, () => prepareProposal(client, words, now()));
    },
    counter: (id, about) => {
      const { body: reasons, extras } = spoken(about);
      const words = { ...about, reasons, extras };
      return say("counter", about, () => prepareCounter(client, id, words, now()), id);
    },
    request: (about) => {
      const words = { ...about, ...spoken(about) };
      return say("request", about, () => prepareRequest(client, words, now()));
    },
    respond: (request, about) =>
      say("respond", about, () => prepareResponse(client, request, about.approve, about), request),
    claim: (about) => say("claim", about, () => prepareClaim(client, about)),
    release: (id, about = {}) => say("release", about, () => prepareRelease(client, id), id ?? ""),
    raiseIncident: (about) => {
      const words = { ...about, ...spoken(about) };
      return say("incident", about, () => prepareIncident(client, words));
    },
    ship: (about) => {
      const words = { ...about, ...spoken(about) };
      return say("ship", about, () => prepareShip(client, words, process.cwd()));
    },
  };
}

function spoken({ body = "", refs, priority }: Pick<Words<Reply>, "body" | "refs" | "priority">) {
  const extras: Extras = {
    ...(refs === undefined ? {} : { refs }),
    ...(priority === undefined ? {} : { priority }),
  };
  return { body: fromPlain(body), extras };
}

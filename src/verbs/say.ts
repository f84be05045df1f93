import type { Client, RequestKey, SendAnswer } from "../api/client.ts";
import { canonicalText, sha256Hex } from "../wire/canonical.ts";
import { definedFields } from "../wire/defined-fields.ts";
import { fromPlain } from "../wire/json/json.ts";
import type { Parent } from "./naming/parent.ts";
import type { Prepared } from "./prepared.ts";
import { withRefsNote } from "./project.ts";
import type { Speaker } from "./verb.ts";

/** A call that says something. */
export interface SayingCall {
  /** What is called, e.g. `propose`. */
  readonly name: string;
  /** All that was asked for; plain JSON. */
  readonly args: object;
  /** Chosen by the caller: a call that repeats it within 24 hours sends nothing. Spec 8.1. */
  readonly key?: string | undefined;
}

/** What was sent; `repeated`, without the rest, when a call before this one has sent it. */
export type Said = SendAnswer & {
  /** The message that it answers. */
  readonly answers?: Parent;
  /** What it means, or what it does not do. */
  readonly note?: string;
  /** Of a proposal: the words that are recorded once it is ratified. */
  readonly decides?: string;
  /** Of an agreement: the same, in the words of the peer that proposed it. */
  readonly agrees_to?: string;
};

/**
 * Prepares a message and sends it, once: a call that repeats the key of another one is answered as
 * that was, before anything is looked at that may have changed since. Spec 8.1. Throws DeaddropError
 * when nothing was sent.
 */
export async function say(
  by: Speaker,
  call: SayingCall,
  prepare: (by: Speaker) => Promise<Prepared>,
): Promise<Said> {
  const { client } = by;
  const key = keyOf(client, call);
  const before = key === undefined ? null : await client.ask("answered", { key });
  if (before !== null) return before;
  return sendPrepared(client, withRefsNote(by, await prepare(by)), key);
}
/** Sends a message that is prepared. Throws DeaddropError when nothing was sent. */
export async function sendPrepared(
  client: Client,
  { draft, more = [], note, answers, decides, agreesTo }: Prepared,
  key?: RequestKey,
): Promise<Said> {
  const drafts = [draft, ...more];
  const sent = await client.ask("send", key === undefined ? { drafts } : { drafts, key });
  return { ...sent, ...definedFields({ answers, note, decides, agrees_to: agreesTo }) };
}

/** The key names the whole call: what is called, by which agent, and all arguments. */
function keyOf({ handle }: Client, { name, args, key }: SayingCall): RequestKey | undefined {
  if (key === undefined || key === "") return undefined;
  // As JSON: a field that is undefined is none.
  const asText = (_: string, value: unknown) => (typeof value === "bigint" ? `${value}n` : value);
  const plain = JSON.parse(JSON.stringify({ name, from: handle, args }, asText)) as unknown;
  const asked = canonicalText(fromPlain(plain));
  return { name: key, digest: sha256Hex(Buffer.from(asked, "utf8")) };
}

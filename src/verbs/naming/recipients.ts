import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import { field } from "../../protocol/body.ts";
import { handleFromDid } from "../../wire/handle.ts";
import { bodyFields } from "../words/opening.ts";
import type { JsonValue } from "../../wire/json/json-value.ts";

/** All members of the wire but us. */
export async function peersOf(client: Client): Promise<string[]> {
  const { members } = await client.view("whoami");
  return members.filter((handle) => handle !== client.handle);
}

/**
 * Whom a message goes to: the handles given, each in the roster (`*` or `all`) and without our own
 * among others, or in a pair the peer. Throws DeaddropError otherwise, before anything is sent. Spec 3.2.
 */
export async function recipients(
  client: Client,
  given: readonly string[] | undefined,
): Promise<string[]> {
  const peers = await peersOf(client);
  if (given !== undefined) {
    const names = given.flatMap((each) => each.split(",")).map((name) => name.trim());
    // Who names all that are concerned may name itself among them.
    const others = names.filter((name) => handleIn(name, peers) !== client.handle);
    const meant = others.length === 0 ? names : others;
    const known = await Promise.all(meant.map((name) => knownHandle(name, client, peers)));
    return [...new Set(known)];
  }
  const [only, another] = peers;
  if (only !== undefined && another === undefined) return [only];
  throw new DeaddropError("usage", "to whom?", {
    hint:
      only === undefined
        ? "nobody else is on this wire yet"
        : `name them with --to: ${peers.join(", ")}, or all`,
  });
}

/** Whether a word names agents of the wire: handles, our own included, or all. */
export async function isRecipient(client: Client, word: string): Promise<boolean> {
  const peers = await peersOf(client);
  const known = ["*", client.handle, ...peers];
  return word.split(",").every((each) => known.includes(handleIn(each.trim(), peers)));
}

/** `@bob` and `bob:` are bob, as in mail and chat; everyone is `*`. */
function handleIn(name: string, peers: readonly string[]): string {
  const handle = handleFromDid(name) ?? name;
  if (peers.includes(handle)) return handle;
  const bare = handle.replaceAll(/^@|:$/g, "");
  return ["all", "everyone", "everybody"].includes(bare.toLowerCase()) ? "*" : bare;
}

async function knownHandle(
  name: string,
  client: Client,
  peers: readonly string[],
): Promise<string> {
  const handle = handleIn(name, peers);
  if (handle === "*" || peers.includes(handle)) return handle;
  if (handle === client.handle) {
    throw new DeaddropError("unknown_recipient", `"${name}" is you`, {
      hint: `the others are ${peers.join(", ")}`,
    });
  }
  const { closest } = await import("../../wire/suggest.ts");
  const meant = closest(handle, peers);
  throw new DeaddropError("unknown_recipient", `"${name}" is not on this wire`, {
    instead: meant === undefined ? undefined : { given: name, meant: [meant] },
    hint:
      meant === undefined
        ? `the roster has ${peers.length === 0 ? "nobody else" : peers.join(", ")}`
        : `did you mean ${meant}?`,
  });
}

/**
 * The body of what asks for an answer: when it goes to more than one agent, `required` names each that has to
 * answer. Any other body stays as it is. Spec 3.4.1.
 */
export async function withParties(
  client: Client,
  {
    type,
    to,
    body,
  }: { readonly type: string; readonly to: readonly string[]; readonly body: JsonValue },
): Promise<JsonValue> {
  const asks = type === "proposal" || type === "request";
  const isOne = to.length === 1 && to[0] !== "*";
  if (!asks || isOne || field(body, "required") !== undefined) return body;
  const required = to.includes("*") ? await peersOf(client) : [...to];
  return { ...bodyFields(body), required };
}

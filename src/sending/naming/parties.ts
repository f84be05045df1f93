import type { Client } from "../../api/client.ts";
import { field } from "../../protocol/body.ts";
import { isJsonObject, type JsonValue } from "../../wire/json/json-value.ts";
import { peersOf } from "./recipients.ts";

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
  if (isJsonObject(body)) return { ...body, required };
  return body === "" ? { required } : { text: body, required };
}

import type { Client } from "../api/client.ts";
import type { HeldMessage } from "../api/views.ts";

/**
 * The newest `limit` messages that have the words of a text, oldest first: page by page through all of history,
 * so that a daemon answers others in between.
 */
export async function searchAll(
  client: Pick<Client, "view">,
  text: string,
  limit: number,
): Promise<HeldMessage[]> {
  let found: HeldMessage[] = [];
  let before = {};
  while (found.length < limit) {
    const asked = { text, limit: limit - found.length, ...before };
    const { messages, next } = await client.view("search", asked);
    found = [...messages, ...found];
    if (next === null) break;
    before = { before: next };
  }
  return found;
}

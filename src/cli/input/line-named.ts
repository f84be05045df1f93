import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { LinePlace } from "../../trust/store.ts";
import { parseObject } from "../../wire/json/json.ts";
import { isChained, placeJson, readPlace, type PlaceJson } from "../../wire/places.ts";

/**
 * A line in the chain of a peer, as an operator names it: by its event id, the beginning of that, or its whole
 * place as JSON. `known`: places that the peer's chain has besides what `resolve_id` finds.
 *
 * @throws DeaddropError when it names no line of that chain
 */
export async function lineNamed(
  client: Client,
  peer: string,
  text: string,
  known: readonly PlaceJson[] = [],
): Promise<LinePlace> {
  const named = placeIn(text) ?? known.find(([, , id]) => text.length >= 6 && id.startsWith(text));
  const place = readPlace(named ?? (await client.view("resolve_id", { id: text })).place);
  if (place !== undefined && isChained(place) && place.author === peer)
    return { seq: place.seq, id: place.id };
  throw new DeaddropError("usage", `${text} is no line in the chain of ${peer}`, {
    hint: `give its event id, or its place: '["${peer}",34,"<event id>"]'`,
  });
}

function placeIn(text: string): PlaceJson | undefined {
  if (!text.startsWith("[")) return undefined;
  // A list is no object, which is all that the strict reader reads.
  const parsed = parseObject(Buffer.from(`{"place":${text}}`));
  const place = parsed.ok ? readPlace(parsed.value["place"]) : undefined;
  return place && placeJson(place);
}

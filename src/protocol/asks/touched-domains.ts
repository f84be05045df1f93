import type { Domain } from "../../trust/policy/config.ts";
import type { JsonValue } from "../../wire/json/json.ts";
import { textsField } from "../body.ts";
import { patternsOverlap } from "../claims/path-match.ts";
import type { TouchedDomains } from "./record.ts";

/** Names and paths of a proposal beyond these are not looked at. */
const MOST_NAMED = 64;
const MOST_PATHS = 256;
const LONGEST_NAME = 128;

/**
 * The domains that a proposal touches by its `domains` and `paths`, and the owners of those that are pinned.
 * Spec 3.4.7, 3.6.
 *
 * @param domains of the pinned configuration, by name
 */
export function touchedDomains(domains: ReadonlyMap<string, Domain>): TouchedDomains {
  return (body: JsonValue) => {
    const named = (textsField(body, "domains") ?? []).slice(0, MOST_NAMED);
    const names = new Set(named.filter((name) => name.length <= LONGEST_NAME));
    const paths = (textsField(body, "paths") ?? []).slice(0, MOST_PATHS);
    for (const [name, { paths: owned }] of domains)
      if (owned.some((each) => paths.some((path) => patternsOverlap(each, path)))) names.add(name);
    const owners = [...names].flatMap((name) => {
      const owner = domains.get(name)?.owner;
      return owner === undefined ? [] : [[name, owner] as const];
    });
    return { names: [...names], owners: Object.fromEntries(owners) };
  };
}

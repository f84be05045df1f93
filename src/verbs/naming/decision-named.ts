import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { DecisionView } from "../../api/views.ts";
import { shortId } from "../../framing/short-id.ts";
import { MIN_ID_PREFIX } from "../../wire/limits.ts";
import { quote } from "../../wire/quote.ts";
import { closest } from "../../wire/suggest.ts";

const MAX_LISTED = 8;
/** A decision's id ends with the first digits of its proposal's. Spec 3.4.7. */
const ID_SUFFIX = /-[0-9a-f]{8}$/u;

/**
 * What a proposal writes into `supersedes`: the id of the decision in force that is named by its id,
 * by the id of its proposal or by a unique prefix of either. A name that no decision has would
 * supersede nothing, and both would stay in force. Throws DeaddropError. Spec 3.4.7.
 */
export async function supersededId(
  client: Client,
  name: string,
  parties: readonly string[],
): Promise<string> {
  const { in_force: inForce, superseded } = await client.view("decisions");
  const [found, ...others] = named(inForce, name);
  if (found === undefined) {
    const [gone] = named(superseded, name);
    throw gone === undefined ? unknown(name, inForce) : supersededAlready(gone);
  }
  if (others.length > 0) throw ambiguous(name, [found, ...others]);
  await refuseWithout(client, found, parties);
  return found.decision_id;
}

function named(records: readonly DecisionView[], name: string): readonly DecisionView[] {
  const exact = records.filter(
    ({ decision_id: id, proposal: [, , proposal] }) => id === name || proposal === name,
  );
  if (exact.length > 0 || name === "") return exact;
  return records.filter(
    ({ decision_id: id, proposal: [, , proposal] }) =>
      id.startsWith(name) ||
      (name.length >= MIN_ID_PREFIX && proposal.startsWith(name.toLowerCase())),
  );
}

/** Spec 3.4.7: only what all parties of a decision agree to supersedes it. */
async function refuseWithout(
  client: Client,
  { decision_id: id, acked_by: agreed }: DecisionView,
  parties: readonly string[],
): Promise<void> {
  const { members } = await client.view("whoami");
  const absent = agreed.filter(
    (party) => party !== client.handle && members.includes(party) && !parties.includes(party),
  );
  if (absent.length === 0 || parties.includes("*")) return;
  throw new DeaddropError(
    "refused",
    `not sent: ${id} was agreed to by ${agreed.join(", ")}, and is superseded only by what all of them agree to`,
    { hint: `it needs them too: ${absent.map((party) => `--required ${party}`).join(" ")}` },
  );
}

function unknown(name: string, inForce: readonly DecisionView[]): DeaddropError {
  const ids = inForce.map(({ decision_id: id }) => id);
  const names = new Map(ids.flatMap((id) => [[id, id] as const, [id.replace(ID_SUFFIX, ""), id]]));
  const nearest = names.get(closest(name, names.keys()) ?? "");
  const newest = ids.slice(-MAX_LISTED).map((id) => quote(id, 137));
  const listed = newest.length === 0 ? "none is" : `in force: ${newest.join(", ")}`;
  return new DeaddropError("unknown_id", `not sent: no decision in force is named ${quote(name)}`, {
    hint:
      nearest === undefined
        ? `${listed}; \`deaddrop decisions\` shows their words`
        : `did you mean ${quote(nearest, 137)}? \`deaddrop decisions\` lists them`,
  });
}

function supersededAlready({ decision_id: id }: DecisionView): DeaddropError {
  return new DeaddropError("refused", `not sent: ${id} is not in force: it has been superseded`, {
    hint: "name the decision that took its place: `deaddrop decisions` lists those in force",
  });
}

function ambiguous(name: string, found: readonly DecisionView[]): DeaddropError {
  const listed = found
    .slice(0, MAX_LISTED)
    .map(
      ({ decision_id: id, proposal: [, , proposal] }) => `${id} (proposal ${shortId(proposal)})`,
    );
  const more = found.length > MAX_LISTED ? [`and ${found.length - MAX_LISTED} more`] : [];
  return new DeaddropError(
    "ambiguous_id",
    [`not sent: ${quote(name)} could mean:`, ...listed, ...more].join("\n"),
    { hint: "give the whole id, or the id of its proposal" },
  );
}

import type { Client } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import type { ProposalStatus, ProposalView } from "../api/views.ts";
import { shortId } from "../framing/short-id.ts";
import type { Parent } from "./naming/parent.ts";

/** The states in which an answer may still count. */
const OPEN: readonly ProposalStatus[] = ["open", "void"];

/**
 * Throws for a proposal that has ended, with what became of it. Spec 3.4: a late answer changes
 * nothing, so it is signed only when the caller insists.
 */
export async function refuseEnded(client: Client, parent: Parent, anyway: boolean): Promise<void> {
  if (anyway || parent.type !== "proposal") return;
  const proposals = await client.view("proposals");
  const found = proposals.find(({ proposal_id }) => proposal_id === parent.event_id);
  if (found === undefined || OPEN.includes(found.status)) return;
  const hint = `${remedy(found, proposals, client.handle)}; --anyway sends the answer, which changes nothing`;
  throw new DeaddropError("refused", `not sent: ${endedText(found)}`, { hint });
}

/** Throws for a proposal of ours that has ended: to take it back changes nothing. Spec 3.4. */
export async function refuseLateRevert(client: Client, parent: Parent): Promise<void> {
  const found = await proposalOf(client, parent);
  if (found === undefined || OPEN.includes(found.status)) return;
  const hint =
    found.status === "ratified"
      ? `what is in force is replaced by another: deaddrop propose "…" --supersedes ${shortId(found.proposal_id)}`
      : "there is nothing to take back; `deaddrop proposals` shows what became of each";
  throw new DeaddropError("refused", `not sent: ${endedText(found)}`, { hint });
}

/** What a correction of a proposal that was ratified leaves as it is. Spec 3.4. */
export async function correctionNote(client: Client, parent: Parent): Promise<string | undefined> {
  if (parent.type !== "proposal") return undefined;
  const found = await proposalOf(client, parent);
  if (found?.status !== "ratified") return undefined;
  return `The decision stays as it was agreed. Another replaces it: deaddrop propose "…" --supersedes ${shortId(parent.event_id)}`;
}

/** What a reply to a proposal says of itself: it decides nothing. Spec 3.3. */
export async function replyNote(client: Client, parent: Parent): Promise<string | undefined> {
  const id = shortId(parent.event_id);
  if (parent.from === client.handle) return undefined;
  if (parent.type === "incident") {
    return `A reply does not acknowledge the incident; this does: deaddrop incident ack ${id}`;
  }
  if (parent.type !== "proposal") return undefined;
  const found = await proposalOf(client, parent);
  if (found !== undefined && !OPEN.includes(found.status)) return `Note: ${endedText(found)}.`;
  return (
    "A reply neither agrees nor disagrees. One of these does: " +
    `deaddrop accept ${id}, deaddrop reject ${id}, deaddrop counter ${id}`
  );
}

/** What is known of that proposal; undefined when it is forgotten. */
export async function proposalOf(
  client: Client,
  { event_id }: Parent,
): Promise<ProposalView | undefined> {
  const proposals = await client.view("proposals");
  return proposals.find(({ proposal_id }) => proposal_id === event_id);
}

function endedText({ proposer, status, decided_by }: ProposalView): string {
  const by = decided_by === null ? "" : ` (by ${shortId(decided_by)})`;
  return `${proposer}'s proposal has ended: it was ${status}${by}`;
}

/** What may be done instead. */
function remedy(ended: ProposalView, all: readonly ProposalView[], self: string): string {
  const { status: was } = ended;
  // Replaced is what another proposal of its thread was ratified in the place of.
  if (was === "ratified" || was === "replaced")
    return "`deaddrop decisions` shows what was decided";
  const other = all.find(
    ({ correlation_id, status, proposer }) =>
      correlation_id === ended.correlation_id && status === "open" && proposer !== self,
  );
  if (other !== undefined)
    return `open in its thread is ${shortId(other.proposal_id)}: read it first`;
  return "propose it again, in a new thread: deaddrop propose";
}

import { DeaddropError } from "../../../api/errors.ts";
import type { ClaimView } from "../../../api/views.ts";
import { shortId } from "../../../framing/short-id.ts";
import type { Prepared } from "../../../verbs/prepared.ts";
import { claim, release } from "../../../verbs/claim.ts";
import { isOver } from "../../../protocol/claims/claim-shapes.ts";
import { cut, fitting } from "../peer-words.ts";
import { flag, object, pick, type Args } from "../schema.ts";
import { REQUEST_KEY, saying } from "../say.ts";
import { tool, type Call } from "../tool.ts";

const CLAIM = object({
  ...pick(claim.fields, "paths"),
  release: flag(),
  ...pick(claim.fields, "shared", "lasts", "reason"),
  ...REQUEST_KEY,
});
type ClaimArgs = Args<typeof CLAIM>;

/** Who works where. Spec 8.1, 3.7. */
export const CLAIM_TOOL = tool({
  name: "claim",
  description:
    "Claims paths before you edit them. release ends your claim of a path, or your only one.",
  input: CLAIM,
  effect: "sends",
  says: ["claim", "release"],
  run: (call, args) =>
    saying(call, args, () => (args.release === true ? ending(call, args) : claiming(call, args))),
});

async function claiming(call: Call, { paths, ...about }: ClaimArgs): Promise<Prepared> {
  if (paths !== undefined) return claim.prepare(call, { ...about, paths });
  throw new DeaddropError("usage", "claim: paths is missing", {
    hint: 'claim {"paths":["src/api"]}; with "release":true it ends your claim',
  });
}

/** One claim at a time, which any of its paths, or its id, names. */
async function ending(call: Call, { paths = [] }: ClaimArgs): Promise<Prepared> {
  const [first, ...others] = paths;
  const prepared = await release.prepare(call, { claim: first });
  for (const other of others) {
    const { draft } = await release.prepare(call, { claim: other });
    if (draft.correlationId === prepared.draft.correlationId) continue;
    throw new DeaddropError("usage", "claim: these paths belong to several claims of yours", {
      hint: "release one claim after the other",
    });
  }
  return prepared;
}

export async function claimsText({ client, frame }: Call): Promise<string> {
  const live = (await client.view("claims")).filter((each) => !isOver(each));
  if (live.length === 0) return "Nobody claims anything.";
  const shown = fitting(live, (claim) => cut(rowOf(claim)));
  const left = live.length - shown.length;
  const more = left === 0 ? [] : [`(${left} more)`];
  return [frame.notice, frame.around(shown), ...more].join("\n");
}

function rowOf({ event_id, from, mode, status, until, paths, reason }: ClaimView): string {
  const why = reason === null ? "" : ` (${reason})`;
  return `${shortId(event_id)} ${from} ${mode}, ${status}, until ${until}: ${paths.join(", ")}${why}`;
}

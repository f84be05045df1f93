import { DeaddropError } from "../../../api/errors.ts";
import type { ClaimView } from "../../../api/views.ts";
import { shortId } from "../../../framing/short-id.ts";
import { withNote, type Prepared } from "../../../sending/prepared.ts";
import { pathsGiven } from "../project-here.ts";
import { prepareClaim, prepareRelease } from "../../../sending/claim.ts";
import { isOver } from "../../../protocol/claims/claim-shapes.ts";
import { cut, fitting } from "../peer-words.ts";
import { flag, object, text, texts, type Args } from "../schema.ts";
import { REQUEST_KEY, say } from "../say.ts";
import { tool, type Call } from "../tool.ts";

const CLAIM = object({
  paths: texts('"src/api", "*.md"'),
  release: flag(),
  shared: flag(),
  lasts: text("30m, 4h"),
  reason: text(),
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
  run: (call, args) =>
    say(call, args, () => (args.release === true ? release(call, args) : claim(call, args))),
});

async function claim({ client }: Call, args: ClaimArgs): Promise<Prepared> {
  const { shared, lasts, reason } = args;
  if (args.paths === undefined) {
    throw new DeaddropError("usage", "claim: paths is missing", {
      hint: 'claim {"paths":["src/api"]}; with "release":true it ends your claim',
    });
  }
  const mode = shared === true ? "shared" : "exclusive";
  const { paths, note } = pathsGiven(client, args.paths);
  return withNote(await prepareClaim(client, { paths, mode, lasts, reason }), note);
}

/** One claim at a time, which any of its paths, or its id, names. */
async function release({ client }: Call, { paths = [] }: ClaimArgs): Promise<Prepared> {
  const [first, ...others] = paths;
  const prepared = await prepareRelease(client, first);
  for (const other of others) {
    const { draft } = await prepareRelease(client, other);
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

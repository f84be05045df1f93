import type { ClaimView } from "../../../api/views.ts";
import { shortId } from "../../../framing/short-id.ts";
import { withNote } from "../../../sending/prepared.ts";
import { pathsGiven } from "../project-here.ts";
import { prepareClaim, prepareRelease } from "../../../sending/claim.ts";
import { isOver } from "../../../protocol/claims/claims-view.ts";
import { cut, fitting } from "../peer-words.ts";
import { flag, object, text, texts } from "../schema.ts";
import { REQUEST_KEY, say, type Repeatable } from "../say.ts";
import { tool } from "../tool.ts";

interface ClaimArgs extends Repeatable {
  paths: string[];
  shared?: boolean;
  lasts?: string;
  reason?: string;
}

/** Who works where. Spec 8.1, 3.7. */
export const CLAIM_TOOLS = [
  tool<ClaimArgs>({
    name: "claim_paths",
    description:
      "Says that you work on some paths, so that others leave them alone. Claim before you edit.",
    input: object(
      {
        paths: texts('files, folders or patterns from the project\'s folder: "src/api", "*.md"'),
        shared: flag("others may claim the same, shared too"),
        lasts: text("30m, 4h; at most 24h (default 1h)"),
        reason: text(),
        ...REQUEST_KEY,
      },
      "paths",
    ),
    effect: "sends",
    answersFacts: true,
    run: (call, args) => {
      const { shared, lasts, reason } = args;
      const mode = shared === true ? "shared" : "exclusive";
      return say(call, args, async () => {
        const { paths, note } = pathsGiven(call.client, args.paths);
        return withNote(await prepareClaim(call.client, { paths, mode, lasts, reason }), note);
      });
    },
  }),
  tool<Repeatable & { id?: string }>({
    name: "release_paths",
    description: "Ends a claim of yours: your only one, or the one with that id or path.",
    input: object({ id: text("its id, or a path of it"), ...REQUEST_KEY }),
    effect: "sends",
    answersFacts: true,
    run: (call, args) => say(call, args, () => prepareRelease(call.client, args.id)),
  }),
  tool({
    name: "claims",
    description: "Who claims which paths now.",
    input: object({}),
    effect: "reads",
    answersFacts: false,
    async run({ client, frame }) {
      const live = (await client.view("claims")).filter((each) => !isOver(each));
      const shown = fitting(live, (claim) => cut(rowOf(claim)));
      const left = live.length - shown.length;
      const more = left === 0 ? [] : [`(${left} more)`];
      const words =
        live.length === 0
          ? "Nobody claims anything."
          : [frame.notice, frame.around(shown), ...more].join("\n");
      return { words };
    },
  }),
];

function rowOf({ event_id, from, mode, status, until, paths, reason }: ClaimView): string {
  const why = reason === null ? "" : ` (${reason})`;
  return `${shortId(event_id)} ${from} ${mode}, ${status}, until ${until}: ${paths.join(", ")}${why}`;
}

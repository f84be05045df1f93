import { inTurns } from "../../../protocol/fair-share.ts";
import type { ObligationView } from "../../../api/views.ts";
import { askedWords } from "../../../framing/asked-words.ts";
import { dueWords } from "../../../framing/when.ts";
import { shortId } from "../../../framing/short-id.ts";
import { prepareRequest } from "../../../sending/request.ts";
import { cut, fitting } from "../peer-words.ts";
import { object, text, texts } from "../schema.ts";
import { REQUEST_KEY, say, type Repeatable } from "../say.ts";
import { tool } from "../tool.ts";

interface RequestArgs extends Repeatable {
  type: string;
  to?: string[];
  subject?: string;
  body?: string;
  plan?: string;
  due?: string;
}

/** What is asked of others, and what is owed. Spec 8.1, 3.8, 3.3. */
export const REQUEST_TOOLS = [
  tool<RequestArgs>({
    name: "request",
    description:
      "Asks peers for a yes or no that is tracked until it comes: shutdown (please finish), plan_approval (do not begin before it is approved), or a name of your own.",
    input: object(
      {
        type: text("shutdown, plan_approval, review, …"),
        to: texts(),
        subject: text(),
        body: text(),
        plan: text("the plan to be approved"),
        due: text("until when: 30m, 4h, 2d or a time (default 24 h)"),
        ...REQUEST_KEY,
      },
      "type",
    ),
    effect: "binds",
    answersFacts: true,
    run: (call, args) => {
      const { type, to, subject, body = "", plan, due } = args;
      const about = { type, to, subject, body, plan, due, extras: {} };
      return say(call, args, () => prepareRequest(call.client, about, call.nowMs));
    },
  }),
  tool({
    name: "pending",
    description:
      "What you owe others and what they owe you: requests, proposals, incidents without an answer.",
    input: object({}),
    effect: "reads",
    answersFacts: false,
    async run({ client, frame }) {
      const owed = await client.view("pending");
      const turns = inTurns(owed, ({ from }) => from);
      const shown = fitting(turns, (each) => cut(rowOf(each, client.handle)));
      const left = owed.length - shown.length;
      const more = left === 0 ? [] : [`(${left} more are not shown)`];
      const words =
        owed.length === 0
          ? "Nothing is owed."
          : [frame.notice, frame.around(shown), ...more].join("\n");
      return { words };
    },
  }),
];

function rowOf(each: ObligationView, self: string): string {
  const { event_id, request_id: request, from, owed_by: by } = each;
  const until = dueWords(each, (time) => time);
  const named = request === null ? "" : `, request ${shortId(request)}`;
  const who = by === self ? "you" : by;
  const words = each.decision === null ? each.subject : `decides: ${each.decision}`;
  return `${shortId(event_id)} ${askedWords(each)}${named} of ${from}, owed by ${who}, ${until}: ${words}`;
}

import { DeaddropError } from "../../api/errors.ts";
import { prepareAnswer } from "../../sending/answer.ts";
import { MESSAGE_ID } from "../../sending/naming/parent.ts";
import { prepareResponse } from "../../sending/request.ts";
import { define } from "../command.ts";
import { ANSWER_OPTIONS, deliver } from "../sending/deliver.ts";

/** Agrees to a proposal, or says yes to a request. Spec 3.4, 8.6. */
export const accept = define({
  about:
    "Agrees to a proposal: once every required party has agreed, the words that `deaddrop pending` " +
    "quotes after `decides:` are recorded. To a request it says yes, but " +
    "for a shutdown: only `deaddrop respond <id> --approve` parks you.",
  args: { "<id>": MESSAGE_ID },
  options: ANSWER_OPTIONS,
  examples: ["deaddrop accept 4f2a91"],
  run: (cli, flags, { id }) =>
    deliver(cli, flags, (client) => prepareAnswer(client, id, "accept", flags)),
});

/** Refuses a proposal, or says no to a request. Spec 3.4, 8.6. */
export const reject = define({
  about: "Refuses a proposal, which ends it, or says no to a request.",
  args: { "<id>": MESSAGE_ID },
  options: ANSWER_OPTIONS,
  examples: ['deaddrop reject 4f2a91 --reason "docs/ is frozen this week"'],
  run: (cli, flags, { id }) =>
    deliver(cli, flags, (client) => prepareAnswer(client, id, "reject", flags)),
});

/** Seen and taken. Of a proposal it is agreement, as `accept` is. Spec 3.4, 8.6. */
export const ack = define({
  about:
    "Says to its author that you have seen a message and take it. Of a proposal it means " +
    "`deaddrop accept`.",
  args: { "<id>": MESSAGE_ID },
  options: { "--reject": "the same as `deaddrop reject`", ...ANSWER_OPTIONS },
  examples: ["deaddrop ack 4f2a91", 'deaddrop ack 4f2a91 --reason "on it"'],
  async run(cli, flags, { id }) {
    const verdict = flags.reject === true ? "reject" : "ack";
    await deliver(cli, flags, (client) => prepareAnswer(client, id, verdict, flags));
  },
});

/** The answer to a request. Spec 3.8. */
export const respond = define({
  about: "Answers a request. Only the first answer counts.",
  args: { "<request>": "its request id, or its event id or a prefix of it" },
  options: {
    "--approve": "yes",
    "--reject": "no; say why with --reason",
    ...ANSWER_OPTIONS,
  },
  examples: [
    "deaddrop respond 4f2a91c0 --approve",
    'deaddrop respond 4f2a91c0 --reject --reason "tests are red; in an hour"',
  ],
  async run(cli, flags, { request }) {
    const approves = flags.approve === true;
    if (approves === (flags.reject === true)) {
      throw new DeaddropError("usage", "approve it, or reject it?", {
        hint: "give one of --approve and --reject",
      });
    }
    await deliver(cli, flags, (client) => prepareResponse(client, request, approves, flags));
  },
});

import { prepareCorrection } from "../../sending/correction.ts";
import { prepareMessage, WRITABLE_TYPES } from "../../sending/message.ts";
import { MESSAGE_ID } from "../../sending/naming/parent.ts";
import { prepareReply, REPLY_TYPES } from "../../sending/reply.ts";
import { prepareShip } from "../../sending/ship.ts";
import { define, type FlagsOf, type Options } from "../command.ts";
import type { Cli } from "../context.ts";
import { readBody, readNeededBody, BODY_OPTIONS } from "../input/body-input.ts";
import { addressedWords, wordArguments, wordsOf, WORD_OPTIONS } from "../input/words.ts";
import { deliver, DELIVERY_OPTIONS, extrasOf, SEND_OPTIONS } from "../sending/deliver.ts";

const MESSAGE_ARGUMENTS = wordArguments(
  'what it is about; the prefix "urgent:" raises its priority',
  "what you have to say",
);
const MESSAGE_OPTIONS = {
  ...WORD_OPTIONS,
  "--type <type>": { about: "the message's type", choices: WRITABLE_TYPES, default: "feedback" },
  "--thread <id>": "write into the thread of this message, or of this correlation id",
  "--state <line>": "the line of state that a ship, warning or long request opens with",
} as const satisfies Options;

/** One message, of any type that an agent may write. Spec 8.6. */
export const send = define({
  about:
    "Sends a message. The body is the argument, a file, or what is piped in. " +
    "A first word that is an agent's handle, or all, is the recipient. " +
    "Answers `sent` once the message is stored; publishing it is retried until it succeeds.",
  args: {
    "[peer]": "whom it is for: a handle, or all (in a pair the peer)",
    ...MESSAGE_ARGUMENTS,
  },
  options: { ...SEND_OPTIONS, ...MESSAGE_OPTIONS },
  examples: [
    'deaddrop send scribe "tests are green" "All 212 pass on main." --ref git:4f2a91c',
    'deaddrop send all --type request "review, please" --body-file notes.md --wait read',
  ],
  run: (cli, flags, { peer, subject, body }) => sendWords(cli, flags, [peer, subject, body]),
});

export const broadcast = define({
  about: "Sends a message to every peer, as `deaddrop send all` does.",
  args: MESSAGE_ARGUMENTS,
  options: { ...DELIVERY_OPTIONS, ...MESSAGE_OPTIONS },
  examples: ['deaddrop broadcast "main is frozen until 17:00 UTC"'],
  run: (cli, flags, { subject, body }) => sendWords(cli, { ...flags, to: ["*"] }, [subject, body]),
});

async function sendWords(
  cli: Cli,
  flags: FlagsOf<typeof SEND_OPTIONS & typeof MESSAGE_OPTIONS>,
  given: readonly (string | undefined)[],
): Promise<void> {
  await deliver(cli, flags, async (client) => {
    const said = given.filter((word) => word !== undefined);
    const { to, words } = await addressedWords(client, said, flags.to);
    const { subject, body: text } = wordsOf(words[0], words[1], flags);
    const body = await readBody(cli, flags, text);
    const { type, thread, state } = flags;
    const extras = extrasOf(flags);
    return prepareMessage(client, { type, subject, body, to, thread, state, extras });
  });
}

/**
 * A message in the thread of another. It answers a request; of a proposal or an incident it says that it
 * does not. Spec 3.3.
 */
export const reply = define({
  about:
    "Answers in the thread of a message, to its author unless --to says otherwise. It settles a " +
    "request; a proposal is settled by accept, reject or counter, anything else by ack.",
  args: {
    "<id>": MESSAGE_ID,
    "[body]": "what you have to say; - reads standard input",
  },
  options: {
    "--subject <text>": "what it is about; what it answers is added",
    "--type <type>": { about: "the message's type", choices: REPLY_TYPES, default: "feedback" },
    "--state <line>": "the line of state that a warning or long request opens with",
    ...SEND_OPTIONS,
    ...BODY_OPTIONS,
  },
  examples: ['deaddrop reply 4f2a91 "Yes, from Monday on."'],
  async run(cli, flags, { id, body: text }) {
    const body = await readNeededBody(cli, flags, text);
    const { type, subject, to, state } = flags;
    const about = { type, body, subject, to, state, extras: extrasOf(flags) };
    await deliver(cli, flags, (client) => prepareReply(client, id, about));
  },
});

/** Done, and provably this. Spec 1.2: it carries `body.manifest_digest`. */
export const ship = define({
  about:
    "Says that something is done. It names what by a digest: the one that you give, or that of " +
    "the files that you reference, as `sha256sum FILE… | sha256sum` computes it.",
  args: wordArguments("what is done", "what there is to say about it"),
  options: {
    "--digest <digest>": "the digest, e.g. sha256:4f2a…",
    "--state <line>": "the line of state that it opens with",
    ...WORD_OPTIONS,
    ...SEND_OPTIONS,
  },
  examples: ['deaddrop ship "parser v2" --state "tests green on main" --ref dist/parser.js'],
  async run(cli, flags, args) {
    const { subject, body: text } = wordsOf(args.subject, args.body, flags);
    const { to, digest, state } = flags;
    const body = await readBody(cli, flags, text);
    const about = { subject, body, to, digest, state, extras: extrasOf(flags) };
    await deliver(cli, flags, (client) => prepareShip(client, about, cli.cwd));
  },
});

/** The message stays, the correction is shown beside it. Spec 1.7, 3.4. */
export const correct = define({
  about:
    "Corrects a message; it goes to those who got the message. With --revert it takes back a " +
    "proposal of yours that is not decided yet.",
  args: { "<id>": MESSAGE_ID, "[body]": "what is right; - reads standard input" },
  options: {
    "--revert": "take the proposal back",
    "--subject <text>": "what it is about; what it corrects is added",
    ...SEND_OPTIONS,
    ...BODY_OPTIONS,
  },
  examples: [
    'deaddrop correct 4f2a91 "It is port 8443, not 8433."',
    'deaddrop correct 4f2a91 --revert "We found a better way."',
  ],
  async run(cli, flags, { id, body: text }) {
    const reverts = flags.revert === true;
    const body = await (reverts ? readBody : readNeededBody)(cli, flags, text);
    const { subject, to } = flags;
    const about = { body, reverts, subject, to, extras: extrasOf(flags) };
    await deliver(cli, flags, (client) => prepareCorrection(client, id, about));
  },
});

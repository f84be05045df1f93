import { Command, Option } from "commander";
import { readBody } from "../../input/body-input.ts";
import { addressedWords, addWords, wordsOf, type WordFlags } from "../../input/words.ts";
import { withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { prepareMessage, WRITABLE_TYPES } from "../../../sending/message.ts";
import { addSendFlags, deliver, extrasOf, type SendFlags } from "../../sending/deliver.ts";

export interface Flags extends SendFlags, WordFlags {
  type: string;
  thread?: string;
  state?: string;
}

/** `deaddrop send`: one message, of any type that an agent may write. Spec 8.6. */
export function command(cli: Cli): Command {
  const send = new Command("send").description(
    "Sends a message. The body is the argument, a file, or what is piped in.\n" +
      "A first word that is an agent's handle, or all, is the recipient.\n" +
      "Answers `sent`, or `queued`: stored here and going out by itself.",
  );
  send.argument("[peer]", "whom it is for: a handle, or all (in a pair the peer)");
  return addMessageFlags(addSendFlags(send))
    .addHelpText(
      "after",
      example(
        'deaddrop send scribe "tests are green" "All 212 pass on main." --ref git:4f2a91c',
        'deaddrop send all --type request "review, please" --body-file notes.md --wait read',
      ),
    )
    .action((...given: unknown[]) => {
      const words = given.slice(0, 3).filter((each) => typeof each === "string");
      return run(cli, words, given[3] as Flags);
    });
}

/** What `send` and `broadcast` share: the words, their type, and the thread. */
export function addMessageFlags(command: Command): Command {
  const type = new Option("--type <type>", "the message's type").default("feedback");
  const subject = 'what it is about; the prefix "urgent:" raises its priority';
  return addWords(command, subject, "what you have to say")
    .addOption(type.choices(WRITABLE_TYPES))
    .option("--thread <id>", "write into the thread of this message, or of this correlation id")
    .option("--state <line>", "the line of state that a ship, warning or long request opens with");
}

export async function run(cli: Cli, given: readonly string[], flags: Flags): Promise<void> {
  await withClient(cli, flags, async (client) => {
    const { to, words } = await addressedWords(client, given, flags.to);
    const { subject, body: said } = wordsOf(words[0], words[1], flags);
    const body = await readBody(cli, flags, said);
    const { type, thread, state } = flags;
    const about = { type, subject, body, to, thread, state, extras: extrasOf(flags) };
    await deliver(cli, flags, client, await prepareMessage(client, about));
  });
}

import { Command, Option } from "commander";
import { MESSAGE_TYPES } from "../../../wire/kinds.ts";
import { readBody } from "../../input/body-input.ts";
import { addWords, wordsOf, type WordFlags, type Words } from "../../input/words.ts";
import { withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { withState } from "../../sending/opening.ts";
import { threadNamed, type NamedThread } from "../../sending/parent.ts";
import { recipients } from "../../sending/recipients.ts";
import { addSendFlags, deliver, draftOptions, type SendFlags } from "../../sending/send-draft.ts";

export interface Flags extends SendFlags, WordFlags {
  type: string;
  thread?: string;
  state?: string;
}

/** Heartbeats, cards and announcements are the daemon's own words. */
const DAEMON_TYPES = new Set(["heartbeat", "agent_card", "trust_tier_announcement"]);

/** `deaddrop send`: one message, of any type that an agent may write. Spec 4.4. */
export function command(cli: Cli): Command {
  const send = new Command("send").description(
    "Sends a message. The body is the argument, a file, or what is piped in.\n" +
      "Answers `sent`, or `queued`: stored here and going out by itself.",
  );
  return addMessageFlags(addSendFlags(send))
    .addHelpText(
      "after",
      example(
        'deaddrop send --to scribe "tests are green" "All 212 pass on main." --ref git:4f2a91c',
        'deaddrop send --type request "review, please" --body-file notes.md --wait read',
      ),
    )
    .action((subject: string | undefined, body: string | undefined, flags: Flags) =>
      run(cli, wordsOf(subject, body, flags), flags),
    );
}

/** What `send` and `broadcast` share: the words, their type, and the thread. */
export function addMessageFlags(command: Command): Command {
  const type = new Option("--type <type>", "the message's type").default("feedback");
  const types = MESSAGE_TYPES.filter((name) => !DAEMON_TYPES.has(name));
  const subject = 'what it is about; the prefix "urgent:" raises its priority';
  return addWords(command, subject, "what you have to say")
    .addOption(type.choices(types))
    .option("--thread <id>", "write into the thread of this message, or of this correlation id")
    .option("--state <line>", "the line of state that a ship, warning or long request opens with");
}

export async function run(cli: Cli, { subject, body: given }: Words, flags: Flags): Promise<void> {
  const body = withState(flags.type, await readBody(cli, flags, given), flags.state);
  await withClient(cli, flags, async (client) => {
    const to = await recipients(client, flags.to);
    const thread: Partial<NamedThread> =
      flags.thread === undefined ? {} : await threadNamed(client, flags.thread);
    const { correlationId, continues } = thread;
    const draft = {
      to,
      type: flags.type,
      subject,
      body,
      ...draftOptions(flags),
      ...(correlationId === undefined ? {} : { correlationId }),
      ...(flags.type === "proposal" ? { ackRequired: true } : {}),
    };
    await deliver(cli, flags, client, draft, continues);
  });
}

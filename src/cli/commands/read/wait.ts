import { Command, Option } from "commander";
import { DeaddropError } from "../../../api/errors.ts";
import type { NewsView, WaitedFor } from "../../../api/views.ts";
import { waitForNews, WITHOUT_DAEMON_MS } from "../../../client/wait-for-news.ts";
import { WAITED_FOR } from "../../../agent/answers/mail.ts";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { seconds } from "../../sending/deliver.ts";
import { example } from "../../output/example.ts";
import { emit } from "../../output/output.ts";

interface Flags extends GlobalFlags {
  timeout?: number;
  for: WaitedFor;
}

/** `deaddrop wait`: returns when there is something for the agent to do. Spec 8.6. */
export function command(cli: Cli): Command {
  const awaited = new Option("--for <what>", "anything unread, urgent mail, or an answer you owe");
  return new Command("wait")
    .description(
      "Waits until something is there for you, and says what: at once when it is there already.\n" +
        "Exits 3 when the time is over.",
    )
    .option("--timeout <seconds>", "how long (default: without end)", seconds)
    .addOption(awaited.choices(WAITED_FOR).default("any"))
    .addHelpText("after", example("deaddrop wait --timeout 600", "deaddrop wait --for urgent &"))
    .action((flags: Flags) => run(cli, flags));
}

export async function run(cli: Cli, flags: Flags): Promise<void> {
  await withClient(cli, flags, async (client) => {
    const endMs = cli.clock.nowMs() + (flags.timeout ?? Infinity) * 1_000;
    const news = await waitForNews(client, flags.for, {
      nowMs: () => cli.clock.nowMs(),
      sleep: (durationMs) => cli.clock.sleep(durationMs),
      endMs,
      onNoDaemon: () => cli.stderr.write(`${NO_DAEMON}\n`),
    });
    if (news.ready) {
      emit(cli, flags, news, () => newsText(news));
      return;
    }
    throw new DeaddropError("timeout", `nothing within ${flags.timeout} s: ${NONE[flags.for]}`, {
      hint: "wait again, or go on with your work and look later: deaddrop inbox --unread",
    });
  });
}

const NONE: Record<WaitedFor, string> = {
  any: "all is read",
  urgent: "nothing urgent is unread",
  owed: "you owe no answer",
};

const NO_DAEMON = `No daemon runs: looking every ${WITHOUT_DAEMON_MS / 1_000} s. To run one: deaddrop service install`;

/** One line of ours: counts and handles, no word of a peer. Spec 8.2. */
function newsText({ unread, notices, urgent, owed, from }: NewsView): string {
  const parts: string[] = [];
  if (unread > 0) {
    const high = urgent > 0 ? ` (${urgent} urgent)` : "";
    parts.push(`${unread} unread from ${from.join(", ")}${high}`);
  }
  if (notices > 0) parts.push(notices === 1 ? "1 notice" : `${notices} notices`);
  if (owed > 0) parts.push(`${owed} ${owed === 1 ? "answer" : "answers"} owed`);
  const next =
    unread > 0 || notices > 0 ? "deaddrop inbox --unread --mark-read" : "deaddrop pending";
  return `${parts.join(", ")}: ${next}`;
}

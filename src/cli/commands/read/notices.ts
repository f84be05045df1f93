import { Command } from "commander";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { noticeText } from "../../inbox/notices.ts";
import { emit } from "../../output/output.ts";

interface Flags extends GlobalFlags {
  unread?: boolean;
  markRead?: boolean;
}

/** `deaddrop notices`: what became of things that no peer's message says by itself. Spec 3.12. */
export function command(cli: Cli): Command {
  return new Command("notices")
    .description(
      "Lists what your daemon tells you: how your proposals ended, which of your messages a peer\n" +
        "refused, who is silent or back, safe mode. `inbox` shows the unread ones too.",
    )
    .option("--unread", "only those not marked read")
    .option("--mark-read", "mark those shown as read")
    .addHelpText("after", example("deaddrop notices --unread"))
    .action((flags: Flags) => run(cli, flags));
}

export async function run(cli: Cli, flags: Flags): Promise<void> {
  await withClient(cli, flags, async (client) => {
    const args = flags.unread === true ? { unread: true } : {};
    const notices = await client.view("agent_notices", args);
    const nowMs = cli.clock.nowMs();
    emit(cli, flags, notices, (paint) =>
      notices.length === 0
        ? `No ${flags.unread === true ? "unread " : ""}notices.`
        : notices.map((notice) => noticeText(notice, paint, nowMs)).join("\n"),
    );
    const ids = notices.filter(({ read }) => !read).map(({ id }) => id);
    if (flags.markRead === true && ids.length > 0) await client.ask("read", { ids });
  });
}

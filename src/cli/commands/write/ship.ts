import { Command } from "commander";
import { prepareShip } from "../../../sending/ship.ts";
import { withClient, type Cli } from "../../context.ts";
import { readBody } from "../../input/body-input.ts";
import { addWords, wordsOf, type WordFlags, type Words } from "../../input/words.ts";
import { example } from "../../output/example.ts";
import { addSendFlags, deliver, extrasOf, type SendFlags } from "../../sending/deliver.ts";

interface Flags extends SendFlags, WordFlags {
  digest?: string;
  state?: string;
}

/** `deaddrop ship`: done, and provably this. Spec 1.2: it carries `body.manifest_digest`. */
export function command(cli: Cli): Command {
  const ship = new Command("ship")
    .description(
      "Says that something is done. It names what by a digest: the one that you give, or that of\n" +
        "the files that you reference, as `sha256sum FILE… | sha256sum` computes it.",
    )
    .option("--digest <digest>", "the digest, e.g. sha256:4f2a…")
    .option("--state <line>", "the line of state that it opens with");
  return addSendFlags(addWords(ship, "what is done", "what there is to say about it"))
    .addHelpText(
      "after",
      example('deaddrop ship "parser v2" --state "tests green on main" --ref dist/parser.js'),
    )
    .action((subject: string | undefined, body: string | undefined, flags: Flags) =>
      run(cli, wordsOf(subject, body, flags), flags),
    );
}

export async function run(cli: Cli, { subject, body: said }: Words, flags: Flags): Promise<void> {
  const { to, digest, state } = flags;
  const body = await readBody(cli, flags, said);
  const about = { subject, body, to, digest, state, extras: extrasOf(flags) };
  await withClient(cli, flags, async (client) =>
    deliver(cli, flags, client, await prepareShip(client, about, cli.cwd)),
  );
}

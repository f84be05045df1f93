import { Command } from "commander";
import { DeaddropError } from "../../../api/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../wire/json/json-value.ts";
import { readBody } from "../../input/body-input.ts";
import { addWords, wordsOf, type WordFlags, type Words } from "../../input/words.ts";
import { withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { manifestDigest } from "../../sending/manifest.ts";
import { withState } from "../../sending/opening.ts";
import { recipients } from "../../sending/recipients.ts";
import { addSendFlags, deliver, draftOptions, type SendFlags } from "../../sending/send-draft.ts";

interface Flags extends SendFlags, WordFlags {
  digest?: string;
  state?: string;
}

const DIGEST = /^(?:[a-z0-9]+:)?[0-9a-f]{8,128}$/;

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
  const given = asObject(await readBody(cli, flags, said));
  const opened = withState("ship", given, flags.state) as JsonObject;
  const body = { ...opened, manifest_digest: await digestOf(cli, given, flags) };
  await withClient(cli, flags, async (client) => {
    const to = await recipients(client, flags.to);
    await deliver(cli, flags, client, {
      to,
      type: "ship",
      subject,
      body,
      ...draftOptions(flags),
    });
  });
}

function asObject(body: JsonValue): JsonObject {
  if (isJsonObject(body)) return body;
  return body === "" ? {} : { text: body };
}

async function digestOf(cli: Cli, body: JsonObject, flags: Flags): Promise<string> {
  const given = flags.digest ?? body["manifest_digest"];
  if (given !== undefined) {
    if (typeof given === "string" && DIGEST.test(given)) return given;
    throw new DeaddropError("usage", "the digest is lower-case hex, with sha256: before it or not");
  }
  const files = (flags.ref ?? []).filter((ref) => !ref.startsWith("git:"));
  if (files.length > 0) return manifestDigest(cli.cwd, files);
  throw new DeaddropError("usage", "a ship names what it ships by a digest", {
    hint: "reference the files with --ref, or give the digest with --digest",
  });
}

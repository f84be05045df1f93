import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import { isRecipient, recipients } from "../../sending/naming/recipients.ts";
import type { FlagsOf, Options } from "../command.ts";
import { BODY_OPTIONS } from "./body-input.ts";

export const WORD_OPTIONS = {
  "--subject <text>": "the subject, in place of the argument",
  ...BODY_OPTIONS,
} as const satisfies Options;

/** Subject and body as arguments, for a command that has the WORD_OPTIONS too. */
export function wordArguments(subject: string, body: string) {
  return { "[subject]": subject, "[body]": `${body}; - reads standard input` } as const;
}

/**
 * A first word that names an agent of the wire, or `all`, is the recipient, unless --to names one.
 * Throws DeaddropError ("usage") where there is a word too many.
 */
export async function addressedWords(
  client: Client,
  words: readonly string[],
  to: readonly string[] | undefined,
): Promise<{ readonly to: readonly string[] | undefined; readonly words: readonly string[] }> {
  const [first = "", ...rest] = words;
  if (to === undefined && (words.length > 2 || (await isRecipient(client, first)))) {
    return { to: await recipients(client, [first]), words: rest };
  }
  if (words.length <= 2) return { to, words };
  throw new DeaddropError("usage", "three arguments, and --to names the recipient already", {
    hint: 'leave one of them out: deaddrop send PEER "subject" "body"',
  });
}

/** With --subject an argument that is left over is the body. Throws DeaddropError ("usage"). */
export function wordsOf(
  first: string | undefined,
  second: string | undefined,
  flags: FlagsOf<typeof WORD_OPTIONS>,
): { readonly subject: string; readonly body: string | undefined } {
  if (flags.subject !== undefined && second !== undefined) {
    throw new DeaddropError("usage", "the subject is given twice: as an argument and as --subject");
  }
  const [subject, body] = flags.subject === undefined ? [first, second] : [flags.subject, first];
  if (subject === undefined || subject.trim() === "") {
    throw new DeaddropError(
      "usage",
      subject === undefined ? "no subject" : "the subject is empty",
      {
        hint: 'say in a few words what it is about: deaddrop … "subject" "body"',
      },
    );
  }
  return { subject, body };
}

import type { Command } from "commander";
import { DeaddropError } from "../../api/errors.ts";
import { addBodyFlags, type BodyFlags } from "./body-input.ts";

export interface WordFlags extends BodyFlags {
  subject?: string;
}

/** What a message says: its subject and, where one was given, its body. */
export interface Words {
  readonly subject: string;
  readonly body: string | undefined;
}

/** Subject and body as arguments, or as --subject and --body. */
export function addWords(command: Command, subject: string, body: string): Command {
  return addBodyFlags(
    command
      .argument("[subject]", subject)
      .argument("[body]", `${body}; - reads standard input`)
      .option("--subject <text>", "the subject, in place of the argument"),
  );
}

/** With --subject an argument that is left over is the body. Throws DeaddropError ("usage"). */
export function wordsOf(
  first: string | undefined,
  second: string | undefined,
  flags: WordFlags,
): Words {
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

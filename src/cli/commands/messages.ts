import { send as verb } from "../../verbs/send.ts";
import { verbCommand } from "../sending/verb-command.ts";

const { to: _, ...fields } = verb.fields;

/** `send` to everybody. */
export const broadcast = verbCommand({
  ...verb,
  fields,
  about: "Sends a message to every peer, as `deaddrop send all` does.",
  examples: ['deaddrop broadcast "main is frozen until 17:00 UTC"'],
  prepare: (by, args: Parameters<typeof verb.prepare>[1]) =>
    verb.prepare(by, { ...args, to: ["*"] }),
});

import { TO } from "../../src/verbs/fields.ts";
import { recipients } from "../../src/verbs/naming/recipients.ts";
import { choice, text, verb } from "../../src/verbs/verb.ts";

/** A verb that the product does not have. */
export const praise = verb({
  about: "Tells an agent that its work is good.",
  fields: {
    to: { ...TO, spelling: "[peer] --to <handle>" },
    what: text("[what] --what <text>", "what is good"),
    much: { ...choice(["some", "much"], "--much <how>", "how good it is"), default: "some" },
  },
  needs: ["what"],
  examples: ['deaddrop praise scribe "the parser"'],
  async prepare({ client }, { to, what, much }) {
    const subject = `praise: ${what}`;
    return {
      draft: { to: await recipients(client, to), type: "feedback", subject, body: { much } },
    };
  },
});

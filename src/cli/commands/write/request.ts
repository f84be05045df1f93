import { Command } from "commander";
import { DeaddropError } from "../../../api/errors.ts";
import { PLAN_APPROVAL, SHUTDOWN } from "../../../protocol/requests/request-line.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../wire/json/json-value.ts";
import { MAX_SUBJECT_CODE_POINTS } from "../../../wire/limits.ts";
import { quote } from "../../../wire/quote.ts";
import { addBodyFlags, readBody, readTextFile, type BodyFlags } from "../../input/body-input.ts";
import { withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { dueInstant } from "../../sending/due.ts";
import { withState } from "../../sending/opening.ts";
import { recipients } from "../../sending/recipients.ts";
import { newRequestId } from "../../sending/request.ts";
import {
  addDeliveryFlags,
  deliver,
  draftOptions,
  type SendFlags,
} from "../../sending/send-draft.ts";

interface Flags extends SendFlags, BodyFlags {
  subject?: string;
  plan?: string;
  planFile?: string;
  due?: string;
  state?: string;
}

const TYPE = /^[a-z][a-z0-9_.-]{0,63}$/;
const SUBJECTS: ReadonlyMap<string, string> = new Map([
  [SHUTDOWN, "please finish and shut down"],
  [PLAN_APPROVAL, "a plan, for your approval"],
]);

/** `deaddrop request`: asks for a yes or a no that is tracked until it comes. Spec 3.8. */
export function command(cli: Cli): Command {
  const request = new Command("request")
    .description(
      "Asks agents to approve or reject something. Each of them answers for itself with\n" +
        "`deaddrop respond`; `deaddrop requests` shows what became of it.\n\n" +
        "  shutdown       asks an agent to finish; when it approves, its daemon parks\n" +
        "  plan_approval  submits a plan: do not begin before it is approved\n" +
        "  any other      a name of your own",
    )
    .argument("<type>", "shutdown, plan_approval, or a name of your own")
    .argument("[peer...]", "whom to ask (in a pair the peer)")
    .option("--subject <text>", "what it is about")
    .option("--plan <text>", "the plan to be approved")
    .option("--plan-file <file>", "the same, from a file")
    .option("--due <when>", "until when to answer: 30m, 4h, 2d or a time (else 24 hours)")
    .option("--state <line>", "the line of state that a long request opens with");
  return addBodyFlags(addDeliveryFlags(request))
    .addHelpText(
      "after",
      example(
        'deaddrop request shutdown scribe --body "The release is out."',
        'deaddrop request plan_approval lead --plan "1. measure 2. cut over" --wait answered',
      ),
    )
    .action((type: string, peers: string[], flags: Flags) => run(cli, type, peers, flags));
}

export async function run(
  cli: Cli,
  type: string,
  peers: readonly string[],
  flags: Flags,
): Promise<void> {
  if (!TYPE.test(type)) {
    throw new DeaddropError("usage", `${quote(type)} is no type of request`, {
      hint: "a type is a name in small letters, such as shutdown, plan_approval or review",
    });
  }
  const text = withState("request", await readBody(cli, flags, undefined), flags.state);
  const plan = planOf(cli, type, flags);
  const due = flags.due === undefined ? {} : { due: dueInstant(flags.due, cli.clock.nowMs()) };
  const names = { request_id: newRequestId(), request_type: type };
  await withClient(cli, flags, async (client) => {
    const draft = {
      to: await recipients(client, peers.length === 0 ? undefined : peers),
      type: "request",
      subject: flags.subject ?? SUBJECTS.get(type) ?? cut(type),
      body: { ...fields(text), ...names, ...plan, ...due },
      ...draftOptions(flags),
    };
    await deliver(cli, flags, client, draft);
  });
}

function fields(text: JsonValue): JsonObject {
  if (isJsonObject(text)) return text;
  return text === "" ? {} : { text };
}

function planOf(cli: Cli, type: string, { plan, planFile }: Flags): JsonObject {
  if (plan !== undefined && planFile !== undefined) {
    throw new DeaddropError("usage", "the plan is given twice", {
      hint: "with --plan or with --plan-file: one of them",
    });
  }
  const text = planFile === undefined ? plan : readTextFile(cli, "--plan-file", planFile);
  if (text !== undefined && text.trim() !== "") return { plan: text };
  if (type !== PLAN_APPROVAL && text === undefined) return {};
  throw new DeaddropError("usage", "there is no plan to approve", {
    hint: 'give it with --plan "…" or --plan-file <file>',
  });
}

function cut(text: string): string {
  return Array.from(text).slice(0, MAX_SUBJECT_CODE_POINTS).join("");
}

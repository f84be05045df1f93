import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import { PLAN_APPROVAL } from "../../protocol/asks/requests.ts";
import { recipients } from "../../verbs/naming/recipients.ts";
import { cutSubject } from "../../verbs/naming/parent.ts";
import { sha256Hex } from "../../wire/canonical.ts";
import { fromPlain } from "../../wire/json/json.ts";
import { textGraph } from "../plan/graph.ts";
import { planRequestId } from "../plan/plan.ts";
import type { HeldPlan } from "./held-plan.ts";
import { Waits } from "./patience.ts";
import type { RunOutside } from "./run-plan.ts";
import { sendOnce } from "./step-messages.ts";

interface Asking {
  readonly planId: string;
  readonly held: HeldPlan;
  readonly outside: RunOutside;
}

/** What a peer reads of a plan; the file has all of it. */
const MAX_PLAN_TEXT = 16_000;

/**
 * Asks a peer to approve the plan as it is now, and waits for the answer. A run that is started again asks
 * nothing twice: what the plan is about names the request. Spec 7.5. Throws DeaddropError when it is not
 * approved.
 */
export async function askApproval(
  client: Client,
  peer: string,
  { planId, held, outside }: Asking,
): Promise<void> {
  const [to = peer] = await recipients(client, [peer]);
  const { plan } = held.document;
  const about = plan.steps.map(({ id, owner, description, files, deps }) => [
    id,
    owner,
    description,
    files,
    deps,
  ]);
  const digest = sha256Hex(Buffer.from(JSON.stringify(about), "utf8"));
  const requestId = planRequestId(planId, `approval of ${digest} by ${to}`, 1);
  const body = {
    request_id: requestId,
    request_type: PLAN_APPROVAL,
    state: `plan ${planId} waits for your approval`,
    plan: textGraph(plan).slice(0, MAX_PLAN_TEXT),
  };
  const subject = cutSubject(`plan ${planId}, for your approval`);
  const draft = { to: [to], type: "request", subject, body: fromPlain(body) };
  await sendOnce(client, draft, `plan-approval:${requestId}`);
  outside.say({
    event: "told",
    step: null,
    level: "warns",
    text: `${to} was asked to approve the plan`,
  });
  const waits = new Waits(client, outside);
  for (;;) {
    if (outside.signal.aborted)
      throw notApproved("the run was stopped before the plan was approved");
    if (!client.viaDaemon) await client.ask("tick");
    const asked = await client.view("requests", { named: requestId });
    const request = asked.find((each) => each.target === to && each.from === client.handle);
    if (request?.answer?.approve === true) return;
    if (request?.answer?.approve === false) {
      throw notApproved(`${to} does not approve the plan: ${request.reason ?? "no reason given"}`);
    }
    if (request !== undefined && request.status !== "pending") {
      throw notApproved(`the request to ${to} was ${request.status}`);
    }
    await waits.next();
  }
}

function notApproved(message: string): DeaddropError {
  return new DeaddropError("refused", `${message}; nothing was begun`, {
    hint: "change the plan and run it again: a changed plan is a new question",
  });
}

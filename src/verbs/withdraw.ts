import { DeaddropError } from "../api/errors.ts";
import { release } from "./claim.ts";
import { correct } from "./correct.ts";
import { ID, REASON } from "./fields.ts";
import { resolveIncident } from "./incident.ts";
import { messageNamed } from "./naming/request-named.ts";
import { cancelRequest } from "./request.ts";
import { verb } from "./verb.ts";

/** Ends what we have asked for or claimed, whatever it is. Spec 3.4, 3.5, 3.7, 3.8. */
export const withdraw = verb({
  about:
    "Takes back what you have said: a proposal or request that is open, a claim, or an incident, " +
    "which it resolves.",
  fields: { id: ID, reason: REASON },
  needs: ["id"],
  binds: true,
  examples: ['deaddrop withdraw 4f2a91 "we found a better way"'],
  async prepare(by, { id: name, reason }) {
    const { type, from, event_id: id } = await messageNamed(by.client, name, "ours");
    if (from !== by.client.handle) {
      throw new DeaddropError("refused", `not sent: that ${type} is ${from}'s, not yours`, {
        hint: `deaddrop reject ${name} refuses it`,
      });
    }
    switch (type) {
      case "proposal":
        return correct.prepare(by, { id, body: reason, revert: true });
      case "request":
        return cancelRequest.prepare(by, { request: id, reason });
      case "claim":
        return release.prepare(by, { claim: id });
      case "incident":
        return resolveIncident.prepare(by, { id, body: reason });
      default:
        throw new DeaddropError("refused", `not sent: a ${type} cannot be withdrawn`, {
          hint: `deaddrop correct ${name} "…" corrects it`,
        });
    }
  },
});

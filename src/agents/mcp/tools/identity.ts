import { DeaddropError } from "../../../api/errors.ts";
import { AGENT_STATES, type AgentState } from "../../../protocol/env.ts";
import { choice, flag, object, text } from "../schema.ts";
import { tool } from "../tool.ts";

/** Who is on the wire, and how our own agent is. Spec 8.1. */
export const IDENTITY_TOOLS = [
  tool({
    name: "peers",
    description: "Who else is on the wire: whether each is there, and how far it is trusted here.",
    input: object({}),
    effect: "reads",
    answersFacts: true,
    async run({ client }) {
      const peers = await client.view("peers");
      return {
        facts: {
          from: client.handle,
          peers: peers.map((peer) => ({
            handle: peer.handle,
            presence: peer.held ? "held by your operator's rules" : peer.presence,
            trust_tier: peer.trust_tier,
            agent_last_seen: peer.agent_last_seen,
            unread_there: peer.inbox_unread_count,
          })),
        },
      };
    },
  }),
  tool<{ state?: AgentState; last_action?: string; heads_down?: boolean }>({
    name: "set_status",
    description:
      "Tells peers with the next heartbeat how you are: busy while you work, idle when you wait.",
    input: object({
      state: choice(AGENT_STATES),
      last_action: text("what you do or did last, in a few words"),
      heads_down: flag("you will not answer for a while"),
    }),
    effect: "marks",
    answersFacts: true,
    async run({ client }, { state, last_action: lastAction, heads_down: headsDown }) {
      if (state === undefined && lastAction === undefined && headsDown === undefined) {
        throw new DeaddropError("usage", "what has changed?", {
          hint: "give state, last_action or heads_down",
        });
      }
      await client.ask("status", {
        ...(state === undefined ? {} : { state }),
        ...(lastAction === undefined ? {} : { lastAction }),
        ...(headsDown === undefined ? {} : { headsDown }),
      });
      return { facts: { outcome: "set", from: client.handle } };
    },
  }),
];

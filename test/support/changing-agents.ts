import { agreeToChange, Members, proposeChange } from "../../src/protocol/asks/members.ts";
import type { Roster } from "../../src/protocol/asks/members-change.ts";
import type { ChainPlace, PlaceJson } from "../../src/wire/places.ts";
import { AskingAgent } from "./asking-agents.ts";

export const PINNED = {
  roster: new Map([
    ["forge", true],
    ["scribe", true],
    ["mason", true],
  ]),
  epoch: 0,
};

/** An agent that changes members as its commands would. */
export class ChangingAgent extends AskingAgent {
  readonly members = new Members(this.history, PINNED);

  /** Proposes what the roster in force becomes; returns the place of the change, or why it is refused. */
  propose(change: (roster: Roster) => Roster): PlaceJson | string {
    const { inForce } = this.members;
    const makes = change(inForce.roster);
    const draft = proposeChange(this.history, inForce, this.name, this.#tip, makes);
    if (!draft.ok) return draft.reason;
    const { thread, to, body } = draft;
    return this.say({ type: "proposal", thread, to, body });
  }

  /** Agrees to a change; returns why not when it must not. */
  agree(change: PlaceJson | string): string {
    if (typeof change === "string") throw new Error(`there is no change: ${change}`);
    const [author, seq, id] = change;
    const place = { author, seq, id } as ChainPlace;
    const answer = agreeToChange(this.history, this.name, this.#tip, place);
    if (!answer.ok) return answer.reason;
    const thread = this.history.linked(place)?.thread ?? "";
    const body = { acks: change, approve: true, ...answer.body };
    this.say({ type: "ack", thread, to: [author], body });
    return "agreed";
  }

  get #tip(): ChainPlace {
    const tip = this.whole.get(this.name);
    if (tip === undefined) throw new Error(`${this.name} has said nothing`);
    return tip;
  }
}

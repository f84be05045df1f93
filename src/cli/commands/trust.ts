import { define } from "../command.ts";
import { importPins } from "../trust/import.ts";
import { list } from "../trust/list.ts";
import { pinPeer } from "../trust/pin.ts";
import { revoke } from "../trust/revoke.ts";
import { sas } from "../trust/sas.ts";
import { standingCommand } from "../trust/standing.ts";
import { verify } from "../trust/verify.ts";
import { card } from "./card.ts";

/** Whom this agent believes, and how far. Changes are the operator's. Spec 2. */
export const trust = define({
  about:
    "Whose keys are believed, and how far. What the wire advertises is never believed by itself. " +
    "All but list and sas need a terminal and a typed confirmation, or --yes --reason.",
  bare: "list",
  commands: {
    list,
    pin: pinPeer,
    sas,
    verify,
    promote: standingCommand("promote"),
    demote: standingCommand("demote"),
    block: standingCommand("block"),
    unblock: standingCommand("unblock"),
    revoke,
    import: importPins,
    card,
  },
});

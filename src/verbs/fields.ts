import type { Extras } from "./prepared.ts";
import { definedFields } from "../wire/defined-fields.ts";
import { MESSAGE_ID } from "./naming/parent.ts";
import { choice, flag, text, texts } from "./verb.ts";

export const ID = text("<id>", MESSAGE_ID, "message id");
export const SUBJECT_OPTION = text(
  "--subject <text>",
  "what it is about; what it answers is added",
);
export const TO = texts(
  "--to <handle>",
  "a recipient, or all (repeatable; in a pair the peer)",
  "handles, * for all",
);
export const STATE = text("--state <line>", "the line of state that it opens with");

/** What may be said of any message besides its words. */
export const EXTRAS = {
  refs: texts(
    "--ref <path>",
    "a path or git:<sha> that it is about (repeatable)",
    "paths or git:<sha>",
  ),
  priority: choice(["low", "medium", "high"], "--priority <level>", "how much it matters"),
  ack_required: flag("--ack-required", "ask for an ack"),
};

export const REASON = text("[reason] --reason <text>", "why");
export const ANYWAY = flag(
  "--anyway",
  "also when what it answers has ended (it changes nothing then)",
);

interface ExtraArguments {
  readonly refs?: string[] | undefined;
  readonly priority?: "low" | "medium" | "high" | undefined;
  readonly ack_required?: boolean | undefined;
}

export function extrasOf({ refs, priority, ack_required: ackRequired }: ExtraArguments): Extras {
  return definedFields({ refs, priority, ackRequired });
}

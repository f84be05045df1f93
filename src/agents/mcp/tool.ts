import type { Elsewhere } from "../../verbs/check.ts";
import type { Frame } from "../../framing/frame.ts";
import type { SkillText } from "../skill/skill-text.ts";
import type { Speaker } from "../../verbs/verb.ts";
import type { ObjectSchema } from "./schema.ts";

/** One call of a tool. */
export interface Call extends Speaker {
  /** Of this call's result alone. */
  readonly frame: Frame;
  /** The name of the tool that is called. */
  readonly tool: string;
  readonly skill: SkillText;
  /** The caller waits for no answer any more. */
  readonly signal: AbortSignal;
}

/**
 * What a call answers. `facts` hold no word of a peer: they go out as JSON, twice, since some tools
 * show their model only one of the two. `words` may hold words of peers, in frames. Spec 8.1.
 */
export type ToolAnswer = { readonly facts: object } | { readonly words: string };

/** Whether a tool changes anything, and who is asked before it may. Spec 8.1. */
export type Effect =
  /** Nothing is changed. */
  | "reads"
  /** Only what is noted here of our agent. */
  | "marks"
  /** Something is signed and sent. */
  | "sends"
  /** Something is signed that ends or binds for others: a decision, a refusal, a shutdown. */
  | "binds";

/** A tool of the server. `Args` is what `input` lets pass. */
export interface Tool<Args = never> {
  readonly name: string;
  /** Each word is paid for in each session: what is needed rarely is in the skill, which `read` shows as help. */
  readonly description: string;
  readonly input: ObjectSchema<Args>;
  readonly effect: Effect;
  /** The verbs that it says, by their names in the table of verbs. */
  readonly says?: readonly string[];
  /** The call for a value that this tool does not take, by the value. */
  readonly elsewhere?: Elsewhere;
  /** Whether such a call waits, and so takes no other call's turn. */
  waits?(args: Args): boolean;
  run(call: Call, args: Args): Promise<ToolAnswer>;
}

/** A tool in the table: its arguments have passed its schema. */
export type AnyTool = Tool<Record<string, unknown>>;

export function tool<Args>(definition: Tool<Args>): AnyTool {
  return definition as unknown as AnyTool;
}

import { Tiktoken } from "js-tiktoken/lite";
import o200k from "js-tiktoken/ranks/o200k_base";

// What a list of tools costs in the form in which each coding tool sends it to its model. Recorded from
// Claude Code 2.1.197, Codex 0.169.0, Gemini CLI 0.61.0 and OpenCode 1.18.33; the long lane counts the
// requests of the real ones.

const tokenizer = new Tiktoken(o200k);

/** Counted with js-tiktoken, o200k_base. */
export function tokens(text: string): number {
  return tokenizer.encode(text, "all").length;
}

export interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: {
    readonly properties?: Readonly<Record<string, unknown>> | undefined;
  };
}

/** Gemini CLI adds it to each tool. */
const WAIT_FOR_PREVIOUS = {
  type: "boolean",
  description:
    "Set to true to wait for all previously requested tools in this turn to complete before starting. Set to false (or omit) to run in parallel. Use true when this tool depends on the output of previous tools.",
};

/** The texts by which each tool has its model know the server: its tools and instructions. */
export const SESSION_STARTS: Readonly<
  Record<string, (tools: readonly ListedTool[], instructions: string) => string>
> = {
  // Unless it defers them, which costs less.
  claude: (tools, instructions) =>
    `${JSON.stringify(
      tools.map(({ name, description, inputSchema }) => ({
        ...{ name: `mcp__deaddrop__${name}`, description, input_schema: inputSchema },
      })),
    )}\n# MCP Server Instructions\n\n## deaddrop\n${instructions}`,
  codex: (tools, instructions) =>
    JSON.stringify({
      ...{ type: "namespace", name: "mcp__deaddrop", description: instructions },
      tools: tools.map(({ name, description, inputSchema: parameters }) => ({
        ...{ type: "function", name, description, strict: false, parameters },
      })),
    }),
  gemini: (tools, instructions) =>
    `${JSON.stringify(
      tools.map(({ name, description, inputSchema }) => {
        const { properties = {}, ...schema } = inputSchema;
        const all = { ...properties, wait_for_previous: WAIT_FOR_PREVIOUS };
        const parametersJsonSchema = { ...schema, properties: all };
        return { name: `mcp_deaddrop_${name}`, description, parametersJsonSchema };
      }),
    )}\nThe following are instructions provided by the tool server 'deaddrop':\n---[start of server instructions]---\n${instructions}\n---[end of server instructions]---`,
  opencode: (tools, instructions) =>
    `${JSON.stringify(
      tools.map(({ name, description, inputSchema }) => ({
        ...{ name: `deaddrop_${name}`, description, input_schema: inputSchema },
      })),
    )}\n${instructions}`,
};

import { SANDBOX_SETTINGS, type SandboxSetting } from "../../client/sandbox.ts";
import type { Joining, ToolTrouble } from "./integration.ts";

/** The offer to let commands in the tool's sandbox send, which only a person accepts; or what it has opened. */
export function sandboxLeft(
  { openedSocket, scope }: Pick<Joining, "openedSocket" | "scope">,
  tool: SandboxSetting["tool"],
): string[] {
  const { setting, opens } = SANDBOX_SETTINGS[tool];
  if (openedSocket !== undefined) {
    return [`start ${tool} again: commands in its sandbox may use ${opens} from then on`];
  }
  const command = `deaddrop integrate ${tool} --scope ${scope} --open-sandbox`;
  return [
    `where ${tool} runs commands in its sandbox, \`deaddrop\` can read there and not send; its MCP tools can do both.`,
    `  To let it send: ${command} (sets ${setting}, which opens ${opens})`,
  ];
}

/** What `doctor` says of commands in a sandbox from which the daemon cannot be reached. */
export function sandboxLimit(tool: SandboxSetting["tool"]): ToolTrouble {
  return {
    isLimit: true,
    problem: `commands in the sandbox of ${tool} can read and not send; its MCP tools can do both`,
    fix: `deaddrop integrate ${tool} --open-sandbox`,
  };
}

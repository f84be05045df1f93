import { join } from "node:path";
import { SANDBOX_SETTINGS, type SandboxSetting } from "../../client/sandbox.ts";
import { field, json, toml, type Place } from "./approvals.ts";
import type { Joining } from "./integration.ts";
import type { Written } from "./record.ts";

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

/** Joined tools that run commands in a sandbox from which the daemon cannot be reached. */
export function closedSandboxes(
  { disk, home, env }: Place,
  written: Written,
): SandboxSetting["tool"][] {
  const paths = Object.keys(written.files);
  const settings = paths.filter((path) => /\/\.claude\/settings(?:\.local)?\.json$/u.test(path));
  const claude = [...settings, join(home, ".claude", "settings.json")].map(
    (path) => json(disk, path)["sandbox"],
  );
  const isOpen = claude.some((sandbox) =>
    Object.entries(field(sandbox, "network") ?? {}).some(
      ([name, value]) => /^allow(?:All)?UnixSockets$/u.test(name) && value !== false,
    ),
  );
  const isOn = settings.length > 0 && claude.some((sandbox) => field(sandbox, "enabled") === true);
  const codex = paths.filter((path) => path.endsWith("/hooks.json"));
  const configs = [
    ...codex.map((path) => path.replace(/hooks\.json$/u, "config.toml")),
    join(env["CODEX_HOME"] ?? join(home, ".codex"), "config.toml"),
  ].map((path) => toml(disk, path));
  const isCodexOpen = configs.some(
    (config) =>
      config["sandbox_mode"] === "danger-full-access" ||
      field(config["sandbox_workspace_write"], "network_access") === true,
  );
  return [
    ...(isOn && !isOpen ? (["claude"] as const) : []),
    ...(codex.length > 0 && !isCodexOpen ? (["codex"] as const) : []),
  ];
}

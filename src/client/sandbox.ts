import { DeaddropError } from "../api/errors.ts";

/** The setting of a coding tool that lets commands in its sandbox connect to UNIX sockets. */
export interface SandboxSetting {
  readonly tool: "codex" | "claude";
  /** How people call the tool. */
  readonly name: string;
  readonly setting: string;
  /** What else it opens. */
  readonly opens: string;
}

const MAC = process.platform === "darwin";

/** Spec 4.2. On Linux neither sandbox can tell one socket from another. */
export const SANDBOX_SETTINGS: Readonly<Record<SandboxSetting["tool"], SandboxSetting>> = {
  codex: {
    tool: "codex",
    name: "Codex",
    setting: "[sandbox_workspace_write] network_access = true",
    opens: "the network and all UNIX sockets",
  },
  claude: {
    tool: "claude",
    name: "Claude Code",
    setting: MAC ? "sandbox.network.allowUnixSockets" : "sandbox.network.allowAllUnixSockets",
    opens: MAC ? "this socket" : "all UNIX sockets, that of Docker too",
  },
};

/** The tool whose sandbox this process runs in, by what the tool puts into the environment. */
export function sandboxOf(env: NodeJS.ProcessEnv): SandboxSetting | undefined {
  const has = (name: string): boolean => (env[name] ?? "") !== "";
  if (has("CODEX_SANDBOX") || has("CODEX_SANDBOX_NETWORK_DISABLED")) return SANDBOX_SETTINGS.codex;
  return has("SANDBOX_RUNTIME") ? SANDBOX_SETTINGS.claude : undefined;
}

/** The daemon's socket may not be used: the kernel refuses it (seccomp, Seatbelt), whoever listens. */
export class SocketRefused extends DeaddropError {
  constructor(env: NodeJS.ProcessEnv, cause: unknown) {
    super("storage", `${shellOf(env)} it may not connect to the daemon, only read`, {
      hint: waysOut(env),
      cause,
    });
  }
}

/** What was to be written is not, because the sandbox makes its folder read-only. */
export function writeRefused(env: NodeJS.ProcessEnv, problem: string): DeaddropError {
  return new DeaddropError("storage", `${shellOf(env)} ${problem}`, { hint: waysOut(env) });
}

function shellOf(env: NodeJS.ProcessEnv): string {
  const sandbox = sandboxOf(env);
  return `this shell is sandboxed${sandbox === undefined ? "" : ` by ${sandbox.name}`}:`;
}

function waysOut(env: NodeJS.ProcessEnv): string {
  const sandbox = sandboxOf(env);
  const settings = sandbox === undefined ? Object.values(SANDBOX_SETTINGS) : [sandbox];
  const each = settings.map(
    ({ tool, name, setting }) => `deaddrop integrate ${tool} --open-sandbox (${name}: ${setting})`,
  );
  return `nothing was sent or changed; the MCP tools of deaddrop work; to let this shell send, the user runs ${each.join(", or ")}`;
}

import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CodingTool, FoundTool } from "./coding-tool-cache.ts";
import type { LiveWire } from "./live-wire.ts";
import { BIN, start, until, type Ended } from "./real-processes.ts";

/** A tool's own name for a tool of the server. */
export const CALLED: Readonly<Record<CodingTool, (name: string) => string>> = {
  claude: (name) => `mcp__deaddrop__${name}`,
  codex: (name) => `mcp__deaddrop/${name}`,
  gemini: (name) => `mcp_deaddrop_${name}`,
  opencode: (name) => `deaddrop_${name}`,
  copilot: (name) => `deaddrop-${name}`,
  qwen: (name) => `mcp__deaddrop__${name}`,
  kilo: (name) => `deaddrop_${name}`,
  pi: (name) => name,
  cline: (name) => name,
};

const MODELS: Readonly<Record<CodingTool, string>> = {
  claude: "anthropic-messages",
  codex: "openai-responses",
  gemini: "gemini-generate-content",
  opencode: "anthropic-messages",
  copilot: "anthropic-messages",
  qwen: "anthropic-messages",
  kilo: "anthropic-messages",
  pi: "anthropic-messages",
  cline: "openai-responses",
};

/** What a model that follows a script has been asked, each request as text. */
export interface Talk {
  readonly ended: Ended;
  readonly requests: readonly string[];
}

/**
 * Runs a tool once in a home of its own, with `deaddrop mcp` as its server and a scripted model
 * behind it that makes these calls, one after the other.
 */
export async function talk(
  { tool, program }: FoundTool,
  wire: LiveWire,
  handle: string,
  calls: readonly (readonly [string, object])[],
  more: NodeJS.ProcessEnv = {},
): Promise<Talk> {
  const place = join(wire.folder, tool);
  const [home, project, log] = ["home", "project", "log"].map((name) => join(place, name));
  for (const folder of [home, project, log]) mkdirSync(folder ?? "", { recursive: true });
  const at = { home: home ?? "", project: project ?? "", port: await modelOf(tool, log ?? "") };
  const steps = calls.map(([name, args]) => `@@call ${CALLED[tool](name)} ${JSON.stringify(args)}`);
  const prompt = [...steps, "@@say all is done"].join("\n");
  const args = ["mcp", "--as", handle, "--wire", wire.dir];
  const server = {
    command: process.execPath,
    args: [BIN, ...args],
    env: { HOME: wire.env["HOME"] },
  };
  const env = SCRIPTED[tool]({ ...at, projects: [at.project] });
  JOINED[tool]?.(at, server);
  const { argv, input } = ALONE[tool](prompt);
  const run = start(program, argv, {
    env: { PATH: process.env["PATH"], HOME: at.home, TERM: "xterm", ...env, ...more },
    cwd: at.project,
    input,
  });
  const ended = await run.ended;
  const names = readdirSync(log ?? "").sort();
  return { ended, requests: names.map((name) => readFileSync(join(log ?? "", name), "utf8")) };
}

/**
 * A model that follows the script in its prompt, or the file of `scripts` that its prompt names; each
 * request is a file in `log`. Its port.
 */
export async function modelOf(tool: CodingTool, log: string, scripts = ""): Promise<number> {
  const port = await freePort();
  const script = fileURLToPath(
    new URL(`../../data/model-servers/${MODELS[tool]}.mjs`, import.meta.url),
  );
  const model = start(process.execPath, [script, String(port), log, scripts], { env: process.env });
  await until("the model listens", () => model.stdout().includes("listening"));
  return port;
}

interface At {
  readonly home: string;
  readonly projects: readonly string[];
  readonly port: number;
  /** Not yet: the tool asks its person when it opens. */
  readonly isUntrusted?: boolean;
}

interface JoinedAt {
  readonly home: string;
  readonly project: string;
}

interface Server {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: object;
}

/** The tool's own files, as its person has them: the model, and whether the project is trusted. */
export const SCRIPTED: Readonly<Record<CodingTool, (at: At) => NodeJS.ProcessEnv>> = {
  claude({ home, projects, port, isUntrusted = false }) {
    const trusted = {
      ...{ hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true },
      enabledMcpjsonServers: ["deaddrop"],
    };
    json(join(home, ".claude.json"), {
      ...{ hasCompletedOnboarding: true, theme: "dark" },
      projects: isUntrusted ? {} : Object.fromEntries(projects.map((each) => [each, trusted])),
      customApiKeyResponses: { approved: ["sk-ant-dummy"], rejected: [] },
    });
    for (const each of projects) {
      json(join(each, ".claude", "settings.json"), { permissions: { allow: ["mcp__deaddrop"] } });
    }
    return {
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
      ANTHROPIC_API_KEY: "sk-ant-dummy",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      // Time to start on a busy machine.
      MCP_TIMEOUT: "120000",
      // Without it the first calls of a script may come before the server does.
      MCP_CONNECTION_NONBLOCKING: "0",
    };
  },
  codex({ home, projects, port }) {
    const trusted = projects.flatMap((each) => [
      ...[`[projects.${JSON.stringify(each)}]`, 'trust_level = "trusted"'],
    ]);
    const lines = [
      ...['model = "gpt-5.2-codex"', 'model_provider = "scripted"', 'approval_policy = "never"'],
      ...['sandbox_mode = "danger-full-access"', "check_for_update_on_startup = false"],
      ...["[model_providers.scripted]", 'name = "scripted"', 'wire_api = "responses"'],
      ...[`base_url = "http://127.0.0.1:${port}/v1"`, 'env_key = "OPENAI_API_KEY"'],
      ...["supports_websockets = false", "request_max_retries = 0", "stream_max_retries = 0"],
      ...trusted,
    ];
    const folder = join(home, "codex");
    mkdirSync(folder);
    writeFileSync(join(folder, "config.toml"), `${lines.join("\n")}\n`);
    return { CODEX_HOME: folder, OPENAI_API_KEY: "dummy" };
  },
  gemini({ home, projects, port, isUntrusted = false }) {
    json(join(home, ".gemini", "settings.json"), {
      security: { auth: { selectedType: "gemini-api-key" } },
      general: { disableAutoUpdate: true, disableUpdateNag: true },
      privacy: { usageStatisticsEnabled: false },
    });
    const trusted = projects.map((each) => [each, "TRUST_FOLDER"]);
    if (!isUntrusted) {
      json(join(home, ".gemini", "trustedFolders.json"), Object.fromEntries(trusted));
    }
    return { GEMINI_API_KEY: "dummy", GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${port}` };
  },
  opencode({ projects, port }) {
    const settings = likeOpenCode("https://opencode.ai/config.json", port);
    for (const each of projects) json(join(each, "opencode.json"), settings);
    return {
      ...{ OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1" },
      // Where there are plugins it installs a package for them at each start, and waits for that.
      npm_config_offline: "true",
    };
  },
  copilot({ home, projects, port, isUntrusted = false }) {
    json(join(home, ".copilot", "config.json"), { trustedFolders: isUntrusted ? [] : projects });
    return {
      // A provider of one's own, without an account.
      ...{ COPILOT_OFFLINE: "true", COPILOT_AUTO_UPDATE: "false" },
      ...{ COPILOT_PROVIDER_TYPE: "anthropic", COPILOT_PROVIDER_API_KEY: "dummy" },
      COPILOT_PROVIDER_BASE_URL: `http://127.0.0.1:${port}`,
      COPILOT_MODEL: "claude-sonnet-4.5",
    };
  },
  qwen({ home, projects, port, isUntrusted = false }) {
    json(join(home, ".qwen", "settings.json"), {
      security: { auth: { selectedType: "anthropic" }, folderTrust: { enabled: true } },
      general: { enableAutoUpdate: false, disableAutoUpdate: true },
      privacy: { usageStatisticsEnabled: false },
    });
    const trusted = projects.map((each) => [each, "TRUST_FOLDER"]);
    if (!isUntrusted) json(join(home, ".qwen", "trustedFolders.json"), Object.fromEntries(trusted));
    return {
      ...{ ANTHROPIC_API_KEY: "dummy", ANTHROPIC_MODEL: "claude-sonnet-4.5" },
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
    };
  },
  kilo({ projects, port }) {
    const settings = likeOpenCode("https://app.kilo.ai/config.json", port);
    for (const each of projects) json(join(each, ".kilo", "kilo.json"), settings);
    return {
      ...{ KILO_DISABLE_MODELS_FETCH: "1", KILO_DISABLE_AUTOUPDATE: "1" },
      ...{ KILO_TELEMETRY_LEVEL: "off", npm_config_offline: "true" },
    };
  },
  pi({ home, port }) {
    const folder = join(home, ".pi", "agent");
    const models = [{ id: "m1", contextWindow: 200_000, maxTokens: 8_000 }];
    const provider = { baseUrl: `http://127.0.0.1:${port}`, apiKey: "dummy", models };
    json(join(folder, "models.json"), {
      providers: { scripted: { ...provider, api: "anthropic-messages" } },
    });
    json(join(folder, "settings.json"), { defaultProvider: "scripted", defaultModel: "m1" });
    return { PI_OFFLINE: "1", PI_TELEMETRY: "0" };
  },
  cline({ home, port }) {
    const provider = "openai-native";
    const settings = { provider, apiKey: "dummy", model: "gpt-5" };
    json(join(home, ".cline", "data", "settings", "providers.json"), {
      ...{ version: 1, lastUsedProvider: provider, modes: {} },
      providers: {
        [provider]: {
          settings: { ...settings, baseUrl: `http://127.0.0.1:${port}/v1` },
          ...{ updatedAt: "2026-11-01T00:00:00.000Z", tokenSource: "manual" },
        },
      },
    });
    // Time to start on a busy machine.
    return { CLINE_PLUGIN_IMPORT_TIMEOUT_MS: "120000" };
  },
};

/** The settings of OpenCode and what descends from it. @param $schema they would write it into the file. */
const likeOpenCode = ($schema: string, port: number): object => ({
  $schema,
  ...{ model: "scripted/m1", small_model: "scripted/m1", autoupdate: false },
  ...{ share: "disabled", permission: { external_directory: "allow" } },
  provider: {
    scripted: {
      npm: "@ai-sdk/anthropic",
      options: { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: "dummy" },
      models: { m1: { name: "m1", limit: { context: 200_000, output: 8_000 } } },
    },
  },
});

/** Our server in the tool's own files, as docs/agents.md has it. */
const JOINED: Readonly<{ [T in CodingTool]?: (at: JoinedAt, server: Server) => void }> = {
  claude({ project }, server) {
    json(join(project, ".mcp.json"), { mcpServers: { deaddrop: server } });
  },
  codex({ home }, { command, args, env }) {
    const lines = [
      ...["[mcp_servers.deaddrop]", `command = ${JSON.stringify(command)}`],
      ...[`args = ${JSON.stringify(args)}`, "startup_timeout_sec = 120"],
      `env = { HOME = ${JSON.stringify((env as { HOME: string }).HOME)} }`,
    ];
    appendFileSync(join(home, "codex", "config.toml"), `${lines.join("\n")}\n`);
  },
  gemini({ project }, server) {
    json(join(project, ".gemini", "settings.json"), {
      mcpServers: { deaddrop: { ...server, trust: true } },
    });
  },
  opencode: ({ project }, server) => joinOpenCode(join(project, "opencode.json"), server),
  kilo: ({ project }, server) => joinOpenCode(join(project, ".kilo", "kilo.json"), server),
  copilot({ project }, server) {
    json(join(project, ".mcp.json"), { mcpServers: { deaddrop: server } });
  },
  qwen({ project }, server) {
    json(join(project, ".qwen", "settings.json"), {
      mcpServers: { deaddrop: { ...server, trust: true } },
    });
  },
};

function joinOpenCode(path: string, { command, args, env: environment }: Server): void {
  const entry = { type: "local", command: [command, ...args], environment, enabled: true };
  const own = JSON.parse(readFileSync(path, "utf8")) as object;
  json(path, { ...own, mcp: { deaddrop: { ...entry, timeout: 120_000 } } });
}

/** How it is run without a person. */
export const ALONE: Readonly<
  Record<
    CodingTool,
    (prompt: string) => { readonly argv: readonly string[]; readonly input: string }
  >
> = {
  claude: (prompt) => ({ argv: ["-p", prompt], input: "" }),
  codex: (prompt) => ({ argv: ["exec", "--skip-git-repo-check", "--json", prompt], input: "" }),
  gemini: (prompt) => ({ argv: ["-p", prompt], input: "" }),
  opencode: (prompt) => ({ argv: ["run"], input: prompt }),
  copilot: (prompt) => ({ argv: ["-p", prompt, "--allow-all-tools"], input: "" }),
  qwen: (prompt) => ({ argv: ["-p", prompt], input: "" }),
  kilo: (prompt) => ({ argv: ["run", "--auto"], input: prompt }),
  pi: (prompt) => ({ argv: ["-p"], input: prompt }),
  cline: (prompt) => ({ argv: [prompt], input: "" }),
};

function json(path: string, value: object): void {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, JSON.stringify(value));
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

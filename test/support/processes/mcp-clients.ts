import { Client as ClientOfV2, type CallToolResult } from "@modelcontextprotocol/client";
import { StdioClientTransport as TransportOfV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientOfV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as TransportOfV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CONDITION_LIMIT_MS } from "../hang-guard.ts";
import type { LiveWire } from "./live-wire.ts";
import { BIN, start, until } from "./real-processes.ts";

/** The official clients: of the first generation, and of the second in both of its ways to begin. */
export const GENERATIONS = ["first", "second, by initialize", "second, stateless"] as const;
export type Generation = (typeof GENERATIONS)[number];

/** What tests use of any of them. */
export interface McpClient {
  /** Calls a tool; its answer as it came. */
  call(name: string, args?: Record<string, unknown>): Promise<CallToolResult>;
  /** The same, for the text of an answer that is no error. */
  words(name: string, args?: Record<string, unknown>): Promise<string>;
  /** The same, for its facts. */
  facts(name: string, args?: Record<string, unknown>): Promise<Record<string, unknown>>;
  toolNames(): Promise<string[]>;
  read(uri: string): Promise<string>;
  resources(): Promise<string[]>;
  prompt(name: string): Promise<string>;
  instructions(): string | undefined;
  close(): Promise<void>;
}

interface CallParams {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

interface AnyClient {
  callTool(params: CallParams): Promise<unknown>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  readResource(params: { uri: string }): Promise<{ contents: object[] }>;
  getPrompt(params: { name: string }): Promise<{ messages: { content: object }[] }>;
  getInstructions(): string | undefined;
  close(): Promise<void>;
}

/** How `deaddrop mcp` is started for an agent of that wire. */
export function serverOf(wire: LiveWire, args: readonly string[], env: object = {}) {
  const all: NodeJS.ProcessEnv = { ...wire.env, ...env };
  const entries = Object.entries(all).filter((entry): entry is [string, string] => {
    return entry[1] !== undefined;
  });
  return {
    command: process.execPath,
    args: [BIN, "mcp", ...args],
    env: Object.fromEntries(entries),
    cwd: wire.folder,
    stderr: "pipe" as const,
  };
}

/** A client that has begun to talk to the server of an agent. */
export async function connectMcp(
  wire: LiveWire,
  handle: string,
  generation: Generation = "second, by initialize",
): Promise<McpClient> {
  const server = serverOf(wire, ["--wire", wire.dir, "--as", handle]);
  return faceOf(await connected(server, generation));
}

/** Their own limit is a minute, which is short for thousands of calls on a busy machine. */
const PATIENT = { timeout: CONDITION_LIMIT_MS };

export async function connected(
  server: ReturnType<typeof serverOf>,
  generation: Generation,
): Promise<AnyClient> {
  const info = { name: "test", version: "1.0.0" };
  if (generation === "first") {
    const client = new ClientOfV1(info);
    await client.connect(new TransportOfV1(server));
    const call = client.callTool.bind(client);
    return Object.assign(client, {
      callTool: (params: CallParams) => call(params, undefined, PATIENT),
    });
  }
  const mode = generation === "second, stateless" ? { pin: "2026-07-28" } : "legacy";
  const client = new ClientOfV2(info, { versionNegotiation: { mode } });
  await client.connect(new TransportOfV2(server));
  const call = client.callTool.bind(client);
  return Object.assign(client, { callTool: (params: CallParams) => call(params, PATIENT) });
}

export function faceOf(client: AnyClient): McpClient {
  const call = async (name: string, args: Record<string, unknown> = {}) =>
    (await client.callTool({ name, arguments: args })) as CallToolResult;
  const fine = async (name: string, args?: Record<string, unknown>) => {
    const answer = await call(name, args);
    if (answer.isError === true) throw new Error(`${name}: ${textOf(answer)}`);
    return answer;
  };
  return {
    call,
    words: async (name, args) => textOf(await fine(name, args)),
    facts: async (name, args) =>
      (await fine(name, args)).structuredContent as Record<string, unknown>,
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    read: async (uri) => {
      const [content] = (await client.readResource({ uri })).contents;
      return (content as { text: string }).text;
    },
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    prompt: async (name) => {
      const { messages } = await client.getPrompt({ name });
      return messages.map(({ content }) => (content as { text: string }).text).join("\n");
    },
    instructions: () => client.getInstructions(),
    close: () => client.close(),
  };
}

export function textOf({ content }: CallToolResult): string {
  return content.map((each) => (each.type === "text" ? each.text : "")).join("\n");
}

/** A server that is spoken to line by line, so that a test can say what no client says. */
export function rawServer(wire: LiveWire, handle: string) {
  const server = serverOf(wire, ["--wire", wire.dir, "--as", handle]);
  const { child, ended, stdout } = start(server.command, server.args, server);
  const write = (text: string): void => {
    child.stdin?.write(text);
  };
  const say = (message: object): void =>
    write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const answerTo = (id: number) =>
    until(`the answer ${id}`, () => {
      const lines = stdout().split("\n").slice(0, -1);
      return lines
        .map((line) => JSON.parse(line) as { id?: number; result?: object; error?: object })
        .find((each) => each.id === id);
    });
  const initialize = (protocolVersion: string, id = 1): void => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: "t", version: "1" } };
    say({ id, method: "initialize", params });
    say({ method: "notifications/initialized" });
  };
  return { child, ended, stdout, write, say, answerTo, initialize };
}

import { McpServer, type CallToolResult, type RegisteredTool } from "@modelcontextprotocol/server";
import { safeModeEnd } from "../../protocol/escalations/safe-mode-end.ts";
import { codeOfStorage, DeaddropError } from "../../api/errors.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { newFrame } from "../../framing/frame.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { introduction, type SkillText } from "../skill/skill-text.ts";
import { checkArguments } from "../../verbs/check.ts";
import { asCalls } from "./call-words.ts";
import type { OneIdentity } from "./identity.ts";
import { addResources } from "./resources.ts";
import { makeGate } from "./gate.ts";
import { jsonSchemaOf, object, type ObjectSchema } from "./schema.ts";
import type { AnyTool, Effect, ToolAnswer } from "./tool.ts";
import { TOOLS } from "./tool-table.ts";

/** What a server is made of. */
export interface ServerParts {
  readonly identity: OneIdentity;
  readonly version: string;
  readonly skill: SkillText;
  readonly tools?: readonly AnyTool[];
  /** Of the wall clock. */
  nowMs(): number;
}

/** Once, however many tools come at the same time. */
const LIST_CHANGED = "notifications/tools/list_changed";
const WHOAMI = object({});

/**
 * An MCP server for one agent. While it is not clear which one, it offers `whoami` alone. Spec 8.1.
 */
export function makeServer(parts: ServerParts): McpServer {
  const server = new McpServer(
    { name: "deaddrop", version: parts.version },
    { instructions: parts.skill.instructions, debouncedNotificationMethods: [LIST_CHANGED] },
  );
  const gate = makeGate();
  const others: RegisteredTool[] = [];
  addWhoami(server, parts, () => {
    for (const each of others) if (!each.enabled) each.enable();
  });
  for (const each of parts.tools ?? TOOLS) others.push(addTool(server, each, parts, gate));
  addResources(server, parts);
  // For 2025-06-18 and 2025-11-25; later revisions subscribe in a way of their own.
  server.server.registerCapabilities({ resources: { subscribe: true } });
  for (const method of ["resources/subscribe", "resources/unsubscribe"] as const) {
    server.server.setRequestHandler(method, () => ({}));
  }
  server.registerPrompt(
    "introduce_wire",
    { description: "What this wire is, and how to work with the agents on it." },
    () => ({
      messages: [
        {
          role: "user",
          content: { type: "text", text: introduction(parts.skill, parts.identity.known) },
        },
      ],
    }),
  );
  if (!isClear(parts.identity)) for (const each of others) each.disable();
  return server;
}

function isClear(identity: OneIdentity): boolean {
  try {
    identity.find();
    return true;
  } catch (error) {
    // `whoami` says it.
    if (error instanceof DeaddropError || error instanceof StorageError) return false;
    throw error;
  }
}

function addTool(
  server: McpServer,
  tool: AnyTool,
  parts: ServerParts,
  gate: ReturnType<typeof makeGate>,
) {
  const { name, description, input } = tool;
  return server.registerTool(
    name,
    { description, inputSchema: listed(input), annotations: annotationsOf(tool.effect) },
    (given, { mcpReq: { signal } }) =>
      answering(async () => {
        const args = checkArguments(name, input.fields, input.required, given, tool.elsewhere);
        return gate(async () => {
          const client = await parts.identity.client();
          const frame = newFrame();
          const { skill } = parts;
          const by = { client, nowMs: parts.nowMs(), cwd: process.cwd(), env: process.env };
          try {
            return await tool.run({ ...by, frame, tool: name, skill, signal }, args);
          } catch (error) {
            throw withBetterCall(error, name, args);
          }
        }, tool.waits?.(args));
      }),
  );
}

/** The call with the word that was probably meant in the place of one that is unknown. */
function withBetterCall(error: unknown, tool: string, args: Record<string, unknown>): unknown {
  if (!(error instanceof DeaddropError) || error.instead === undefined) return error;
  const { given, meant } = error.instead;
  const [better] = meant;
  if (better === undefined) return error;
  const words = JSON.stringify(args).replaceAll(JSON.stringify(given), JSON.stringify(better));
  const { code, message, cause } = error;
  return new DeaddropError(code, message, { hint: `${tool} ${words}`, cause });
}

/** What clients are shown. The SDK checks nothing: `checkArguments` takes more, and says more. */
function listed(schema: ObjectSchema) {
  const jsonSchema = jsonSchemaOf(schema);
  return {
    "~standard": {
      ...{ version: 1 as const, vendor: "deaddrop" },
      jsonSchema: { input: () => jsonSchema, output: () => jsonSchema },
      validate: (value: unknown) => ({ value }),
    },
  };
}

/** `whoami` works whatever is wrong: it says what to do about it. */
function addWhoami(server: McpServer, { identity }: ServerParts, show: () => void): void {
  server.registerTool(
    "whoami",
    {
      description: "Who you are, who else is there, what waits, what is wrong. Call it first.",
      inputSchema: listed(WHOAMI),
      annotations: annotationsOf("reads"),
    },
    () =>
      answering(async () => {
        const { by } = identity.find();
        const client = await identity.client();
        show();
        const status = await client.view("status");
        const { handle, roster, daemon, wire_dir: wire, troubles } = status;
        const { unread, notices, owed_by_me: owed, safe_mode: safe } = status;
        const stops = troubles.filter(({ severity }) => severity === "error");
        const owes = owed.length + status.left_out.owed_by_me;
        return {
          facts: {
            ...{ you_are: handle, known_by: by, wire },
            peers: roster.filter((peer) => peer !== handle),
            daemon: daemon.running ? "runs" : "does not run: messages are read when you ask",
            ...{ unread, notices, answers_you_owe: owes },
            safe_mode:
              safe === null
                ? null
                : `most messages are refused; ${asCalls(safeModeEnd(safe, handle, "agent"))}`,
            ...(stops.length === 0
              ? {}
              : { troubles: stops.map(({ detail }) => detail), see: "deaddrop status" }),
          },
        };
      }),
  );
}

/** `readOnlyHint` decides in one tool whether a person is asked. Spec 8.1. */
function annotationsOf(effect: Effect) {
  return {
    readOnlyHint: effect === "reads",
    destructiveHint: effect === "binds",
    idempotentHint: effect === "reads" || effect === "marks",
    openWorldHint: false,
  };
}

/** Some tools show their model only the structured content, some only the text. Spec 8.1. */
async function answering(run: () => Promise<ToolAnswer>): Promise<CallToolResult> {
  try {
    const answer = await run();
    if ("words" in answer) return { content: [{ type: "text", text: answer.words }] };
    const facts = { ...answer.facts };
    return { content: [{ type: "text", text: JSON.stringify(facts) }], structuredContent: facts };
  } catch (error) {
    return { isError: true, content: [{ type: "text", text: problemText(error) }] };
  }
}

/** What went wrong, as a person would read it; what may quote a peer is in a frame. */
function problemText(error: unknown): string {
  const { code, message, hint } = reportOf(error);
  const frame = newFrame();
  const lines = mayQuotePeers(code, message)
    ? [`${code}: (${frame.notice})`, frame.around([message])]
    : [`${code}: ${sanitise(asCalls(message))}`];
  const advice = hint === undefined ? "" : asCalls(hint);
  if (advice !== "") lines.push(`what to do: ${sanitise(advice)}`);
  return lines.join("\n");
}

function reportOf(error: unknown): { code: string; message: string; hint?: string | undefined } {
  if (error instanceof DeaddropError) return error;
  if (!(error instanceof StorageError)) return { code: "internal", message: String(error) };
  const { code, message, hint } = error;
  return { code: codeOfStorage(code), message, hint };
}

/** Subjects may be in these; and in what is wrong with a file of the wire, in quotes, what is in it. */
function mayQuotePeers(code: string, message: string): boolean {
  if (code === "config") return message.includes('"');
  return code === "refused" || code === "ambiguous_id";
}

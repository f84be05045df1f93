import { ResourceTemplate, type McpServer } from "@modelcontextprotocol/server";
import { newFrame } from "../../framing/frame.ts";
import { inTurns } from "../../protocol/fair-share.ts";
import { shortId } from "../../framing/short-id.ts";
import { cut, fitting } from "./peer-words.ts";
import type { ServerParts } from "./server.ts";
import type { AnyTool, Call } from "./tool.ts";
import { INBOX_TOOL } from "./tools/inbox.ts";
import { READ_TOOL } from "./tools/read.ts";

const PLAIN = { mimeType: "text/plain" } as const;
export const INBOX_URI = "deaddrop://inbox";
export const DECISIONS_URI = "deaddrop://decisions";
export const INCIDENTS_URI = "deaddrop://incidents";
/** Before the id of a message. */
export const THREAD_URI = "deaddrop://thread/";

/** The same words as the tools give, for clients that read resources. Spec 8.1. */
export function addResources(server: McpServer, parts: ServerParts): void {
  const callOf = async (tool: string): Promise<Call> => ({
    client: await parts.identity.client(),
    frame: newFrame(),
    nowMs: parts.nowMs(),
    tool,
    skill: parts.skill,
    signal: new AbortController().signal,
    cwd: process.cwd(),
    env: process.env,
  });
  const read = async (uri: URL, tool: AnyTool, args: Record<string, unknown>) => {
    const answer = await tool.run(await callOf(tool.name), args);
    return contents(uri, "words" in answer ? answer.words : JSON.stringify(answer.facts));
  };
  server.registerResource(
    "inbox",
    INBOX_URI,
    { ...PLAIN, description: "Unread messages." },
    (uri) => read(uri, INBOX_TOOL, {}),
  );
  server.registerResource(
    "decisions",
    DECISIONS_URI,
    { ...PLAIN, description: "Decisions in force." },
    (uri) => read(uri, READ_TOOL, { what: "decisions" }),
  );
  server.registerResource(
    "incidents",
    INCIDENTS_URI,
    { ...PLAIN, description: "Open incidents." },
    async (uri) => contents(uri, await incidentsText(await callOf("incidents"))),
  );
  server.registerResource(
    "thread",
    new ResourceTemplate(`${THREAD_URI}{id}`, { list: undefined }),
    { ...PLAIN, description: "The conversation that a message belongs to." },
    (uri, { id }) => read(uri, READ_TOOL, { what: "thread", id: String(id) }),
  );
}

function contents(uri: URL, text: string) {
  return { contents: [{ uri: uri.href, mimeType: PLAIN.mimeType, text }] };
}

async function incidentsText({ client, frame }: Call): Promise<string> {
  const open = (await client.view("incidents")).filter(({ status }) => status !== "resolved");
  if (open.length === 0) return "No open incidents.";
  const turns = inTurns(open, ({ from }) => from);
  const shown = fitting(turns, ({ event_id: id, severity, status, from, subject }) =>
    cut(`${shortId(id)} ${severity}, ${status}, of ${from}: ${subject}`),
  );
  return [frame.notice, frame.around(shown)].join("\n");
}

import { Writable, type Readable } from "node:stream";
import type { McpServer } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { jsonRpcFrames } from "./frames.ts";
import { isAlive, sessionOwner } from "../../daemon/sessions/session-process.ts";
import { resourceUpdates } from "./resource-updates.ts";
import { toolsFor } from "./tool-table.ts";
import { makeServer, type ServerParts } from "./server.ts";

/** Where a server's messages come from and go to. */
export interface Pipes {
  readonly input: Readable;
  /** Standard output: nothing but protocol messages may get there. */
  readonly output: NodeJS.WriteStream;
  readonly errors: NodeJS.WriteStream;
}

const CLIENT_LOOK_MS = 5_000;

/**
 * Serves MCP until its client closes standard input, stops reading, or has ended: something between us
 * and the client may hold standard input open. Whatever else is written to
 * standard output meanwhile goes to standard error. Spec 8.1.
 */
export async function runMcp(parts: ServerParts, pipes: Pipes): Promise<void> {
  const { input, errors } = pipes;
  const output = ownOutput(pipes);
  const frames = jsonRpcFrames((response) => output.write(`${JSON.stringify(response)}\n`));
  let looking: NodeJS.Timeout | undefined;
  const ended = new Promise<void>((resolve) => {
    frames.once("end", () => resolve());
    for (const event of ["close", "error"]) input.once(event, () => resolve());
    output.once("close", () => resolve());
  });
  const isClientAlive = clientCheck();
  const clientEnded = new Promise<void>((resolve) => {
    looking = setInterval(() => isClientAlive() || resolve(), CLIENT_LOOK_MS).unref();
  });
  input.pipe(frames);
  const tools = await toolsFor();
  let server: McpServer | undefined;
  const transport = new StdioServerTransport(frames, output);
  const served = serveStdio(() => (server = makeServer({ ...parts, tools })), {
    transport,
    onerror: (error) => errors.write(`deaddrop mcp: ${error.message}\n`),
  });
  const updates = resourceUpdates(
    () => parts.identity.client(),
    async (uri) => server?.server.sendResourceUpdated({ uri }),
  );
  const deliver = transport.onmessage;
  transport.onmessage = (message) => {
    updates.heard(message);
    deliver?.(message);
  };
  try {
    await Promise.race([ended, clientEnded]);
  } finally {
    clearInterval(looking);
    // Else it would keep this process while somebody holds it open.
    input.destroy();
    updates.stop();
    await served.close();
    parts.identity.close();
  }
}

/** Takes standard output for the protocol alone. */
function ownOutput({ output, errors }: Pipes): Writable {
  const write = output.write.bind(output);
  const own = new Writable({
    write: (chunk: Uint8Array, _encoding, done) => {
      write(chunk, (error) => done(error));
    },
  });
  // The client has gone: there is nobody to tell.
  own.on("error", () => own.destroy());
  output.on("error", () => own.destroy());
  output.write = errors.write.bind(errors);
  return own;
}

/** Without /proc our parent is all that is known: its process id changes when it ends. */
function clientCheck(): () => boolean {
  const client = sessionOwner();
  if (client !== undefined) return () => isAlive(client) === true;
  const parent = process.ppid;
  return () => process.ppid === parent;
}

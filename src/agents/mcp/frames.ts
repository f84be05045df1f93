import { Transform } from "node:stream";
import { parseJSONRPCMessage } from "@modelcontextprotocol/server";

/** As the SDK's own limit: a longer frame is passed on, and ends the connection there. */
const MAX_FRAME_BYTES = 10 * 1_024 * 1_024;
/** JSON-RPC 2.0, section 5.1. */
const [PARSE_ERROR, INVALID_REQUEST] = [-32_700, -32_600];
const NEWLINE = 0x0a;

interface ErrorResponse {
  readonly jsonrpc: "2.0";
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

/**
 * Standard input of a server, one frame a line, without what is no JSON-RPC message: the SDK drops that
 * unanswered, and a client would wait for ever. It is answered here. A byte order mark is removed.
 */
export function jsonRpcFrames(answer: (response: ErrorResponse) => void): Transform {
  let begun: Buffer[] = [];
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        const line = Buffer.concat([...begun, chunk.subarray(start, end)]).toString("utf8");
        [begun, bytes, start] = [[], 0, end + 1];
        const frame = line.replace(/^\uFEFF/u, "").trim();
        const response = frame === "" ? undefined : errorResponse(frame);
        if (response === "passed") this.push(`${withArguments(frame)}\n`);
        else if (response !== undefined) answer(response);
      }
      const rest = chunk.subarray(start);
      begun.push(rest);
      bytes += rest.length;
      if (bytes > MAX_FRAME_BYTES) {
        this.push(Buffer.concat(begun));
        [begun, bytes] = [[], 0];
      }
      done();
    },
  });
}

/** Some clients send no arguments as null, or all of them as JSON text; the SDK takes an object alone. */
function withArguments(frame: string): string {
  if (!/"arguments"\s*:\s*(?:null|")/.test(frame)) return frame;
  const message = JSON.parse(frame) as { params?: { arguments?: unknown } };
  const { params } = message;
  const given = params?.arguments;
  if (given !== null && typeof given !== "string") return frame;
  const args = given === null || given === "" ? {} : jsonObject(given);
  if (args === undefined) return frame;
  return JSON.stringify({ ...message, params: { ...params, arguments: args } });
}

function jsonObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    // The SDK says what is wrong with them.
    return undefined;
  }
}

/** Undefined for a malformed response, since an answer to it would look like one to a request of its id. */
function errorResponse(frame: string): ErrorResponse | "passed" | undefined {
  let value: unknown;
  try {
    value = JSON.parse(frame);
  } catch {
    return failure(null, PARSE_ERROR, "Parse error: the line is not JSON");
  }
  try {
    parseJSONRPCMessage(value);
    return "passed";
  } catch {
    if (Array.isArray(value)) {
      return failure(null, INVALID_REQUEST, "Invalid Request: a batch; send one message a line");
    }
    const { id, method, result, error } = Object(value) as Record<string, unknown>;
    if (method === undefined && (result !== undefined || error !== undefined)) return undefined;
    const known = typeof id === "string" || Number.isSafeInteger(id) ? (id as string) : null;
    const form = '{"jsonrpc":"2.0","id":1,"method":"…","params":{…}}';
    return failure(known, INVALID_REQUEST, `Invalid Request: expected the form ${form}`);
  }
}

function failure(id: ErrorResponse["id"], code: number, message: string): ErrorResponse {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connectDaemon } from "../../src/client/socket-client.ts";
import { serveSocket, type SocketServer } from "../../src/daemon/socket-server.ts";
import { openSocketFolder } from "../../src/storage/private/socket-folder.ts";
import { CONDITION_LIMIT_MS } from "../support/hang-guard.ts";

const ROWS = 20_000;
const rows = Array.from({ length: ROWS }, (_, at) => ({ at, text: "x".repeat(400) }));

let folder: string;
let server: SocketServer;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-answers-"));
  const opened = openSocketFolder(folder);
  if (opened === undefined) throw new Error("it is there");
  server = await serveSocket(opened, ({ op }) =>
    Promise.resolve({ ok: true, result: op === "list" ? { rows, none: [] } : op }),
  );
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const place = () => ({ stateDir: folder, lock: join(folder, "identity.lock") });

/** A client that reads nothing until it is told to. */
async function slowClient(...ops: readonly string[]): Promise<Socket> {
  const socket = connect(join(folder, "daemon.sock"));
  await once(socket, "connect");
  socket.pause();
  for (const [id, op] of ops.entries()) socket.write(`${JSON.stringify({ id, op })}\n`);
  return socket;
}

async function linesOf(socket: Socket, count: number): Promise<{ id: number; result: unknown }[]> {
  let text = "";
  socket.setEncoding("utf8");
  for await (const chunk of socket) {
    text += String(chunk);
    if (text.split("\n").length > count) break;
  }
  const lines = text.split("\n").slice(0, count);
  return lines.map((line) => JSON.parse(line) as { id: number; result: unknown });
}

test("a client that does not read a long answer keeps no other one waiting", async () => {
  const slow = await slowClient("list", "quick");
  const other = await connectDaemon(place(), CONDITION_LIMIT_MS);
  expect(await other?.call("quick", {})).toBe("quick");
  other?.close();
  const [list, quick] = await linesOf(slow, 2);
  expect(list).toEqual({ id: 0, ok: true, result: { rows, none: [] } });
  expect(quick).toEqual({ id: 1, ok: true, result: "quick" });
});

test("a client that leaves in the middle of an answer, or never reads it, stops nothing", async () => {
  (await slowClient("list")).destroy();
  await slowClient("list");
  const other = await connectDaemon(place(), CONDITION_LIMIT_MS);
  expect(await other?.call("list", {})).toEqual({ rows, none: [] });
  other?.close();
});

import { connect, createServer, type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { BIN, start, until } from "../support/processes/real-processes.ts";
import { makeWire, removeWires } from "../support/processes/live-wire.ts";

const SIGNAL_FIRST = fileURLToPath(
  new URL("../support/processes/signal-at-first-require.js", import.meta.url),
);

afterEach(removeWires);

/** A port on which nothing listens now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

test.for([
  { args: ["daemon"], runs: '"the daemon runs"' },
  { args: ["mcp"], runs: '"serverInfo"' },
])("SIGUSR1 while $args.0 starts opens no debugger", async ({ args, runs }) => {
  const wire = makeWire();
  const port = await freePort();
  const node = [`--inspect-port=${port}`, "--import", SIGNAL_FIRST, BIN];
  const child = start(process.execPath, [...node, ...args, "--wire", wire.dir, "--as", "forge"], {
    env: wire.env,
  });
  if (args[0] === "mcp") child.child.stdin?.write(`${JSON.stringify(INITIALIZE)}\n`);
  await until("it runs", () => child.stdout().includes(runs));
  child.child.kill("SIGUSR1");
  expect(await isListening(port)).toBe(false);
  expect(child.stderr()).not.toContain("Debugger");
  expect(child.child.exitCode).toBeNull();
});

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
};

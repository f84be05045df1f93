import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { OPERATIONS } from "../../src/api/operations.ts";
import type { Request } from "../../src/api/socket-messages.ts";
import { processCli } from "../../src/cli/context.ts";
import { main } from "../../src/cli/main.ts";
import { noAnswer, READING } from "../../src/client/no-answer.ts";
import { openClient } from "../../src/client/open-client.ts";
import { connectDaemon } from "../../src/client/socket-client.ts";
import { serveSocket, type Handle } from "../../src/daemon/socket-server.ts";
import { openSocketFolder } from "../../src/storage/private/socket-folder.ts";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";

/** So that nobody waits ten seconds for a process that was stopped on purpose. */
const LIMIT_MS = 300;
/** Long enough for a busy machine to begin with a request. */
const BEGUN_LIMIT_MS = 3_000;

afterEach(removeWires);

/** A command line in this process, with that much patience. */
async function typed(wire: LiveWire, limitMs: number, ...args: readonly string[]) {
  let [stdout, stderr] = ["", ""];
  const code = await main([...args, "--wire", wire.dir, "--as", "forge"], {
    ...processCli(),
    env: wire.env,
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    openClient: (place) => openClient(place, limitMs),
  });
  return { code, stdout, stderr };
}

const said = (wire: LiveWire) =>
  wire
    .lines("forge_to_scribe.jsonl")
    .flatMap(({ type, subject }) => (type === "heartbeat" ? [] : [subject]));

/** They note what a session was shown, or change a transport: no peer sees it, but something changed. */
const NOTES = ["named", "transport"];

describe("a request that only reads", () => {
  it("is every one that does nothing for peers to see, but for those that note something", () => {
    const reading = Object.entries(OPERATIONS).flatMap(([name, { acts }]) =>
      acts || NOTES.includes(name) ? [] : [name],
    );
    expect([...READING].toSorted()).toEqual(reading.toSorted());
  });

  it("has changed nothing, also when the daemon had begun with it", () => {
    const error = noAnswer({ op: "wait", begun: true }, { lock: "/none/lock" }, "did not answer");
    expect(error.message).toBe("the daemon did not answer; nothing was sent or changed");
    expect(error.hint).not.toContain("deaddrop sent");
  });
});

describe("a real daemon that is stopped", () => {
  it("is named with what was not done, exit 3; what was given up is not done later", async () => {
    const wire = makeWire();
    const daemon = await wire.daemon("forge");
    daemon.child.kill("SIGSTOP");
    const send = await typed(wire, LIMIT_MS, "send", "too late", "text", "--to", "scribe");
    expect(send).toEqual({
      code: 3,
      stdout: "",
      stderr:
        `deaddrop: the daemon (process ${daemon.pid}) did not answer within 0.3 s; ` +
        "nothing was sent or changed\n" +
        `  if the daemon stays silent: deaddrop service restart, or kill -9 ${daemon.pid} and start it again; nothing is lost\n`,
    });
    const inbox = await typed(wire, LIMIT_MS, "inbox");
    expect(inbox.code).toBe(3);
    expect(inbox.stderr).toContain(
      `(process ${daemon.pid}) did not answer within 0.3 s; nothing was`,
    );

    const paths = wire.paths("forge");
    const client = await connectDaemon(paths, LIMIT_MS);
    const drafts = [{ to: ["scribe"], type: "feedback", subject: "too late", body: '"text"' }];
    await expect(client?.call("send", { drafts })).rejects.toMatchObject({
      message: expect.stringMatching(
        /the message was not sent, and will not be sent later$/,
      ) as string,
    });
    client?.close();

    daemon.child.kill("SIGCONT");
    // The daemon takes requests in the order in which they came: the first one is behind it.
    expect((await typed(wire, 600_000, "send", "in time", "text", "--to", "scribe")).code).toBe(0);
    expect(said(wire)).toEqual(["in time"]);
    await daemon.stop();
  });
});

describe("a daemon that begins and does not come back", () => {
  async function beside<T>(handle: Handle, use: (stateDir: string) => Promise<T>): Promise<T> {
    const stateDir = mkdtempSync(join(tmpdir(), "deaddrop-silent-"));
    const folder = openSocketFolder(stateDir);
    if (folder === undefined) throw new Error("it was made a moment ago");
    const server = await serveSocket(folder, handle);
    try {
      return await use(stateDir);
    } finally {
      await server.close();
      rmSync(stateDir, { recursive: true });
    }
  }

  it("may have done what was asked: the client says to look before it is repeated", async () => {
    const taken: Request[] = [];
    const never: Handle = (request) => {
      taken.push(request);
      return new Promise(() => undefined);
    };
    await beside(never, async (stateDir) => {
      const place = { stateDir, lock: join(stateDir, "identity.lock") };
      const daemon = await connectDaemon(place, BEGUN_LIMIT_MS);
      await expect(daemon?.call("send", { drafts: [] })).rejects.toMatchObject({
        code: "timeout",
        exitCode: 3,
        message:
          "the daemon did not answer within 3 s; it had begun with what was asked, which may or may not be done",
        hint: expect.stringMatching(/^look at `deaddrop sent` before you repeat it; /) as string,
      });
      daemon?.close();
    });
    expect(taken).toEqual([{ op: "send", args: { drafts: [] } }]);
  });

  it("does not begin with a request whose time is over", async () => {
    const taken: Request[] = [];
    const all: Handle = (request) => {
      taken.push(request);
      return Promise.resolve({ ok: true, result: null });
    };
    await beside(all, async (stateDir) => {
      const place = { stateDir, lock: join(stateDir, "identity.lock") };
      const daemon = await connectDaemon(place, -1_000);
      await expect(daemon?.call("send", {})).rejects.toMatchObject({ code: "timeout" });
      daemon?.close();
      const later = await connectDaemon(place);
      expect(await later?.call("view", {})).toBeNull();
      later?.close();
    });
    expect(taken).toEqual([{ op: "view", args: {} }]);
  });
});

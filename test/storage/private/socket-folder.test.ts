import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectDaemon } from "../../../src/client/socket-client.ts";
import { openSocketFolder } from "../../../src/storage/private/socket-folder.ts";
import { serveSocket } from "../../../src/daemon/socket-server.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "deaddrop-socket-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function made(name: string, mode = 0o700): string {
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, mode);
  return folder;
}

const placeOf = (stateDir: string) => ({ stateDir, lock: join(stateDir, "identity.lock") });

const LONG = Array.from({ length: 4 }, (_, at) => `${at}${"d".repeat(60)}`).join("/");

describe("a socket", () => {
  for (const [system, procFd] of [
    ["where open files have paths", "/proc/self/fd"],
    ["where they have none", "/nowhere"],
  ] as const) {
    for (const [length, name] of [
      ["short", "state"],
      ["too long for a socket", LONG],
    ] as const) {
      it(`in a folder of a path that is ${length}, ${system}`, async () => {
        const folder = made(name);
        const before = process.cwd();
        const opened = openSocketFolder(folder, procFd);
        if (opened === undefined) throw new Error("it is there");
        const server = await serveSocket(opened, ({ op, args }) =>
          Promise.resolve({ ok: true, result: [op, args] }),
        );
        expect(existsSync(join(folder, "daemon.sock"))).toBe(true);
        const client = await connectDaemon(placeOf(folder));
        expect(await client?.call("view", { name: "inbox" })).toEqual(["view", { name: "inbox" }]);
        client?.close();
        await server.close();
        expect(existsSync(join(folder, "daemon.sock"))).toBe(false);
        expect(process.cwd()).toBe(before);
        expect(await connectDaemon(placeOf(folder))).toBeUndefined();
      });
    }
  }

  it("is not looked for where there is no folder", async () => {
    expect(await connectDaemon(placeOf(join(root, "none")))).toBeUndefined();
  });
});

describe("a folder that is not ours alone is refused by daemon and client alike", () => {
  it.for([
    ["others can read it", 0o750],
    ["others can write there", 0o707],
    ["others can pass through", 0o711],
  ] as const)("%s", async ([, mode]) => {
    const folder = made("open", mode);
    const refusal = { code: "unsafe_mode", hint: `chmod 700 ${folder}` };
    await expect(connectDaemon(placeOf(folder))).rejects.toMatchObject(refusal);
    expect(() => openSocketFolder(folder)).toThrow(expect.objectContaining(refusal));
  });

  it("a link to one", async () => {
    const link = join(root, "link");
    const folder = made("state", 0o750);
    symlinkSync(folder, link);
    await expect(connectDaemon(placeOf(link))).rejects.toMatchObject({ code: "unsafe_mode" });
    chmodSync(folder, 0o700);
    expect(await connectDaemon(placeOf(link))).toBeUndefined();
  });
});

import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../support/processes/real-processes.ts";

// The plugin of OpenCode, as OpenCode calls it. In place of `deaddrop` there is a script that keeps what it
// was asked; as a waiter it runs until the test wakes the session.

interface Plugin {
  event(given: { event: object }): Promise<void>;
  "chat.message"(given: object, output: object): Promise<void>;
  "tool.execute.after"(given: object, output: object): Promise<void>;
}

const PLUGIN = new URL("../../../plugins/opencode.js", import.meta.url);
const LINE = "[deaddrop] forge has mail";
const path = process.env["PATH"] ?? "";
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-plugin-"));
  const program = join(folder, "deaddrop");
  const script = [
    "#!/bin/sh",
    "event=$(cat)",
    `echo "$* $event" >> ${folder}/asked`,
    'case "$*" in *--wait*) ;; *) exit 0;; esac',
    `trap 'echo "$event" >> ${folder}/ended; exit 0' TERM`,
    `until [ -e ${folder}/wake ]; do sleep 0.05; done`,
    `rm ${folder}/wake; echo "${LINE}" >&2; exit 2`,
  ];
  writeFileSync(program, `${script.join("\n")}\n`);
  chmodSync(program, 0o755);
  process.env["PATH"] = `${folder}${delimiter}${path}`;
});
afterEach(() => {
  process.env["PATH"] = path;
  rmSync(folder, { recursive: true, force: true });
});

const linesOf = (name: string): string[] =>
  existsSync(join(folder, name))
    ? readFileSync(join(folder, name), "utf8").trim().split("\n").filter(Boolean)
    : [];
const waitersOf = (session: string): number =>
  linesOf("asked").filter((line) => line.includes("--wait") && line.includes(`"${session}"`))
    .length;

async function open() {
  const { Deaddrop } = (await import(String(PLUGIN))) as {
    Deaddrop(given: object): Promise<Plugin>;
  };
  const done: string[] = [];
  const plugin = await Deaddrop({
    client: {
      tui: {
        publish: ({ body }: { body: { properties: { sessionID: string } } }) =>
          Promise.resolve(void done.push(`shown ${body.properties.sessionID}`)),
      },
      session: {
        promptAsync: (given: { path: { id: string }; body: { parts: { text: string }[] } }) =>
          Promise.resolve(void done.push(`${given.path.id}: ${given.body.parts[0]?.text}`)),
      },
    },
  });
  return {
    done,
    plugin,
    write: (sessionID: string) =>
      plugin["chat.message"]({ sessionID }, { message: { id: "m" }, parts: [] }),
    idle: (sessionID: string) =>
      plugin.event({ event: { type: "session.idle", properties: { sessionID } } }),
  };
}

test("a session is brought to the screen before a turn of it is begun", async () => {
  const { done, write, idle } = await open();
  await write("s1");
  await idle("s1");
  await until("a waiter waits", () => waitersOf("s1") === 1);
  writeFileSync(join(folder, "wake"), "");
  await until("it is woken", () => done.length === 2);
  expect(done).toEqual(["shown s1", `s1: ${LINE}`]);
});

test("the waiter of a session ends when another one is written in, and nothing is done for it since", async () => {
  const { done, plugin, write, idle } = await open();
  await write("s1");
  await idle("s1");
  await until("a waiter waits", () => waitersOf("s1") === 1);
  await write("s2");
  await until("its waiter ends", () => linesOf("ended").length === 1);
  await idle("s1");
  await plugin["tool.execute.after"]({ sessionID: "s1" }, { output: "x" });
  await idle("s2");
  await until("a waiter waits", () => waitersOf("s2") === 1);
  expect(waitersOf("s1")).toBe(1);
  const since = linesOf("asked").slice(linesOf("asked").findIndex((line) => line.includes('"s2"')));
  expect(since.filter((line) => line.includes('"s1"'))).toEqual([]);
  writeFileSync(join(folder, "wake"), "");
  await until("it is woken", () => done.length === 2);
  expect(done).toEqual(["shown s2", `s2: ${LINE}`]);
});

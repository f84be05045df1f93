import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pane, SessionName, WakeWay } from "../../api/tool-sessions.ts";
import { SECOND_MS } from "../../wire/durations.ts";
import { isThreadShown } from "./codex-threads.ts";
import { isReadyForKeys } from "./screens.ts";

/** A program that does not end within this time was of no use. */
const WAKER_LIMIT_MS = 10 * SECOND_MS;
/** Nobody has touched a key for so long. */
const UNTOUCHED_MS = 3 * SECOND_MS;
/** What is typed is taken in before it is sent off. */
const BEFORE_ENTER_MS = 300;

/**
 * Wakes an idle session; `text` is one line of ours. False: it could not be reached, or is not ready
 * for it. Spec 8.3.
 */
export function reachSession(way: WakeWay, name: SessionName, text: string): Promise<boolean> {
  switch (way.by) {
    case "codex":
      return beginTurn(way, name, text);
    case "tmux":
      return typeInto(way, name, text);
    case "qwen":
      return sendMessage(way, name, text);
    case "desktop":
      return showOnDesktop(text);
  }
}

/**
 * Codex without its background process looks into its queue only every ten seconds. Keys begin the turn
 * at once, where they may be typed; what is queued leaves a draft as it is.
 */
async function beginTurn(
  way: WakeWay & { readonly by: "codex" },
  name: SessionName,
  text: string,
): Promise<boolean> {
  const { keys } = way;
  if (keys !== undefined && (await typeInto(keys, name, text))) return true;
  // Nobody would see a turn in a thread that has left the screen since.
  return isThreadShown(way) && (await queueTurn(way, name, text));
}

async function queueTurn(
  { program, home }: WakeWay & { readonly by: "codex" },
  { session }: SessionName,
  text: string,
): Promise<boolean> {
  const env = home === undefined ? process.env : { ...process.env, CODEX_HOME: home };
  const said = await output(program, ["queue", "--thread", session, "--message", text], env);
  return said !== undefined;
}

async function typeInto(
  { server, pane }: Pane,
  { tool }: SessionName,
  text: string,
): Promise<boolean> {
  const tmux = (...args: readonly string[]) => output("tmux", ["-S", server, ...args]);
  if (!(await isUntouched(tmux, pane))) return false;
  const screen = await tmux("capture-pane", "-p", "-e", "-t", pane);
  if (screen === undefined || !isReadyForKeys(tool, screen)) return false;
  if ((await tmux("send-keys", "-t", pane, "-l", text)) === undefined) return false;
  await sleep(BEFORE_ENTER_MS);
  return (await tmux("send-keys", "-t", pane, "Enter")) !== undefined;
}

/** No terminal that shows the pane has had a key within the last seconds. */
async function isUntouched(
  tmux: (...args: readonly string[]) => Promise<string | undefined>,
  pane: string,
): Promise<boolean> {
  const times = await tmux("list-clients", "-t", pane, "-F", "#{client_activity}");
  if (times === undefined) return false;
  const seconds = times.split("\n").filter(Boolean).map(Number);
  // They are cut to whole seconds.
  return seconds.every((at) => Date.now() - (at + 1) * SECOND_MS > UNTOUCHED_MS);
}

/** A message that is not addressed to the session on the screen is dropped there. */
function sendMessage(
  { socket, token }: WakeWay & { readonly by: "qwen" },
  { session }: SessionName,
  text: string,
): Promise<boolean> {
  const message = { role: "user", content: text };
  const to = { msgId: randomUUID(), toSessionId: session, fromName: "deaddrop" };
  const lines = [
    { msgV: 1, type: "auth", token },
    { msgV: 1, type: "user", ...to, message },
  ].map((line) => `${JSON.stringify(line)}\n`);
  return new Promise((resolve) => {
    const connection = connect(socket, () => connection.end(lines.join("")));
    connection.setTimeout(WAKER_LIMIT_MS, () => connection.destroy(new Error("no answer")));
    connection.resume().once("close", (hasFailed) => resolve(!hasFailed));
    connection.on("error", () => undefined);
  });
}

async function showOnDesktop(text: string): Promise<boolean> {
  const [program, ...args] = desktopCommand(process.platform, text);
  return (await output(program, args)) !== undefined;
}

/** Whether somebody may see what is shown on a desktop. */
export function hasDesktop(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): boolean {
  if (platform === "darwin") return true;
  const { DISPLAY, WAYLAND_DISPLAY, DBUS_SESSION_BUS_ADDRESS } = env;
  return [DISPLAY, WAYLAND_DISPLAY, DBUS_SESSION_BUS_ADDRESS].some((each) => each !== undefined);
}

/** The program, with its arguments, that shows a line of ours on the desktop. Spec 8.3. @internal */
export function desktopCommand(
  platform: NodeJS.Platform,
  text: string,
): readonly [program: string, ...args: string[]] {
  if (platform !== "darwin") return ["notify-send", "--app-name=deaddrop", "--", "deaddrop", text];
  const script = [
    "on run words",
    'display notification (item 1 of words) with title "deaddrop"',
    "end run",
  ];
  return ["osascript", ...script.flatMap((line) => ["-e", line]), text];
}

/** Undefined: it does not run, or failed. */
function output(
  program: string,
  args: readonly string[],
  env = process.env,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, args, { env, timeout: WAKER_LIMIT_MS }, (error, stdout) =>
      resolve(error === null ? stdout : undefined),
    );
  });
}

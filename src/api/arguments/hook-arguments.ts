import {
  asObject,
  count,
  flag,
  lineNumbers,
  list,
  needed,
  oneOf,
  text,
  type Given,
} from "./json-arguments.ts";
import {
  MOMENTS,
  TOOLS,
  type HookEvent,
  type Pane,
  type SessionName,
  type SessionProcess,
  type WakeWay,
} from "../tool-sessions.ts";
import type { Marks } from "../views.ts";

/** What hooks and waiters send, read from the JSON of a request. Throws DeaddropError ("usage"). */
export function parseHookEvent(json: unknown): HookEvent {
  const given = asObject(json);
  return {
    ...sessionName(given),
    moment: needed(given, "moment", oneOf(MOMENTS)),
    isContinued: needed(given, "isContinued", flag),
    isInteractive: needed(given, "isInteractive", flag),
    process: sessionProcess(given),
    wake: given["wake"] === undefined ? undefined : wakeWay(asObject(given["wake"])),
  };
}

export function parseNamed(json: unknown): { readonly name: SessionName; readonly marks: Marks } {
  const given = asObject(json);
  return { name: sessionName(given), marks: needed(given, "marks", lineNumbers) };
}

export function parseAwait(json: unknown): SessionName & Pick<HookEvent, "process"> {
  const given = asObject(json);
  return { ...sessionName(given), process: sessionProcess(given) };
}

function sessionName(given: Given): SessionName {
  return {
    tool: needed(given, "tool", oneOf(TOOLS)),
    session: needed(given, "session", text),
  };
}

function sessionProcess(given: Given): SessionProcess | undefined {
  return given["process"] === undefined ? undefined : listed(asObject(given["process"]));
}

function listed(given: Given): SessionProcess {
  return { pid: needed(given, "pid", count), started: needed(given, "started", text) };
}

function wakeWay(given: Given): WakeWay {
  const by = needed(given, "by", oneOf(["codex", "tmux", "qwen"]));
  if (by === "tmux") return { by, ...paneOf(given) };
  if (by === "qwen") {
    return { by, socket: needed(given, "socket", text), token: needed(given, "token", text) };
  }
  const { home, keys, newest } = given;
  return {
    by,
    program: needed(given, "program", text),
    home: home === undefined ? undefined : needed(given, "home", text),
    newest: newest === undefined ? undefined : needed(given, "newest", text),
    namedAt: needed(given, "namedAt", text),
    terminals: needed(given, "terminals", list).map((each) => listed(asObject(each))),
    keys: keys === undefined ? undefined : paneOf(asObject(keys)),
  };
}

function paneOf(given: Given): Pane {
  return { server: needed(given, "server", text), pane: needed(given, "pane", text) };
}

// deaddrop: a plugin of a coding tool. `deaddrop integrate` writes it, and takes it away again.
// It tells the model between its tool calls that mail is there, and wakes an idle session where the tool
// can do that. It carries no text of another agent: only counts, handles and ids, which `deaddrop hook` prints.
import { spawn, spawnSync } from "node:child_process";
import { writeSync } from "node:fs";

const COMMAND = ["deaddrop", "hook"];
const LIMIT_MS = 3_000;

/** `isLast`: the turn cannot go on, so the hook must not ask for it. */
const eventText = (session, name, isLast = false) =>
  JSON.stringify({ session_id: session, hook_event_name: name, stop_hook_active: isLast });

/** Blocks: the process ends, and waits for nothing else. */
export function sayWhatIsLeft(session) {
  const [program, ...args] = COMMAND;
  const input = eventText(session, "Stop", true);
  const { stdout } = spawnSync(program, args, { input, timeout: LIMIT_MS, encoding: "utf8" });
  try {
    writeSync(2, `${JSON.parse(stdout).systemMessage}\n`);
  } catch {
    // There is nothing to say, or nobody to say it to.
  }
}

/** Runs the hook once. Resolves to its output and exit code. */
export function run(
  session,
  name,
  { isWaiter = false, isLast = false, started = () => undefined } = {},
) {
  return new Promise((resolve) => {
    const [program, ...args] = [...COMMAND, ...(isWaiter ? ["--wait"] : [])];
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
    started(child);
    const limit = isWaiter ? undefined : setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
    let [out, said] = ["", ""];
    child.stdout.on("data", (piece) => (out += piece));
    child.stderr.on("data", (piece) => (said += piece));
    const end = (code) => {
      clearTimeout(limit);
      resolve({ code, out, said });
    };
    child.on("error", () => end(0));
    child.on("close", end);
    child.stdin.on("error", () => undefined);
    child.stdin.end(eventText(session, name, isLast));
  });
}

export async function ask(session, name, isLast = false) {
  const { out } = await run(session, name, { isLast });
  try {
    const answer = JSON.parse(out);
    return { say: answer.hookSpecificOutput?.additionalContext, goOn: answer.reason };
  } catch {
    return {};
  }
}

export const begun = new Set();
/** What the model is told with a prompt; with the first one of a session, what is told at its start. */
export async function askAtPrompt(session) {
  const isFirst = !begun.has(session);
  const { say } = await ask(session, isFirst ? "SessionStart" : "UserPromptSubmit");
  begun.add(session);
  if (isFirst) await ask(session, "UserPromptSubmit");
  return say;
}

/** Waits for mail for the idle session. Resolves to what wakes it. @param started gets the waiting process. */
export async function waitForMail(session, started) {
  const { code, said } = await run(session, "Stop", { isWaiter: true, started });
  return code === 2 && said.trim() !== "" ? said.trim() : undefined;
}

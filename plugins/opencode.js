// deaddrop: a plugin of OpenCode. `deaddrop integrate opencode` writes it, and takes it away again.
// It tells the model between its tool calls that mail is there, and wakes an idle session. It carries
// no word of another agent: counts, handles and ids alone, which `deaddrop hook` prints.
import { spawn, spawnSync } from "node:child_process";
import { writeSync } from "node:fs";

const COMMAND = ["deaddrop", "hook", "opencode"];
const LIMIT_MS = 3_000;
/** `opencode run` ends with its turn, so nothing can be done then but to say what is left unread. */
const IS_RUN = process.argv.includes("run");

const eventText = (session, name) => JSON.stringify({ session_id: session, hook_event_name: name });

/** The process ends, and waits for nothing that is not done at once. */
function sayWhatIsLeft(session) {
  const [program, ...args] = COMMAND;
  const input = eventText(session, "Stop");
  const { stdout } = spawnSync(program, args, { input, timeout: LIMIT_MS, encoding: "utf8" });
  try {
    writeSync(2, `${JSON.parse(stdout).systemMessage}\n`);
  } catch {
    // There is nothing to say, or nobody to say it to.
  }
}

/** One run of the hook: what it printed, what it complained, how it ended. */
function run(session, name, { isWaiter = false, started = () => undefined } = {}) {
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
    child.stdin.end(eventText(session, name));
  });
}

async function ask(session, name) {
  const { out } = await run(session, name);
  try {
    const answer = JSON.parse(out);
    return { say: answer.hookSpecificOutput?.additionalContext, goOn: answer.reason };
  } catch {
    return {};
  }
}

export const Deaddrop = async ({ client }) => {
  /** Sessions of agents that another session has started. */
  const inner = new Set();
  const begun = new Set();
  /** The session that was written in last: the others are not on the screen, and are left alone. */
  let current;
  let waiter;
  let parts = 0;
  if (IS_RUN) process.once("exit", () => current !== undefined && sayWhatIsLeft(current));

  const hasLeft = (session) => session !== current || inner.has(session);

  /** `/new` and the list of sessions tell no plugin what is on the screen: the session is brought there. */
  async function prompt(session, text) {
    const shown = { type: "tui.session.select", properties: { sessionID: session } };
    await client.tui.publish({ body: shown }).catch(() => undefined);
    await client.session
      .promptAsync({ path: { id: session }, body: { parts: [{ type: "text", text }] } })
      .catch(() => undefined);
  }

  async function arm(session) {
    waiter?.kill();
    const started = (child) => (waiter = child);
    const { code, said } = await run(session, "Stop", { isWaiter: true, started });
    if (code === 2 && said.trim() !== "" && !hasLeft(session)) await prompt(session, said.trim());
  }

  function writtenIn(session) {
    if (session === current) return;
    waiter?.kill();
    current = session;
  }

  return {
    event: async ({ event }) => {
      const { info, sessionID = info?.id } = event.properties ?? {};
      if (event.type === "session.created" && info?.parentID !== undefined) inner.add(info.id);
      if (typeof sessionID !== "string" || hasLeft(sessionID)) return;
      if (event.type === "session.deleted") {
        waiter?.kill();
        await run(sessionID, "SessionEnd");
      }
      if (event.type !== "session.idle" || IS_RUN) return;
      const { goOn } = await ask(sessionID, "Stop");
      if (goOn !== undefined) await prompt(sessionID, goOn);
      else arm(sessionID).catch(() => undefined);
    },
    "chat.message": async ({ sessionID }, output) => {
      if (inner.has(sessionID)) return;
      writtenIn(sessionID);
      const { say } = await ask(
        sessionID,
        begun.has(sessionID) ? "UserPromptSubmit" : "SessionStart",
      );
      if (!begun.has(sessionID)) {
        begun.add(sessionID);
        await ask(sessionID, "UserPromptSubmit");
      }
      if (say === undefined) return;
      const { id: messageID } = output.message;
      parts += 1;
      const id = `${output.parts.at(-1)?.id ?? "prt_deaddrop"}d${parts}`;
      output.parts.push({ id, sessionID, messageID, type: "text", text: say, synthetic: true });
    },
    "tool.execute.after": async ({ sessionID }, output) => {
      if (hasLeft(sessionID)) return;
      const { say } = await ask(sessionID, "PostToolUse");
      if (say === undefined) return;
      if (typeof output.output === "string") output.output += `\n\n${say}`;
      else if (Array.isArray(output.content)) output.content.push({ type: "text", text: say });
    },
  };
};

// The adapter of OpenCode and Kilo.
import { ask, askAtPrompt, run, sayWhatIsLeft, waitForMail } from "./hook.js";

/** `run` ends with its turn, so nothing can be done then but to say what is left unread. */
const IS_RUN = process.argv.includes("run");

export const Deaddrop = async ({ client }) => {
  /** Sessions of agents that another session has started. */
  const inner = new Set();
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
    const text = await waitForMail(session, (child) => (waiter = child));
    if (text !== undefined && !hasLeft(session)) await prompt(session, text);
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
      const say = await askAtPrompt(sessionID);
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

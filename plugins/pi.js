// The adapter of pi.
import { ask, askAtPrompt, begun, sayWhatIsLeft, waitForMail } from "./hook.js";

// oxlint-disable-next-line import/no-default-export -- pi calls the default export
export default function deaddrop(pi) {
  let waiter;
  const idOf = (ctx) => ctx.sessionManager.getSessionId();

  pi.on("before_agent_start", async (_event, ctx) => {
    const content = await askAtPrompt(idOf(ctx));
    if (content === undefined) return undefined;
    return { message: { customType: "deaddrop", content, display: true } };
  });
  pi.on("tool_result", async ({ content }, ctx) => {
    const { say } = await ask(idOf(ctx), "PostToolUse");
    if (say === undefined) return undefined;
    return { content: [...content, { type: "text", text: say }] };
  });
  pi.on("agent_end", async (_event, ctx) => {
    // What `pi -p` says last is its result.
    if (!ctx.hasUI) return;
    const session = idOf(ctx);
    const { goOn } = await ask(session, "Stop");
    const prompt = (text) => pi.sendUserMessage(text, { deliverAs: "followUp" });
    if (goOn !== undefined) prompt(goOn);
    else {
      waiter?.kill();
      waitForMail(session, (child) => (waiter = child))
        .then((text) => text !== undefined && prompt(text))
        .catch(() => undefined);
    }
  });
  pi.on("session_shutdown", async (_event, ctx) => {
    waiter?.kill();
    if (!ctx.hasUI && begun.has(idOf(ctx))) sayWhatIsLeft(idOf(ctx));
    await ask(idOf(ctx), "SessionEnd");
  });
}

// The adapter of Cline, which loads it once for each session and has no way to begin a turn.
import { ask, askAtPrompt } from "./hook.js";

let session;
/** Agents that another agent has started are not told. */
const isOuter = ({ snapshot }) =>
  session !== undefined && (snapshot.parentAgentId ?? null) === null;

// oxlint-disable-next-line import/no-default-export -- Cline reads the default export
export default {
  name: "deaddrop",
  manifest: { capabilities: ["hooks"] },
  setup: (_api, context) => void (session = context.session?.sessionId),
  hooks: {
    beforeRun: async (context) =>
      isOuter(context) ? { appendContext: await askAtPrompt(session) } : undefined,
    afterTool: async (context) =>
      isOuter(context) ? { appendContext: (await ask(session, "PostToolUse")).say } : undefined,
    afterRun: async (context) => void (isOuter(context) && (await ask(session, "Stop", true))),
  },
};

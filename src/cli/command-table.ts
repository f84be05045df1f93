import { VERBS } from "../verbs/table.ts";
import { camelCase, type CamelCase, type CommandDefinition } from "./command.ts";

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<CommandDefinition>;
}

export interface CommandGroup {
  readonly title: string;
  readonly entries: readonly CommandEntry[];
}

/** Every command, as `deaddrop help` lists them; only the file of the one called is loaded. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    title: "Write",
    entries: [
      verbEntry("send"),
      entry("broadcast", "send to all", () => import("./commands/messages.ts")),
      verbEntry("reply"),
      verbEntry("accept"),
      verbEntry("reject"),
      verbEntry("ack"),
      verbEntry("ship"),
      verbEntry("propose"),
      verbEntry("counter"),
      verbEntry("request"),
      verbEntry("respond"),
      verbEntry("claim"),
      verbEntry("release"),
      entry("collab", "rounds", () => import("./commands/collab.ts")),
      entry("wake", "go on again", () => import("./commands/identity.ts")),
      verbEntry("correct"),
    ],
  },
  {
    title: "Read",
    entries: [
      entry("guide", "what to know", () => import("./commands/guide.ts")),
      entry("catch-up", "what is new", () => import("./commands/guide.ts")),
      entry("inbox", "your messages", () => import("./commands/inbox.ts")),
      entry("notices", "from your daemon", () => import("./commands/inbox.ts")),
      entry("wait", "wait for news", () => import("./commands/inbox.ts")),
      entry("pending", "what is owed", () => import("./commands/reading.ts")),
      entry("sent", "what you sent", () => import("./commands/reading.ts")),
      entry("thread", "a conversation", () => import("./commands/reading.ts")),
      entry("search", "find messages", () => import("./commands/reading.ts")),
      entry("decisions", "decisions", () => import("./commands/decisions.ts")),
      entry("proposals", "proposals", () => import("./commands/decisions.ts")),
      entry("claims", "claims", () => import("./commands/claims.ts")),
      entry("requests", "requests", () => import("./commands/requests.ts")),
    ],
  },
  {
    title: "See",
    entries: [
      entry("status", "one screen", () => import("./commands/status.ts")),
      entry("as", "whose folder", () => import("./commands/identity.ts")),
      entry("whoami", "who you are", () => import("./commands/identity.ts")),
      entry("peer", "what is held back", () => import("./commands/peer.ts")),
      entry("peers", "who is there", () => import("./commands/status.ts")),
      entry("team", "who does what", () => import("./commands/status.ts")),
      entry("check", "files you may edit", () => import("./commands/guard.ts")),
      entry("stats", "figures", () => import("./commands/status.ts")),
      entry("incident", "incidents", () => import("./commands/incidents.ts")),
    ],
  },
  {
    title: "Set up and run",
    entries: [
      entry("init", "make a wire", () => import("./commands/init.ts")),
      entry("join", "join a wire", () => import("./commands/join.ts")),
      entry("demo", "two agents here", () => import("./commands/demo.ts")),
      entry("doctor", "check all", () => import("./commands/doctor.ts")),
      entry("daemon", "run it here", () => import("./commands/daemon.ts")),
      entry("service", "as a service", () => import("./commands/service.ts")),
      entry("guard", "check commits", () => import("./commands/guard.ts")),
      entry("transport", "machines", () => import("./commands/transport.ts")),
      entry("archive", "close a year", () => import("./commands/archive.ts")),
      entry("backup", "save keys", () => import("./commands/backup.ts")),
      entry("restore", "restore it", () => import("./commands/backup.ts")),
      entry("member", "members", () => import("./commands/members.ts")),
      entry("leave", "leave it", () => import("./commands/members.ts")),
      entry("config", "settings", () => import("./commands/config.ts")),
      entry("integrate", "join a tool", () => import("./commands/tools.ts")),
      entry("plan", "plans", () => import("./commands/plan.ts")),
      entry("report", "their reports", () => import("./commands/plan.ts")),
      entry("skills", "skills", () => import("./commands/skills.ts")),
      entry("bench", "how tools do", () => import("./commands/skills.ts")),
      entry("run", "run one, joined", () => import("./commands/tools.ts")),
      entry("hook", "what it runs", () => import("./commands/tools.ts")),
      entry("mcp", "tools for agents", () => import("./commands/mcp.ts")),
      entry("completion", "for shells", () => import("./commands/completion.ts")),
    ],
  },
  {
    title: "Trust and proof",
    entries: [
      entry("keygen", "make a key", () => import("./commands/keys.ts")),
      entry("key", "change your key", () => import("./commands/keys.ts")),
      entry("trust", "whom you believe", () => import("./commands/trust.ts")),
      entry("card", "an agent's card", () => import("./commands/card.ts")),
      entry("sas", "six digits", () => import("./commands/machine-interfaces.ts")),
      entry("audit", "check all logs", () => import("./commands/audit.ts")),
      entry("verify", "check lines", () => import("./commands/machine-interfaces.ts")),
      entry("canonical", "canonical JSON", () => import("./commands/machine-interfaces.ts")),
      entry("reclaim", "write again", () => import("./commands/keys.ts")),
      entry("resume", "end safe mode", () => import("./commands/incidents.ts")),
    ],
  },
];

export const COMMANDS: ReadonlyMap<string, CommandEntry> = new Map(
  COMMAND_GROUPS.flatMap((group) => group.entries.map((each) => [each.name, each] as const)),
);

function verbEntry(name: keyof typeof VERBS): CommandEntry {
  const { summary, load } = VERBS[name];
  return {
    ...{ name, summary },
    load: async () => (await import("./sending/verb-command.ts")).verbCommand(await load()),
  };
}

/** The command's definition is what its file exports under its name. */
function entry<const Name extends string>(
  name: Name,
  summary: string,
  load: () => Promise<Readonly<Record<CamelCase<Name>, CommandDefinition>>>,
): CommandEntry {
  return { name, summary, load: async () => (await load())[camelCase(name)] };
}

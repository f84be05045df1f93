import { VERBS, type VerbEntry } from "../verbs/table.ts";
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

/** The commands that `deaddrop help` lists; only the file of the one called is loaded. */
export const COMMAND_GROUPS = groupsWith(VERBS);

/** @internal */
export function groupsWith(verbs: Readonly<Record<string, VerbEntry>>): readonly CommandGroup[] {
  return [
    {
      title: "Talk",
      entries: [
        ...verbEntries("Talk", verbs),
        entry("inbox", "show your messages", () => import("./commands/inbox.ts")),
        entry("thread", "show a conversation", () => import("./commands/reading.ts")),
        entry("search", "find messages by their words", () => import("./commands/reading.ts")),
        entry("sent", "list what you sent, with receipts", () => import("./commands/reading.ts")),
        entry("wait", "wait for new messages", () => import("./commands/inbox.ts")),
      ],
    },
    {
      title: "Agree",
      entries: [
        ...verbEntries("Agree", verbs),
        entry("decisions", "list the decisions in force", () => import("./commands/decisions.ts")),
        entry("check", "ask whether you may edit a file", () => import("./commands/guard.ts")),
        entry("collab", "run a structured review in rounds", () => import("./commands/collab.ts")),
        entry("plan", "share out the steps of a plan", () => import("./commands/plan.ts")),
      ],
    },
    {
      title: "See",
      entries: [
        entry("status", "show everything on one screen", () => import("./commands/status.ts")),
        entry("pending", "list unanswered requests", () => import("./commands/reading.ts")),
        entry("peers", "list the other agents", () => import("./commands/peer.ts")),
        entry("whoami", "show which agent you are", () => import("./commands/identity.ts")),
        entry("catch-up", "summarise what is new", () => import("./commands/guide.ts")),
        entry("guide", "explain deaddrop to an agent", () => import("./commands/guide.ts")),
      ],
    },
    {
      title: "Set up",
      entries: [
        entry("init", "create a wire", () => import("./commands/init.ts")),
        entry("join", "join a wire", () => import("./commands/join.ts")),
        entry("integrate", "connect a coding tool", () => import("./commands/tools.ts")),
        entry("run", "start a connected coding tool", () => import("./commands/tools.ts")),
        entry("service", "run the daemon as a service", () => import("./commands/service.ts")),
        entry("config", "show or change settings", () => import("./commands/config.ts")),
        entry("member", "add or remove agents", () => import("./commands/members.ts")),
        entry("trust", "verify the keys of other agents", () => import("./commands/trust.ts")),
        entry("key", "show or rotate your key", () => import("./commands/keys.ts")),
        entry("guard", "check commits with git hooks", () => import("./commands/guard.ts")),
        entry(
          "transport",
          "share the wire between machines",
          () => import("./commands/transport.ts"),
        ),
        entry("skills", "share skills between coding tools", () => import("./commands/skills.ts")),
      ],
    },
    {
      title: "Fix",
      entries: [
        entry("incident", "raise or resolve an incident", () => import("./commands/incidents.ts")),
        entry("doctor", "find and explain problems", () => import("./commands/doctor.ts")),
        entry("audit", "verify all logs and decisions", () => import("./commands/audit.ts")),
        entry("backup", "save or restore your keys", () => import("./commands/backup.ts")),
      ],
    },
  ];
}

/** For programs, and what one looks up. */
const UNLISTED: readonly CommandEntry[] = [
  entry("proposals", "list proposals", () => import("./commands/decisions.ts")),
  entry("claims", "list claims", () => import("./commands/claims.ts")),
  entry("requests", "list requests", () => import("./commands/requests.ts")),
  entry("as", "choose your identity for a folder", () => import("./commands/identity.ts")),
  entry("demo", "watch two agents at work", () => import("./commands/demo.ts")),
  entry("daemon", "run the daemon in the foreground", () => import("./commands/daemon.ts")),
  entry("mcp", "serve tools to a coding tool", () => import("./commands/mcp.ts")),
  entry("hook", "tell a coding tool of mail", () => import("./commands/tools.ts")),
  entry("completion", "complete commands in a shell", () => import("./commands/completion.ts")),
  entry("sas", "compute six digits", () => import("./commands/machine-interfaces.ts")),
  entry("verify", "verify signed lines", () => import("./commands/machine-interfaces.ts")),
  entry("canonical", "print canonical JSON", () => import("./commands/machine-interfaces.ts")),
];

export const COMMANDS: ReadonlyMap<string, CommandEntry> = new Map(
  [...COMMAND_GROUPS.flatMap(({ entries }) => entries), ...UNLISTED].map((each) => [
    each.name,
    each,
  ]),
);

/** Those of a group that are commands of their own. */
function verbEntries(title: string, verbs: Readonly<Record<string, VerbEntry>>): CommandEntry[] {
  return Object.entries(verbs).flatMap(([name, { group, summary, load }]) => {
    if (group !== title) return [];
    const command = async () =>
      (await import("./sending/verb-command.ts")).verbCommand(await load());
    return [{ name: name.replaceAll("_", "-"), summary, load: command }];
  });
}

/** The command's definition is what its file exports under its name. */
function entry<const Name extends string>(
  name: Name,
  summary: string,
  load: () => Promise<Readonly<Record<CamelCase<Name>, CommandDefinition>>>,
): CommandEntry {
  return { name, summary, load: async () => (await load())[camelCase(name)] };
}

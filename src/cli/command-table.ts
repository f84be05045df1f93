import type { Command } from "commander";
import type { Cli } from "./context.ts";

/** What each file in commands/ exports. */
export interface CommandModule {
  command(cli: Cli): Command;
}

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<CommandModule>;
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
      entry("send", "send a message", () => import("./commands/write/send.ts")),
      entry("broadcast", "send to all", () => import("./commands/write/broadcast.ts")),
      entry("reply", "answer a message", () => import("./commands/write/reply.ts")),
      entry("accept", "agree to a proposal", () => import("./commands/write/accept.ts")),
      entry("reject", "refuse a proposal", () => import("./commands/write/reject.ts")),
      entry("ack", "a message is taken", () => import("./commands/write/ack.ts")),
      entry("ship", "something is done", () => import("./commands/write/ship.ts")),
      entry("propose", "propose a decision", () => import("./commands/write/propose.ts")),
      entry("counter", "propose something else", () => import("./commands/write/counter.ts")),
      entry("request", "ask yes or no", () => import("./commands/write/request.ts")),
      entry("respond", "answer a request", () => import("./commands/write/respond.ts")),
      entry("claim", "claim files", () => import("./commands/write/claim.ts")),
      entry("release", "end a claim", () => import("./commands/write/release.ts")),
      entry("collab", "rounds", () => import("./commands/write/collab.ts")),
      entry("wake", "go on again", () => import("./commands/write/wake.ts")),
      entry("correct", "correct or revert", () => import("./commands/write/correct.ts")),
    ],
  },
  {
    title: "Read",
    entries: [
      entry("guide", "what to know", () => import("./commands/read/guide.ts")),
      entry("catch-up", "what is new", () => import("./commands/read/catch-up.ts")),
      entry("inbox", "your messages", () => import("./commands/read/inbox.ts")),
      entry("notices", "from your daemon", () => import("./commands/read/notices.ts")),
      entry("wait", "wait for news", () => import("./commands/read/wait.ts")),
      entry("pending", "what is owed", () => import("./commands/read/pending.ts")),
      entry("sent", "what you sent", () => import("./commands/read/sent.ts")),
      entry("thread", "a conversation", () => import("./commands/read/thread.ts")),
      entry("search", "find messages", () => import("./commands/read/search.ts")),
      entry("decisions", "decisions", () => import("./commands/read/decisions.ts")),
      entry("proposals", "proposals", () => import("./commands/read/proposals.ts")),
      entry("claims", "claims", () => import("./commands/read/claims.ts")),
      entry("requests", "requests", () => import("./commands/read/requests.ts")),
    ],
  },
  {
    title: "See",
    entries: [
      entry("status", "one screen", () => import("./commands/see/status.ts")),
      entry("as", "whose folder", () => import("./commands/see/as.ts")),
      entry("whoami", "who you are", () => import("./commands/see/whoami.ts")),
      entry("peer", "what is held back", () => import("./commands/see/peer.ts")),
      entry("peers", "who is there", () => import("./commands/see/peers.ts")),
      entry("team", "who does what", () => import("./commands/see/team.ts")),
      entry("check", "files you may edit", () => import("./commands/see/check.ts")),
      entry("stats", "figures", () => import("./commands/see/stats.ts")),
      entry("incident", "incidents", () => import("./commands/see/incident.ts")),
    ],
  },
  {
    title: "Set up and run",
    entries: [
      entry("init", "make a wire", () => import("./commands/run/init.ts")),
      entry("join", "join a wire", () => import("./commands/run/join.ts")),
      entry("demo", "two agents here", () => import("./commands/run/demo.ts")),
      entry("doctor", "check all", () => import("./commands/run/doctor.ts")),
      entry("daemon", "run it here", () => import("./commands/run/daemon.ts")),
      entry("service", "as a service", () => import("./commands/run/service.ts")),
      entry("guard", "check commits", () => import("./commands/run/guard.ts")),
      entry("transport", "machines", () => import("./commands/run/transport.ts")),
      entry("archive", "close a year", () => import("./commands/run/archive.ts")),
      entry("backup", "save keys", () => import("./commands/run/backup.ts")),
      entry("restore", "restore it", () => import("./commands/run/restore.ts")),
      entry("member", "members", () => import("./commands/run/member.ts")),
      entry("leave", "leave it", () => import("./commands/run/leave.ts")),
      entry("config", "settings", () => import("./commands/run/config.ts")),
      entry("integrate", "join a tool", () => import("./commands/tools/integrate.ts")),
      entry("plan", "plans", () => import("./commands/tools/plan.ts")),
      entry("report", "their reports", () => import("./commands/tools/report.ts")),
      entry("skills", "skills", () => import("./commands/tools/skills.ts")),
      entry("bench", "how tools do", () => import("./commands/tools/bench.ts")),
      entry("run", "run one, joined", () => import("./commands/tools/run.ts")),
      entry("hook", "what it runs", () => import("./commands/tools/hook.ts")),
      entry("mcp", "tools for agents", () => import("./commands/tools/mcp.ts")),
      entry("completion", "for shells", () => import("./commands/run/completion.ts")),
    ],
  },
  {
    title: "Trust and proof",
    entries: [
      entry("keygen", "make a key", () => import("./commands/trust/keygen.ts")),
      entry("key", "change your key", () => import("./commands/trust/key.ts")),
      entry("trust", "whom you believe", () => import("./commands/trust/trust.ts")),
      entry("card", "an agent's card", () => import("./commands/trust/card.ts")),
      entry("sas", "six digits", () => import("./commands/trust/sas.ts")),
      entry("audit", "check all logs", () => import("./commands/trust/audit.ts")),
      entry("verify", "check lines", () => import("./commands/trust/verify.ts")),
      entry("canonical", "canonical JSON", () => import("./commands/trust/canonical.ts")),
      entry("reclaim", "write again", () => import("./commands/trust/reclaim.ts")),
      entry("resume", "end safe mode", () => import("./commands/trust/resume.ts")),
    ],
  },
];

export const COMMANDS: ReadonlyMap<string, CommandEntry> = new Map(
  COMMAND_GROUPS.flatMap((group) => group.entries.map((each) => [each.name, each] as const)),
);

function entry(name: string, summary: string, load: () => Promise<CommandModule>): CommandEntry {
  return { name, summary, load };
}

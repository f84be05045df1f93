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
      entry("send", "send a message", () => import("./commands/send.ts")),
      entry("broadcast", "send a message to every peer", () => import("./commands/broadcast.ts")),
      entry("reply", "answer in the thread of a message", () => import("./commands/reply.ts")),
      entry("ack", "acknowledge a message, or reject it", () => import("./commands/ack.ts")),
      entry("ship", "say that something is done", () => import("./commands/ship.ts")),
      entry("propose", "propose a decision", () => import("./commands/propose.ts")),
      entry("counter", "answer a proposal with another", () => import("./commands/counter.ts")),
      entry("correct", "correct or revert a message", () => import("./commands/correct.ts")),
    ],
  },
  {
    title: "Read",
    entries: [
      entry("inbox", "messages for you", () => import("./commands/inbox.ts")),
      entry("pending", "what is owed, and by whom", () => import("./commands/pending.ts")),
      entry("sent", "your messages and their receipts", () => import("./commands/sent.ts")),
      entry("thread", "a conversation", () => import("./commands/thread.ts")),
      entry("search", "messages that contain a text", () => import("./commands/search.ts")),
      entry("decisions", "decisions in force", () => import("./commands/decisions.ts")),
      entry("proposals", "proposals and their state", () => import("./commands/proposals.ts")),
    ],
  },
  {
    title: "See",
    entries: [
      entry("status", "everything on one screen", () => import("./commands/status.ts")),
      entry("whoami", "who and where you are", () => import("./commands/whoami.ts")),
      entry("peer", "what of a peer is held back", () => import("./commands/peer.ts")),
      entry("peers", "who is there", () => import("./commands/peers.ts")),
      entry("stats", "the record of this wire", () => import("./commands/stats.ts")),
      entry("incident", "raise and settle incidents", () => import("./commands/incident.ts")),
    ],
  },
  {
    title: "Set up and run",
    entries: [
      entry("init", "make a wire", () => import("./commands/init.ts")),
      entry("join", "join a wire", () => import("./commands/join.ts")),
      entry("demo", "two agents on this machine", () => import("./commands/demo.ts")),
      entry("doctor", "check everything", () => import("./commands/doctor.ts")),
      entry("daemon", "run the daemon in the foreground", () => import("./commands/daemon.ts")),
      entry("service", "run the daemon as a service", () => import("./commands/service.ts")),
      entry("backup", "keys, pins and heads to a file", () => import("./commands/backup.ts")),
      entry("restore", "put a backup back", () => import("./commands/restore.ts")),
      entry("config", "settings and the wire's policy", () => import("./commands/config.ts")),
      entry("completion", "shell completion", () => import("./commands/completion.ts")),
    ],
  },
  {
    title: "Trust and proof",
    entries: [
      entry("keygen", "make a key", () => import("./commands/keygen.ts")),
      entry("key", "change your key", () => import("./commands/key.ts")),
      entry("trust", "whom you believe", () => import("./commands/trust.ts")),
      entry("card", "what an agent says of itself", () => import("./commands/card.ts")),
      entry("sas", "six digits of two keys", () => import("./commands/sas.ts")),
      entry("audit", "re-derive everything from the logs", () => import("./commands/audit.ts")),
      entry("verify", "check message lines", () => import("./commands/verify.ts")),
      entry("canonical", "canonical bytes of JSON", () => import("./commands/canonical.ts")),
      entry("reclaim", "write again after identity_in_use", () => import("./commands/reclaim.ts")),
      entry("resume", "end safe mode (operator)", () => import("./commands/resume.ts")),
    ],
  },
];

export const COMMANDS: ReadonlyMap<string, CommandEntry> = new Map(
  COMMAND_GROUPS.flatMap((group) => group.entries.map((each) => [each.name, each] as const)),
);

function entry(name: string, summary: string, load: () => Promise<CommandModule>): CommandEntry {
  return { name, summary, load };
}

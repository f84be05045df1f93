import { Readable } from "node:stream";
import { expect } from "vitest";
import type { Client } from "../../src/api/client.ts";
import { askDirectly } from "../../src/api/operations.ts";
import type { OperatedAgent } from "../../src/api/service.ts";
import type { ViewArgs, ViewName, ViewParameters, Views } from "../../src/api/views.ts";
import { DeaddropError } from "../../src/api/errors.ts";
import type { Cli } from "../../src/cli/context.ts";
import { main } from "../../src/cli/main.ts";
import type { Draft } from "../../src/wire/compose.ts";

export const ID = "4f2a91c7".padEnd(64, "0");
/** Of the message that the scenes answer. */
export const PLACE = ["scribe", 3, ID] as const;
/** The same message as one of ours. */
export const OWN_PLACE = ["forge", 3, ID] as const;
export const ESCALATION = "e5ca1a7e".padEnd(64, "0");

/** What a command asked of the agent. */
export interface Recording {
  drafts: Draft[];
  asked: { name: string; args: unknown }[];
  read: (readonly string[] | "all")[];
  status: Parameters<OperatedAgent["setStatus"]>[0][];
  /** Peers that were reset, and "reclaim". */
  decided: string[];
  ticks: number;
  closed: number;
}

export interface Answered {
  exitCode: number;
  stdout: string;
  stderr: string;
  recording: Recording;
}

export type Scene = { [N in ViewName]?: Views[N] | (() => Views[N]) };

export interface Outside {
  views?: Scene;
  stdin?: string;
  tty?: boolean;
  columns?: number;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  viaDaemon?: boolean;
  send?: () => Promise<never>;
  /** What the clock shows; where files are real, their times are too. */
  nowMs?: number;
  /** In place of the agent that only records: a real one. */
  openClient?: Cli["openClient"];
}

export const NOW_MS = Date.parse("2026-11-21T12:00:00Z");

export function emptyRecording(): Recording {
  return { drafts: [], asked: [], read: [], status: [], decided: [], ticks: 0, closed: 0 };
}

/** Runs one command line against an agent that only records what it is asked. */
export async function run(args: readonly string[], outside: Outside = {}): Promise<Answered> {
  const recording = emptyRecording();
  const out: string[] = [];
  const err: string[] = [];
  let nowMs = outside.nowMs ?? NOW_MS;
  const { tty: isTTY = false, columns } = outside;
  const size = columns === undefined ? {} : { columns };
  const cli: Cli = {
    // A user without identities, whoever runs the tests.
    env: { DEADDROP_WIRE: "/", DEADDROP_AS: "forge", HOME: "/nonexistent", ...outside.env },
    cwd: outside.cwd ?? "/",
    stdin: Object.assign(Readable.from([Buffer.from(outside.stdin ?? "")]), { isTTY }),
    stdout: { write: (text) => out.push(text), isTTY, ...size },
    stderr: { write: (text) => err.push(text), isTTY, ...size },
    exitCode: 0,
    clock: {
      nowMs: () => nowMs,
      sleep: async (durationMs) => {
        nowMs += durationMs;
      },
    },
    openClient:
      outside.openClient ??
      (async ({ handle, wireDir }) =>
        recorder(recording, outside, { handle, wireDir, viaDaemon: outside.viaDaemon ?? true })),
  };
  const exitCode = await main(args, cli);
  return { exitCode, stdout: out.join(""), stderr: err.join(""), recording };
}

/** The one draft that a command line sends, which has nothing to complain of. */
export async function draftedBy(args: readonly string[], outside: Outside = {}) {
  const { recording, stderr, exitCode } = await run(args, outside);
  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  expect(recording.drafts).toHaveLength(1);
  return recording.drafts[0];
}

/** How a command line is refused that sends nothing. */
export async function refusedBy(args: readonly string[], outside: Outside = {}) {
  const { recording, stderr, exitCode } = await run(args, outside);
  expect(recording.drafts).toEqual([]);
  return { exitCode, stderr };
}

/** An agent that only records what it is asked, as a client. */
export function recorder(
  recording: Recording,
  outside: Outside,
  who: Pick<Client, "handle" | "wireDir" | "viaDaemon">,
): Client {
  const agent = recordedAgent(recording, outside);
  const ask = askDirectly({
    inTurn: (work) => work(agent),
    until: (ask) => ask(),
    send: async (drafts) => {
      await outside.send?.();
      recording.drafts.push(...drafts);
      const messages = drafts.map((draft) => ({
        event_id: ID,
        place: ["forge", 7, ID] as const,
        timestamp: "2026-11-21T12:00:00.000000Z",
        correlation_id: draft.correlationId ?? "2026-11-21T12:00:00.000000Z",
        to: [...draft.to],
      }));
      return { outcome: "sent", messages };
    },
  });
  return {
    ...who,
    ask,
    view: async <N extends ViewName>(name: N, ...[args]: ViewParameters<N>) =>
      (await ask("view", { name, args })) as Views[N],
    close: () => {
      recording.closed++;
    },
  };
}

const sentNothing = { outcome: "sent" as const, messages: [] };

function recordedAgent(recording: Recording, outside: Outside): OperatedAgent {
  return {
    view: async <N extends ViewName>(name: N, args: ViewArgs[N]): Promise<Views[N]> => {
      recording.asked.push({ name, args });
      const scene: Scene = { ...pair, ...outside.views };
      if (!Object.hasOwn(scene, name)) throw new DeaddropError("unknown_id", `no ${name} here`);
      const answer: unknown = (scene as Readonly<Record<string, unknown>>)[name];
      return (typeof answer === "function" ? (answer as () => unknown)() : answer) as Views[N];
    },
    markRead: async (ids) => {
      recording.read.push(ids);
      return { read: ids.length };
    },
    setStatus: async (status) => {
      recording.status.push(status);
    },
    notify: async () => ({ told: true }),
    sendOnce: async () => {
      await outside.send?.();
      return { outcome: "sent", messages: [] };
    },
    answered: async () => null,
    wake: async () => {
      recording.decided.push("wake");
      return { woken: true };
    },
    archive: async (year = 2025) => {
      recording.decided.push(`archive ${year}`);
      return { year, files: [] };
    },
    resetPeer: async (peer) => {
      recording.decided.push(peer);
      return { peer, holds: [], blocked: false, can_speak: true, evidence: [] };
    },
    revokeKey: async (keyId) => {
      recording.decided.push(keyId);
    },
    changeMembers: async () => sentNothing,
    leave: async () => sentNothing,
    reclaim: async () => {
      recording.decided.push("reclaim");
      return { goes_on_after: null, given_up: [], kept_in: null };
    },
    look: async () => {
      recording.ticks++;
      return false;
    },
    reload: async () => {},
  };
}

export function whoami(...roster: string[]): Views["whoami"] {
  return {
    handle: "forge",
    wire: "7c3a91e2b4d05f16",
    wire_dir: "/",
    wire_id: "7c3a91e2b4d05f16",
    key_id: "forge:1a2b3c4d",
    roster,
    members: roster,
    daemon: { running: true, pid: 42 },
    inbox_path: "/state/inbox.jsonl",
  };
}

/** A message of scribe's to forge that the scenes answer. */
export function resolved(type: string, from = "scribe", to = "forge"): Views["resolve_id"] {
  return {
    event_id: ID,
    correlation_id: "thread-1",
    from,
    type,
    subject: "the plan",
    place: [from, 3, ID],
    to: [to],
  };
}

export function threadWith(subject: string, body: unknown = ""): Views["thread"] {
  const message = {
    timestamp: "2026-11-21T11:56:00Z",
    from: "scribe",
    to: ["forge"],
    type: "feedback",
    subject,
    body,
    correlation_id: "thread-1",
    _meta: {
      id: ID,
      place: ["scribe", 3, ID] as const,
      received_at: "2026-11-21T11:56:01Z",
      tier: "VERIFIED" as const,
      priority: "medium" as const,
      refused: null,
      corrections: [],
    },
  };
  return [
    {
      correlation_id: "thread-1",
      named_by: "event_id",
      root: ID,
      subject,
      omitted: 0,
      status: "open",
      waiting_on: [],
      participants: ["forge", "scribe"],
      messages: [message],
      obligations: [],
      proposals: [],
    },
  ];
}

const pair: Scene = {
  whoami: whoami("forge", "scribe"),
  thread: threadWith("the plan"),
  troubles: [],
  proposals: [],
  requests: [],
  incidents: [],
  safe_mode: null,
  agent_notices: [],
};

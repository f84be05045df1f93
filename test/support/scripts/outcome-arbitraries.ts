import fc from "fast-check";
import type { Layout } from "../../../src/wire/layout.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";

export const AGENTS = ["a", "b", "c"];
/** Two names are enough for rivals, and a third for revisions. */
const NAMES = ["P", "Q", "R"];

/** A step that says anything about anything that was proposed before it. */
const anyStep = (agents: readonly string[]) =>
  fc.record({
    agent: fc.constantFrom(...agents),
    verb: fc.constantFrom(
      ...[
        "proposes",
        "proposes",
        "acks",
        "acks",
        "acks",
        "agrees",
        "agrees",
        "rejects",
        "reverts",
        "asks",
      ],
      ...["beats", "beats", "beats", "beats", "beats"],
    ),
    name: fc.constantFrom(...NAMES),
    behind: fc.nat(3),
    wrong: fc.nat(9).map((chance) => chance === 0),
    read: fc.constantFrom("all", "all", "some", "none"),
    says: fc.constantFrom("", "", "", "", "busy", "paused"),
    due: fc.option(fc.constantFrom(60, 200, 1_000, 100_000), { freq: 3 }),
    refuses: fc.option(fc.integer({ min: 1, max: 6 }), { freq: 5 }),
    plain: fc.nat(3).map((chance) => chance === 0),
    bare: fc.nat(4).map((chance) => chance === 0),
    date: fc.option(fc.nat(30), { freq: 5 }),
  });

interface Step {
  agent: string;
  verb: string;
  name: string;
  behind: number;
  wrong: boolean;
  read: string;
  says: string;
  due: number | null;
  refuses: number | null;
  plain: boolean;
  bare: boolean;
  date: number | null;
}

/** Random steps as a script: everybody proposes each name once, and knows only what was said. */
export function scriptOf(steps: readonly Step[], agents: readonly string[], chainedOnly: boolean) {
  const said: string[] = [];
  const lengths = new Map<string, number>();
  const known = new Set<string>();
  for (const step of steps) {
    const { agent, verb, name, behind, wrong, refuses, plain, bare, date } = step;
    const peers = agents.filter((peer) => peer !== agent);
    const length = (of: string) => lengths.get(of) ?? 0;
    if (verb === "beats") {
      const heads = peers.map((peer) => `${peer}=${Math.max(0, length(peer) - behind)}`);
      if (wrong) heads.push(`wrong=${peers[0] ?? ""}`);
      if (refuses !== null) heads.push(`refuses=${peers[0] ?? ""}:${refuses}`);
      if (step.read === "none") heads.push("unread");
      if (step.read === "some") heads.push(`read=${peers.map((peer) => `${peer}:2`).join(",")}`);
      if (step.says !== "") heads.push(step.says);
      said.push(`${agent} beats ${heads.join(" ")}`);
    } else {
      const own = `${agent}${name}`;
      const first = [...known][0];
      const targets = [...known].filter((each) => verb !== "reverts" || each.startsWith(agent));
      const target = targets[name.charCodeAt(0) % Math.max(targets.length, 1)];
      if (verb === "proposes" && known.has(own)) continue;
      if (verb !== "proposes" && (target === undefined || first === undefined)) continue;
      const needed = behind === 0 ? peers : peers.slice(behind % peers.length).slice(0, 1);
      const needs = agents.length > 2 ? ` needs=${needed.join(",")}` : "";
      const isPlain = plain && !chainedOnly && agents.length === 2;
      const flag = isPlain ? ` plain${date === null ? "" : ` @${date}.${said.length + 10}`}` : "";
      if (verb === "proposes") {
        const due = step.due === null ? "" : ` due=${step.due + said.length}`;
        said.push(`${agent} proposes ${own}${needs}${due}${flag}`);
        known.add(own);
      } else if (verb === "acks" && bare) {
        said.push(`${agent} acks bare`);
      } else {
        said.push(`${agent} ${verb} ${target ?? ""}${verb === "asks" ? "?" : ""}${flag}`);
      }
    }
    lengths.set(agent, length(agent) + 1);
  }
  return said;
}

/** One interleaving of the logs that keeps each log's order, and an outbox behind its closed logs. */
export function interleave(
  events: readonly LineEvent[],
  picks: readonly number[],
  layout?: Layout,
): LineEvent[] {
  const waitsFor = (log = ""): readonly string[] => layout?.logs.get(log)?.continues ?? [];
  const logs = new Map<string, LineEvent[]>();
  for (const event of events) logs.set(event.log, [...(logs.get(event.log) ?? []), event]);
  const queues = [...logs.values()];
  const mixed: LineEvent[] = [];
  for (let at = 0; mixed.length < events.length; at++) {
    const left = queues.filter((queue) => queue.length > 0);
    const unread = new Set(left.map(([first]) => first?.log));
    const waiting = left.filter(([first]) => !waitsFor(first?.log).some((log) => unread.has(log)));
    const event = waiting[(picks[at % picks.length] ?? 0) % waiting.length]?.shift();
    if (event !== undefined) mixed.push(event);
  }
  return mixed;
}

/** A random conversation, an order in which its logs come, and who looks on. */
export function arbitraryTalk(agents: readonly string[]) {
  return fc.record({
    steps: fc.array(anyStep(agents), { minLength: 6, maxLength: 24 }),
    picks: fc.array(fc.nat(5), { minLength: 4, maxLength: 40 }),
    viewer: fc.constantFrom(...agents),
  });
}

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { agentNoticesView } from "../../src/agent/answers/agent-notices.ts";
import { AgentNotices } from "../../src/agent/duties/agent-notices.ts";
import type { Notice } from "../../src/store/notices.ts";
import { CoreWire, type CoreAgent } from "./core-wire.ts";

/** A wire whose agents are told what no line says. */
export class NoticeWire extends CoreWire {
  readonly heard: [name: string, notice: Notice][];
  readonly notices: Map<string, AgentNotices>;

  private constructor(
    root: string,
    names: readonly string[],
    heard: NoticeWire["heard"],
    notices: NoticeWire["notices"],
  ) {
    super(root, names, undefined, (agent) => (ground) => {
      const duty = new AgentNotices(ground, {
        path: fileOf(agent),
        onNotice: (notice) => heard.push([agent.name, notice]),
      });
      notices.set(agent.name, duty);
      return [duty];
    });
    this.heard = heard;
    this.notices = notices;
  }

  static async begin(root: string, ...names: readonly string[]): Promise<NoticeWire> {
    const wire = new NoticeWire(root, names, [], new Map());
    await wire.settle();
    return wire;
  }

  /** Kind and words of all that an agent was told. */
  told(name: string): string[] {
    return this.list(name).map(({ kind, text }) => `${kind}: ${text}`);
  }

  list(name: string, args: { unread?: boolean } = {}) {
    return agentNoticesView(this.agent(name).core, args);
  }

  /** Only these run for a while. */
  async pass(ms: number, ...names: readonly string[]): Promise<void> {
    const running = names.map((name) => this.agent(name).core);
    for (const endMs = this.nowMs + ms; this.nowMs < endMs;) {
      this.nowMs += Math.min(30_000, endMs - this.nowMs);
      for (const core of running) while (await core.round());
    }
  }
}

export function fileOf(agent: Pick<CoreAgent, "home">): string {
  return join(agent.home, "notices.jsonl");
}

/** What `notices.jsonl` of an agent holds. */
export function written(agent: CoreAgent): unknown[] {
  const lines = readFileSync(fileOf(agent), "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as unknown);
}

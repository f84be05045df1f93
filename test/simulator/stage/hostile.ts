import { join } from "node:path";
import type { Tier } from "../../../src/trust/tiers.ts";
import { composeLine, type ChainHead, type Draft } from "../../../src/wire/compose.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { ownLogs, type Log } from "../../../src/wire/layout.ts";
import { makeSigner, type Signer } from "../../../src/wire/signature.ts";
import { WIRE, WIRE_ID } from "../../support/scenes/scene-folder.ts";
import { plainLine, type PlainSaying, type PlainVersion } from "./plain-lines.ts";
import type { Play } from "../play.ts";
import type { Stage } from "./stage.ts";

const YEAR_9999_MS = Date.UTC(9999, 11, 31);

/** A member without a daemon, who has a pinned key, the folder, and no good intentions. */
export class Hostile {
  readonly handle: string;
  readonly tier: Tier;
  /** It has signed two lines for one place. */
  hasForked = false;
  /** It has taken lines back that others may have read. */
  hasCut = false;
  readonly #stage: Stage;
  readonly #signer: Signer;
  readonly #heads = new Map<string, ChainHead>();
  readonly #written = new Map<string, string[]>();
  readonly #plain: string[] = [];

  constructor(stage: Stage, handle: string, tier: Tier) {
    this.#stage = stage;
    this.handle = handle;
    this.tier = tier;
    this.#signer = makeSigner(handle, stage.seeds.get(handle) as Uint8Array);
  }

  get logs(): readonly Log[] {
    return ownLogs(this.#stage.layout, this.handle);
  }

  writtenTo(log: Log): readonly string[] {
    return this.#written.get(log.name) ?? [];
  }

  headOf(log: Log): ChainHead | undefined {
    return this.#heads.get(log.name);
  }

  /** A line with our own signature; `after`: the line that it claims to follow. */
  sign(log: Log, draft: Partial<Draft>, after: ChainHead | undefined, atMs?: number): string {
    const { nowMs } = this.#stage;
    const text = { to: ["*"], type: "feedback", subject: "by hand", body: fromPlain({ n: nowMs }) };
    const { line } = composeLine(
      { ...text, ...draft },
      {
        timestamp: new Date(atMs ?? nowMs).toISOString(),
        log: log.name,
        wireId: WIRE_ID,
        head: after,
      },
      this.#signer,
    );
    return Buffer.from(line).toString("utf8");
  }

  /** Says something as an honest member would. */
  say(log: Log, draft: Partial<Draft>, atMs?: number): string {
    const line = this.sign(log, draft, this.headOf(log), atMs);
    this.append(log, `${line}\n`);
    this.#written.set(log.name, [...this.writtenTo(log), line]);
    const { seq, event_id: id } = JSON.parse(line) as { seq: number; event_id: string };
    this.#heads.set(log.name, { seq, id });
    return line;
  }

  /** Says something outside the chain; it can be repeated as any other line. */
  sayPlainly(log: Log, saying: PlainSaying, version: PlainVersion, atMs: number): string {
    const line = plainLine(saying, version, this.#signer, atMs);
    this.append(log, `${line}\n`);
    this.#plain.push(line);
    return line;
  }

  get saidPlainly(): readonly string[] {
    return this.#plain;
  }

  /** Anybody can write into any file of the folder. */
  append(log: Log, text: string): void {
    const file = this.#stage.home(log).disk.process().open(this.#stage.path(log), "append");
    file.append(Buffer.from(text, "utf8"));
    if (this.#stage.luck.chance(0.5)) file.datasync();
    file.close();
  }

  replace(log: Log, text: string): void {
    const path = join(WIRE, log.path);
    this.#stage.home(log).disk.process().replace(path, Buffer.from(text, "utf8"), 0o644);
  }

  textOf(log: Log): string {
    return this.#stage.home(log).text(this.#stage.path(log));
  }

  /** Somebody else's line, as it stands. */
  anyHonestLine(play: Play): string | undefined {
    const all = play.ledger.all.filter(({ from }) => from !== this.handle);
    return all.length === 0 ? undefined : play.luck.pick(all.slice(-40)).line;
  }
}

type Mischief = (play: Play, hostile: Hostile) => void;

function behave({ luck }: Play, hostile: Hostile): void {
  const type = luck.pick(["feedback", "ship", "warning", "claim", "agent_card", "incident"]);
  hostile.say(luck.pick(hostile.logs), { type, body: fromPlain({ severity: "high" }) });
}

function ackAnything(play: Play, hostile: Hostile): void {
  const proposals = play.ledger.all.filter(({ type }) => type === "proposal");
  if (proposals.length === 0) return;
  const { id, thread, from } = play.luck.pick(proposals.slice(-8));
  const approve = play.luck.chance(0.8) ? {} : { approve: false };
  const to = [from];
  hostile.say(play.luck.pick(hostile.logs), {
    to,
    type: "ack",
    correlationId: thread,
    body: fromPlain({ acks: id, ...approve }),
  });
}

function beat(play: Play, hostile: Hostile): void {
  const log = play.luck.pick(hostile.logs);
  const heads = Object.fromEntries(
    play.stage.logs
      .filter(({ owner }) => owner !== hostile.handle)
      .map(({ name }) => {
        const standing = play.ledger.standing(name).filter(({ seq }) => seq > 0);
        const head = standing.at(-1 - play.luck.between(0, 3));
        const lines = play.luck.between(0, standing.length + 3);
        return [name, { lines, ...(head && { seq: head.seq, event_id: head.id }), refused: [] }];
      }),
  );
  const body = { wakeup_count: 1, state: "idle", next_eta: "9999-12-31T00:00:00Z", heads };
  hostile.say(log, { type: "heartbeat", body: fromPlain(body) });
}

function lieAboutTime({ luck, stage }: Play, hostile: Hostile): void {
  const log = luck.pick(hostile.logs);
  const atMs = luck.pick([YEAR_9999_MS, stage.nowMs + 86_400_000, stage.nowMs - 86_400_000]);
  hostile.say(log, { subject: "at another time" }, atMs);
}

function forge(play: Play, hostile: Hostile): void {
  const line = hostile.anyHonestLine(play);
  if (line === undefined) return;
  const fields = JSON.parse(line) as Record<string, unknown>;
  fields[play.luck.pick(["subject", "to", "body", "timestamp", "seq", "log"])] = play.luck.pick([
    "other",
    9,
    ["*"],
  ]);
  hostile.append(play.luck.pick(play.stage.logs), `${JSON.stringify(fields)}\n`);
}

function replay(play: Play, hostile: Hostile): void {
  const line = hostile.anyHonestLine(play);
  if (line !== undefined) hostile.append(play.luck.pick(play.stage.logs), `${line}\n`);
}

function repeatOneself({ luck }: Play, hostile: Hostile): void {
  const log = luck.pick(hostile.logs);
  const lines = hostile.writtenTo(log);
  if (lines.length > 0) hostile.append(luck.pick(hostile.logs), `${luck.pick(lines)}\n`);
}

/** One signature has several spellings, and so has one line. */
function respell(play: Play, hostile: Hostile): void {
  const line = hostile.anyHonestLine(play);
  if (line === undefined) return;
  const fields = JSON.parse(line) as Record<string, unknown>;
  const signature = String(fields["signature"]);
  const spellings = [
    signature.replace(/=+$/, ""),
    signature.replaceAll("+", "-").replaceAll("/", "_"),
    `${signature}\n`,
    signature.replace(/.(?===$)/, (last) => String.fromCharCode(last.charCodeAt(0) + 1)),
    ` ${signature}`,
  ];
  fields["signature"] = play.luck.pick(spellings);
  const text = play.luck.chance(0.7) ? JSON.stringify(fields) : line.replaceAll(":", ": ");
  const log = play.stage.logs.find(({ name }) => name === fields["log"]);
  if (log !== undefined) hostile.append(log, `${text}\n`);
}

function fork({ luck }: Play, hostile: Hostile): void {
  const log = luck.pick(hostile.logs);
  const head = hostile.headOf(log);
  if (head === undefined || head.seq < 2 || !luck.chance(0.2)) return;
  const { seq, prev } = JSON.parse(hostile.writtenTo(log).at(-1) as string) as {
    seq: number;
    prev: string;
  };
  hostile.append(
    log,
    `${hostile.sign(log, { subject: "the other" }, { seq: seq - 1, id: prev })}\n`,
  );
  hostile.hasForked = true;
}

function skipAhead({ luck }: Play, hostile: Hostile): void {
  const log = luck.pick(hostile.logs);
  const head = hostile.headOf(log);
  if (head === undefined) return;
  const line = hostile.sign(log, { subject: "from afar" }, { ...head, seq: head.seq + 7 });
  hostile.append(log, `${line}\n`);
}

function cutOwnLog({ luck }: Play, hostile: Hostile): void {
  const log = luck.pick(hostile.logs);
  const text = hostile.textOf(log);
  if (text === "" || !luck.chance(0.2)) return;
  hostile.replace(log, text.slice(0, luck.between(0, text.length)));
  hostile.hasCut = true;
}

function rubbish({ luck, stage }: Play, hostile: Hostile): void {
  const log = luck.pick(luck.chance(0.8) ? hostile.logs : stage.logs);
  const text = luck.pick([
    "{",
    "\u0000".repeat(50),
    "[1,2]\n",
    "not json\n",
    "\n\n\n",
    '{"a":1e999}\n',
  ]);
  hostile.append(log, text.repeat(luck.between(1, 20)));
}

function flood({ luck }: Play, hostile: Hostile): void {
  const log = luck.pick(hostile.logs);
  if (!luck.chance(0.15)) return;
  for (let left = luck.between(10, 60); left > 0; left -= 1) hostile.say(log, {});
}

function forgeDecision(play: Play, hostile: Hostile): void {
  const proposal = play.ledger.all.findLast(({ type }) => type === "proposal");
  const beating = play.ledger.all.findLast(({ type }) => type === "heartbeat");
  if (proposal === undefined || beating === undefined) return;
  const record = {
    decision_id: "forged",
    ratified_at: beating.timestamp,
    proposer: proposal.from,
    proposal_id: proposal.id,
    ratified_by: beating.id,
    recorded_by: proposal.from,
    decision: "all is mine",
    canonical: true,
  };
  const { disk } = play.stage.member(hostile.handle).host;
  const file = disk.process().open(join(WIRE, "decisions.jsonl"), "append");
  const end = play.luck.chance(0.7) ? "\n" : "";
  file.append(Buffer.from(`${JSON.stringify(record)}${end}`, "utf8"));
  file.close();
}

/** What a hostile member does, and how often. */
export const MISCHIEF: readonly (readonly [weight: number, mischief: Mischief])[] = [
  [12, behave],
  [8, ackAnything],
  [10, beat],
  [3, lieAboutTime],
  [6, forge],
  [6, replay],
  [4, repeatOneself],
  [6, respell],
  [2, fork],
  [2, skipAhead],
  [1, cutOwnLog],
  [5, rubbish],
  [3, flood],
  [3, forgeDecision],
];

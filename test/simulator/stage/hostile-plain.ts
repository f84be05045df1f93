import { WIRE_ID } from "../../support/scenes/scene-folder.ts";
import type { Hostile } from "./hostile.ts";
import type { PlainSaying, PlainVersion } from "./plain-lines.ts";
import type { Play } from "../play.ts";

const VERSIONS: readonly PlainVersion[] = ["v3.1", "v3.0", "v3.0", "v2.0"];
const OTHER_WIRE = "00000000deadbeef";

type Mischief = (play: Play, hostile: Hostile) => void;

/** Something that matters to decisions, about whatever stands in the logs. */
function saying({ luck, ledger, honest }: Play, hostile: Hostile): PlainSaying {
  const to = luck.chance(0.8) ? [luck.pick(honest).handle] : ["*"];
  const wire = luck.weighted([
    [3, {}],
    [3, { wire: WIRE_ID }],
    [2, { wire: OTHER_WIRE }],
  ]);
  const proposals = ledger.all.filter(({ type }) => type === "proposal").slice(-8);
  const about = proposals.length === 0 ? undefined : luck.pick(proposals);
  const type = luck.pick(["proposal", "ack", "ack", "correction", "heartbeat", "ship"]);
  const thread = about === undefined || luck.chance(0.2) ? {} : { thread: about.thread };
  const base = { to, type, ...wire };
  if (type === "proposal") return { ...base, ...thread, body: { required: to, decision: "mine" } };
  if (type === "heartbeat") return { ...base, body: { wakeup_count: 1, state: "idle" } };
  if (type === "ship" || about === undefined) return { ...base, type: "ship", ...thread, body: {} };
  if (type === "correction") {
    const own = proposals.findLast(({ from }) => from === hostile.handle) ?? about;
    return { ...base, thread: own.thread, body: { reverts: own.id } };
  }
  const named = luck.pick([{ acks: about.id }, { acks: about.id }, {}]);
  const approve = luck.pick([{}, { approve: true }, { approve: false }]);
  return { ...base, thread: about.thread, body: { ...named, ...approve } };
}

function speakPlainly(play: Play, hostile: Hostile): void {
  const { luck, stage } = play;
  const atMs = stage.nowMs - (luck.chance(0.2) ? luck.between(0, 600_000) : 0);
  hostile.sayPlainly(luck.pick(hostile.logs), saying(play, hostile), luck.pick(VERSIONS), atMs);
}

/** The same line, or the same content in other bytes, in some of its logs. */
function copyPlainly({ luck }: Play, hostile: Hostile): void {
  if (hostile.saidPlainly.length === 0) return;
  const line = luck.pick(hostile.saidPlainly.slice(-5));
  const text = luck.chance(0.5) ? line : line.replace('","', '", "');
  for (const log of luck.some(hostile.logs)) hostile.append(log, `${text}\n`);
}

/** What a hostile member writes outside the chain, and how often. */
export const PLAIN_MISCHIEF: readonly (readonly [weight: number, mischief: Mischief])[] = [
  [14, speakPlainly],
  [6, copyPlainly],
];

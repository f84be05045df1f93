import type { ProposalView } from "../../../src/api/views.ts";
import { Broken, kept } from "./broken.ts";
import { carryAll } from "./carry-all.ts";
import { HOSTILE, PLAIN } from "../stage/cast.ts";
import { look, type Play } from "../play.ts";
import type { Member } from "../stage/stage.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Longer than `proposal_hours`: what nobody has read has been taken back. */
const LONG_ENOUGH_MS = 25 * HOUR_MS;
/** Then a clock that is wrong has held back the line that says so for long enough, too. */
const HELD_BACK_MS = 16 * MINUTE_MS;
/** And who read it late, by a heartbeat that came only now, has had its time to answer. */
const ANSWERED_MS = 45 * MINUTE_MS;

/**
 * Promise 5: every proposal ends, or it is shown for whom it waits, and nobody holds another
 * outcome of it than somebody else.
 */
export async function checkDecided(play: Play): Promise<void> {
  for (const skippedMs of [LONG_ENOUGH_MS, HELD_BACK_MS, ANSWERED_MS]) {
    play.stage.timers.skip(skippedMs);
    for (let round = 0; round < 4; round += 1) {
      await play.stage.pass(MINUTE_MS);
      look(play);
    }
    await carryAll(play);
  }
  // What is dated far ahead is held back by its readers for a quarter of an hour. Spec 2.4.
  if (play.honest.some(({ clockOffMs }) => clockOffMs > 4 * MINUTE_MS)) {
    await play.stage.pass(20 * MINUTE_MS);
    look(play);
  }
  const outcomes = new Map<string, { readonly by: string; readonly is: string }>();
  for (const member of play.honest) {
    const missing = await logsNotRead(play, member);
    for (const proposal of await proposalsOf(play, member)) {
      const { proposal_id: id, status, decided_by: by } = proposal;
      if (isDisputed(play, proposal)) continue;
      // Its daemon does not run any more.
      const isOver = play.away.has(proposal.proposer);
      const isStuck = !isOver && hangs(member, proposal) && !waitsForOneOf(missing, proposal);
      kept(5, !isStuck, () => `${member.handle}: ${shown(proposal)}`);
      if (status === "open" || status === "void") continue;
      const is = `${status} by ${by?.slice(0, 8) ?? ""}`;
      const first = outcomes.get(id) ?? { by: member.handle, is };
      outcomes.set(id, first);
      kept(
        5,
        first.is === is,
        () => `${id.slice(0, 8)} is ${first.is} to ${first.by}, ${is} to ${member.handle}`,
      );
    }
  }
}

async function proposalsOf(play: Play, member: Member): Promise<ProposalView[]> {
  const all = await play.stage.ask(member, (agent) => agent.view("proposals", undefined));
  if (all === undefined) throw new Broken(12, `${member.handle} gives no answer`);
  return all;
}

function shown({ proposal_id: id, proposer, support }: ProposalView): string {
  return `${proposer}'s proposal ${id.slice(0, 8)} hangs, with ${JSON.stringify(support)}`;
}

/**
 * Who has shown two histories may be believed in either: as a party, and where it has spoken in the
 * thread, since an ack may name what only one reader was shown.
 */
function isDisputed({ hostile, ledger }: Play, proposal: ProposalView): boolean {
  if (hostile === undefined || !(hostile.hasForked || hostile.hasCut)) return false;
  if ([proposal.proposer, ...proposal.required].includes(HOSTILE)) return true;
  const { correlation_id: thread } = proposal;
  return [...ledger.byId.values()].some((each) => each.from === HOSTILE && each.thread === thread);
}

/**
 * The hostile logs of which that member reads nothing more: it holds them back, or what the proposer
 * has read was cut out of them. It says so of a proposal that depends on such lines, for good.
 */
async function logsNotRead({ stage, hostile }: Play, member: Member): Promise<ReadonlySet<string>> {
  if (hostile === undefined) return new Set();
  const peers = await stage.ask(member, (agent) => agent.view("peers", undefined));
  if (peers === undefined) throw new Broken(12, `${member.handle} gives no answer`);
  const view = peers.find(({ handle }) => handle === hostile.handle);
  const isAllMissing = hostile.hasCut || view?.held === true;
  const waiting = new Set(view?.waits?.map(({ log }) => log));
  const names = hostile.logs.map(({ name }) => name);
  return new Set(names.filter((name) => isAllMissing || waiting.has(name)));
}

function waitsForOneOf(logs: ReadonlySet<string>, { waits_for: reason }: ProposalView): boolean {
  return [...logs].some((log) => reason?.startsWith(`lines of ${log} up to `) === true);
}

/** Still open although nothing is left that could be waited for. */
function hangs(member: Member, proposal: ProposalView): boolean {
  const { status, proposer, required, support, proposal_id: id } = proposal;
  if (status !== "open") return false;
  const isAgreed = required.every((party) => support[party] === id);
  // The acker's log decides: with its ack everything is said.
  if (proposer === PLAIN) return isAgreed && !required.includes(HOSTILE);
  if (proposer === HOSTILE) return false;
  // Its daemon runs and ends it; who reads nothing of a hostile party cannot know.
  return proposer === member.handle || !required.includes(HOSTILE);
}

import { loadPlace, type AgentConfig } from "../../../src/agent/config/agent-config.ts";
import { moveDraft } from "../../../src/setup/wire/move-draft.ts";
import { takeOutboxLayout } from "../../../src/setup/wire/move-wire.ts";
import { WIRE } from "../../support/scenes/scene-folder.ts";
import type { Play } from "../play.ts";
import { mayMove } from "./cast.ts";
import { inThread, send } from "./sending.ts";
import type { Member } from "./stage.ts";

/** It proposes the move to those with whom nothing of it is open or agreed. */
export async function proposeMove(play: Play, who: Member): Promise<void> {
  const view = await play.stage.ask(who, (agent) => agent.view("layout", undefined));
  const left = (view?.pairs ?? []).filter(
    ({ between, status }) =>
      between.includes(who.handle) && status !== "open" && status !== "ratified",
  );
  const peers = left.flatMap(({ between }) => between.filter((handle) => handle !== who.handle));
  if (peers.length > 0) await send(play, who, ...peers.map((peer) => moveDraft(peer)));
}

/** Its agent agrees to a move that another one has proposed. */
export async function agreeToMove(play: Play, who: Member): Promise<void> {
  const view = await play.stage.ask(who, (agent) => agent.view("layout", undefined));
  const asked = (view?.pairs ?? []).flatMap(({ between, status, proposal_id: id }) => {
    const line = play.ledger.byId.get(id ?? "");
    const isAsked = status === "open" && between.includes(who.handle) && line?.from !== who.handle;
    return isAsked && line !== undefined ? [line] : [];
  });
  const [line] = asked;
  if (line === undefined) return;
  const body = { acks: line.id, approve: true };
  await send(play, who, { ...inThread(line.thread, [line.from], "ack"), body });
}

/** Its operator takes the layout once all have agreed. */
export async function takeMove(play: Play, who: Member): Promise<void> {
  await play.stage.ask(who, async (agent) => {
    const { agreed } = await agent.view("layout", undefined);
    if (!agreed) return;
    takeOutboxLayout(who.process, pinnedBy(who));
    await agent.reload();
  });
}

/** Whether its operator has taken the layout. */
export function hasMoved(who: Member): boolean {
  return pinnedBy({ ...who, process: who.host.disk.process() }).layout.kind === "outbox";
}

function pinnedBy({ handle, process, places }: Member): AgentConfig {
  return loadPlace(process, places, { wireDir: WIRE, handle });
}

/** In the end all have moved, or nobody: whether some are still to follow. */
export function isHalfWay({ seed, honest }: Play): boolean {
  if (!mayMove(seed)) return false;
  const moved = honest.filter((member) => hasMoved(member)).length;
  return moved > 0 && moved < honest.length;
}

/** Those who are left follow, as soon as they know that all have agreed. */
export async function finishMove(play: Play): Promise<void> {
  if (!isHalfWay(play)) return;
  for (const member of play.honest) await takeMove(play, member);
}

import type { RequestView } from "../../../src/api/views.ts";
import { HOSTILE } from "../stage/cast.ts";
import type { Play } from "../play.ts";
import type { Member } from "../stage/stage.ts";
import { Broken, kept } from "./broken.ts";

/**
 * Promise 5, of requests: the daemon of an honest asker ends each in its time, and nobody holds
 * another end of it than somebody else. Spec 3.8.
 */
export async function checkRequested(play: Play): Promise<void> {
  const ends = new Map<string, { readonly by: string; readonly is: string }>();
  for (const member of play.honest) {
    await checkParked(play, member);
    const all = await requestsOf(play, member);
    for (const request of all) {
      const { event_id: id, target, from, status, decided_by: by } = request;
      if (namesakes(all, request).some((each) => isDisputed(play, each))) continue;
      const name = `${from}'s request ${id.slice(0, 8)} to ${target}`;
      const isStuck = status === "pending" && from === member.handle && target !== HOSTILE;
      kept(5, !isStuck, () => `${name} hangs: it waits for ${request.waits_for}`);
      if (status === "pending") continue;
      const is = `${status} by ${by?.slice(0, 8) ?? ""}`;
      const key = `${id} ${target}`;
      const first = ends.get(key) ?? { by: member.handle, is };
      ends.set(key, first);
      kept(
        5,
        first.is === is,
        () => `${name} is ${first.is} to ${first.by}, ${is} to ${member.handle}`,
      );
    }
  }
}

/** Nobody is parked but by its own approval, which is on the wire. */
async function checkParked({ stage, ledger }: Play, member: Member): Promise<void> {
  const status = await stage.ask(member, (agent) => agent.view("status", undefined));
  const { approval } = status?.parked ?? {};
  if (approval === undefined) return;
  const line = ledger.byId.get(approval);
  const isOwn = line?.from === member.handle && line.body["parks"] === true;
  kept(5, isOwn, () => `${member.handle} is parked without an approval on the wire`);
}

async function requestsOf({ stage }: Play, member: Member): Promise<RequestView[]> {
  const all = await stage.ask(member, (agent) => agent.view("requests", {}));
  if (all === undefined) throw new Broken(12, `${member.handle} gives no answer`);
  return all;
}

/** It and those before it with its name: one that is open makes it void. */
function namesakes(all: readonly RequestView[], request: RequestView): RequestView[] {
  const { from, asked_at: at } = request;
  const name = request.request_id.toLowerCase();
  return all.filter(
    (other) =>
      other.from === from && other.request_id.toLowerCase() === name && other.asked_at <= at,
  );
}

/** Who has shown two histories may be believed in either. */
function isDisputed({ hostile }: Play, { from, target }: RequestView): boolean {
  if (hostile === undefined || !(hostile.hasForked || hostile.hasCut)) return false;
  return [from, target].includes(HOSTILE);
}

import { setAgentNoticesBack } from "./agent-notices/agent-notices-state.ts";
import type { IncidentsState } from "./incidents/incident-state.ts";
import { setNoticesBack } from "./notices.ts";
import type { RequestsState } from "./requests/requests-state.ts";
import type { State } from "./state.ts";

/** Anything that notes when we received it, by our wall clock. */
interface Noted {
  readonly at: number;
}

/**
 * Our wall clock was set back to `at`: what was noted before happened by then at the latest.
 * Without this a peer whose beat came while the clock was ahead would look alive for as long as it
 * was ahead, and no deadline would run. What a peer says of its own time stays as it is. Spec 4.1.
 */
export function setBack(state: State, at: number): void {
  const { heartbeats, receipts } = state;
  for (const pace of heartbeats.paces.values()) {
    if (pace.intervalFrom !== undefined) pace.intervalFrom = Math.min(pace.intervalFrom, at);
  }
  if (heartbeats.agentLastSeen !== undefined) {
    heartbeats.agentLastSeen = Math.min(heartbeats.agentLastSeen, at);
  }
  const { notWoken } = heartbeats;
  if (notWoken !== undefined && notWoken.at > at) heartbeats.notWoken = { ...notWoken, at };
  const { parked, woken } = heartbeats.parking;
  lower(
    [parked, woken].filter((mark) => mark !== undefined),
    at,
  );
  lower(heartbeats.peerBeats.values(), at);
  for (const { beats } of state.logs.values()) lower(beats, at);
  for (const { messages } of state.threads.threads.values()) lower(messages, at);
  lower(state.proposals.proposals.values(), at);
  for (const { readings } of state.proposals.proposals.values()) lower(readings.values(), at);
  setRequestsBack(state.requests, at);
  for (const claims of state.claims.byLog.values()) lower(claims, at);
  for (const { unread } of receipts.taken.values()) {
    unread.ats = unread.ats.map((each) => Math.min(each, at));
  }
  lower(receipts.sent.messages.values(), at);
  lower(state.sendKeys.values(), at);
  for (const { receipts: stages } of receipts.sent.messages.values()) lower(stages.values(), at);
  setIncidentsBack(state.incidents, at);
  setNoticesBack(state.notices, at);
  setAgentNoticesBack(state.agentNotices, at);
}

function setRequestsBack({ requests, ahead }: RequestsState, at: number): void {
  lower(requests.values(), at);
  for (const { answers } of requests.values()) lower(answers, at);
  for (const answers of ahead.values()) {
    lower(
      answers.map(({ said }) => said),
      at,
    );
  }
}

function setIncidentsBack({ declared, ahead }: IncidentsState, at: number): void {
  for (const marks of ahead.values()) lower(marks.values(), at);
  for (const incidents of declared.values()) {
    lower(incidents.values(), at);
    for (const { acks, shown } of incidents.values()) {
      lower(acks.values(), at);
      for (const { arrived, read, readLive } of shown.values()) {
        lower(
          [arrived, read, readLive].filter((beat) => beat !== undefined),
          at,
        );
      }
    }
  }
}

/** In place: the same mark may be known in several places. */
function lower(marks: Iterable<Noted>, at: number): void {
  for (const mark of marks) {
    if (mark.at > at) (mark as { at: number }).at = at;
  }
}

import type { KeyAction, KeyChangesState } from "./key-changes.ts";
import { proposalsById, type ProposalsState } from "../decisions/proposals-state.ts";
import type { Env } from "../env.ts";

/** Our own keys on this wire, and what we have asked our peers about them. Spec 2.5. */
export interface KeysView {
  current: string;
  /** When we began to sign with it; null: with the first line. */
  since: string | null;
  /** The key that waits until every peer has acked it. */
  next: string | null;
  /** Keys that we sign with no longer and that peers still believe. */
  earlier: string[];
  asked: KeyRequestView[];
}

export interface KeyRequestView {
  event_id: string;
  action: KeyAction;
  key_id: string;
  log: string;
  required: string[];
  /** "open", or what became of the proposal. */
  status: string;
}

export function keysView(state: KeyChangesState, proposals: ProposalsState, env: Env): KeysView {
  const { ownKeys: keys } = env;
  const asked = (state.get(env.self) ?? []).map(({ id, action, keyId, log, required }) => {
    const [proposal] = proposalsById(proposals, id, env);
    return {
      event_id: id,
      action,
      key_id: keyId,
      log,
      required: [...required],
      status: proposal === undefined ? "forgotten" : (proposal.outcome?.status ?? "open"),
    };
  });
  const since = keys?.sinceMs === undefined ? null : new Date(keys.sinceMs).toISOString();
  return {
    current: keys?.current ?? "",
    since,
    next: keys?.next ?? null,
    earlier: [...(keys?.earlier ?? [])],
    asked,
  };
}

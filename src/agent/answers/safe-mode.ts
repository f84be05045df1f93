import type { SafeMode } from "../../protocol/escalations/safe-mode-end.ts";
import { placeJson, type PlaceJson } from "../../wire/places.ts";
import type { Known } from "../duties/duty.ts";

/** Why most types are not sent now. */
export type SafeModeView = SafeMode & {
  /** Of the incident: what is acked or resolved to end it. */
  readonly place: PlaceJson;
  /** What a resume names: the escalations of that author that are held and not over. */
  readonly escalations: readonly PlaceJson[];
};

/** Null: there is no safe mode. Spec 3.5. */
export function safeModeView({ safeMode: mode, store }: Known): SafeModeView | null {
  if (mode === undefined) return null;
  const { author, incident_id: id } = mode;
  const incident = store.withIdPrefix(id, 2).find((line) => line.author === author);
  // Safe mode follows from the incident, so it is held.
  if (incident === undefined) throw new Error(`incident ${id} is not held`);
  const escalations = store.escalations.resumable(author).map(placeJson);
  return { ...mode, place: placeJson(incident), escalations };
}

/** An automatic incident that our own operator was told. */
export interface NoticeView {
  at: string;
  /** Such as `clock_skew`. Spec 3.5. */
  cause: string;
  /** Whom it is about. */
  peer: string | null;
  subject: string;
  detail: string;
}

/** What the operator was told, the newest 256, the oldest of them first. */
export function noticesView({ store }: Pick<Known, "store">): NoticeView[] {
  return store.told.list().map(({ atMs, cause, peer, subject, detail }) => ({
    at: new Date(atMs).toISOString(),
    cause,
    peer: peer ?? null,
    subject,
    detail,
  }));
}

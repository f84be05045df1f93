import { DAY_MS } from "../../wire/durations.ts";
import type { Known } from "../duties/duty.ts";
import type { GrowthView } from "./growth.ts";
import { incidentsView } from "./incidents.ts";

/** The record of a wire as we have seen it. Spec 8.6, `stats`. */
export interface StatsView {
  /** From the first message to the last, at least 1. */
  days: number;
  /** Lines that were taken in, refused ones too; of beats in no chain each one that was the latest. */
  messages: number;
  /** 0 to 1. */
  heartbeat_share: number;
  by_type: Record<string, number>;
  /** Proposals that somebody else has agreed to. */
  proposal_ack_pairs: number;
  /** Approved proposals. */
  decisions: number;
  /** Of those that are listed. */
  incidents: number;
  incidents_acked_in_time: number;
  /** Proposals that somebody has rejected. */
  disagreements: number;
  /** What grows with use. */
  growth: GrowthView[];
}

export function statsView(known: Known, growth: GrowthView[]): StatsView {
  const { tally } = known.store;
  const types = tally.byType();
  const messages = types.reduce((sum, { count }) => sum + count, 0);
  const beats = types.find(({ type }) => type === "heartbeat")?.count ?? 0;
  const { approved, agreed, rejected } = tally.proposals();
  const incidents = incidentsView(known);
  const firstMs = Math.min(...types.map((each) => each.firstMs));
  const lastMs = Math.max(...types.map((each) => each.lastMs));
  return {
    days: types.length === 0 ? 0 : Math.max(1, Math.ceil((lastMs - firstMs) / DAY_MS)),
    messages,
    heartbeat_share: messages === 0 ? 0 : beats / messages,
    by_type: Object.fromEntries(types.map(({ type, count }) => [type, count])),
    // What an unchained party has agreed to is known by its close alone.
    proposal_ack_pairs: Math.max(agreed, approved),
    decisions: approved,
    incidents: incidents.length,
    incidents_acked_in_time: incidents.filter(({ addressees }) =>
      addressees.every(({ acked, escalated }) => acked && !escalated),
    ).length,
    disagreements: rejected,
    growth,
  };
}

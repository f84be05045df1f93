import type { RefusalReason } from "../admission/checks.ts";
import type { ObligationView } from "../protocol/threads/threads-view.ts";
import type { Tier } from "../trust/tiers.ts";
import type { Priority } from "../wire/message.ts";

/** A message as it is on the wire: its own fields, unknown ones included. Spec 1.2. */
export interface MessageFields {
  timestamp: string;
  from: string;
  to?: string[];
  type?: string;
  kind?: number;
  subject: string;
  body: unknown;
  refs?: string[];
  priority?: string;
  correlation_id: string;
  ack_required?: boolean;
  event_id?: string;
  public_key_id?: string;
  signature?: string;
  wire?: string;
  log?: string;
  seq?: number;
  prev?: string;
  [unknown: string]: unknown;
}

export interface InboxMessage extends MessageFields {
  _meta: InboxMeta;
}

export interface InboxMeta {
  /** Event id; the SHA-256 of the canonical bytes for lines that carry none. */
  id: string;
  received_at: string;
  tier: Tier | null;
  /** False for unsigned lines that policy admits. */
  verified: boolean;
  /** Correlation id. */
  thread: string;
  /** Its own, or high for a subject that begins with `urgent:`. Spec 1.2. */
  priority: Priority;
  obligations: ObligationView[];
  read: boolean;
  after_gap: boolean;
}

/** A part of the inbox, oldest first. */
export interface InboxPage {
  messages: InboxMessage[];
  /** How many others fit the question: newer ones, or with `newest` older ones; null: not counted. */
  more: number | null;
  /** For `after`: where the next page begins, and what comes later. */
  next: string;
}

/** Which messages of the inbox are meant; all of them by default. */
export interface InboxQuery {
  unread?: boolean;
  from?: string;
  /** Correlation id. */
  thread?: string;
  /** Event id. */
  id?: string;
}

export interface ThreadMessage extends MessageFields {
  _meta: {
    /** Event id; the SHA-256 of the canonical bytes for lines that carry none. */
    id: string;
    log: string;
    line: number;
    received_at: string;
    /** How far its author is believed; null: of no tier, or blocked. */
    tier: Tier | null;
    priority: Priority;
    refused: RefusalReason | null;
    /** Event ids of the corrections of this message. */
    corrections: string[];
  };
}

/** What a part of history holds of a text, oldest first; the first page is of the newest part. */
export interface SearchPage {
  messages: ThreadMessage[];
  /** For `before`: where the next page, of older messages, begins; null: there are none. */
  next: string | null;
}

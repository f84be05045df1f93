import type { RefusalReason } from "../../admission/checks.ts";
import type { RequestLine } from "./request-line.ts";

/**
 * One request to one addressee: `pending` until the asker's log settles it. A request to several
 * agents is one of these for each. Spec 3.8.
 */
export interface Request {
  /** Event id and addressee. */
  readonly key: string;
  readonly id: string;
  readonly log: string;
  readonly line: number;
  /** The log in which the addressee answers. */
  readonly answerLog: string;
  readonly asker: string;
  readonly addressee: string;
  /** Only a name: the asker chooses it. */
  readonly requestId: string;
  readonly requestType: string;
  readonly subject: string;
  /** Of the newest that we ask or are asked; the line has all of it. */
  plan: string | undefined;
  readonly correlationId: string;
  readonly chained: boolean;
  readonly timestampMs: number;
  readonly at: number;
  readonly live: boolean;
  readonly own: boolean;
  /** We refuse the line: it counts for its asker and others all the same, and asks nothing of us. */
  readonly refused: RefusalReason | undefined;
  /** `body.due`. */
  readonly dueMs: number | undefined;
  /** The asker had another one open with that `request_id`; undefined: that is not known yet. */
  isVoid: boolean | undefined;
  /** In the order of the addressee's log. */
  readonly answers: RequestAnswer[];
  /** The asker's first line that cancels it, or says that it has expired. */
  end: RequestEnd | undefined;
  outcome: RequestOutcome | undefined;
  /** The line of the asker's log up to which nothing has settled it. */
  judgedTo: number;
  /** The asker's beat that counts lines which we do not hold. */
  waitsAt: number | undefined;
}

/** What the addressee said. */
export interface RequestAnswer {
  readonly id: string;
  readonly line: number;
  readonly at: number;
  readonly timestamp: string;
  readonly approves: boolean;
  readonly reason: string | undefined;
  /** Its author parks on it. */
  readonly parks: boolean;
  /** We refuse the line. */
  readonly refused: boolean;
}

/** An answer with what tells whether it is one to some request. */
export interface NamingAnswer {
  readonly said: RequestAnswer;
  /** The event id that it names; undefined on an unchained line that names none. */
  readonly acks: string | undefined;
  /** In lower case. */
  readonly requestId: string;
  readonly correlationId: string;
  readonly timestampMs: number;
}

/** A line of the asker's own that ends a request. */
export interface RequestEnd {
  readonly is: Extract<RequestLine, { of: unknown }>["is"];
  readonly id: string;
  readonly line: number;
  readonly timestamp: string;
  readonly reason: string | undefined;
}

/** What became of a request, for everybody, and by which line. */
export interface RequestOutcome {
  readonly status: "approved" | "rejected" | "cancelled" | "expired";
  /** The line that settled it: a beat or an ending of the asker, or the answer to one who does not chain. */
  readonly by: string;
  readonly line: number;
  /** Its date. */
  readonly at: string;
  /** The answer that counts; undefined where there is none. */
  readonly answer: RequestAnswer | undefined;
  readonly reason: string | undefined;
}

import { DeaddropError } from "../errors.ts";
import {
  asObject,
  count,
  flag,
  lineNumbers,
  needed,
  oneOf,
  optional,
  text,
  texts,
} from "./json-arguments.ts";
import { CLAIM_MODES } from "../../protocol/claims/claim-line.ts";
import { WAITED_FOR } from "../../agent/answers/mail.ts";
import type { ViewArgs, ViewName } from "../views.ts";

/** Which view is asked for, with its arguments. */
export type ViewRequest = {
  [N in ViewName]: { readonly name: N; readonly args: ViewArgs[N] };
}[ViewName];

const none = (): undefined => undefined;

/** What each view takes, read from the JSON of a request. Fields that we do not know are left out. */
const ARGUMENTS: { readonly [N in ViewName]: (json: unknown) => ViewArgs[N] } = {
  whoami: none,
  status: none,
  troubles: none,
  peers: none,
  team: none,
  inbox: (json) => inboxQuery(json),
  inbox_page: (json) => ({
    ...inboxQuery(json),
    ...optional(asObject(json), "newest", flag),
    ...optional(asObject(json), "after", text),
  }),
  news: (json) => optional(asObject(json), "for", oneOf(WAITED_FOR)),
  mail: (json) => optional(asObject(json), "marks", lineNumbers),
  sent: (json) => optional(asObject(json), "limit", count),
  pending: none,
  thread: (json) => {
    const given = asObject(json);
    return { id: needed(given, "id", text), ...optional(given, "by", oneOf(["event_id"])) };
  },
  search_page: (json) => {
    const given = asObject(json);
    return {
      text: needed(given, "text", text),
      ...optional(given, "limit", count),
      ...optional(given, "before", text),
    };
  },
  decisions: (json) => optional(asObject(json), "all", flag),
  proposals: none,
  requests: (json) => optional(asObject(json), "named", text),
  check: (json) => ({ paths: needed(asObject(json), "paths", texts) }),
  claims: none,
  claim_forecast: (json) => {
    const given = asObject(json);
    return {
      paths: needed(given, "paths", texts),
      mode: needed(given, "mode", oneOf(CLAIM_MODES)),
    };
  },
  incidents: none,
  notices: none,
  agent_notices: (json) => optional(asObject(json), "unread", flag),
  holds: (json) => ({ peer: needed(asObject(json), "peer", text) }),
  safe_mode: none,
  receipt: (json) => ({ event_id: needed(asObject(json), "event_id", text) }),
  stats: none,
  members: none,
  keys: none,
  resolve_id: (json) => ({ id: needed(asObject(json), "id", text) }),
};

function inboxQuery(json: unknown): ViewArgs["inbox"] {
  const given = asObject(json);
  return {
    ...optional(given, "unread", flag),
    ...optional(given, "limit", count),
    ...optional(given, "from", text),
    ...optional(given, "thread", text),
    ...optional(given, "id", text),
  };
}

/** Throws DeaddropError for a view that there is not, and for arguments that it does not take. */
export function parseViewRequest(json: unknown): ViewRequest {
  const { name, args } = asObject(json);
  if (typeof name !== "string" || !Object.hasOwn(ARGUMENTS, name)) {
    throw new DeaddropError("usage", `there is no view "${String(name)}"`, {
      hint: `views: ${Object.keys(ARGUMENTS).join(", ")}`,
    });
  }
  const parse = ARGUMENTS[name as ViewName];
  return { name, args: parse(args ?? {}) } as ViewRequest;
}

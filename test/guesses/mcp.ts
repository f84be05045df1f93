/**
 * Calls of tools as clients and models really send them, and the call that each means. `works`: it does just
 * that. `corrected`: it does nothing, and the answer holds that call, ready to be made.
 *
 * `$message` and so on are ids, as in cli.ts.
 */
type Args = Readonly<Record<string, unknown>> | string | null;
type CallGuess = readonly [
  outcome: "works" | "corrected",
  tool: string,
  given: Args,
  means: Readonly<Record<string, unknown>>,
  /** Where another tool is meant. */
  meantTool?: string,
];

const HI = { to: ["bob"], body: "hi" };
const ACCEPT = { id: "$proposal", answer: "accept" };
const REJECT = { id: "$proposal", answer: "reject" };

export const CALLS: Readonly<Record<string, readonly CallGuess[]>> = {
  "values in other forms": [
    ["works", "send", { to: "bob", body: "hi" }, HI],
    ["works", "send", { ...HI, subject: null, reply_to: null, refs: null }, HI],
    ["works", "send", { ...HI, subject: "", refs: [] }, HI],
    ["works", "send", { to: '["bob"]', body: "hi" }, HI],
    ["works", "send", { to: "@bob", body: "hi" }, HI],
    ["works", "send", { to: "bob,ann", body: "hi" }, HI],
    ["works", "send", { to: "all", body: "hi" }, { to: ["*"], body: "hi" }],
    ["works", "send", { to: ["everyone"], body: "hi" }, { to: ["*"], body: "hi" }],
    ["works", "send", { ...HI, ack_required: "true" }, { ...HI, ack_required: true }],
    ["works", "send", { ...HI, ack_required: 1 }, { ...HI, ack_required: true }],
    ["works", "send", { ...HI, priority: "HIGH" }, { ...HI, priority: "high" }],
    ["works", "send", { ...HI, priority: "urgent" }, { ...HI, priority: "high" }],
    ["works", "send", { ...HI, refs: "git:4f2a91c" }, { ...HI, refs: ["git:4f2a91c"] }],
    ["works", "send", { to: ["bob"], body: ["one", "two"] }, { to: ["bob"], body: "one\ntwo" }],
    ["works", "inbox", null, {}],
    ["works", "inbox", { limit: "5" }, { limit: 5 }],
    ["works", "inbox", { unread: "false" }, { unread: false }],
    ["works", "inbox", { unread: "yes", cursor: null }, { unread: true }],
    ["works", "inbox", { from: ["bob"] }, { from: "bob" }],
    ["works", "whoami", null, {}],
    ["works", "send", JSON.stringify(HI), HI],
    ["works", "whoami", { verbose: true }, {}],
    ["works", "read", { what: "THREAD", id: "$message" }, { what: "thread", id: "$message" }],
    ["works", "read", { paths: "src/api" }, { what: "check", paths: ["src/api"] }],
    ["works", "read", { paths: '["src/api"]' }, { what: "check", paths: ["src/api"] }],
    ["works", "mark", { ids: "$message" }, { ids: ["$message"] }],
    ["works", "mark", { all: "true" }, { all: true }],
    ["works", "mark", { state: "BUSY" }, { state: "busy" }],
    ["works", "mark", { state: "working" }, { state: "busy" }],
    ["works", "claim", { paths: "src/web" }, { paths: ["src/web"] }],
    ["works", "claim", { paths: "src/web,docs" }, { paths: ["src/web", "docs"] }],
    ["works", "claim", { release: "true" }, { release: true }],
    ["works", "answer", { id: "$proposal", answer: "Accept" }, ACCEPT],
    ["works", "answer", { id: "$proposal", answer: "yes" }, ACCEPT],
    ["works", "answer", { id: "$proposal", answer: "approve" }, ACCEPT],
    ["works", "answer", { id: "$proposal", answer: "no" }, REJECT],
    ["works", "answer", { id: "$own", answer: "cancel" }, { id: "$own", answer: "withdraw" }],
    ["works", "propose", { decision: "Use npm.", required: "bob" }, { decision: "Use npm." }],
  ],
  "names in other forms": [
    ["works", "send", { recipient: "bob", message: "hi" }, HI],
    ["works", "send", { to: "bob", content: "hi" }, HI],
    ["works", "send", { to: "bob", text: "hi" }, HI],
    ["works", "send", { To: "bob", Body: "hi" }, HI],
    ["works", "send", { ...HI, title: "hello" }, { ...HI, subject: "hello" }],
    ["works", "send", { ...HI, type: "message" }, HI],
    ["works", "send", { replyTo: "$message", body: "ok" }, { reply_to: "$message", body: "ok" }],
    ["works", "send", { "reply-to": "$message", body: "ok" }, { reply_to: "$message", body: "ok" }],
    ["works", "send", { inReplyTo: "$message", body: "ok" }, { reply_to: "$message", body: "ok" }],
    ["works", "send", { id: "$message", body: "ok" }, { reply_to: "$message", body: "ok" }],
    ["works", "send", { reply_to: "last", body: "ok" }, { reply_to: "$message", body: "ok" }],
    ["works", "send", { ...HI, ackRequired: true }, { ...HI, ack_required: true }],
    ["works", "inbox", { unreadOnly: true }, { unread: true }],
    ["works", "inbox", { count: 5 }, { limit: 5 }],
    ["works", "inbox", { include_bodies: true }, { bodies: true }],
    ["works", "read", { message_id: "$message" }, { id: "$message" }],
    ["works", "read", { query: "port" }, { what: "search", text: "port" }],
    ["works", "read", { what: "agents" }, { what: "peers" }],
    ["works", "read", { what: "message", id: "$message" }, { what: "thread", id: "$message" }],
    ["works", "read", { path: "src/api" }, { what: "check", paths: ["src/api"] }],
    ["works", "mark", { message_ids: ["$message"] }, { ids: ["$message"] }],
    ["works", "mark", { status: "busy" }, { state: "busy" }],
    ["works", "claim", { files: ["src/web"], ttl: "2h" }, { paths: ["src/web"], lasts: "2h" }],
    ["works", "answer", { proposal_id: "$proposal", answer: "accept" }, ACCEPT],
    ["works", "answer", { id: "$proposal", verdict: "reject" }, REJECT],
    ["works", "answer", { id: "$proposal", accept: true }, ACCEPT],
    [
      ...(["works", "answer", { id: "$request", approve: false, comment: "busy" }] as const),
      { id: "$request", answer: "reject", reason: "busy" },
    ],
    ["works", "propose", { proposal: "Use npm." }, { decision: "Use npm." }],
    [
      ...(["works", "propose", { proposal: "Use npm.", reason: "small", deadline: "4h" }] as const),
      { decision: "Use npm.", reasons: "small", due: "4h" },
    ],
    ["works", "request", { to: "bob", body: "Merge?" }, { type: "approval", body: "Merge?" }],
    [
      ...(["works", "request", { request_type: "review", recipients: "bob" }] as const),
      { type: "review" },
    ],
    [
      ...(["works", "request", { type: "incident", title: "main is red" }] as const),
      { type: "incident", subject: "main is red", severity: "medium" },
    ],
  ],
  "wrong calls": [
    ["corrected", "send", { ...HI, urgent: true }, HI],
    ["corrected", "send", { to: ["bbo"], body: "hi" }, HI],
    ["corrected", "send", { ...HI, priorty: "high" }, { ...HI, priority: "high" }],
    [
      "corrected",
      "send",
      { ...HI, type: "warnin", state: "x" },
      { ...HI, type: "warning", state: "x" },
    ],
    ["corrected", "read", { what: "inbox" }, {}, "inbox"],
    ["corrected", "read", { what: "claim" }, { what: "claims" }],
    ["corrected", "claim", { paths: ["src/web"], exclusive: true }, { paths: ["src/web"] }],
    [
      ...(["corrected", "send", { to: ["bob"], type: "proposal", body: "Use npm." }] as const),
      { decision: "Use npm.", to: ["bob"] },
      "propose",
    ],
    [
      ...(["corrected", "send", { to: ["bob"], type: "request", body: "Merge?" }] as const),
      { body: "Merge?", to: ["bob"] },
      "request",
    ],
    [
      ...(["corrected", "send", { type: "accept", reply_to: "$proposal" }] as const),
      ACCEPT,
      "answer",
    ],
    [
      ...(["corrected", "send", { type: "claim", body: "src/web" }] as const),
      { paths: ["src/web"] },
      "claim",
    ],
    [
      ...(["corrected", "answer", { id: "$message", answer: "ack" }] as const),
      { type: "ack", reply_to: "$message" },
      "send",
    ],
    [
      ...(["corrected", "answer", { id: "$message", answer: "reply", reason: "ok" }] as const),
      { reply_to: "$message", body: "ok" },
      "send",
    ],
  ],
};

/** An id as our texts name it, or what stands for one. */
const ID = "([0-9a-f]{6,64}|<[a-z]+>)";
const answer = (verdict: string): string => `answer {"id":"$1","answer":"${verdict}"}`;

/** Commands that our texts name, and the calls of tools that do the same. */
const CALLS: readonly (readonly [command: RegExp, call: string])[] = (
  [
    [`then: deaddrop respond ${ID} yes`, `then: ${answer("approve_shutdown")}`],
    [`deaddrop respond ${ID} yes`, answer("accept")],
    [`deaddrop respond ${ID} no(?: "why")?`, answer("reject")],
    [`deaddrop accept ${ID}`, answer("accept")],
    [`deaddrop reject ${ID}`, answer("reject")],
    [`deaddrop correct ${ID} --revert`, answer("withdraw")],
    [`deaddrop correct ${ID} "…"`, 'send {"type":"correction","reply_to":"$1","body":"…"}'],
    [`deaddrop incident resolve ${ID}`, answer("withdraw")],
    [`deaddrop (?:incident )?ack ${ID}`, 'send {"type":"ack","reply_to":"$1"}'],
    [`deaddrop reply ${ID}`, 'send {"reply_to":"$1"}'],
    [`deaddrop counter ${ID}`, 'propose {"counters":"$1"}'],
    [`deaddrop propose "…" --supersedes ${ID}`, 'propose {"supersedes":"$1"}'],
    [`deaddrop thread ${ID}`, 'read {"id":"$1"}'],
    ["deaddrop release <id>", 'claim {"release":true,"paths":["…"]}'],
    ['deaddrop send ([A-Za-z0-9._-]+) "…"', 'send {"to":["$1"]}'],
    ["deaddrop (claims|decisions|pending)(?![a-z])", 'read {"what":"$1"}'],
    ["deaddrop inbox notices(?: --[a-z-]+)*", 'read {"what":"notices"}'],
    ["deaddrop inbox(?: --[a-z-]+)*", "inbox"],
    // No tool signs what changes nothing.
    ["(?:; )?--anyway [^;]*", ""],
    ["--ref(?![a-z])", "refs"],
    ["--(to|state|digest|decision|due|required|subject)(?![a-z])", "$1"],
  ] as const
).map(([command, call]) => [new RegExp(command, "g"), call]);

/** A text of ours with the calls of tools in the place of commands. Commands without a call stay. */
export function asCalls(text: string): string {
  return CALLS.reduce((words, [command, call]) => words.replace(command, call), text);
}

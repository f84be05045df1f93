import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { programPath } from "../../support/processes/own-sshd.ts";
import { pause } from "../../support/processes/real-processes.ts";

/**
 * When a process dies at a call of git: before it; when git has done its work and nobody has read the
 * answer; or before it, and git, which is a process of its own, does its work much later.
 */
export type Held = "before" | "after" | "late";

/** The git of one process, which can be held at one of its calls. */
export interface HeldGit {
  /** With this one in front. */
  readonly path: string;
  calls(): number;
  /** The call of that number does not return. */
  holdAt(call: number, how: Held): void;
  /** Whether a call is held. */
  isReached(): boolean;
  /** A call that is held "late" is made now, to its end. */
  letGo(): Promise<void>;
}

const HOW_LONG_S = 3_600;

export function heldGit(folder: string): HeldGit {
  const real = programPath("git");
  if (real === undefined) throw new Error("there is no git");
  mkdirSync(folder, { recursive: true });
  const at = (name: string): string => join(folder, name);
  const program = at("git");
  // After the call that is held none returns: the process that would go on is dead.
  writeFileSync(
    program,
    `#!/bin/sh
wait_forever() { exec sleep ${HOW_LONG_S}; }
[ -e '${at("reached")}' ] && wait_forever
echo >> '${at("calls")}'
point=$(cat '${at("point")}' 2>/dev/null) || exec '${real}' "$@"
[ "$(wc -l < '${at("calls")}')" -ge "$point" ] || exec '${real}' "$@"
# Two calls at once may both be counted before either looks: one of them is held.
mkdir '${at("held")}' 2>/dev/null || wait_forever
how=$(cat '${at("how")}')
# It is asked for one object after the other, and by the dead for none.
case " $* " in *" cat-file --batch "*) exec < /dev/null ;; esac
[ "$how" = after ] && '${real}' "$@" > /dev/null 2>&1
: > '${at("reached")}'
[ "$how" = late ] || wait_forever
while [ ! -e '${at("go")}' ]; do sleep 0.01; done
'${real}' "$@" > /dev/null 2>&1
: > '${at("done")}'
wait_forever
`,
  );
  chmodSync(program, 0o700);
  return {
    path: [folder, process.env["PATH"]].join(delimiter),
    calls: () => (existsSync(at("calls")) ? readFileSync(at("calls"), "utf8").length : 0),
    holdAt(call, how) {
      writeFileSync(at("how"), how);
      writeFileSync(at("point"), String(call));
    },
    isReached: () => existsSync(at("reached")),
    async letGo() {
      if (!existsSync(at("reached")) || readFileSync(at("how"), "utf8") !== "late") return;
      writeFileSync(at("go"), "");
      while (!existsSync(at("done"))) await pause(5);
    },
  };
}

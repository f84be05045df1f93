import type { SetupHost } from "../../setup/host.ts";
import { agentPathsOn } from "../../setup/host.ts";
import { acceptFlag, openQuestions } from "../../setup/wire/policy-to-pin.ts";
import { readWireConfig } from "../../setup/wire/wire-config.ts";
import type { Weakness } from "../../trust/policy/weak-policy.ts";
import { confirmOperator } from "./confirm.ts";
import { repeatable, type FlagsOf, type Options } from "../command.ts";
import { isOnTerminal, type Cli } from "../context.ts";

/** What the operator agrees to when a policy is pinned for the first time. Spec 1.1. */
export const ACCEPT_OPTIONS = {
  "--accept-unsigned <handle>": repeatable(
    "agree that the wire's policy takes unsigned lines of this agent (repeatable)",
  ),
  "--accept-limit <name>": repeatable(
    "agree to a limit above the default, e.g. max_refs (repeatable)",
  ),
  "--accept-domain <name>": repeatable(
    "agree that this domain belongs to another agent (repeatable)",
  ),
} as const satisfies Options;

/**
 * Asks about whatever in the wire's policy is weaker than the defaults, unless this agent holds a copy
 * already. The answer covers what was shown and nothing else: the folder may change meanwhile.
 */
export async function agreementOn(
  cli: Cli,
  flags: FlagsOf<typeof ACCEPT_OPTIONS> & { readonly dryRun?: boolean },
  host: SetupHost,
  at: Parameters<typeof openQuestions>[1] & { readonly command: string },
): Promise<(weakness: Weakness) => boolean> {
  const asked = openQuestions(host, at);
  const given = {
    unsigned: flags.acceptUnsigned ?? [],
    limit: flags.acceptLimit ?? [],
    domain: flags.acceptDomain ?? [],
  };
  const byFlag = ({ kind, name }: Weakness): boolean => given[kind].includes(name);
  const open = asked.filter((weakness) => !byFlag(weakness));
  // Without a terminal the set-up itself refuses, and names the flags.
  if (asked.length === 0 || flags.dryRun === true || (open.length > 0 && !isOnTerminal(cli)))
    return byFlag;
  const action = {
    action: at.command,
    target: at.wireDir,
    effect: [
      "This wire's policy is weaker than the defaults:",
      ...asked.map(({ detail }) => `  ${detail}`),
    ],
    word: "accept",
  };
  const consent = open.length > 0 ? {} : { yes: true, reason: asked.map(acceptFlag).join(" ") };
  const wireId = readWireConfig(host.disk, at.wireDir)?.wireId;
  const [handle = ""] = at.handles;
  const { operatorJournal } = agentPathsOn(host, { wireDir: at.wireDir, handle, wireId });
  await confirmOperator(cli, consent, action, operatorJournal);
  return ({ detail }) => asked.some((weakness) => weakness.detail === detail);
}

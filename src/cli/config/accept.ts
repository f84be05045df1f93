import { DeaddropError } from "../../api/errors.ts";
import { parsedConfig } from "../../agent/config/parsed-config.ts";
import { pendingPolicy } from "../../agent/config/pending-policy.ts";
import { savePinned } from "../../storage/private/private-store.ts";
import { defaultPolicyText } from "../../trust/policy/default-policy.ts";
import { DEFAULT_CONFIG, type WireConfig } from "../../trust/policy/config.ts";
import { changesLayout, lostPast } from "../../trust/policy/policy-drift.ts";
import { agentPlace, reloadDaemon, type AgentPlace } from "../agent-place.ts";
import { confirmOperator, type ConsentFlags } from "../input/confirm.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { changesBetween, effectsOf } from "./member-effects.ts";
import { apply, placesOf } from "../members/accept.ts";
import { emit } from "../output/output.ts";
import { sanitise } from "../../framing/sanitise.ts";

/** Flags of `config accept`. */
export interface AcceptFlags extends GlobalFlags, ConsentFlags {
  memberLeft?: string;
}

/** `deaddrop config accept`: the operator agrees to what the wire says now. */
export async function accept(cli: Cli, flags: AcceptFlags): Promise<void> {
  const at = agentPlace(cli, flags);
  const { lines: changes, config, tiers } = pendingPolicy(at.host.disk, at.place);
  const { host, place } = at;
  if (flags.memberLeft !== undefined) {
    if (changes.length > 0) throw differsAlready();
    await memberLeft(cli, flags, place, flags.memberLeft);
    return;
  }
  const lines = [...changes, ...(await whatItDoes(cli, flags, place, config))];
  if (lines.length === 0) {
    emit(cli, flags, { accepted: false, differences: [] }, () => "There is nothing to accept.");
    return;
  }
  refuseLostPast(at, config);
  const action = {
    action: "config accept",
    target: place.wire.folder,
    effect: lines,
    word: "accept",
  };
  await confirmOperator(cli, flags, action, place.paths.operatorJournal);
  // What was shown is what is kept, whatever is in the folder by now.
  savePinned(host.disk, place.paths, "config", config ?? Buffer.from(defaultPolicyText("config")));
  savePinned(host.disk, place.paths, "tiers", tiers ?? Buffer.from(defaultPolicyText("tiers")));
  await reloadDaemon(place.paths);
  emit(cli, flags, { accepted: true, differences: lines }, (paint) =>
    [paint("green", "accepted"), ...lines.map((line) => `  ${sanitise(line)}`)].join("\n"),
  );
}

/** What the change does to decisions in force, open obligations and held lines. Spec 1.1. */
async function whatItDoes(
  cli: Cli,
  flags: GlobalFlags,
  place: AgentPlace["place"],
  bytes: Uint8Array | undefined,
): Promise<string[]> {
  const next = bytes === undefined ? DEFAULT_CONFIG : parsedConfig(place.wire.config, bytes);
  const changes = changesBetween(place.layout, next);
  if (changes.length === 0) return [];
  return withClient(cli, flags, async (client) => {
    const effects: string[] = [];
    for (const change of changes) effects.push(...(await effectsOf(client, place, change)));
    return effects;
  });
}

/** The way out for a member that is dead, or whose key was stolen. Spec 3.11. */
async function memberLeft(
  cli: Cli,
  flags: GlobalFlags & ConsentFlags,
  place: AgentPlace["place"],
  handle: string,
): Promise<void> {
  const { roster } = await withClient(cli, flags, (client) => client.view("members"));
  const row = roster.find((each) => each.handle === handle);
  if (row?.is !== "member" || handle === place.handle) {
    const isUs = handle === place.handle;
    throw new DeaddropError(
      "refused",
      isUs ? "that is you" : `${handle} is no member of this wire`,
      {
        hint: isUs ? "you leave with: deaddrop leave" : "deaddrop member list",
      },
    );
  }
  const membership = {
    handle,
    becomes: "left",
    atMs: cli.clock.nowMs(),
    logs: placesOf(row.covered),
    changedBy: undefined,
  } as const;
  await apply(cli, flags, membership, `${handle} is no member any more, and nobody asks it`);
}

function differsAlready(): DeaddropError {
  return new DeaddropError(
    "refused",
    "config.json on the wire differs from what you have accepted",
    {
      hint: "accept that first (deaddrop config accept), or have it put back",
    },
  );
}

/** Which logs there are is agreed on by all agents, and taken by another command. Spec 1.1, 3.11. */
function refuseLayout({ config, wire }: AgentPlace["place"], next: WireConfig): void {
  if (!changesLayout(config, next)) return;
  const words =
    config.layout === next.layout
      ? "the closed logs would change"
      : `the layout would change from ${config.layout} to ${next.layout}`;
  throw new DeaddropError("config", `${words}: config accept does not take that`, {
    hint: `a wire moves with \`deaddrop layout outbox\` and \`deaddrop layout accept\`; if nobody has agreed on it, have ${wire.config} put back as it was`,
  });
}

function refuseLostPast({ place }: AgentPlace, bytes: Uint8Array | undefined): void {
  const { config, settings, wire, handle } = place;
  const next = bytes === undefined ? DEFAULT_CONFIG : parsedConfig(wire.config, bytes);
  const roster = next.roster.length > 0 ? next.roster : [handle, ...settings.peers];
  const held = { ...config, roster: place.layout.roster };
  refuseLayout(place, next);
  const problem = lostPast(held, { ...next, roster }, handle);
  if (problem === undefined) return;
  throw new DeaddropError("config", problem, {
    hint: `have ${wire.config} put back as it was; your daemon goes on with what you accepted before. A member leaves with \`deaddrop leave\`, \`member remove\` or \`config accept --member-left HANDLE\``,
  });
}

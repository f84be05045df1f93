import { changePairing } from "../../setup/contact/first-contact.ts";
import { setFlags, setTier, type TrustChange } from "../../trust/pins.ts";
import { compareTiers, TIERS, type Tier } from "../../trust/tiers.ts";
import { agentPlace } from "../agent-place.ts";
import { define } from "../command.ts";
import { CONSENT_OPTIONS, confirmOperator } from "../input/confirm.ts";
import { emit } from "../output/output.ts";
import { standingOf, trustRow } from "./list.ts";
import { changeTrust, requirePeer } from "./peer.ts";

type StandingChange = "promote" | "demote" | "block" | "unblock";

const EFFECTS: Readonly<Record<StandingChange, (peer: string) => string>> = {
  promote: (peer) => `${peer} is believed further than before`,
  demote: (peer) => `${peer} is believed less than before; what it may no longer send is refused`,
  block: (peer) => `nothing of ${peer} is taken, whatever its tier, until you unblock it`,
  unblock: (peer) => `${peer} is taken again as far as its tier goes`,
};

const MOVE_OPTIONS = {
  ...CONSENT_OPTIONS,
  "--to <tier>": { about: "which tier", choices: TIERS },
} as const;
const ABOUT: Readonly<Record<StandingChange, string>> = {
  promote: "believe a peer one tier further",
  demote: "believe a peer one tier less, or as little as --to says",
  block: "take nothing of a peer, whatever its tier",
  unblock: "take a peer's lines again as far as its tier goes",
};

/** `deaddrop trust promote|demote|block|unblock`: the operator's decision on a peer. Spec 2.3. */
export function standingCommand(change: StandingChange) {
  const isMove = change === "promote" || change === "demote";
  return define({
    about: ABOUT[change],
    args: { "<peer>": "whom" },
    // No tier is named to block or unblock.
    options: isMove ? MOVE_OPTIONS : (CONSENT_OPTIONS as typeof MOVE_OPTIONS),
    async run(cli, flags, { peer }) {
      const at = agentPlace(cli, flags);
      requirePeer(at, peer);
      const planned = changeOf(change, peer, flags.to, cli.clock.nowMs());
      await changeTrust(at, planned, async ({ peers }) => {
        const to =
          change === "promote" || change === "demote"
            ? ` to ${peers.get(peer)?.tier ?? "no tier"}`
            : "";
        const effect = [`${EFFECTS[change](peer)}${to}.`];
        const action = { action: `trust ${change}`, target: `${peer}${to}`, effect, word: peer };
        await confirmOperator(cli, flags, action, at.place.paths.operatorJournal);
      });
      // The operator has found out why the digits did not match.
      if (change === "unblock") {
        changePairing(at.host.disk, at.place.paths, peer, (pairing) => ({
          ...pairing,
          mismatches: 0,
        }));
      }
      const row = trustRow(cli, flags, peer);
      emit(cli, flags, row, (paint) => `${paint("bold", peer)} is ${standingOf(row)}`);
    },
  });
}

function changeOf(
  change: StandingChange,
  peer: string,
  to: Tier | undefined,
  nowMs: number,
): TrustChange {
  if (change === "block" || change === "unblock") {
    return (store) => setFlags(store, peer, { blocked: change === "block" });
  }
  return (store) => {
    const tier = store.peers.get(peer)?.tier ?? "UNTRUSTED";
    const next = to ?? TIERS[TIERS.indexOf(tier) + (change === "promote" ? 1 : -1)];
    const problem = stepProblem(change, peer, tier, next);
    if (problem !== undefined || next === undefined) return { ok: false, detail: problem ?? "" };
    return setTier(store, peer, next, nowMs);
  };
}

/** A tier is reached step by step; VERIFIED by proof alone. Spec 2.3. */
function stepProblem(
  change: "promote" | "demote",
  peer: string,
  from: Tier,
  to: Tier | undefined,
): string | undefined {
  if (to === undefined)
    return `${peer} is ${from}, and there is none ${change === "promote" ? "above" : "below"} it`;
  const order = compareTiers(to, from);
  if (change === "demote")
    return order < 0 ? undefined : `${peer} is ${from}; ${to} is not below it`;
  if (order <= 0) return `${peer} is ${from}; ${to} is not above it`;
  if (from === "UNTRUSTED") {
    return `${peer} is UNTRUSTED: nobody has proved yet whose key that is; compare the digits first: deaddrop trust sas ${peer}`;
  }
  const next = TIERS[TIERS.indexOf(from) + 1];
  return to === next ? undefined : `${peer} is ${from}; it becomes ${next ?? ""} before ${to}`;
}

import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { LinePlace } from "../../trust/store.ts";
import { parseKeyId } from "../../wire/signature.ts";
import { agentPlace, type AgentPlace } from "../agent-place.ts";
import { define } from "../command.ts";
import { withClient } from "../context.ts";
import { CONSENT_OPTIONS, confirmOperator } from "../input/confirm.ts";
import { lineNamed } from "../input/line-named.ts";
import { emit } from "../output/output.ts";

/** `deaddrop trust revoke`: stops a key at once and holds its agent. Spec 2.5. */
export const revoke = define({
  about: "stop a key at once, and hold its agent",
  args: { "<key-id>": "as trust list shows it" },
  options: {
    ...CONSENT_OPTIONS,
    "--last <line>":
      "the last good line of its agent, by its event id (default: the last one that is here)",
  },
  examples: ["deaddrop trust revoke scribe:1a2b3c4d"],
  async run(cli, flags, { keyId }) {
    const at = agentPlace(cli, flags);
    const handle = pinnedOwner(at, keyId);
    await withClient(cli, flags, async (client) => {
      const last = await lastGood(client, handle, flags.last);
      const good = last === undefined ? "none of its lines" : `line ${last.seq} (${last.id})`;
      await confirmOperator(
        cli,
        flags,
        {
          action: "trust revoke",
          target: keyId,
          effect: [
            `${keyId} stops at once: nothing that it signs from now on is believed.`,
            `The last good line of ${handle} is ${good}; what this key has signed behind it counts for nothing.`,
            `${handle} is UNTRUSTED and held: none of its lines is delivered until a new key is compared.`,
          ],
          word: keyId,
        },
        at.place.paths.operatorJournal,
      );
      await client.ask("revoke_key", { keyId, ...(last === undefined ? {} : { last }) });
      const answer = {
        ...{ key_id: keyId, held: handle },
        last: last === undefined ? null : [last.seq, last.id],
      };
      emit(cli, flags, answer, (paint) =>
        [
          `${paint("red", "revoked")} ${keyId}; ${handle} is held, and its last good line is ${good}`,
          `what it has signed: deaddrop audit --key ${keyId} --since <when it was lost>`,
          `a new key of ${handle} enters by its card and the digits: deaddrop trust sas ${handle}`,
          `or by its fingerprint: deaddrop trust pin ${handle} <key or card> --tier VERIFIED`,
        ].join("\n"),
      );
    });
  },
});

/** The line that is named, else the last one that is held whole; undefined: none is held. */
async function lastGood(
  client: Client,
  handle: string,
  named: string | undefined,
): Promise<LinePlace | undefined> {
  if (named !== undefined) return lineNamed(client, handle, named);
  const { roster } = await client.view("members");
  const [, seq, id] = roster.find((row) => row.handle === handle)?.held ?? [];
  return seq === undefined || seq === null || id === undefined ? undefined : { seq, id };
}

function pinnedOwner({ place }: AgentPlace, keyId: string): string {
  const handle = parseKeyId(keyId)?.handle ?? "";
  if (handle === place.handle) {
    throw new DeaddropError("refused", `${keyId} is your own key`, {
      hint: `begin with another at once: deaddrop key rotate --now; then have each peer revoke this one and compare the digits of the new one with you`,
    });
  }
  const keys = place.store.peers.get(handle)?.keys ?? [];
  if (keys.some((key) => key.keyId === keyId)) return handle;
  const known = [...place.store.peers.values()].flatMap((peer) =>
    peer.handle === place.handle ? [] : peer.keys.map((key) => key.keyId),
  );
  throw new DeaddropError("unknown_id", `no key ${keyId} is pinned`, {
    hint: known.length === 0 ? "nothing is pinned yet" : `pinned here: ${known.join(", ")}`,
  });
}

import { resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { lookAt } from "../../setup/contact/first-contact.ts";
import { version } from "../../setup/program.ts";
import { cardPath } from "../../storage/paths.ts";
import { buildA2aCard } from "../../trust/cards/a2a-card.ts";
import type { AgentCard } from "../../trust/cards/card.ts";
import { agentPlace, type AgentPlace } from "../agent-place.ts";
import { define } from "../command.ts";
import { emit } from "../output/output.ts";

/** `deaddrop trust card export`: our own card for others to fetch, or as an A2A AgentCard. Spec 2.2. */
export const exportCard = define({
  about: "your own card, to be put where peers can fetch it; --a2a for A2A's format",
  args: { "[file]": "where to write it (default: standard output)" },
  options: { "--a2a": "as an A2A AgentCard (0.3 and 1.0), signed with your key" },
  examples: ["deaddrop trust card export --a2a agent-card.json"],
  run(cli, flags, { file }) {
    const at = agentPlace(cli, flags);
    const { card, bytes } = ownCard(at);
    const { signer } = at.place.identity;
    const out = flags.a2a === true ? buildA2aCard(card, version(), signer) : bytes;
    if (file === undefined) {
      const text = Buffer.from(out).toString("utf8");
      emit(cli, flags, JSON.parse(text), () => text.trimEnd());
      return;
    }
    const path = resolve(cli.cwd, file);
    at.host.disk.replace(path, out, 0o644);
    emit(cli, flags, { path, format: flags.a2a === true ? "a2a" : "deaddrop" }, () => path);
  },
});

function ownCard({ host, place }: AgentPlace): { card: AgentCard; bytes: Uint8Array } {
  const { handle, identity } = place;
  const look = lookAt(host, place, handle);
  const hint = "write it again: deaddrop trust card build";
  if (look.is === "absent") {
    throw new DeaddropError("refused", `${handle} has no card on this wire yet`, { hint });
  }
  if (look.is === "wrong") {
    throw new DeaddropError("refused", `${cardPath(place.wire, handle)}: ${look.detail}`, { hint });
  }
  const { card, bytes } = look;
  if (card.signedBy === identity.signer.keyId) return { card, bytes };
  const message = `${cardPath(place.wire, handle)} is signed with ${card.signedBy}, which is not your key`;
  throw new DeaddropError("refused", message, { hint });
}

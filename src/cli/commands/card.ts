import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { meetPeers } from "../../setup/contact/first-contact.ts";
import { fingerprintOf, groupedFingerprint } from "../../setup/contact/offered-key.ts";
import { cardPath } from "../../storage/paths.ts";
import { verifyCard, type AgentCard } from "../../trust/cards/card.ts";
import { toPlain } from "../../wire/json/json.ts";
import { quote } from "../../wire/quote.ts";
import { agentPlace } from "../agent-place.ts";
import { define } from "../command.ts";
import type { Cli } from "../context.ts";
import { emit, type Paint } from "../output/output.ts";
import { exportCard } from "../trust/card-export.ts";

/** Who an agent says that it is, signed by itself. Spec 2.2. */
export const card = define({
  about:
    "What an agent says of itself, signed with its own key. A card proves that its author has " +
    "that key, but not who the author is: compare digits or the fingerprint for that.",
  commands: {
    verify: define({
      about: "check that a card is signed by one of its own keys; exits 1 when it is not",
      args: { "<file>": "the card" },
      examples: ["deaddrop trust card verify _coordination/trust/scribe.card.json"],
      run(cli, flags, { file }) {
        const { handle, signedBy, issuedAt } = cardIn(cli, file);
        const answer = { ok: true, handle, signed_by: signedBy, issued_at: issuedAt };
        emit(cli, flags, answer, (paint) =>
          [
            `${paint("green", "ok")}  signed by ${signedBy}, ${issuedAt}`,
            "It has that key; who it is, the card does not prove.",
          ].join("\n"),
        );
      },
    }),
    show: define({
      about: "what a card says, once its signature holds",
      args: { "<file>": "the card" },
      run(cli, flags, { file }) {
        const read = cardIn(cli, file);
        emit(cli, flags, toPlain(read.fields), (paint) => cardText(read, paint));
      },
    }),
    build: define({
      about: "write your own card into the wire, and look at those of your peers",
      run(cli, flags) {
        const { host, place, peers } = agentPlace(cli, flags);
        const { problems } = meetPeers(host, place);
        const path = cardPath(place.wire, place.handle);
        const refused = Object.fromEntries(problems);
        emit(cli, flags, { path, refused }, (paint) =>
          [
            paint("bold", path),
            ...[...problems].map(([peer, detail]) => `${peer}'s card is refused: ${detail}`),
            ...peers.map((peer) => `Compare digits with ${peer}: deaddrop trust sas ${peer}`),
          ].join("\n"),
        );
      },
    }),
    export: exportCard,
  },
});

/** Throws "refused" for a card that does not verify. */
function cardIn(cli: Cli, file: string): AgentCard {
  const path = resolve(cli.cwd, file);
  const verdict = verifyCard(readCardFile(path), cli.clock.nowMs());
  if (verdict.ok) return verdict.card;
  throw new DeaddropError("refused", `${path}: ${verdict.detail}`, {
    hint: "nothing of it is believed; ask its agent's operator for the card again",
  });
}

function readCardFile(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EISDIR") throw cause;
    throw new DeaddropError(
      "usage",
      `${path}: ${code === "ENOENT" ? "no such file" : "a folder"}`,
      {
        hint: "cards are in the wire's folder: trust/<handle>.card.json",
        cause,
      },
    );
  }
}

function cardText(card: AgentCard, paint: Paint): string {
  const { keys, oldKeys, host, url, capabilities } = card;
  const lines = [
    `${paint("bold", card.handle)}  ${quote(card.name)}`,
    ...keys.map(({ keyId, key }) => `${keyId}  ${groupedFingerprint(fingerprintOf(key))}`),
    ...oldKeys.map(({ keyId }) => `${keyId}  ${paint("dim", "no longer in use")}`),
    `offers ${card.tierOffered ?? "no tier"}, asks for ${card.tierRequired ?? "no tier"}`,
  ];
  if (host !== "") lines.push(`host ${quote(host)}`);
  if (url !== "") lines.push(quote(url));
  if (capabilities.length > 0) lines.push(capabilities.map((each) => quote(each)).join(", "));
  for (const [peer, { nonce }] of card.claims) {
    const whom = peer === "" ? "everybody who reads this" : peer;
    lines.push(`digits with ${whom}: committed${nonce === undefined ? "" : ", nonce shown"}`);
  }
  return [...lines, `signed by ${card.signedBy}, ${card.issuedAt}`].join("\n");
}

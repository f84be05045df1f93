import { basename, relative } from "node:path";
import { outcomeOf } from "../../collab/documents/conclusion.ts";
import { readRound } from "../../collab/folder/read-round.ts";
import { CONCLUSION } from "../../collab/machine/event.ts";
import { RoundRefused } from "../../collab/refused.ts";
import { stateOf } from "../../collab/rules/round.ts";
import { findingsOf } from "../../collab/rules/validate.ts";
import { propose } from "../../verbs/propose.ts";
import { define, repeatable } from "../command.ts";
import { deliver } from "../sending/deliver.ts";
import { onRound, ROUND_OPTIONS, type RoundPlace } from "./round-command.ts";

/** Room for the rest of the message below the limit of a line. Spec 1.1. */
const MAX_TEXT_CHARS = 16_384;
const MAX_SUBJECT_CHARS = 200;

/** `deaddrop collab publish`: the conclusion as a proposed decision, with its hash. Spec 6.3. */
export const publish = define({
  about: "propose the conclusion of a completed round as a decision, with its hash",
  options: {
    ...ROUND_OPTIONS,
    "--required <handle>": repeatable("whose ack it takes (repeatable)"),
  },
  run: (cli, flags) =>
    onRound(cli, flags, async (place) => {
      const { objective, participants, outcome, sha256, text } = concluded(place);
      await deliver(cli, flags, (by) => {
        const others = participants.filter((name) => name !== by.client.handle);
        const about = {
          subject: cut(`conclusion: ${objective}`, MAX_SUBJECT_CHARS),
          reasons: {
            decision: `${outcome}: ${objective}`,
            round: basename(place.folder),
            [CONCLUSION]: cut(text, MAX_TEXT_CHARS),
            sha256,
          },
          required: flags.required ?? others,
          refs: [relative(cli.cwd, `${place.folder}/${CONCLUSION}`)],
        };
        return propose.prepare(by, about);
      });
    }),
});

/** No half of a character is left: a line with one is refused. */
function cut(text: string, chars: number): string {
  const isWithin = /[\ud800-\udbff]/u.test(text.charAt(chars - 1));
  return text.slice(0, isWithin ? chars - 1 : chars);
}

function concluded({ disk, folder, schema }: RoundPlace) {
  const { round } = readRound(disk, folder, schema);
  const wrong = findingsOf(round).filter(({ level }) => level === "error");
  if (wrong.length > 0) throw new RoundRefused(wrong.map(({ text }) => text));
  const phase = stateOf(round)?.currentPhase;
  if (phase !== "completed") {
    throw new RoundRefused([`only a completed round is published: its phase is ${phase}`]);
  }
  const file = round.documents.get(CONCLUSION);
  const outcome = file?.ok === true ? outcomeOf(file.text) : undefined;
  if (file?.ok !== true || outcome === undefined)
    throw new RoundRefused([`${CONCLUSION} is missing`]);
  const { objective, participants } = round.protocol;
  return { objective, participants, outcome, sha256: file.sha256, text: file.text };
}

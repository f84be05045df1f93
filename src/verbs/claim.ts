import type { Client } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import type { ClaimForecast, ClaimView } from "../api/views.ts";
import { shortId } from "../framing/short-id.ts";
import { claimProblem, MAX_CLAIM_TTL_MS } from "../protocol/claims/claim-line.ts";
import { isOver } from "../protocol/claims/claim-shapes.ts";
import { patternCovers } from "../protocol/claims/path-match.ts";
import { SECOND_MS } from "../wire/durations.ts";
import { definedFields } from "../wire/defined-fields.ts";
import type { JsonObject } from "../wire/json/json-value.ts";
import { MIN_ID_PREFIX } from "../wire/limits.ts";
import { quote } from "../wire/quote.ts";
import { cutSubject } from "./naming/parent.ts";
import { recipients } from "./naming/recipients.ts";
import { withNote } from "./prepared.ts";
import { pathsGiven } from "./project.ts";
import { flag, text, texts, verb } from "./verb.ts";
import { timeSpan } from "./words/times.ts";

/** Says that we work on some paths, so that others leave them alone. Spec 3.7. */
export const claim = verb({
  about:
    "Claims paths for a while: `deaddrop check` and the git hooks of your peers go by it. Paths " +
    "begin at the project's folder, and a folder stands for everything in it. ** matches any folders, " +
    "* and ? match within a name. Where the paths have an owner, the claim holds once the owner " +
    "accepts it. `deaddrop release` ends it.",
  fields: {
    paths: texts(
      "<pattern...>",
      "the files and folders that you work on, at most 32",
      '"src/api", "*.md"',
    ),
    shared: flag("--shared", "others may claim the same, shared too"),
    lasts: text("--for <span>", "how long it lasts: 30m, 4h; at most 24h (else 1h)", "30m, 4h"),
    reason: text("--reason <text>", "why"),
    to: texts("--to <handle>", "whom it binds (repeatable; else everybody)"),
    anyway: flag("--anyway", "also when another claim holds there"),
  },
  needs: ["paths"],
  examples: ['deaddrop claim src/api "docs/*.md" --for 2h --reason "new routes"'],
  async prepare(by, args) {
    const { client } = by;
    const { paths, note } = pathsGiven(by, args.paths);
    const mode = args.shared === true ? "shared" : "exclusive";
    const body: JsonObject = {
      paths: [...paths],
      mode,
      ...lifetime(args.lasts),
      ...definedFields({ reason: args.reason }),
    };
    const problem = claimProblem(body);
    if (problem !== undefined) {
      throw new DeaddropError("usage", problem, {
        hint: "give files, folders or patterns from the project's folder, such as src/api",
      });
    }
    const forecast = await client.view("claim_forecast", { paths, mode });
    if (args.anyway !== true) refuseOverlap(forecast);
    const draft = {
      to: await recipients(client, args.to ?? ["*"]),
      type: "claim",
      subject: cutSubject(`claim: ${paths.join(", ")}`),
      body,
    };
    return withNote({ draft, note: ownersNote(forecast) }, note);
  },
});

function lifetime(span: string | undefined): JsonObject {
  if (span === undefined) return {};
  const spanMs = timeSpan(span) ?? 0;
  if (spanMs > 0 && spanMs <= MAX_CLAIM_TTL_MS) return { ttl_seconds: spanMs / SECOND_MS };
  throw new DeaddropError("usage", `${quote(span)} is no span of time up to a day`, {
    hint: "give how long the claim lasts: 30m, 4h; 24h at most",
  });
}

/** Spec 3.7: an agent that knows of a claim loses to it. */
function refuseOverlap({ against: [found] }: ClaimForecast): void {
  if (found === undefined) return;
  const { event_id, from, until, paths } = found;
  throw new DeaddropError(
    "refused",
    `not sent: ${from} claims ${paths.map((path) => quote(path)).join(", ")} until ${until} (${shortId(event_id)})`,
    {
      hint: `ask for its release: deaddrop send ${from} "…"; --anyway claims them too, and that claim loses`,
    },
  );
}

function ownersNote({ owners }: ClaimForecast): string | undefined {
  if (owners.length === 0) return undefined;
  const names = [...new Set(owners.map(({ owner }) => owner))].join(", ");
  return `Where the paths have an owner it holds once ${names} has accepted it.`;
}

/** Ends a claim of ours before its time. Spec 3.7. */
export const release = verb({
  about: "Ends a claim of yours: others may work on those paths again.",
  fields: {
    claim: {
      ...text("[claim]", "its id, a prefix of that, or a path of it (else your only claim)"),
      aliases: ["id", "path", "paths"],
    },
  },
  needs: [],
  examples: ["deaddrop release", "deaddrop release src/api"],
  async prepare({ client }, { claim: named }) {
    const claims = await claimsMeant(client, named);
    const [{ correlation_id, paths } = { correlation_id: "", paths: [] }] = claims;
    return {
      draft: {
        to: [...new Set(claims.flatMap(({ to }) => to))],
        type: "release",
        subject: cutSubject(`release: ${paths.join(", ")}`),
        body: {},
        correlationId: correlation_id,
      },
      note: paths.length > 1 ? `The whole claim ends: ${paths.join(", ")}.` : undefined,
    };
  },
});

/** All claims of one thread: a release ends them together. Throws DeaddropError. */
async function claimsMeant(client: Client, name: string | undefined): Promise<ClaimView[]> {
  const all = await client.view("claims");
  const ours = all.filter((each) => each.from === client.handle && !isOver(each));
  const named = name === undefined ? ours : ours.filter((each) => isNamed(each, name));
  const threads = [...new Set(named.map(({ correlation_id }) => correlation_id))];
  if (threads.length === 1) return ours.filter((each) => each.correlation_id === threads[0]);
  if (threads.length === 0) {
    const what =
      name === undefined
        ? "you claim nothing"
        : `no claim of yours has the id or the path ${quote(name)}`;
    throw new DeaddropError("unknown_id", what, { hint: "deaddrop claims lists them" });
  }
  const listed = named.map(
    ({ event_id, paths }) => `${shortId(event_id)}: ${paths.map((path) => quote(path)).join(", ")}`,
  );
  throw new DeaddropError("ambiguous_id", ["which claim?", ...listed].join("\n"), {
    hint: "deaddrop release <id>",
  });
}

function isNamed({ event_id, paths }: ClaimView, name: string): boolean {
  const isPath = (path: string): boolean => patternCovers(path, name) && patternCovers(name, path);
  if (paths.some(isPath)) return true;
  return name.length >= MIN_ID_PREFIX && event_id.startsWith(name.toLowerCase());
}

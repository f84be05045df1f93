import { DeaddropError } from "../../api/errors.ts";
import { quote } from "../../wire/quote.ts";
import { MAX_CARD_BYTES } from "../../trust/cards/card.ts";

/** For everything: names, connections, redirects and the bytes themselves. */
const FETCH_LIMIT_MS = 10_000;
const MAX_REDIRECTS = 3;
const URL_LIKE = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Whether a person means a URL, and no file or key. */
export function isUrl(source: string): boolean {
  return URL_LIKE.test(source);
}

/**
 * The bytes of an agent card, fetched over https alone: the host's certificate is checked as always,
 * redirects are followed to https only, and what is too large or too slow is given up. That they
 * come from there proves nothing yet of whose they are. Spec 2.2. Throws a DeaddropError.
 */
export async function fetchCard(source: string): Promise<Uint8Array> {
  const signal = AbortSignal.timeout(FETCH_LIMIT_MS);
  let url = httpsUrl(source);
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const answer = await answerOf(url, signal);
    const to = redirectOf(answer);
    if (to === undefined) return await bodyOf(answer, url, signal);
    await answer.body?.cancel();
    url = httpsUrl(to, url);
  }
  throw refused(`${quote(source)} redirects more than ${MAX_REDIRECTS} times`, FILE_HINT);
}

const FILE_HINT = "fetch it by other means, look at it, and give the file instead";

function httpsUrl(text: string, from?: URL): URL {
  let url: URL;
  try {
    url = new URL(text, from);
  } catch (cause) {
    throw new DeaddropError("usage", `${quote(text)} is no URL`, { hint: FILE_HINT, cause });
  }
  const named = from === undefined ? quote(text) : `the redirect to ${quote(text)}`;
  if (url.protocol !== "https:") {
    throw refused(
      `${named} is not https, so anybody on the way can answer in its place`,
      `give an https:// URL, or ${FILE_HINT}`,
    );
  }
  if (url.username !== "" || url.password !== "") {
    // It would be kept in the trust store, and shown.
    throw refused("a URL with a password in it is not fetched", FILE_HINT);
  }
  return url;
}

async function answerOf(url: URL, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, { redirect: "manual", signal, headers: { accept: "*/*" } });
  } catch (cause) {
    throw failed(url, cause);
  }
}

function redirectOf({ status, headers }: Response): string | undefined {
  if (status < 300 || status > 399) return undefined;
  return headers.get("location") ?? undefined;
}

async function bodyOf(answer: Response, url: URL, signal: AbortSignal): Promise<Uint8Array> {
  if (answer.status !== 200) {
    await answer.body?.cancel();
    throw refused(`${quote(url.href)} answers with status ${answer.status}`, "check the address");
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    // What a server says of the length is a claim: the bytes are counted.
    for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_CARD_BYTES) break;
    }
  } catch (cause) {
    throw failed(url, signal.aborted ? signal.reason : cause);
  }
  if (length > MAX_CARD_BYTES) {
    throw refused(`${quote(url.href)} has more than ${MAX_CARD_BYTES} bytes`, "that is no card");
  }
  return Buffer.concat(chunks);
}

function failed(url: URL, cause: unknown): DeaddropError {
  if (cause instanceof DOMException && cause.name === "TimeoutError") {
    const limit = `${FETCH_LIMIT_MS / 1_000} s`;
    return new DeaddropError("timeout", `${quote(url.href)} did not answer within ${limit}`, {
      hint: `try again, or ${FILE_HINT}`,
      cause,
    });
  }
  // Node says "fetch failed", and why in the cause: a name, a port, a certificate.
  const { cause: why = cause } = cause as { cause?: unknown };
  const words = why instanceof Error ? why.message : String(why);
  return new DeaddropError("refused", `${quote(url.href)} cannot be fetched: ${quote(words)}`, {
    hint: `a certificate that is not accepted is no obstacle to go around: ${FILE_HINT}`,
    cause,
  });
}

function refused(message: string, hint: string): DeaddropError {
  return new DeaddropError("refused", message, { hint });
}

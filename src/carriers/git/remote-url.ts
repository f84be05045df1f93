/** A remote that we may talk to. */
export interface RemoteUrl {
  /** As git is given it. */
  readonly url: string;
  /** The protocol that git is allowed for it. */
  readonly scheme: "file" | "ssh" | "https";
}

export type ReadRemote =
  | { readonly ok: true; readonly remote: RemoteUrl }
  | { readonly ok: false; readonly problem: string };

const MAX_CHARACTERS = 2_048;
/** One of git's helpers: `ext::sh -c …` runs a program. */
const HELPER = /^[A-Za-z0-9+.-]+::/;
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//;
/** `user@host:path`, which git takes for SSH. */
const SCP = /^(?:([\w.-]+)@)?(\[[0-9A-Fa-f:.]+\]|[\w.-]+):(?!\/\/)(.+)$/;

/**
 * Whether that may be a wire's remote: SSH, HTTPS, or a repository on this machine by its absolute
 * path. A URL may name a program or hide an option, so each form is checked. Spec 5.2.
 */
export function readRemoteUrl(text: string): ReadRemote {
  const problem = faultOf(text);
  if (problem !== undefined) return { ok: false, problem };
  const scheme = SCHEME.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined) return withScheme(text, scheme);
  if (text.startsWith("/")) return { ok: true, remote: { url: text, scheme: "file" } };
  const scp = SCP.exec(text);
  if (scp === null) {
    return no(
      "it is no URL and no absolute path; give ssh://…, user@host:path, https://… or /path",
    );
  }
  const [, user = "", host = "", path = ""] = scp;
  if ([user, host, path].some((part) => part.startsWith("-"))) return no(OPTION);
  return { ok: true, remote: { url: text, scheme: "ssh" } };
}

const OPTION = 'a part of it begins with "-", which programs take for an option';
const PASSWORD =
  "it holds a password; leave it out, and use a credential helper of git or an SSH agent";

function faultOf(text: string): string | undefined {
  if (text === "") return "it is empty";
  if (text.length > MAX_CHARACTERS) return `it is longer than ${MAX_CHARACTERS} characters`;
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f-\u009f]/.test(text)) return "it has spaces or control characters";
  if (text.startsWith("-")) return OPTION;
  if (HELPER.test(text)) return "it names a program (a remote helper of git), which is never run";
  return undefined;
}

function withScheme(text: string, scheme: string): ReadRemote {
  if (scheme !== "file" && scheme !== "ssh" && scheme !== "https") {
    const instead = scheme === "http" || scheme === "git" ? "; it is not protected" : "";
    return no(`${scheme}:// is not used${instead}; give ssh://…, https://… or a path`);
  }
  const url = parsed(text);
  if (url === undefined) return no("it is no valid URL");
  if (url.password !== "") return no(PASSWORD);
  if (scheme === "https" && url.username !== "" && url.username.length > MAX_USER)
    return no(PASSWORD);
  if (url.search !== "" || url.hash !== "") return no('it has a "?" or "#"');
  const [host, path] = [decoded(url.hostname), decoded(url.pathname)];
  if (host === undefined || path === undefined) return no("it has a broken % escape");
  if (host.startsWith("-") || url.username.startsWith("-")) return no(OPTION);
  if (scheme === "file" ? host !== "" : host === "")
    return no("its host is missing, or not expected");
  if (path === "" || path === "/") return no("it names no repository");
  if (scheme === "ssh" && /^\/?-/.test(path)) return no(OPTION);
  return { ok: true, remote: { url: text, scheme } };
}

function parsed(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** A longer name of a user is a token. */
const MAX_USER = 39;

function no(problem: string): ReadRemote {
  return { ok: false, problem };
}

import { homedir } from "node:os";
import { TransportError } from "../carrier.ts";
import type { RemoteUrl } from "./remote-url.ts";
import { gitIn, type Git } from "./run-git.ts";

/**
 * Settings that override every configuration: each of these could run a program, read another place, or change
 * what is stored. Spec 5.2.
 */
const SAFE: readonly string[] = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.attributesFile=/dev/null",
  "core.excludesFile=/dev/null",
  "core.autocrlf=false",
  "core.logAllRefUpdates=false",
  "core.askPass=",
  "submodule.recurse=false",
  "fetch.recurseSubmodules=false",
  "fetch.writeCommitGraph=false",
  "fetch.unpackLimit=100",
  // Otherwise each commit of ours takes another process, which unpacks it.
  "fastimport.unpackLimit=1",
  "transfer.fsckObjects=true",
  ...harmlessFaults().map((id) => `fetch.fsck.${id}=ignore`),
  "transfer.bundleURI=false",
  "protocol.allow=never",
  "gc.auto=0",
  "maintenance.auto=false",
  "push.gpgSign=false",
  "push.followTags=false",
  "advice.pushUpdateRejected=false",
];

/**
 * Faults of objects that cannot harm us: names in trees, since nothing is checked out and paths are only compared;
 * files that configure checkouts; authors and dates of commits. Otherwise one such object anywhere in the history
 * would stop every fetch for good.
 */
function harmlessFaults(): readonly string[] {
  return [
    ...["hasDot", "hasDotdot", "hasDotgit", "fullPathname", "emptyName", "zeroPaddedFilemode"],
    ...["badFilemode", "largePathname", "symlinkTargetBlob", "symlinkTargetLength"],
    ...["Blob", "Large", "Missing", "Name", "Parse", "Path", "Symlink", "Update", "Url"].map(
      (fault) => `gitmodules${fault}`,
    ),
    ...["Blob", "Large", "LineLength", "Missing", "Symlink"].map(
      (fault) => `gitattributes${fault}`,
    ),
    ...["gitignoreSymlink", "mailmapSymlink"],
    ...["badDate", "badDateOverflow", "badEmail", "badName", "badTimezone", "zeroPaddedDate"],
    ...["missingEmail", "missingNameBeforeEmail", "missingSpaceBeforeDate"],
    ...["missingSpaceBeforeEmail", "missingAuthor", "multipleAuthors", "nulInCommit"],
  ];
}

/** The settings of the user's that git gets: how to sign in and how to sign. */
const USER_SETTINGS =
  /^(?:credential(?:\..+)?\.(?:helper|username|usehttppath)|http(?:\..+)?\.(?:proxy|sslcainfo|sslcapath)|core\.sshcommand|user\.signingkey|commit\.gpgsign|gpg\.(?:format|program)|gpg\.(?:ssh|x509)\.program)$/;
/** The variables of our environment that git gets. */
const VARIABLES = [
  ...["PATH", "HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TMPDIR", "LANG"],
  ...["SSH_AUTH_SOCK", "GNUPGHOME", "DBUS_SESSION_BUS_ADDRESS", "SSL_CERT_FILE", "SSL_CERT_DIR"],
  ...["GIT_SSL_CAINFO", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "GIT_SSH_COMMAND"],
];

const OLDEST: readonly [major: number, minor: number] = [2, 32];

type Setting = readonly [name: string, value: string];

/** For which repository and remote git is used, and until when. */
interface GitUse {
  readonly folder: string;
  readonly remote: RemoteUrl;
  /** Of our process. */
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
}

/**
 * git for a bare repository of ours: of the user's configuration it gets the ways to sign in and to sign, and
 * nothing else. Spec 5.2.
 *
 * @returns also whether the user has commits signed
 * @throws TransportError (`no_git`) when there is no git, or one that is too old
 */
export async function openGit(
  use: GitUse,
): Promise<{ readonly git: Git; readonly signs: boolean }> {
  const { folder, remote, signal } = use;
  const env: NodeJS.ProcessEnv = { ...use.env, HOME: use.env["HOME"] ?? homedir() };
  const plain = gitIn({ folder, env, signal });
  await requireVersion(plain);
  const users = await settingsOfUser(plain);
  const ssh = users.findLast(([name]) => name === "core.sshcommand")?.[1];
  const safe = [...SAFE, `protocol.${remote.scheme}.allow=always`].map(parseSetting);
  const git = gitIn({
    folder,
    env: {
      ...Object.fromEntries(
        VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
      ),
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_ATTR_NOSYSTEM: "1",
      GIT_NO_REPLACE_OBJECTS: "1",
      GIT_PROTOCOL_FROM_USER: "0",
      // Nobody can answer a question: a daemon has no terminal.
      GIT_SSH_COMMAND: `${env["GIT_SSH_COMMAND"] ?? ssh ?? "ssh"} -o BatchMode=yes`,
      ...asEnvironment([...users, ...safe]),
    },
    signal,
  });
  return {
    git,
    signs: users.some(([name, value]) => name === "commit.gpgsign" && value === "true"),
  };
}

async function requireVersion(git: Git): Promise<void> {
  const printed = (await git(["--version"])).toString("utf8");
  const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(printed) ?? [];
  const [oldMajor, oldMinor] = OLDEST;
  if (Number(major) > oldMajor || (Number(major) === oldMajor && Number(minor) >= oldMinor)) return;
  throw new TransportError("no_git", `git ${major}.${minor} is too old`, {
    hint: `install git ${OLDEST.join(".")} or newer: older ones cannot be kept from the user's configuration`,
  });
}

/** From the user's and the system's configuration, not from any repository's. */
async function settingsOfUser(git: Git): Promise<Setting[]> {
  const scopes = await Promise.all(
    ["--system", "--global"].map((scope) =>
      git(["config", scope, "--includes", "--null", "--list"]).catch(() => Buffer.alloc(0)),
    ),
  );
  return scopes
    .flatMap((printed) => printed.toString("utf8").split("\0"))
    .map((entry): Setting => {
      const at = entry.indexOf("\n");
      return at < 0 ? [entry, "true"] : [entry.slice(0, at), entry.slice(at + 1)];
    })
    .filter(([name, value]) => USER_SETTINGS.test(name.toLowerCase()) && !hasSecret(name, value));
}

/** A proxy's address may hold a password. */
function hasSecret(name: string, value: string): boolean {
  return name.endsWith(".proxy") && value.includes("@");
}

function parseSetting(text: string): Setting {
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Settings as git reads them from its environment; they override those of the repository, later ones win. */
function asEnvironment(settings: readonly Setting[]): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { GIT_CONFIG_COUNT: String(settings.length) };
  for (const [at, [name, value]] of settings.entries()) {
    env[`GIT_CONFIG_KEY_${at}`] = name;
    env[`GIT_CONFIG_VALUE_${at}`] = value;
  }
  return env;
}

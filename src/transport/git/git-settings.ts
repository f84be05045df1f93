import { homedir } from "node:os";
import { join } from "node:path";
import type { Disk } from "../../storage/disk/disk.ts";
import { TransportError } from "../port.ts";
import type { RemoteUrl } from "../../carriers/git/remote-url.ts";
import { gitIn, type Git, type GitPlace } from "./run-git.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";

/**
 * What git is told, whatever the user or the system has configured. Each of these could run a program,
 * read another place, or change what is stored. Spec 5.2.
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
  // Else each commit of ours takes another process, which makes single objects of its pack.
  "fastimport.unpackLimit=1",
  "transfer.fsckObjects=true",
  ...harmless().map((id) => `fetch.fsck.${id}=ignore`),
  "transfer.bundleURI=false",
  "protocol.allow=never",
  "gc.auto=0",
  "maintenance.auto=false",
  "push.gpgSign=false",
  "push.followTags=false",
  "advice.detachedHead=false",
];

/**
 * What git's check of objects finds wrong and we need not: names in trees, since nothing is ever checked
 * out and paths are compared, never followed; files that configure checkouts; who wrote a commit, and
 * when. One such object anywhere in the history would else stop every fetch for good.
 */
function harmless(): readonly string[] {
  return [
    ...["hasDot", "hasDotdot", "hasDotgit", "fullPathname", "emptyName", "zeroPaddedFilemode"],
    ...["badFilemode", "largePathname", "symlinkTargetBlob", "symlinkTargetLength"],
    ...["Blob", "Large", "Missing", "Name", "Parse", "Path", "Symlink", "Update", "Url"].map(
      (what) => `gitmodules${what}`,
    ),
    ...["Blob", "Large", "LineLength", "Missing", "Symlink"].map((what) => `gitattributes${what}`),
    ...["gitignoreSymlink", "mailmapSymlink"],
    ...["badDate", "badDateOverflow", "badEmail", "badName", "badTimezone", "zeroPaddedDate"],
    ...["missingEmail", "missingNameBeforeEmail", "missingSpaceBeforeDate"],
    ...["missingSpaceBeforeEmail", "missingAuthor", "multipleAuthors", "nulInCommit"],
  ];
}

/** What of the user's own configuration reaches git: how to sign in and how to sign. */
const TAKEN =
  /^(?:credential(?:\..+)?\.(?:helper|username|usehttppath)|http(?:\..+)?\.(?:proxy|sslcainfo|sslcapath)|core\.sshcommand|user\.signingkey|commit\.gpgsign|gpg\.(?:format|program)|gpg\.(?:ssh|x509)\.program)$/;
/** What of our environment reaches git. */
const PASSED_ON = [
  ...["PATH", "HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TMPDIR", "LANG"],
  ...["SSH_AUTH_SOCK", "GNUPGHOME", "DBUS_SESSION_BUS_ADDRESS", "SSL_CERT_FILE", "SSL_CERT_DIR"],
  ...["GIT_SSL_CAINFO", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "GIT_SSH_COMMAND"],
];

const OLDEST: readonly [major: number, minor: number] = [2, 32];

/** One setting of the user's that git is given. */
type Setting = readonly [name: string, value: string];

/** For which repository and remote git is used, and until when. */
interface GitUse {
  readonly folder: string;
  readonly remote: RemoteUrl;
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
}

/** The `-c` arguments for a remote of that scheme. */
function safeSettings({ scheme }: Pick<RemoteUrl, "scheme">): readonly string[] {
  return [...SAFE, `protocol.${scheme}.allow=always`].flatMap((each) => ["-c", each]);
}

/** What git may know of our environment. `config`: the file that git reads in place of the user's configuration. */
function safeEnvironment(env: NodeJS.ProcessEnv, config: string): NodeJS.ProcessEnv {
  const passed = PASSED_ON.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]));
  return {
    ...(Object.fromEntries(passed) as NodeJS.ProcessEnv),
    HOME: env["HOME"] ?? homedir(),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: config,
    GIT_ATTR_NOSYSTEM: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_PROTOCOL_FROM_USER: "0",
  };
}

/**
 * git for the bare repository of an agent: the user's ways to sign in are copied into a file of our
 * own, and nothing else of the user's configuration is read. Throws "no_git" when there is no git, or
 * one that is too old.
 */
export async function openGit(
  disk: Disk,
  { folder, remote, env, signal }: GitUse,
): Promise<{ readonly git: Git; readonly signs: boolean }> {
  const config = join(folder, "git.config");
  const plain: GitPlace = {
    folder,
    env: { ...env, HOME: env["HOME"] ?? homedir() },
    settings: [],
    signal,
  };
  await requireVersion(gitIn(plain));
  const taken = await settingsOfUser(gitIn(plain));
  disk.replace(config, Buffer.from(configText(taken), "utf8"), PRIVATE_FILE);
  const ssh = taken.findLast(([name]) => name === "core.sshcommand")?.[1];
  const git = gitIn({
    folder,
    env: { ...safeEnvironment(env, config), GIT_SSH_COMMAND: sshCommand(env, ssh) },
    ...{ settings: safeSettings(remote), signal },
  });
  const signs = taken.some(([name, value]) => name === "commit.gpgsign" && value === "true");
  return { git, signs };
}

/** No question can be answered by anybody: a daemon has no terminal. */
function sshCommand(env: NodeJS.ProcessEnv, configured: string | undefined): string {
  return `${env["GIT_SSH_COMMAND"] ?? configured ?? "ssh"} -o BatchMode=yes`;
}

async function requireVersion(git: Git): Promise<void> {
  const said = (await git(["--version"])).toString("utf8");
  const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(said) ?? [];
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
    .flatMap((said) => said.toString("utf8").split("\0"))
    .map((entry): Setting => {
      const at = entry.indexOf("\n");
      return at < 0 ? [entry, "true"] : [entry.slice(0, at), entry.slice(at + 1)];
    })
    .filter(([name, value]) => TAKEN.test(name.toLowerCase()) && !hasSecret(name, value));
}

/** A proxy's address may hold a password. */
function hasSecret(name: string, value: string): boolean {
  return name.endsWith(".proxy") && value.includes("@");
}

function configText(settings: readonly Setting[]): string {
  return settings
    .map(([name, value]) => {
      const [first, last] = [name.indexOf("."), name.lastIndexOf(".")];
      const section = name.slice(0, first);
      const middle = first === last ? "" : ` "${escaped(name.slice(first + 1, last))}"`;
      return `[${section}${middle}]\n\t${name.slice(last + 1)} = "${escaped(value)}"\n`;
    })
    .join("");
}

function escaped(text: string): string {
  return text.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n");
}

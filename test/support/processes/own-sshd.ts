import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { until, type Started } from "./real-processes.ts";

/** What is missing here to run an SSH server; undefined: nothing. */
export function whyNoSshd(): string | undefined {
  const missing = ["ssh", "ssh-keygen"].find((tool) => programPath(tool) === undefined);
  if (missing !== undefined) return `there is no ${missing} here`;
  return sshdPath() === undefined ? "there is no sshd here" : undefined;
}

/**
 * A real SSH server on loopback that lets one user in with a key made for this run. Answers the ssh
 * command that reaches it, without the host, and its port.
 */
export async function startSshd(
  user: { readonly name: string; start(program: string, ...args: readonly string[]): Started },
  keys: string,
): Promise<{ readonly ssh: string; readonly port: number }> {
  mkdirSync(keys, { recursive: true });
  for (const name of ["host", "login"]) {
    spawnSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(keys, name)]);
  }
  spawnSync("chown", ["-R", user.name, keys]);
  chmodSync(keys, 0o700);
  const port = await freePort();
  const daemon = user.start(
    sshdPath() ?? "sshd",
    ...["-D", "-e", "-f", "/dev/null", "-p", String(port)],
    ...["-h", join(keys, "host"), "-o", "ListenAddress=127.0.0.1", "-o", "UsePAM=no"],
    ...["-o", "StrictModes=no", "-o", `AuthorizedKeysFile=${join(keys, "login.pub")}`],
    ...["-o", `PidFile=${join(keys, "pid")}`],
  );
  await until("sshd listens", () => daemon.stderr().includes("Server listening"));
  const ssh =
    `ssh -p ${port} -i ${join(keys, "login")} -o StrictHostKeyChecking=no ` +
    `-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR`;
  return { ssh, port };
}

/** Where a program of that name is; undefined: nowhere in PATH. */
export function programPath(tool: string): string | undefined {
  const { status, stdout } = spawnSync("sh", ["-c", `command -v ${tool}`], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

function sshdPath(): string | undefined {
  return ["sshd", "/usr/sbin/sshd"].map(programPath).find((path) => path !== undefined);
}

/** Free a moment ago; nobody else asks for one by number here. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

import { spawnSync } from "node:child_process";
import { errnoOf } from "./errno.ts";

// Node has no flock(2). A child locks the open file description that it inherits as descriptor 3;
// the parent keeps that description, so the lock stays after the child ends, and the kernel frees
// it when the last holder of the description dies. It excludes Python's `fcntl.flock` (spec 4.1).

const CONFLICT = 75;

// macOS has no flock(1), but it has perl.
const PERL = `
use Fcntl qw(:flock);
use Time::HiRes qw(time sleep);
open(my $file, "+<&=", 3) or open($file, "<&=", 3) or exit 71;
my $until = time() + $ARGV[0] / 1000;
while (!flock($file, LOCK_EX | LOCK_NB)) {
  exit 71 unless $!{EWOULDBLOCK} || $!{EAGAIN} || $!{EINTR};
  exit ${CONFLICT} if time() >= $until;
  sleep(0.02);
}
exit 0;`;

type Outcome = "locked" | "conflict" | "no_such_program" | { readonly failed: string };
type Way = (fd: number, waitMs: number) => Outcome;

/**
 * Takes the exclusive kernel lock (flock family) on an open descriptor; false when another holds
 * it for all of `waitMs`. Blocks this thread meanwhile.
 */
export function lockDescriptor(fd: number, waitMs: number): boolean {
  return lockBy([withFlock, withPerl], fd, waitMs);
}

/** `lockDescriptor` by the first of these ways that this machine has. @internal */
export function lockBy(ways: readonly Way[], fd: number, waitMs: number): boolean {
  for (const way of ways) {
    const outcome = way(fd, waitMs);
    if (outcome === "locked") return true;
    if (outcome === "conflict") return false;
    if (outcome !== "no_such_program") {
      throw new Error(`cannot take a kernel lock: ${outcome.failed}`);
    }
  }
  throw new Error("cannot take a kernel lock: neither flock(1) nor perl was found in PATH");
}

/** flock(1) of util-linux. @internal */
export function withFlock(fd: number, waitMs: number): Outcome {
  const patience = waitMs <= 0 ? ["-n"] : ["-w", (waitMs / 1000).toFixed(3)];
  return run("flock", ["-x", "-E", String(CONFLICT), ...patience, "3"], fd, waitMs);
}

/** perl's flock, for machines without flock(1). @internal */
export function withPerl(fd: number, waitMs: number): Outcome {
  return run("perl", ["-e", PERL, String(Math.max(0, waitMs))], fd, waitMs);
}

function run(program: string, args: readonly string[], fd: number, waitMs: number): Outcome {
  const done = spawnSync(program, args, {
    stdio: ["ignore", "ignore", "pipe", fd],
    timeout: waitMs + 10_000,
  });
  if (done.error !== undefined) {
    if (errnoOf(done.error) === "ENOENT") return "no_such_program";
    return { failed: `${program}: ${done.error.message}` };
  }
  if (done.status === 0) return "locked";
  if (done.status === CONFLICT) return "conflict";
  return { failed: `${program} ended with ${done.status}: ${done.stderr.toString().trim()}` };
}

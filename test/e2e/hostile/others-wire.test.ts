import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { BIN, killChildren } from "../../support/processes/real-processes.ts";
import {
  makeTeam,
  whyNoUsers,
  type UnixTeam,
  type UnixUser,
} from "../../support/processes/unix-users.ts";

const WHY_NOT = whyNoUsers();

let team: UnixTeam | undefined;
afterEach(async () => {
  await killChildren();
  team?.remove();
  team = undefined;
});

test("another user's wire on the way up is named, and gets nothing until it is named once", async ({
  skip,
}) => {
  skip(WHY_NOT !== undefined, WHY_NOT);
  team = makeTeam(["022", "022"]);
  const [me, other] = team.users as readonly [UnixUser, UnixUser];
  // bela's wire has anna in its roster, with a log that anybody may write.
  const wire = join(team.folder, "_coordination");
  const init = ["init", "--me", "bela", "--peer", "anna", "--wire", wire];
  expect(await other.run(...init)).toMatchObject({ code: 0 });
  await other.start("chmod", "-R", "a+rwX", wire).ended;
  expect(await me.run("keygen", "anna")).toMatchObject({ code: 0 });
  const work = join(team.folder, "work");
  mkdirSync(work);
  chmodSync(work, 0o777);

  const inWork = async (...args: readonly string[]) => {
    const started = me.start(
      "sh",
      "-c",
      'cd "$0" && exec "$@"',
      work,
      process.execPath,
      BIN,
      ...args,
    );
    started.child.stdin?.end();
    return started.ended;
  };
  const before = readdirSync(wire).toSorted();
  for (const args of [["send", "secret", "the body"], ["inbox"], ["daemon", "--once"], ["join"]]) {
    const ended = await inWork(...args);
    expect(ended, args.join(" ")).toMatchObject({ code: 2 });
    expect(ended.stderr, args.join(" ")).toContain(`${wire}: it belongs to user ${other.uid}`);
    expect(ended.stderr).toContain(`name it once: --wire ${wire}`);
  }
  expect(readdirSync(wire).toSorted()).toEqual(before);
  expect(existsSync(join(wire, "anna_to_bela.jsonl"))).toBe(false);

  expect(await inWork("whoami", "--wire", wire)).toMatchObject({ code: 0 });
  expect(await inWork("send", "meant", "the body")).toMatchObject({ code: 0 });
  expect(existsSync(join(wire, "anna_to_bela.jsonl"))).toBe(true);
});

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { BY_FLAGS } from "../../cli/on-machine.ts";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";
import { BIN, until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

it("a running daemon tells a program of a notice, and the program can ask as the agent", async () => {
  const wire = makeWire();
  const [told, seen] = [join(wire.folder, "told"), join(wire.folder, "seen")];
  const script = join(wire.folder, "on notice.sh");
  writeFileSync(
    script,
    `cat >> ${told}\n"$1" "$2" notices --unread --json > ${seen}.new && mv ${seen}.new ${seen}\n`,
  );
  const forge = await wire.daemon("forge");
  await wire.daemon("scribe");
  // Taken at once: the daemon runs already.
  const command = JSON.stringify(["sh", script, process.execPath, BIN]);
  await wire.run("forge", "config", "set", "hooks.on_notice", command, ...BY_FLAGS);

  const proposed = await wire.json<{ messages: { event_id: string }[] }>(
    "forge",
    ...["propose", "use tabs", "--decision", "Tabs it is."],
  );
  const id = proposed.messages[0]?.event_id ?? "";
  await until("the proposal is there", async () => {
    const { code } = await wire.run("scribe", "reject", id, "--reason", "spaces");
    return code === 0;
  });
  await until("the program was run", () => existsSync(seen));

  const [notice] = JSON.parse(readFileSync(seen, "utf8")) as { id: string; kind: string }[];
  expect(notice).toMatchObject({ kind: "rejected" });
  expect(JSON.parse(readFileSync(told, "utf8"))).toEqual({
    id: notice?.id,
    kind: "rejected",
    age_seconds: expect.any(Number),
  });

  const wrong = JSON.stringify(["/no/such/program"]);
  await wire.run("forge", "config", "set", "hooks.on_notice", wrong, ...BY_FLAGS);
  const second = await wire.json<{ messages: { event_id: string }[] }>("forge", "propose", "again");
  await until("it is rejected", async () => {
    const other = second.messages[0]?.event_id ?? "";
    return (await wire.run("scribe", "reject", other, "--reason", "no")).code === 0;
  });
  await until("the log names the program", () =>
    forge.log().some(({ msg, program }) => msg.includes("hook") && program === "/no/such/program"),
  );
  expect((await forge.stop()).code).toBe(0);
});

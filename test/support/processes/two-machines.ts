import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tiersText, WIRE_ID } from "./live-wire.ts";
import { BIN, start, until, type Ended, type Started } from "./real-processes.ts";

/** A host with a home and a copy of the wire of its own; nothing but a transport joins two of them. */
export interface MachineAlone {
  readonly handle: string;
  readonly wire: string;
  /** Any program, in the wire's folder, to its end. */
  command(program: string, ...args: readonly string[]): Promise<Ended>;
  /** `deaddrop …` to its end; throws when it fails. */
  does(...args: readonly string[]): Promise<string>;
  begin(...args: readonly string[]): Started;
}

type Begin = (program: string, ...args: readonly string[]) => Started;

/** Where two agents share more than a transport. */
interface Shared {
  /** The name of the machine; one of its own unless said. */
  readonly machine?: string;
  /** The folder of the wire; one of that machine unless said. */
  readonly wire?: string;
}

/** `begin` starts a process of the user whom the machine belongs to. */
export function machineAlone(
  folder: string,
  handle: string,
  begin: Begin,
  { machine = handle, ...shared }: Shared = {},
): MachineAlone {
  const home = join(folder, `${machine}'s machine`);
  const wire = shared.wire ?? join(home, "_coordination");
  mkdirSync(home, { recursive: true });
  mkdirSync(wire, { recursive: true });
  const env = [`HOME=${home}`, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"];
  const program = (...words: readonly string[]) => begin("env", "-C", wire, ...env, ...words);
  const here = ["--wire", wire, "--as", handle];
  const deaddrop = (...args: readonly string[]) => {
    const started = program(process.execPath, BIN, ...args);
    started.child.stdin?.end();
    return started;
  };
  const does = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await deaddrop(...args).ended;
    if (code !== 0) throw new Error(`${handle}: deaddrop ${args.join(" ")}: ${stdout}${stderr}`);
    return stdout;
  };
  return {
    handle,
    wire,
    command: (name, ...args) => program(name, ...args).ended,
    does: (command = "", ...args) =>
      // Both of these name wire and agent in their own way.
      ["init", "join"].includes(command) ? does(command, ...args) : does(command, ...args, ...here),
    begin: (...args) => deaddrop(...args, ...here),
  };
}

/** Each beat is a push: with one a second, a busy machine does nothing else. */
const GIT_CADENCE_SECONDS = 4;

/** The makers' policy, as `init` finds it there: beats that come soon enough for a test. */
export function givePolicy(
  { wire }: Pick<MachineAlone, "wire">,
  roster = ["forge", "scribe"],
): void {
  const config = { wire_id: WIRE_ID, protocol_version: "v3.1", roster };
  writeFileSync(join(wire, "config.json"), JSON.stringify(config));
  writeFileSync(join(wire, "tiers.json"), tiersText(GIT_CADENCE_SECONDS));
}

/** A process of this test's own user. */
export const asOurselves: Begin = (program, ...args) =>
  start(program, args, { env: { PATH: process.env["PATH"], TZ: "UTC" } });

/**
 * What docs/transports.md promises of a transport that copies each file from its one writer, played
 * by two agents with real daemons: first contact, a message, an answer, a decision that both know.
 */
export async function playTwoMachines(
  forge: MachineAlone,
  scribe: MachineAlone,
  transport: { first(): Promise<void>; again(): Promise<void> },
): Promise<void> {
  const carried = async <T>(what: string, look: () => Promise<T | false> | T | false): Promise<T> =>
    until(what, async () => {
      await transport.again();
      return look();
    });
  const pin = (by: MachineAlone, handle: string, fingerprint: string) =>
    by.does(
      ...["trust", "pin", handle, "--tier", "VERIFIED", "--fingerprint", fingerprint],
      ...["--yes", "--reason", "read out on the phone"],
    );
  const init = ["init", "--me", "forge", "--peer", "scribe", "--wire", forge.wire, "--json"];
  const keyOfForge = fingerprintIn(await forge.does(...init));
  await transport.first();
  const join_ = ["join", scribe.wire, "--me", "scribe", "--peer", "forge", "--json"];
  const keyOfScribe = fingerprintIn(await scribe.does(...join_));
  await pin(scribe, "forge", keyOfForge);
  const daemons = [forge, scribe].map((machine) => machine.begin("daemon"));
  await carried("forge knows scribe", async () => {
    const { stdout } = await forge.begin("trust", "list", "--json").ended;
    return stdout.includes("scribe:");
  });
  await pin(forge, "scribe", keyOfScribe);

  await forge.does("send", "hello", "from the other machine");
  await carried("scribe has it", async () => (await scribe.does("inbox")).includes("hello"));
  await carried("forge knows that", async () => {
    const sent = JSON.parse(await forge.does("sent", "--json")) as {
      receipts: { state: string }[];
    }[];
    const states = sent.flatMap(({ receipts }) => receipts.map(({ state }) => state));
    return states.some((state) => state === "delivered" || state === "read");
  });
  await forge.does("propose", "freeze the format", "--decision", "It is frozen until May.");
  const proposal = await carried("scribe has the proposal", async () => {
    const proposals = JSON.parse(await scribe.does("proposals", "--json")) as {
      proposal_id: string;
    }[];
    return proposals[0]?.proposal_id ?? false;
  });
  await scribe.does("accept", proposal);
  // The asker's daemon records it at once, the other side's after ten minutes.
  await carried("forge has recorded the decision", async () =>
    (await forge.does("decisions")).includes("It is frozen until May."),
  );
  await carried("scribe knows that it is agreed", async () =>
    (await scribe.does("proposals")).includes("ratified"),
  );
  for (const { child } of daemons) child.kill("SIGTERM");
  await Promise.all(daemons.map(({ ended }) => ended));
  await transport.again();
  for (const machine of [forge, scribe]) await machine.does("audit");
}

/** The own key, as `init --json` and `join --json` say it. */
function fingerprintIn(report: string): string {
  const { own_key: key } = JSON.parse(report) as { own_key: { fingerprint: string } };
  return key.fingerprint;
}

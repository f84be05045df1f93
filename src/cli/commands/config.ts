import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parsedConfig } from "../../agent/config/parsed-config.ts";
import { pendingPolicy } from "../../agent/config/pending-policy.ts";
import {
  checkSettings,
  mergeSettings,
  parseSetting,
  settingNamed,
  SETTINGS,
  type Setting,
  type SettingName,
} from "../../agent/config/settings.ts";
import { codeOfStorage, DeaddropError } from "../../api/errors.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { calling } from "../../storage/disk/errno.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";
import { readSettings, saveSettings, savePinned } from "../../storage/private/private-store.ts";
import { defaultPolicyText } from "../../trust/policy/default-policy.ts";
import { policyConflict } from "../../trust/policy/policy-drift.ts";
import { agentPlace, reloadDaemon, type AgentPlace } from "../agent-place.ts";
import { define } from "../command.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { CONSENT_OPTIONS, confirmOperator, type ConsentFlags } from "../input/confirm.ts";
import { emit, table } from "../output/output.ts";

/** What the operator has chosen, and what the wire asks for. Spec 1.1, 8.6. */
export const config = define({
  about:
    "Settings of this agent, and the wire's policy as you have accepted it. docs/settings.md " +
    "describes each setting.",
  bare: "list",
  default: "get",
  commands: {
    list: define({
      about: "all settings, and whether the wire's configuration is the accepted one",
      run: list,
    }),
    get: define({
      about: "one setting, as JSON",
      args: { "<key>": "" },
      run(cli, flags, { key }) {
        const value = agentPlace(cli, flags).place.settings[settingNamed(key)];
        emit(cli, flags, { key, value }, () => JSON.stringify(value));
      },
    }),
    set: define({
      about: "change one setting; a running daemon applies it at once",
      args: { "<key>": "", "<value>": "" },
      options: CONSENT_OPTIONS,
      examples: ["deaddrop config set wake.per_hour 12"],
      run(cli, flags, { key, value }) {
        const name = settingNamed(key);
        return set(cli, flags, name, parseSetting(name, value));
      },
    }),
    unset: define({
      about: "restore the default of a setting",
      args: { "<key>": "" },
      options: CONSENT_OPTIONS,
      run: (cli, flags, { key }) => set(cli, flags, settingNamed(key), undefined),
    }),
    edit: define({
      about: "open the settings in your editor",
      options: CONSENT_OPTIONS,
      run: edit,
    }),
    accept: define({
      about: "agree to the wire's config.json and tiers.json as they are now (operator)",
      options: CONSENT_OPTIONS,
      examples: ["deaddrop config accept"],
      run: accept,
    }),
  },
});

/** `deaddrop config list`: the settings, and how the wire's policy differs from the pinned one. */
function list(cli: Cli, flags: GlobalFlags): void {
  const { host, place } = agentPlace(cli, flags);
  const settings = Object.entries<Setting>(SETTINGS).map(([key, setting]) => ({
    ...{ key, value: place.settings[key as SettingName], default: setting.default },
    ...{ unit: setting.unit ?? null, changed_by: setting.changedBy, about: setting.about },
  }));
  const { lines } = pendingPolicy(host.disk, place);
  emit(cli, flags, { settings, file: place.paths.settings, wire_differs: lines }, (paint) => {
    const rows = settings.map(({ key, value, default: byDefault, unit, about }) => [
      { text: key, style: "bold" as const },
      { text: JSON.stringify(value), style: value === byDefault ? undefined : ("cyan" as const) },
      unit ?? "",
      about,
    ]);
    const note =
      lines.length === 0
        ? "The wire's configuration is the one that you accepted."
        : `The wire's configuration differs from the one that you accepted in ${lines.length} points: deaddrop config accept`;
    return `${table(rows, paint, cli.stdout.columns)}\n\n${note}`;
  });
}

/** Sets one setting; undefined restores its default. */
async function set(
  cli: Cli,
  flags: GlobalFlags & ConsentFlags,
  key: SettingName,
  value: unknown,
): Promise<void> {
  await change(cli, flags, agentPlace(cli, flags), (file) => ({ ...file, [key]: value }));
  const now: { key: string; value: unknown } = { key, value: value ?? SETTINGS[key].default };
  emit(cli, flags, now, (paint) => `${paint("bold", key)} is ${JSON.stringify(now.value)}`);
}

/** Opens the settings in the operator's editor; what cannot be read is not taken. */
async function edit(cli: Cli, flags: GlobalFlags & ConsentFlags): Promise<void> {
  const editor = cli.env["VISUAL"] ?? cli.env["EDITOR"];
  if (editor === undefined || editor.trim() === "") {
    throw new DeaddropError("usage", "no editor is named", {
      hint: "set EDITOR, or change one setting with `deaddrop config set <key> <value>`",
    });
  }
  const at = agentPlace(cli, flags);
  const before = settingsFile(at);
  const after = edited(editor, `${JSON.stringify(before, null, 2)}\n`, (typed) => {
    const settings = parsed(typed);
    checkSettings(settings, at.place.paths.settings);
    return settings as SettingsFile;
  });
  const changed = JSON.stringify(after) !== JSON.stringify(before);
  // What was set while the editor was open stays, unless it was changed there too.
  const settings = changed
    ? await change(cli, flags, at, (file) => mergeSettings(file, before, after))
    : before;
  emit(cli, flags, { changed, settings }, () => (changed ? "saved" : "nothing was changed"));
}

type SettingsFile = Readonly<Record<string, unknown>>;

function settingsFile({ host, place }: AgentPlace): SettingsFile {
  return (readSettings(host.disk, place.paths) ?? {}) as SettingsFile;
}

/** Changes settings.json, with the operator's consent to a setting that asks for it; returns the file. */
async function change(
  cli: Cli,
  flags: ConsentFlags,
  at: AgentPlace,
  make: (file: SettingsFile) => SettingsFile,
): Promise<SettingsFile> {
  const { paths } = at.place;
  const current = settingsFile(at);
  const [from, to] = [current, make(current)].map((file) => checkSettings(file, paths.settings));
  const asked = (Object.keys(SETTINGS) as SettingName[]).filter(
    (name) =>
      SETTINGS[name].changedBy === "operator" &&
      JSON.stringify(from?.[name]) !== JSON.stringify(to?.[name]),
  );
  if (asked.length > 0) {
    const effect = asked.map((name) => `${name} becomes ${JSON.stringify(to?.[name])}`);
    const action = { action: "config set", target: asked.join(", "), effect, word: "change" };
    await confirmOperator(cli, flags, action, paths.operatorJournal);
  }
  const changed = make(settingsFile(at));
  saveSettings(at.host.disk, paths, changed);
  await reloadDaemon(paths);
  return changed;
}

/** What `take` makes of the text that the editor leaves. A text that it refuses is kept, and named. */
function edited<T>(editor: string, text: string, take: (typed: string) => T): T {
  const prefix = join(tmpdir(), "deaddrop-edit-");
  const folder = calling(prefix, "making a folder", () => mkdtempSync(prefix));
  const path = join(folder, "settings.json");
  const drop = (): void => rmSync(folder, { recursive: true, force: true });
  let typed: string;
  try {
    typed = typedInto(path, editor, text);
  } catch (error) {
    drop();
    throw error;
  }
  const taken = namingFile(path, () => take(typed));
  drop();
  return taken;
}

function typedInto(path: string, editor: string, text: string): string {
  calling(path, "writing", () => writeFileSync(path, text, { mode: PRIVATE_FILE }));
  const [program = "", ...args] = editor.trim().split(/\s+/);
  const { status, error } = spawnSync(program, [...args, path], { stdio: "inherit" });
  if (error !== undefined || status !== 0) {
    throw new DeaddropError("refused", `${program} did not end well; nothing was changed`, {
      cause: error,
    });
  }
  return calling(path, "reading", () => readFileSync(path, "utf8"));
}

function namingFile<T>(path: string, take: () => T): T {
  try {
    return take();
  } catch (cause) {
    if (!(cause instanceof DeaddropError || cause instanceof StorageError)) throw cause;
    const code = cause instanceof StorageError ? codeOfStorage(cause.code) : cause.code;
    const hints = [cause.hint, `what you typed is kept in ${path}`];
    const hint = hints.filter((each) => each !== undefined).join("\n");
    throw new DeaddropError(code, cause.message, { hint, cause });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DeaddropError("refused", "that is not JSON; nothing was changed", {
      hint: (cause as Error).message,
      cause,
    });
  }
}

/** `deaddrop config accept`: the operator agrees to what the wire says now. */
async function accept(cli: Cli, flags: GlobalFlags & ConsentFlags): Promise<void> {
  const at = agentPlace(cli, flags);
  const { host, place } = at;
  const { lines, config, tiers } = pendingPolicy(host.disk, place);
  if (lines.length === 0) {
    emit(cli, flags, { accepted: false, differences: [] }, () => "There is nothing to accept.");
    return;
  }
  refuseConflict(at, config);
  const action = {
    action: "config accept",
    target: place.wire.folder,
    effect: lines,
    word: "accept",
  };
  await confirmOperator(cli, flags, action, place.paths.operatorJournal);
  // What was shown is what is kept, whatever is in the folder by now.
  savePinned(host.disk, place.paths, "config", config ?? Buffer.from(defaultPolicyText("config")));
  savePinned(host.disk, place.paths, "tiers", tiers ?? Buffer.from(defaultPolicyText("tiers")));
  await reloadDaemon(place.paths);
  emit(cli, flags, { accepted: true, differences: lines }, (paint) =>
    [paint("green", "accepted"), ...lines.map((line) => `  ${sanitise(line)}`)].join("\n"),
  );
}

function refuseConflict({ place }: AgentPlace, bytes: Uint8Array | undefined): void {
  const { config, wire, handle } = place;
  const next = parsedConfig(wire.config, bytes);
  const problem = policyConflict(config, next, handle);
  if (problem === undefined) return;
  throw new DeaddropError("config", problem, {
    hint: `have ${wire.config} put back as it was; your daemon goes on with what you accepted before`,
  });
}

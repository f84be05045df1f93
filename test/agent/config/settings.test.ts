import { describe, expect, it, test } from "vitest";
import {
  checkSettings,
  DEFAULT_SETTINGS,
  mergeSettings,
  parseSetting,
  readAgentSettings,
  settingNamed,
  type SettingName,
} from "../../../src/agent/config/settings.ts";

const FILE = "settings.json";

test.each([
  ["heartbeat.show_last_action", "false", false],
  ["peers", "scribe, mason", ["scribe", "mason"]],
  ["peers", '["scribe"]', ["scribe"]],
  ["peers", "scribe", ["scribe"]],
  ["keys.grace_hours", "0.5", 0.5],
  ["wake.per_hour", "7", 7],
  ["hooks.on_stop", '["true"]', ["true"]],
  ["hooks.on_stop", "[]", []],
  ["wake.quiet", "22:00-07:00", "22:00-07:00"],
  ["wake.quiet", "", ""],
] as const)("%s is set to what is typed as %s", (name, text, value) => {
  expect(parseSetting(name, text)).toEqual(value);
  expect(checkSettings({ [name]: value }, FILE)).toEqual({ ...DEFAULT_SETTINGS, [name]: value });
});

test.each([
  ["guard.strict", "yes", 'guard.strict: "yes" is not true or false'],
  ["peers", "a,../b", "is not a list of handles"],
  ["wake.quiet", "22-7", "is not two times of the day, such as 22:00-07:00"],
  ["hooks.on_notice", "notify-send", "is not a JSON list of a program and its arguments"],
  ["hooks.on_notice", '["a', "is not a JSON list"],
  ["wake.per_peer", "1.5", "is not a whole number from 0 to 3600"],
] as const)("%s is not set to %s", (name, text, words) => {
  expect(() => parseSetting(name, text)).toThrow(words);
});

describe("settings.json", () => {
  it.each([
    [[], "settings.json: is not a JSON object"],
    [{ "guard.strict": "true" }, "settings.json: guard.strict must be true or false"],
    [{ "guard.strict": null }, "guard.strict must be true or false"],
    [{ "hooks.timeout_seconds": 0 }, "hooks.timeout_seconds must be a number from 1 to 86400"],
    [{ "hooks.runs_per_hour": 100_000 }, "must be a whole number from 1 to 3600"],
    [{ "hooks.runs_per_hour": "20" }, "hooks.runs_per_hour must be a whole number"],
    ...[[""], ["a", 1], ["a\0b"], ["x".repeat(5_000)], Array(65).fill("a"), "a"].map(
      (command) => [{ "hooks.on_notice": command }, "hooks.on_notice must be a JSON list"] as const,
    ),
  ] as const)("%j is refused", (file, words) => {
    expect(() => readAgentSettings(file, FILE)).toThrow(words);
  });

  it("may be absent, and may have settings of a newer version until it is changed", () => {
    expect(readAgentSettings(undefined, FILE)).toEqual(DEFAULT_SETTINGS);
    expect(readAgentSettings({ colour: "red" }, FILE)).toEqual(DEFAULT_SETTINGS);
    expect(() => checkSettings({ colour: "red" }, FILE)).toThrow('no setting "colour"');
    expect(() => settingNamed("limits.max_refs")).toThrow('no setting "limits.max_refs"');
  });

  it("keeps what others changed when an editor's changes are merged", () => {
    const before = { peers: ["scribe"], "guard.strict": true } satisfies Partial<
      Record<SettingName, unknown>
    >;
    const merged = mergeSettings({ ...before, "wake.per_hour": 1 }, before, { peers: ["mason"] });
    expect(JSON.parse(JSON.stringify(merged))).toEqual({ peers: ["mason"], "wake.per_hour": 1 });
  });
});

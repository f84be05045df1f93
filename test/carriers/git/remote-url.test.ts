import { expect, it } from "vitest";
import { readRemoteUrl } from "../../../src/carriers/git/remote-url.ts";

it.each([
  ["git@host:team/wire.git", "ssh"],
  ["host:wire.git", "ssh"],
  ["git@[::1]:wire.git", "ssh"],
  ["ssh://git@host:2222/wire.git", "ssh"],
  ["https://host/team/wire.git", "https"],
  ["https://me@host/team/wire.git", "https"],
  ["file:///srv/wire.git", "file"],
  ["/srv/wire.git", "file"],
])("%s may be a remote", (url, scheme) => {
  expect(readRemoteUrl(url)).toEqual({ ok: true, remote: { url, scheme } });
});

it.each([
  ["", "empty"],
  ["-u", "option"],
  ["--upload-pack=touch x", "spaces"],
  ["--upload-pack=x", "option"],
  ["ext::sh", "names a program"],
  ["fd::17", "names a program"],
  ["ext::sh -c id", "spaces"],
  ["https://me:secret@host/x.git", "password"],
  [`https://${"x".repeat(40)}@host/x.git`, "password"],
  ["ssh://me:secret@host/x.git", "password"],
  ["http://host/x.git", "not protected"],
  ["git://host/x.git", "not protected"],
  ["ftp://host/x.git", "not used"],
  ["ssh://-oProxyCommand=x/y", "option"],
  ["ssh://host/-x", "option"],
  ["ssh://host/%2dx", "option"],
  ["-oProxyCommand@host:x", "option"],
  ["user@-host:x", "option"],
  ["host:-x", "option"],
  ["file://host/x", "host"],
  ["https:///x.git", "no repository"],
  ["https://host", "no repository"],
  ["https://host/x.git?a=b", '"?"'],
  ["https://host/%zz", "escape"],
  ["wire.git", "no URL"],
  ["../wire.git", "no URL"],
  ["/srv/a b", "spaces"],
  ["/srv/a\u0000b", "control"],
  ["/srv/a\u009bb", "control"],
  [`/${"x".repeat(3_000)}`, "longer"],
])("%j is no remote: %s", (url, problem) => {
  expect(readRemoteUrl(url)).toEqual({
    ok: false,
    problem: expect.stringContaining(problem) as string,
  });
});

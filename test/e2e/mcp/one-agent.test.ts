import { afterEach, expect, test } from "vitest";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";
import { connected, faceOf, serverOf, textOf } from "../../support/processes/mcp-clients.ts";

afterEach(removeWires);

test("a server whose entry and environment name two agents speaks for neither", async () => {
  const wire = makeWire();
  await wire.daemon("forge");
  const as = ["--wire", wire.dir, "--as", "forge"];
  const differs = faceOf(await connected(serverOf(wire, as, { DEADDROP_AS: "scribe" }), "first"));
  const said = textOf(await differs.call("whoami"));
  expect(said).toContain("the session was started as scribe (DEADDROP_AS)");
  expect(said).toContain("this server was made for forge");
  await differs.close();
  const agrees = faceOf(await connected(serverOf(wire, as, { DEADDROP_AS: "forge" }), "first"));
  expect(await agrees.facts("whoami")).toMatchObject({ you_are: "forge" });
  await agrees.close();
});

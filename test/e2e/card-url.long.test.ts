import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createPlainServer } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { RequestListener, Server as PlainServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { fingerprintOf } from "../../src/setup/contact/offered-key.ts";
import { cardOf, keyFrom } from "../support/foreign-card.ts";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";

// `trust pin <peer> https://…` as an operator runs it: another process, a real server, a certificate
// that the process accepts because its environment says so.

let folder: string;
let server: Server;
let plain: PlainServer;
let wire: LiveWire;
let answer: RequestListener;
const asked: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-https-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const made = spawnSync("openssl", [
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
    ...["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
    ...["-keyout", key, "-out", cert],
  ]);
  if (made.status !== 0) throw new Error(`openssl: ${made.stderr.toString()}`);
  const listener: RequestListener = (request, response) => {
    asked.push(request.url ?? "");
    answer(request, response);
  };
  server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, listener);
  plain = createPlainServer(listener);
  for (const each of [server, plain]) {
    await new Promise<void>((resolve) => each.listen(0, "localhost", resolve));
  }
});
afterAll(() => {
  for (const each of [server, plain]) {
    each.close();
    each.closeAllConnections();
  }
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  asked.length = 0;
  wire = makeWire({ env: () => ({ NODE_EXTRA_CA_CERTS: join(folder, "cert.pem") }) });
  // Nobody is pinned yet.
  const { trust, trustSeen } = wire.paths("forge");
  for (const path of [trust, trustSeen]) rmSync(path);
});
afterEach(removeWires);

const base = (of: Server | PlainServer) => {
  const { port } = of.address() as AddressInfo;
  return `${of === plain ? "http" : "https"}://localhost:${port}`;
};
const card = (handle = "scribe", seed = 9): RequestListener => {
  return (_request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(cardOf(handle, seed));
  };
};
const pin = (url: string, ...flags: readonly string[]) =>
  wire.run("forge", "trust", "pin", "scribe", url, "--yes", "--reason", "a test", ...flags);

interface Row {
  readonly handle: string;
  readonly tier: string;
  readonly keys: readonly { readonly key_id: string }[];
}

async function keysOfScribe(): Promise<readonly string[]> {
  const rows = await wire.json<Row[]>("forge", "trust", "list");
  return rows.find(({ handle }) => handle === "scribe")?.keys.map(({ key_id: id }) => id) ?? [];
}

describe("a card fetched over https", () => {
  it("pins its signing key at UNTRUSTED, whatever the type of its content, and is noted", async () => {
    answer = card();
    const url = `${base(server)}/card.json`;
    const beforeMs = Date.now();
    const { code, stdout } = await pin(url);
    const { keyId } = keyFrom("scribe", 9);
    expect([code, stdout]).toEqual([0, `scribe is UNTRUSTED with ${keyId}\n`]);
    const store = JSON.parse(readFileSync(wire.paths("forge").trust, "utf8")) as {
      agents: Record<string, Record<string, unknown>>;
    };
    expect(store.agents["scribe"]).toMatchObject({ tier: "UNTRUSTED", agent_card_url: url });
    const at = Date.parse(String(store.agents["scribe"]?.["agent_card_fetched_at"]));
    expect(at).toBeGreaterThanOrEqual(beforeMs);
    expect(at).toBeLessThanOrEqual(Date.now());
  });

  it("follows redirects to https, a few of them", async () => {
    answer = (request, response) => {
      const hops = Number(request.url?.slice(1));
      if (hops === 0) card()(request, response);
      else response.writeHead(302, { location: `/${hops - 1}` }).end();
    };
    const far = await pin(`${base(server)}/4`);
    expect([far.code, far.stderr]).toEqual([1, expect.stringContaining("more than 3 times")]);
    expect(await keysOfScribe()).toEqual([]);
    expect((await pin(`${base(server)}/3`)).code).toBe(0);
    expect(await keysOfScribe()).toEqual([keyFrom("scribe", 9).keyId]);
  });

  it("never replaces a pin, nor is beside one uncompared", async () => {
    answer = card();
    await pin(`${base(server)}/first`);
    const before = readFileSync(wire.paths("forge").trust, "utf8");
    answer = card("scribe", 8);
    const refused = await pin(`${base(server)}/other`);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("--yes needs --fingerprint here"),
    ]);
    expect(readFileSync(wire.paths("forge").trust, "utf8")).toBe(before);
    const fingerprint = fingerprintOf(keyFrom("scribe", 8).key);
    expect((await pin(`${base(server)}/other`, "--fingerprint", fingerprint)).code).toBe(0);
    const both = [9, 8].map((seed) => keyFrom("scribe", seed).keyId);
    expect(await keysOfScribe()).toEqual(both);
  });
});

describe("nothing is pinned by", () => {
  afterEach(async () => {
    expect(await keysOfScribe()).toEqual([]);
  });

  it("http, which is not even asked", async () => {
    answer = card();
    const { code, stderr } = await pin(`${base(plain)}/card.json`);
    expect([code, asked]).toEqual([1, []]);
    expect(stderr).toContain("is not https, so anybody on the way can answer in its place");
    expect(stderr).toContain("give an https:// URL");
  });

  it("a redirect to http, which is not followed", async () => {
    answer = (_request, response) => {
      response.writeHead(302, { location: `${base(plain)}/card.json` }).end();
    };
    const { code, stderr } = await pin(`${base(server)}/here`);
    expect([code, asked]).toEqual([1, ["/here"]]);
    expect(stderr).toContain("the redirect to");
  });

  it.each([
    ["a password in the URL", "https://me:secret@localhost/", "a password in it"],
    ["another scheme", "ftp://localhost/card.json", "is not https"],
    ["what is no URL", "https://", "is no URL"],
    ["a port where nobody listens", "https://localhost:1/card.json", "cannot be fetched"],
  ])("%s", async (_what, url, words) => {
    const { code, stderr } = await pin(url);
    expect([code, stderr]).toEqual([1, expect.stringContaining(words)]);
    expect(stderr).not.toContain("secret");
  });

  it("a host whose certificate is another's", async () => {
    answer = card();
    const { port } = server.address() as AddressInfo;
    const { code, stderr } = await pin(`https://127.0.0.1:${port}/card.json`);
    expect([code, asked]).toEqual([1, []]);
    expect(stderr).toMatch(/cannot be fetched|did not answer/);
  });

  it("a certificate that nobody vouches for", async () => {
    answer = card();
    const trusting = wire;
    wire = makeWire();
    for (const path of [wire.paths("forge").trust, wire.paths("forge").trustSeen]) rmSync(path);
    const { code, stderr } = await pin(`${base(server)}/card.json`);
    expect([code, asked]).toEqual([1, []]);
    expect(stderr).toContain("self-signed certificate");
    expect(stderr).toContain("no obstacle to go around");
    expect(trusting.dir).not.toBe(wire.dir);
  });

  it("what is too large, however it is announced", async () => {
    let sent = 0;
    answer = (_request, response) => {
      const more = (): void => {
        sent += 16_384;
        if (response.destroyed || sent > 50_000_000) response.end();
        else response.write(Buffer.alloc(16_384, 32), () => setImmediate(more));
      };
      more();
    };
    const { code, stderr } = await pin(`${base(server)}/card.json`);
    expect([code, stderr]).toEqual([1, expect.stringContaining("has more than 65536 bytes")]);
    expect(sent).toBeLessThan(50_000_000);
  });

  it("what comes too slowly: it is given up after ten seconds", async () => {
    answer = (_request, response) => {
      const trickle = setInterval(() => response.write(" "), 200);
      response.on("close", () => clearInterval(trickle));
    };
    const { code, stderr } = await pin(`${base(server)}/card.json`);
    expect([code, stderr]).toEqual([3, expect.stringContaining("did not answer within 10 s")]);
  });

  it.each([
    ["an error page", 404, () => "gone", "answers with status 404"],
    ["what is no card", 200, () => "<html>", "no JSON object"],
    ["somebody else's card", 200, () => cardOf("quill", 9), "it is quill's card, not scribe's"],
    [
      "a card signed by another key",
      200,
      () => Buffer.from(cardOf("scribe", 9)).toString().replace('"name": "', '"name": "x'),
      "not signed by any of its own current verify_keys",
    ],
  ])("%s", async (_what, status, body, words) => {
    answer = (_request, response) => {
      response.writeHead(status).end(body());
    };
    const { code, stderr } = await pin(`${base(server)}/card.json`);
    expect([code, stderr]).toEqual([1, expect.stringContaining(words)]);
  });
});

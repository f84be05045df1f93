import { existsSync, readFileSync } from "node:fs";
import { composeLoose, type Draft } from "../../../src/wire/compose.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { makeSigner } from "../../../src/wire/signature.ts";
import { secretOf, WIRE_ID } from "../../support/core-wire.ts";
import { writeByHand } from "./carrying.ts";
import { PLAIN } from "./cast.ts";
import type { Stage } from "./stage.ts";
import { inWire, microsOf } from "./texts.ts";

interface Read {
  readonly event_id: string;
  readonly from: string;
  readonly type: string;
  readonly correlation_id: string;
  readonly to: readonly string[];
}

interface Written {
  readonly id: string;
  readonly thread: string;
}

/** A member that writes lines without a number, as the Python program and people do. */
export class PlainMember {
  readonly #stage: Stage;
  readonly #signer = makeSigner(PLAIN, secretOf(PLAIN));
  /** By reader. */
  readonly #lines = new Map<string, Uint8Array[]>();
  #count = 0;
  #known: Read[] = [];

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** What agents have written for it. */
  read(): void {
    const { carrying, cast } = this.#stage;
    const folder = carrying.folder(PLAIN);
    for (const from of cast.honest) carrying.carryWell(from, PLAIN);
    this.#known = cast.honest.flatMap((from) => {
      const path = inWire(folder, `${from}_to_${PLAIN}.jsonl`);
      if (!existsSync(path)) return [];
      return readFileSync(path, "utf8")
        .split("\n")
        .flatMap((text) => readAsk(text) ?? []);
    });
  }

  say(): void {
    this.#write(this.#other(), { type: "ship", body: "by hand" });
  }

  ask(): void {
    const to = this.#other();
    const is = this.#stage.luck.pick(["proposal", "request"] as const);
    const { id, thread } = this.#write(to, { type: is, body: fromPlain({ decision: "so" }) });
    const line = { author: PLAIN, seq: null, id, thread };
    this.#stage.asked.push({ line, is, parties: [to] });
  }

  answer(): void {
    this.read();
    const { luck } = this.#stage;
    const known = this.#known.filter(({ to }) => to.includes(PLAIN));
    if (known.length === 0) return;
    const { event_id, from, type, correlation_id } = luck.pick(known.slice(-6));
    const name = type === "proposal" ? "acks" : "answers";
    const body = fromPlain({
      ...(luck.chance(0.8) ? { [name]: event_id } : {}),
      approve: luck.chance(0.8),
    });
    this.#write(from, { type: "ack", correlationId: correlation_id, body });
  }

  /** Puts its lines into its files again, whatever has become of those. */
  write(): void {
    for (const [reader, lines] of this.#lines) {
      const folder = this.#stage.carrying.folder(PLAIN);
      writeByHand(inWire(folder, `${PLAIN}_to_${reader}.jsonl`), lines);
    }
  }

  #other(): string {
    const { luck, cast } = this.#stage;
    return luck.pick(cast.honest.filter((name) => cast.roster.has(name)));
  }

  #write(to: string, draft: Pick<Draft, "type" | "body"> & Partial<Draft>): Written {
    this.#count += 1;
    const timestamp = microsOf(this.#stage.wire.nowMs, this.#count);
    // No thread is named by the timestamp of an answer in it.
    if (timestamp === draft.correlationId && draft.type === "ack") return this.#write(to, draft);
    const whole = {
      subject: `plain ${this.#count}`,
      to: [to],
      ackRequired: draft.type === "proposal",
      ...draft,
    };
    const at = { timestamp, wireId: WIRE_ID };
    const { id, line, message } = composeLoose(whole, at, this.#signer);
    this.#lines.set(to, [...(this.#lines.get(to) ?? []), line]);
    this.write();
    return { id, thread: message.correlationId };
  }
}

function readAsk(text: string): Read | undefined {
  try {
    const line = JSON.parse(text) as Read;
    return line.type === "proposal" || line.type === "request" ? line : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

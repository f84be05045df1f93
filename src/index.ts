/** The library's face. Importing it does nothing. Spec 4.5. */
export { JsonDouble, fromPlain, parseObject, toPlain } from "./wire/json.ts";
export type { JsonObject, JsonValue } from "./wire/json.ts";
export { canonicalBytes, eventId, V30_OMIT, V31_OMIT } from "./wire/canonical.ts";
export { parseMessage } from "./wire/message.ts";
export type { Message, MessageParse } from "./wire/message.ts";
export type { Draft } from "./wire/compose.ts";
export { verifySignature } from "./wire/signature.ts";
export { signMessage, verifyMessage } from "./library/messages.ts";
export type { SignedMessage } from "./library/messages.ts";
export { openWire } from "./library/open-wire.ts";
export type { OpenWireOptions, Wire } from "./library/open-wire.ts";
export { DeaddropError } from "./daemon/errors.ts";
export type { SendAnswer, SentLine } from "./daemon/client-types.ts";
export type { DecisionsView, InboxMessage, ThreadView } from "./daemon/view-types.ts";

import { agentName, rosterProblems } from "../../wire/handle.ts";
import { isJsonArray, isJsonObject, type JsonValue } from "../../wire/json/json.ts";
import { isChained, isSamePlace, readPlace, type ChainPlace } from "../../wire/places.ts";
import { booleanField, field } from "../body.ts";
import type { HistoryLine } from "./history.ts";

/** Members, and whether each chains. */
export type Roster = ReadonlyMap<string, boolean>;

/** What a proposal says that changes who is a member. Spec 3.11. */
export interface MembersChange {
  /** An epoch of the pinned configuration, or the close of the change that this one follows. */
  readonly after: number | ChainPlace;
  readonly starts: Roster;
  readonly leaves: readonly ChainPlace[];
  readonly makes: Roster;
}

/** In a roster of fewer members, or of fewer that chain, nobody of these is removed. */
const LEAST_TO_REMOVE = 3;

export function readMembersChange(body: JsonValue): MembersChange | undefined {
  const after = readAfter(field(body, "after"));
  const starts = readRoster(field(body, "starts"));
  const makes = readRoster(field(body, "makes"));
  const leaves = readPlaces(field(body, "leaves"));
  if (after === undefined || starts === undefined || makes === undefined || leaves === undefined)
    return undefined;
  return { after, starts, leaves, makes };
}

/** A change that it follows, as a number or a place. */
export function readAfter(value: JsonValue | undefined): number | ChainPlace | undefined {
  if (typeof value === "number")
    return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  const place = readPlace(value);
  return place !== undefined && isChained(place) ? place : undefined;
}

function readRoster(value: JsonValue | undefined): Roster | undefined {
  if (!isJsonObject(value)) return undefined;
  const roster = new Map<string, boolean>();
  for (const [name, chains] of Object.entries(value)) {
    const handle = agentName(name);
    if (handle === undefined || typeof chains !== "boolean" || roster.has(handle)) return undefined;
    roster.set(handle, chains);
  }
  return roster;
}

function readPlaces(value: JsonValue | undefined): readonly ChainPlace[] | undefined {
  if (!isJsonArray(value)) return undefined;
  const places = value
    .map(readPlace)
    .filter((place) => place !== undefined)
    .filter(isChained);
  return places.length === value.length ? places : undefined;
}

/** The thread in which changes after this point are proposed. */
export function rosterThread(wireId: string, after: number | ChainPlace): string {
  if (typeof after !== "number") return `roster:${after.id}`;
  return after === 0 ? `roster:${wireId}` : `roster:${wireId}:${after}`;
}

/** A line of a member by which it leaves the wire. */
export function isLeave({ type, body }: HistoryLine): boolean {
  return type === "shutdown" && booleanField(body, "leave") === true;
}

/** At most one member more or less; a mark never falls. */
export function isOneStep(starts: Roster, makes: Roster): boolean {
  const added = [...makes.keys()].filter((handle) => !starts.has(handle));
  const removed = [...starts.keys()].filter((handle) => !makes.has(handle));
  if (added.length + removed.length > 1) return false;
  const chaining = [...starts.values()].filter((chains) => chains);
  const isRemovable = (handle: string): boolean =>
    starts.size >= LEAST_TO_REMOVE &&
    (starts.get(handle) !== true || chaining.length >= LEAST_TO_REMOVE);
  if (!removed.every(isRemovable) || rosterProblems([...makes.keys()]).length > 0) return false;
  return [...starts].every(([handle, chains]) => !chains || makes.get(handle) !== false);
}

export function isSameRoster(one: Roster, other: Roster): boolean {
  return (
    one.size === other.size && [...one].every(([handle, chains]) => other.get(handle) === chains)
  );
}

export function isSameAfter(one: number | ChainPlace, other: number | ChainPlace): boolean {
  if (typeof one === "number" || typeof other === "number") return one === other;
  return isSamePlace(one, other);
}

/** Who has to take a change: its asker, and those that it asks. */
export function takers(starts: Roster, makes: Roster): readonly string[] {
  return [...makes]
    .filter(([handle, chains]) => chains && starts.has(handle))
    .map(([handle]) => handle);
}

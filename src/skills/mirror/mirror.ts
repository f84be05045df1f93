import type { SkillFile } from "../format/skill.ts";
import type { Manifest, MirrorMode } from "./manifest.ts";

/** Something in the folder of a skill in a mirror. */
export type TreeEntry =
  | ({ readonly kind: "file" } & SkillFile)
  | { readonly kind: "link"; readonly isBroken: boolean }
  | { readonly kind: "other" };

/** What a mirror has under the name of a skill. */
export type MirrorEntry =
  | { readonly kind: "folder"; readonly tree: ReadonlyMap<string, TreeEntry> }
  /**
   * Where the link leads: to that very skill of the library, to something else, nowhere. `tree` is the
   * content of another folder of the project, as `npx skills add` links one mirror to the other.
   */
  | {
      readonly kind: "link";
      readonly leads: "home" | "elsewhere" | "nowhere";
      readonly tree?: ReadonlyMap<string, TreeEntry> | undefined;
    }
  | { readonly kind: "other" };

/** The skills of a library, and what each folder has. */
export type LibraryFiles = ReadonlyMap<string, ReadonlyMap<string, SkillFile>>;

export interface Mirror {
  readonly entries: ReadonlyMap<string, MirrorEntry>;
  readonly manifest: Manifest | undefined;
}

/** How a mirror differs from the library. Spec 7.1. */
export type DriftKind =
  /** It is not there. */
  | "missing"
  /** As we wrote it; the library has changed since. */
  | "outdated"
  /** Changed by somebody in the mirror. */
  | "edited"
  /** The library does not have it, or not any more. */
  | "extra"
  /** Executable where it should not be, or the other way round. */
  | "mode"
  /** A link that leads somewhere else, or nowhere. */
  | "link"
  | "broken_link"
  /** A copy where a link belongs, or the other way round. */
  | "form"
  /** A skill of the same name that we did not write. */
  | "foreign";

export interface Drift {
  readonly skill: string;
  /** A file of the skill; null: all of it. */
  readonly path: string | null;
  readonly kind: DriftKind;
  /** It stays as it is: somebody's work would be lost. */
  readonly isKept: boolean;
}

/** What makes the mirror equal. */
export type MirrorAction =
  | { readonly do: "write"; readonly skill: string; readonly path: string }
  | { readonly do: "mode"; readonly skill: string; readonly path: string; readonly to: boolean }
  | { readonly do: "remove"; readonly skill: string; readonly path: string }
  /** Whatever is in the place of the skill. */
  | { readonly do: "clear"; readonly skill: string }
  | { readonly do: "link"; readonly skill: string };

export interface MirrorPlan {
  readonly drift: readonly Drift[];
  readonly actions: readonly MirrorAction[];
  /** What the mirror's manifest says after these actions. */
  readonly manifest: Manifest;
}

export interface MirrorWish {
  readonly mode: MirrorMode;
  /** Edits in the mirror are given up. */
  readonly force: boolean;
  /** Nothing is ever removed: a library that people write. */
  readonly keepsExtra: boolean;
  /** A folder may be somebody else's, too; ours is put into it. */
  readonly sharesFolders: boolean;
  /** Skills of the library that are not mirrored now, and whose copies stay as they are. */
  readonly held: ReadonlySet<string>;
}

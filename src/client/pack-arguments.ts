import type { Arguments, OperationName } from "../api/operations.ts";

type Packers = { readonly [N in OperationName]?: (args: Arguments<N>) => Promise<unknown> };

/** Arguments that are no plain JSON. Code is loaded only when it packs: commands start quickly. */
const PACKERS: Packers = {
  send: async ({ drafts, ...rest }) => ({
    ...(await import("./draft-codec.ts")).packDrafts(drafts),
    ...rest,
  }),
};

/** How the arguments of that operation cross the socket; undefined: as they are. */
export function packerOf(name: OperationName): ((args: unknown) => Promise<unknown>) | undefined {
  return PACKERS[name] as ((args: unknown) => Promise<unknown>) | undefined;
}

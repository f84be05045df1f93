import { accessSync, closeSync, constants, existsSync, openSync, statSync } from "node:fs";
import { constants as system } from "node:os";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { DatabaseSync, type StatementSyncInstance } from "@photostructure/sqlite";
import { calling, errnoOf, fromErrno } from "../storage/disk/errno.ts";
import { PRIVATE_FILE } from "../storage/disk/file-modes.ts";
import { StorageError, type StorageCode } from "../storage/disk/disk.ts";

/** What SQLite stores and returns. Integers stay below 2^53. */
export type SqlValue = string | number | Uint8Array | null;
/** What a statement binds: a boolean as 1 or 0, and undefined as null. */
export type SqlInput = SqlValue | boolean | undefined;

/** How long a write waits for the write of another process. */
const BUSY_MS = 5_000;
/** Earlier versions may lose a commit when a checkpoint runs beside it; 3.52.0 was withdrawn. */
const OLDEST_SQLITE = [3, 51, 3] as const;
const WITHDRAWN_SQLITE = "3.52.0";

type Connection = InstanceType<typeof DatabaseSync>;

/**
 * One SQLite database in WAL mode, with `synchronous = full`: a transaction that has returned is on disk.
 *
 * The files must never be opened by other means in this process: closing any descriptor of them drops the
 * locks of SQLite.
 */
export class Database {
  readonly path: string;
  readonly #connection: Connection;
  readonly #mayWrite: boolean;
  readonly #statements = new Map<string, Statement>();
  #isWriting = false;

  private constructor(path: string, connection: Connection, mayWrite: boolean) {
    this.path = path;
    this.#connection = connection;
    this.#mayWrite = mayWrite;
  }

  /**
   * Opens it to read and write, and makes it when it is missing. `:memory:` is a database of its own.
   * @throws StorageError
   */
  static open(path: string): Database {
    return opening(path, () => {
      if (path !== ":memory:") makePrivate(path);
      const connection = new DatabaseSync(path, { timeout: BUSY_MS, defensive: true });
      requireSafeSqlite(connection);
      connection.exec(
        "pragma page_size = 4096; pragma journal_mode = wal; pragma synchronous = full;" +
          "pragma wal_autocheckpoint = 0; pragma journal_size_limit = 16777216;" +
          "pragma cache_size = -8192; pragma temp_store = memory; pragma trusted_schema = off",
      );
      return new Database(path, connection, true);
    });
  }

  /**
   * Opens it to read beside a writer, or where nothing can be written.
   * @throws StorageError
   */
  static openToRead(path: string): Database {
    return opening(path, () => {
      try {
        return new Database(path, connectToRead(path), false);
      } catch (error) {
        // Without its WAL the file is complete, and SQLite need not make one beside it.
        if (!isSqlite(error, "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR")) throw error;
        const walBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
        if (!existsSync(path) || walBytes > 0) throw error;
        const address = pathToFileURL(path);
        address.search = "immutable=1";
        return new Database(path, connectToRead(address), false);
      }
    });
  }

  /** Writes a copy as of one commit into a file that does not exist. @throws StorageError */
  copyTo(path: string): void {
    this.#calling("copying", () => {
      makePrivate(path);
      this.#connection.prepare("vacuum into ?").run(path);
    });
  }

  /**
   * Every row of a query, which has to state its order. `Row` has a field for each of its columns; those whose
   * names begin with `is` are booleans.
   */
  all<Row extends object>(sql: string, ...values: SqlInput[]): Row[] {
    return this.#calling("reading", () => {
      const statement = this.#statement(sql);
      const rows = statement.prepared.all(...values.map(toSql)) as Fields[];
      for (const row of rows) toBooleans(statement, row);
      return rows as Row[];
    });
  }

  /** The first row of a query. */
  get<Row extends object>(sql: string, ...values: SqlInput[]): Row | undefined {
    return this.#calling("reading", () => {
      const statement = this.#statement(sql);
      const row = statement.prepared.get(...values.map(toSql)) as Fields | undefined;
      if (row !== undefined) toBooleans(statement, row);
      return row as Row | undefined;
    });
  }

  /** The first column of every row. */
  column<Value extends SqlValue = number>(sql: string, ...values: SqlInput[]): Value[] {
    return this.all(sql, ...values).map((row) => Object.values(row)[0] as Value);
  }

  /** The first column of the first row; undefined where it is null, or there is no row. */
  value<Value extends Exclude<SqlValue, null> = number>(
    sql: string,
    ...values: SqlInput[]
  ): Value | undefined {
    const row = this.get(sql, ...values);
    return row && ((Object.values(row)[0] as Value | null) ?? undefined);
  }

  /** Whether a query has any row. */
  has(sql: string, ...values: SqlInput[]): boolean {
    return this.get(sql, ...values) !== undefined;
  }

  /** Changes rows, within `write`. */
  run(sql: string, ...values: SqlInput[]): { readonly changes: number; readonly rowid: number } {
    if (!this.#isWriting) throw new Error("a change outside of a transaction");
    return this.#calling("writing", () => {
      const { changes, lastInsertRowid } = this.#statement(sql).prepared.run(...values.map(toSql));
      return { changes, rowid: Number(lastInsertRowid) };
    });
  }

  /** Changes one row, within `write`, and returns what the statement returns of it. */
  change<Row extends object>(sql: string, ...values: SqlInput[]): Row {
    if (!this.#isWriting) throw new Error("a change outside of a transaction");
    const row = this.get<Row>(sql, ...values);
    if (row === undefined) throw new Error("a change of a row that is missing");
    return row;
  }

  /** Runs statements that bind nothing, within `write`. */
  runAll(sql: string): void {
    if (!this.#isWriting) throw new Error("a change outside of a transaction");
    this.#calling("writing", () => {
      this.#connection.exec(sql);
    });
  }

  /**
   * Runs `change` in one transaction. When it returns, all of it is on disk; when it throws, none is, but
   * for the code `outcome_unknown`: a commit that failed may be there after a restart.
   * @throws StorageError
   */
  write<T>(change: () => T): T {
    if (this.#isWriting) throw new Error("a transaction within another one");
    this.#calling("beginning a transaction", () => {
      this.#connection.exec("begin immediate");
    });
    this.#isWriting = true;
    try {
      const result = change();
      this.#commit();
      return result;
    } finally {
      this.#isWriting = false;
      this.#rollBack();
    }
  }

  /** Passive checkpoint of the WAL. Sets the busy timeout of this connection to 0. */
  checkpoint(): void {
    this.#calling("writing", () => {
      this.#connection.exec("pragma busy_timeout = 0; pragma wal_checkpoint(passive)");
    });
  }

  /** Leaves all in one file, unless another process reads it: then its WAL stays beside it. */
  close(): void {
    this.#statements.clear();
    try {
      // Closing alone keeps the WAL, and two descriptors of it.
      if (this.#mayWrite) this.#connection.exec("pragma wal_checkpoint(truncate)");
    } catch (error) {
      // What the WAL holds is on disk, and read at the next start.
      if (!isSqliteError(error)) throw error;
    } finally {
      this.#connection.close();
    }
  }

  #commit(): void {
    try {
      this.#connection.exec("commit");
    } catch (error) {
      const failure = toStorageError(error, this.path, "committing");
      if (!isSqlite(error, "SQLITE_IOERR")) throw failure;
      throw new StorageError("io", this.path, "the disk failed during a commit", {
        hint: "look at the system log (dmesg); what was sent is known after a restart",
        cause: failure,
      });
    }
  }

  /** Some errors have ended the transaction already. */
  #rollBack(): void {
    if (!this.#connection.isTransaction) return;
    try {
      this.#connection.exec("rollback");
    } catch (error) {
      if (this.#connection.isTransaction) throw toStorageError(error, this.path, "rolling back");
    }
  }

  #statement(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = { prepared: this.#connection.prepare(sql), booleans: undefined };
    this.#statements.set(sql, statement);
    return statement;
  }

  #calling<T>(doing: string, call: () => T): T {
    try {
      return call();
    } catch (error) {
      throw toStorageError(error, this.path, doing);
    }
  }
}

/** A part of a store that reads and changes some of its tables; it changes them within a transaction. */
export abstract class Rows {
  protected readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }
}

type Fields = Record<string, SqlValue | boolean>;

interface Statement {
  readonly prepared: StatementSyncInstance;
  /** The columns that are booleans; known since the first row. */
  booleans: readonly string[] | undefined;
}

function toBooleans(statement: Statement, row: Fields): void {
  statement.booleans ??= Object.keys(row).filter((name) => /^is[A-Z]/.test(name));
  for (const name of statement.booleans) row[name] = row[name] === 1;
}

function toSql(value: SqlInput): SqlValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  return value ?? null;
}

/**
 * Creates the file with mode 0600, which its WAL inherits. An existing file is not opened: closing any
 * descriptor of it would drop SQLite's POSIX locks.
 */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, "wx", PRIVATE_FILE));
  } catch (error) {
    // SQLite reports a missing folder itself.
    if (!["EEXIST", "ENOENT"].includes(errnoOf(error) ?? "")) throw error;
  }
}

function connectToRead(at: string | URL): Connection {
  const connection = new DatabaseSync(at, { readOnly: true, timeout: BUSY_MS, defensive: true });
  try {
    // It opens no file before it reads.
    connection.prepare("select count(*) from sqlite_schema").get();
  } catch (error) {
    connection.close();
    throw error;
  }
  return connection;
}

function opening(path: string, open: () => Database): Database {
  try {
    return open();
  } catch (error) {
    if (isSqlite(error, "SQLITE_CANTOPEN")) requireWritable(path);
    throw toStorageError(error, path, "opening");
  }
}

/** SQLITE_CANTOPEN has no errno: finds the cause. @throws StorageError */
function requireWritable(path: string): void {
  calling(path, "opening", () => {
    for (const each of [path, dirname(path)]) accessSync(each, constants.W_OK);
  });
}

function requireSafeSqlite(connection: Connection): void {
  const { version } = connection.prepare("select sqlite_version() as version").get() as {
    readonly version: string;
  };
  const parts = version.split(".").map(Number);
  const at = OLDEST_SQLITE.findIndex((part, index) => part !== parts[index]);
  const isOld = at !== -1 && (parts[at] ?? 0) < (OLDEST_SQLITE[at] ?? 0);
  if (isOld || version === WITHDRAWN_SQLITE)
    throw new Error(`SQLite ${version} may lose commits; ${OLDEST_SQLITE.join(".")} is needed`);
}

interface SqliteError extends Error {
  /** The primary result code. */
  readonly errcode: number;
  readonly sqliteCode: number;
  readonly systemErrno?: number;
}

const PRIMARY = {
  SQLITE_PERM: 3,
  SQLITE_BUSY: 5,
  SQLITE_READONLY: 8,
  SQLITE_IOERR: 10,
  SQLITE_CORRUPT: 11,
  SQLITE_FULL: 13,
  SQLITE_CANTOPEN: 14,
  SQLITE_NOTADB: 26,
} as const;

const MEANINGS: Readonly<Record<keyof typeof PRIMARY, readonly [StorageCode, string, string]>> = {
  SQLITE_PERM: ["denied", "permission denied", "give the user that runs deaddrop access to it"],
  SQLITE_BUSY: [
    "locked",
    "another process is writing it",
    "try again; when it stays so, see which process has it open (fuser)",
  ],
  SQLITE_READONLY: [
    "read_only",
    "it cannot be written",
    "mount the filesystem writable, and give the user that runs deaddrop access to it",
  ],
  SQLITE_IOERR: [
    "io",
    "input/output error",
    "the disk or its mount is in trouble: look at the system log (dmesg)",
  ],
  SQLITE_CORRUPT: [
    "corrupt",
    "the database is damaged",
    "move it away: it is built again from the wire's files",
  ],
  SQLITE_FULL: ["disk_full", "disk full", "free space on that filesystem, or raise the quota"],
  SQLITE_CANTOPEN: ["missing", "it cannot be opened", "check the path and its folder's mode"],
  SQLITE_NOTADB: [
    "corrupt",
    "this is not a database",
    "move it away: it is built again from the wire's files",
  ],
};

const NO_ROOM: ReadonlySet<number> = new Set([system.errno.ENOSPC, system.errno.EDQUOT]);

function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && "sqliteCode" in error;
}

function isSqlite(error: unknown, ...names: readonly (keyof typeof PRIMARY)[]): boolean {
  return isSqliteError(error) && names.some((name) => PRIMARY[name] === (error.sqliteCode & 0xff));
}

/** What an error of SQLite means to a person. What is none is our bug: as it is. */
function toStorageError(error: unknown, path: string, doing: string): unknown {
  if (error instanceof StorageError) return error;
  if (!isSqliteError(error)) return fromErrno(error, path, doing);
  const names = Object.keys(PRIMARY) as (keyof typeof PRIMARY)[];
  const hasNoRoom = NO_ROOM.has(error.systemErrno ?? 0);
  const name = hasNoRoom ? "SQLITE_FULL" : names.find((each) => isSqlite(error, each));
  if (name === undefined) return error;
  const [code, problem, hint] = MEANINGS[name];
  return new StorageError(code, path, `${problem} (${doing})`, { hint, cause: error });
}

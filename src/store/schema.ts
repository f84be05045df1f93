/** Changes with each incompatible form of the tables. *
 */
export const SCHEMA_VERSION = 1;

/**
 * All private state of one agent on one wire that is not a file people read. `n` counts lines in the
 * order in which they were taken in, and is given once: folding them in that order gives the state of the
 * protocol.
 *
 * A line has no `verdict` before it is judged as mail; `delivered` counts what is mail in the order of its
 * delivery. `ours`: it is addressed to our agent. `aside`: it is struck, or on a branch that the operator
 * does not follow.
 *
 * `chains` has for each author the last line of `whole` and the number of an undecided fork behind it;
 * lines up to `judged` have their verdict, and those up to `carried` were read in a carrier of its own. `waiting` are lines of chains that are not linked, or not proven to
 * be their author's.
 *
 * `escalations` has each escalation in force or not, `counts` when it was judged as counting for us, `over`
 * since nothing follows from it. `claims` are accepted, not released, and end at `ends`. `owed` are lines
 * that `by` owes an answer to. `sends` has the lines that were sent under a key. `published` says since when a
 * place of the wire has our chain up to a number.
 *
 * `key` is the key id that a line states, and `verified` that its signature is valid under that key. A line for
 * which others vouch alone is not verified: its key id may be anybody's.
 *
 * `id_start` is the first 52 bits of the event id, which an index compares faster than the whole. A line has a
 * `branch` when it is linked down to the first line of its author's chain; a branch begins behind the line
 * `fork` of its `parent`. `names` has each place that a line of a chain names, since it is linked with its
 * branch, and of a head up to where it is `read`. `heads` has the beats `seq` from which on a branch has taken
 * in (`kind` 0), or has read (1), a branch of another chain up to a number. `known` has the lines of a branch by
 * which its author names a line of another chain with a larger number than before.
 *
 * `thread_words` has the words of threads that are read, and of each branch one more. `nth`: how many there are
 * up to it on its branch, `asks`: how many of them ask something, `stands`: the position after it, `taking`: the
 * last of them that takes a place, `other`: the last before `taking` that takes another one. `answers` are what
 * they answer. `asked` has what each ask says, `asks` each part of it that is decided by itself, and `reading`
 * since when a party of it has time to answer. `verdicts` has what closes and takes of changes are worth: `due`
 * before they are judged, `behind` while an earlier close of the branch is not invalid; `waits` the lines that
 * they cannot be judged without, `watches` up to which line of a party closes look that a line behind it may make
 * invalid.
 *
 * `entries` are lines of `decisions.jsonl`, archived or not, in the order in which they were read: the `signer`
 * (empty: nobody whose key is known), the id of the proposal that is named, and as of which reading of the file it
 * was `seen`. `recorded` has each approved proposal that our daemon records, `at` what time, and whether a proved
 * entry is there; one that is contested may be approved without a change of its own.
 *
 * `named`: our chain has named the line as refused. `wanted` are places that are not held, by who has named them,
 * and when that was; `asked` is when a beat of ours asked for one first since then, `asks` how often. `served` are
 * lines that another agent wants: when they were copied for it, or first left out, how often they were copied on
 * that day, and whether a copy is `due`. `lives` has the latest `beat` of an agent that is held, by its `n`, the
 * latest date of its beats, and its last sign of life.
 *
 * `told` has what the operator was told: each matter by its `key`, `who` the peer or the cause against whose hour it
 * counts, and of the newest ones the words. `wire` is 1 while `incident_log.jsonl` has to get a line about it, and
 * `incident_log` are lines that this file has to get too.
 *
 * `key_changes` are lines of ours about our keys, and others' proposals that our agent has acked until they are
 * carried out: then up to `last` a key stays believed. `announced` has tiers that we announced to an agent (null:
 * it waits for that), and that it gives us. `signers` has the last line of a branch that a key has signed. `reciprocations` are approved proposals of ours by a party.
 *
 * `notices` has what the agent was told, once for each `kind` and `about`; `peer` is the one against whose hour it
 * counts. `watched` are asks that may be agreed and not closed: they are looked at again when they are `due`.
 */
export const SCHEMA = `
create table meta (name text primary key, value text not null) without rowid, strict;
create table agents (a integer primary key, name text not null unique) strict;
create table threads (
  t integer primary key,
  name text not null unique,
  lines integer not null default 0,
  unread integer not null default 0,
  last integer not null default 0
) strict;
create table lines (
  n integer primary key autoincrement,
  a integer not null,
  seq integer,
  prev blob,
  branch integer,
  id blob not null,
  id_start integer not null,
  t integer not null,
  type text not null,
  sent integer not null,
  received integer not null,
  live integer not null,
  ours integer not null,
  urgent integer not null,
  key text,
  verified integer not null,
  verdict text,
  delivered integer,
  unread integer,
  aside text,
  named integer,
  bytes blob not null
) strict;
create unique index line_place on lines (a, seq, id) where seq is not null;
create index line_chain_thread on lines (t, a, branch, seq)
  where branch is not null and type <> 'heartbeat';
create index line_reply on lines (t, a, received)
  where type in ('ack', 'proposal', 'feedback', 'decision', 'ship', 'warning');
create index line_incident on lines (a, n) where type = 'incident';
create index line_release on lines (t, a, seq) where type = 'release';
create table branches (
  a integer not null,
  branch integer not null,
  parent integer,
  fork integer not null,
  primary key (a, branch)
) without rowid, strict;
create index branch_parent on branches (a, parent);
create table names (
  n integer not null,
  a integer not null,
  of text not null,
  of_seq integer,
  of_id blob not null,
  of_branch integer,
  naming text not null,
  read integer
) strict;
create index name_known on names (a, of, of_branch, of_seq);
create index name_refused on names (a, of, of_seq) where naming = 'refuses';
create index name_unlinked on names (of_id) where of_branch is null and of_seq is not null;
create index name_use on names (of, of_id, a, naming) where naming <> 'knows';
create index name_loose on names (of, of_id, a) where of_seq is null;
create index name_line on names (n);
create index name_head on names (of, of_seq, of_id) where read is not null;
create table known (
  a integer not null,
  branch integer not null,
  of text not null,
  seq integer not null,
  up_to integer not null,
  primary key (a, branch, of, seq)
) without rowid, strict;
create table thread_words (
  n integer primary key,
  t integer not null,
  a integer not null,
  branch integer not null,
  seq integer not null,
  nth integer not null,
  asks integer not null,
  stands text,
  stands_seq integer,
  stands_id blob,
  taking integer,
  other integer
) strict;
create index word_at on thread_words (t, a, branch, seq);
create table answers (
  n integer not null,
  t integer not null,
  a integer not null,
  branch integer not null,
  seq integer not null,
  of text not null,
  of_seq integer,
  of_id blob not null,
  type text not null,
  approves integer not null
) strict;
create index answer_at on answers (t, a, branch, of_id, type, seq);
create table leaves (
  n integer primary key,
  a integer not null,
  branch integer not null,
  seq integer not null,
  after text not null
) strict;
create index leave_at on leaves (a, branch, seq);
create index leave_after on leaves (a, after);
create table asked (
  n integer primary key,
  t integer not null,
  type text not null,
  void integer not null,
  members integer not null,
  parties text,
  name text
) strict;
create index asked_name on asked (name) where name is not null;
create table asks (
  ask integer primary key,
  n integer not null,
  party text not null,
  closer text not null,
  t integer not null,
  members integer not null,
  state text not null default 'open',
  close integer,
  changed integer not null,
  kind text not null,
  asker integer not null
) strict;
create index ask_listed on asks (kind, asker, ask);
create index ask_unsettled on asks (kind, asker, ask) where state in ('open', 'waits', 'contested');
create unique index ask_part on asks (n, party);
create index ask_open on asks (closer, t) where state in ('open', 'waits');
create index ask_thread on asks (t);
create index ask_changed on asks (changed);
create index ask_change on asks (t) where members = 1 and state in ('approved', 'contested');
create table verdicts (
  n integer not null,
  subject text not null,
  ask integer,
  branch integer not null,
  seq integer not null,
  outcome text,
  state text not null default 'due',
  primary key (n, subject)
) without rowid, strict;
create index verdict_due on verdicts (n) where state = 'due';
create index verdict_first on verdicts (ask, branch, seq) where state <> 'no';
create index verdict_state on verdicts (ask, state, seq);
create table waits (
  of_id blob not null,
  of_seq integer,
  of text not null,
  n integer not null,
  subject text not null
) strict;
create index wait_for on waits (of_id);
create index wait_of on waits (n);
create table watches (
  a integer not null,
  of text not null,
  of_branch integer not null,
  of_seq integer not null,
  n integer not null
) strict;
create index watch_at on watches (a, of, of_branch, of_seq);
create index watch_of on watches (n);
create table reading (
  ask integer not null,
  party text not null,
  since integer not null,
  primary key (ask, party)
) without rowid, strict;
create index line_id on lines (id_start);
create index line_thread on lines (t, n) where type <> 'heartbeat';
create unique index line_delivered on lines (delivered) where delivered is not null;
create index line_unread on lines (delivered) where unread = 1;
create index line_urgent on lines (urgent desc, delivered) where unread = 1;
create index line_unread_of on lines (a, delivered) where unread = 1;
create index line_urgent_of on lines (a, delivered) where unread = 1 and urgent = 1;
create index line_mail_of on lines (a, delivered) where delivered is not null;
create index line_mail_in on lines (t, delivered) where delivered is not null;
create index line_unread_seq on lines (a, seq) where unread = 1;
create index line_refused on lines (a, seq, n)
  where ours = 1 and named is null and verdict <> 'mail' and verdict <> 'passed';
create index line_undecided on lines (a, seq) where ours = 1 and verdict is null and seq is not null;
create index line_news on lines (a, seq) where seq is not null and type <> 'heartbeat';
create index line_ahead on lines (a) where seq is not null and branch is null;
create index line_unverified on lines (a, key) where verified = 0 and key is not null;
create index line_aside on lines (a, seq) where aside is not null and verdict is null;
create index line_unjudged on lines (a, n) where verdict is null and branch is null;
create index line_loose on lines (a) where seq is null;
create index line_loose_beat on lines (a) where seq is null and type = 'heartbeat';
create index thread_last on threads (last);
create table heads (
  a integer not null,
  branch integer not null,
  of integer not null,
  of_branch integer not null,
  kind integer not null,
  up_to integer not null,
  seq integer not null,
  primary key (a, branch, of, of_branch, kind, up_to)
) without rowid, strict;
create table wanted (
  a integer not null,
  of text not null,
  of_seq integer not null,
  of_id blob not null,
  named integer not null,
  asked integer,
  asks integer not null default 0,
  primary key (a, of, of_seq, of_id)
) without rowid, strict;
create index wanted_place on wanted (of, of_seq, of_id);
create table served (
  a integer not null,
  n integer not null,
  at integer not null,
  copies integer not null,
  due integer,
  primary key (a, n)
) without rowid, strict;
create index served_at on served (a, at);
create index served_due on served (n) where due = 1;
create table lives (
  a integer primary key,
  beat integer,
  latest integer,
  received integer,
  cadence integer,
  paused integer
) strict;
create table chains (
  a integer primary key,
  whole integer not null default 0,
  whole_id blob,
  fork integer,
  judged integer not null default 0,
  gap_since integer,
  waiting integer not null default 0,
  carried integer not null default 0
) strict;
create table waiting (
  a integer not null,
  seq integer not null,
  id blob not null,
  prev blob,
  proven integer not null,
  key text not null,
  verified integer not null,
  received integer not null,
  live integer not null,
  bytes blob not null,
  primary key (a, seq, id)
) without rowid, strict;
create table follows (a integer, seq integer, id blob not null, primary key (a, seq)) without rowid, strict;
create table strikes (
  a integer, key text, source integer, last integer not null, last_id blob, primary key (a, key, source)
) without rowid, strict;
create table revocations (n integer primary key, a integer not null) strict;
create index revocation_of on revocations (a, n);
create table named_keys (
  author text, key_id text, key blob not null, primary key (author, key_id)
) without rowid, strict;
create table leftovers (
  carrier text, author text, reason text not null, primary key (carrier, author)
) without rowid, strict;
create table unread (
  a integer primary key, count integer not null, urgent integer not null, last integer not null
) strict;
create table escalations (
  n integer primary key,
  a integer not null,
  counts integer not null,
  over integer
) strict;
create index escalation_counted on escalations (a, n) where counts = 1;
create index escalation_open on escalations (n) where counts = 1 and over is null;
create table claims (
  n integer primary key,
  a integer not null,
  t integer not null,
  seq integer,
  ends integer not null
) strict;
create index claim_place on claims (a, seq, n);
create index claim_thread on claims (t, a);
create index claim_end on claims (ends);
create table owed (
  n integer not null,
  by text not null,
  a integer not null,
  t integer not null,
  kind text not null,
  due integer not null,
  primary key (n, by)
) without rowid, strict;
create index owed_incident on owed (n) where kind = 'incident';
create index owed_in on owed (t, by);
create index owed_by on owed (by, a, n);
create index owed_to on owed (a, by, n);
create table told (
  k integer primary key autoincrement,
  key text not null unique,
  who text not null,
  at integer not null,
  cause text not null,
  peer text,
  subject text,
  detail text,
  wire integer not null,
  unread integer not null
) strict;
create index told_who on told (who, at);
create index told_wire on told (k) where wire = 1;
create index told_unread on told (unread) where unread = 1;
create table key_changes (
  n integer primary key, own integer not null, action text not null, key text not null, last integer, last_id blob
) strict;
create index key_change_of on key_changes (own, action, key, n);
create table signers (
  a integer, branch integer, key text, last integer not null, primary key (a, branch, key)
) without rowid, strict;
create table announced (
  name text primary key, asked integer not null default 0, said text, given text
) without rowid, strict;
create table reciprocations (
  name text, n integer, at integer not null, primary key (name, n)
) without rowid, strict;
create table dates_accepted (n integer primary key) strict;
create table notices (
  m integer primary key autoincrement,
  kind text not null,
  about text not null,
  id text not null,
  at integer not null,
  peer text,
  text text not null,
  unread integer
) strict;
create unique index notice_matter on notices (kind, about);
create index notice_id on notices (id);
create index notice_peer on notices (peer, at) where peer is not null;
create index notice_unread on notices (m) where unread = 1;
create table watched (
  n integer not null,
  party text not null,
  closer text not null,
  due integer not null,
  primary key (n, party)
) without rowid, strict;
create index watched_due on watched (due);
create index watched_closer on watched (closer);
create table incident_log (n integer primary key) strict;
create table extras (
  e integer primary key autoincrement, at integer not null, bytes blob not null
) strict;
create table sends (
  key text primary key, digest text not null, at integer not null, ns text not null
) without rowid, strict;
create index send_at on sends (at);
create table published (
  place text not null, through integer not null, since integer not null, primary key (place, through)
) without rowid, strict;
create table entries (
  e integer primary key autoincrement,
  id blob not null,
  signer text not null,
  of_id blob,
  state text not null,
  detail text,
  seen integer not null,
  bytes blob not null
) strict;
create unique index entry_id on entries (id, signer);
create index entry_of on entries (of_id);
create index entry_signer on entries (signer, state, e);
create index entry_state on entries (state, e);
create table recorded (
  n integer primary key,
  of_id blob not null,
  contested integer not null,
  at integer,
  done integer not null
) strict;
create index recorded_of on recorded (of_id);
create index recorded_due on recorded (at) where done = 0;
create index recorded_contested on recorded (n) where contested = 1;
create table tally (
  type text primary key, count integer not null, first integer not null, last integer not null
) without rowid, strict;
create table cursors (carrier text primary key, value text not null) without rowid, strict;
create virtual table words using fts5 (
  subject, body, content = '', contentless_delete = 1, tokenize = 'unicode61'
);
`;

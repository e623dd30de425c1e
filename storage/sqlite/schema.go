package sqlite

import "strings"

// applicationID marks a file as this package's. It spells "strm". SQLite and file(1) look for it in
// the file's header.
const applicationID = 0x7374726d

// schemaVersion is the version of the schema below. It is stored in PRAGMA user_version.
const schemaVersion = 1

// schema creates an empty store. The command .schema of the sqlite3 program shows the comments
// within a table.
//
// A column n numbers the rows in the order of creation. Times are Unix nanoseconds, NULL for
// none; durations are nanoseconds; amounts are thousandths of a credit.
const schema = `
CREATE TABLE monitors (
	n       INTEGER PRIMARY KEY,
	id      TEXT NOT NULL UNIQUE,
	owner   TEXT NOT NULL,
	name    TEXT NOT NULL,
	status  TEXT NOT NULL,
	version INTEGER NOT NULL,
	record  TEXT NOT NULL, -- all fields, JSON
	UNIQUE (owner, name)
) STRICT;

CREATE TABLE rules (
	n       INTEGER PRIMARY KEY,
	id      TEXT NOT NULL UNIQUE,
	owner   TEXT NOT NULL,
	tag     TEXT NOT NULL,
	status  TEXT NOT NULL,
	version INTEGER NOT NULL,
	record  TEXT NOT NULL, -- all fields, JSON
	UNIQUE (owner, tag)
) STRICT;

CREATE TABLE endpoints (
	n         INTEGER PRIMARY KEY,
	id        TEXT NOT NULL UNIQUE,
	owner     TEXT NOT NULL,
	source_id TEXT NOT NULL,
	url       TEXT NOT NULL,
	status    TEXT NOT NULL,
	version   INTEGER NOT NULL,
	record    TEXT NOT NULL, -- all fields, JSON, secrets as given
	UNIQUE (owner, source_id, url)
) STRICT;

CREATE TABLE api_keys (
	n       INTEGER PRIMARY KEY,
	id      TEXT NOT NULL UNIQUE,
	owner   TEXT NOT NULL,
	lookup  TEXT NOT NULL UNIQUE, -- the first 8 bytes of the hash, hexadecimal
	version INTEGER NOT NULL,
	record  TEXT NOT NULL -- all fields, JSON; of the key itself only its SHA-256
) STRICT;
CREATE INDEX api_keys_of_owner ON api_keys (owner);

CREATE TABLE cursors (
	target  TEXT PRIMARY KEY,
	since   INTEGER, -- time
	user_id TEXT NOT NULL,
	gaps    TEXT, -- JSON, NULL for none
	position TEXT NOT NULL DEFAULT '' -- of a stream
) STRICT, WITHOUT ROWID;

CREATE TABLE owners (
	owner       TEXT PRIMARY KEY,
	available   INTEGER NOT NULL DEFAULT 0 CHECK (available >= 0),
	reserved    INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0),
	removed_seq INTEGER NOT NULL DEFAULT 0 -- greatest events.seq that was removed
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
	n               INTEGER PRIMARY KEY, -- without holes but for removed events
	id              TEXT NOT NULL UNIQUE,
	owner           TEXT NOT NULL,
	seq             INTEGER NOT NULL, -- 1, 2, 3 … for each owner
	source_kind     TEXT NOT NULL,
	source_id       TEXT NOT NULL,
	source_name     TEXT NOT NULL,
	tweet_id        TEXT NOT NULL,
	author_username TEXT NOT NULL,
	author_key      TEXT NOT NULL, -- author_username without case
	text_preview    TEXT NOT NULL,
	tweet_url       TEXT NOT NULL,
	platform        TEXT NOT NULL, -- name of the source of posts, empty where there is only one
	published_at    INTEGER,
	earliest_at     INTEGER,
	requested_at    INTEGER,
	fetched_at      INTEGER,
	detected_at     INTEGER,
	committed_at    INTEGER NOT NULL,
	latency         INTEGER NOT NULL, -- duration
	handlers        TEXT, -- JSON, NULL for none
	body            BLOB NOT NULL
) STRICT;
-- The columns that queries of the log compare: to count, they need not read bodies.
CREATE INDEX events_of_owner ON events (owner, seq, source_id, source_kind, author_key, detected_at);

CREATE TABLE deliveries (
	n                INTEGER PRIMARY KEY, -- event << 16, and from 0 within the event
	event            INTEGER NOT NULL AS (n >> 16), -- events.n
	id               TEXT NOT NULL UNIQUE,
	endpoint_id      TEXT NOT NULL,
	state            TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'retrying', 'delivered', 'failed')),
	due_at           INTEGER, -- NULL once the state is final
	attempts         INTEGER NOT NULL DEFAULT 0, -- rows in attempts
	uncounted        INTEGER NOT NULL DEFAULT 0, -- of these, not of the retry schedule
	waited           INTEGER NOT NULL DEFAULT 0, -- duration that the receiver asked for
	endpoint_deleted INTEGER NOT NULL DEFAULT 0  -- 1 if that ended the delivery
) STRICT;
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint_id, due_at) WHERE due_at IS NOT NULL;

CREATE TABLE attempts (
	delivery         INTEGER NOT NULL, -- deliveries.n
	place            INTEGER NOT NULL, -- in the delivery's log, from 0
	attempt          INTEGER NOT NULL, -- from 1, each once
	at               INTEGER,
	duration         INTEGER NOT NULL,
	status_code      INTEGER NOT NULL, -- 0 without an HTTP answer
	error            TEXT NOT NULL,
	response_preview TEXT NOT NULL,
	PRIMARY KEY (delivery, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE settled (
	event      INTEGER PRIMARY KEY, -- events.n of one without an open delivery
	settled_at INTEGER NOT NULL -- since when: its retention counts from here
) STRICT;
CREATE INDEX settled_by_age ON settled (settled_at);

CREATE TABLE replays (
	endpoint_id TEXT PRIMARY KEY,
	owner       TEXT NOT NULL,
	due_at      INTEGER, -- NULL once it is done
	record      TEXT NOT NULL -- all fields, JSON
) STRICT, WITHOUT ROWID;
CREATE INDEX replays_due ON replays (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE ledger_entries (
	n            INTEGER PRIMARY KEY,
	id           TEXT NOT NULL UNIQUE,
	owner        TEXT NOT NULL,
	kind         TEXT NOT NULL,
	amount       INTEGER NOT NULL,
	balance      INTEGER NOT NULL, -- available and reserved after this entry
	at           INTEGER,
	source_id    TEXT NOT NULL,
	source_name  TEXT NOT NULL,
	endpoint     TEXT NOT NULL,
	num_accounts INTEGER NOT NULL,
	tier_label   TEXT NOT NULL,
	rate         INTEGER NOT NULL,
	recorded_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX ledger_entries_of_owner ON ledger_entries (owner);

CREATE TABLE source_totals (
	owner     TEXT NOT NULL,
	kind      TEXT NOT NULL,
	source_id TEXT NOT NULL,
	total     INTEGER NOT NULL, -- of all its entries, below zero for charges
	PRIMARY KEY (owner, kind, source_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE reservations (
	id         TEXT PRIMARY KEY,
	owner      TEXT NOT NULL,
	amount     INTEGER NOT NULL,
	expires_at INTEGER -- NULL when it does not expire
) STRICT, WITHOUT ROWID;
CREATE INDEX reservations_expiring ON reservations (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX reservations_of_owner ON reservations (owner, expires_at) WHERE expires_at IS NOT NULL;

-- Ids that are remembered after their rows were removed.
CREATE TABLE removed_events (
	n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, recorded_at INTEGER NOT NULL
) STRICT;
CREATE TABLE removed_entries (
	n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, recorded_at INTEGER NOT NULL
) STRICT;
CREATE TABLE resolved_reservations (
	n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, recorded_at INTEGER NOT NULL,
	outcome TEXT NOT NULL CHECK (outcome IN ('committed', 'given back'))
) STRICT;

CREATE TABLE answers ( -- to requests that clients may repeat
	owner  TEXT NOT NULL,
	id     TEXT NOT NULL, -- of the request
	asked  TEXT NOT NULL, -- what it asks for
	holder TEXT NOT NULL, -- who carries it out, or has
	until  INTEGER NOT NULL, -- end of the lease while it is under way, else of the answer
	place  INTEGER UNIQUE, -- in the order of the answers, NULL while it is under way
	text   BLOB, -- NULL while it is under way
	PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_of_owner ON answers (owner, place) WHERE place IS NOT NULL;
CREATE INDEX answers_by_age ON answers (until);

CREATE TABLE totals ( -- one row
	newest       INTEGER NOT NULL, -- greatest events.n when events were last removed
	removed      INTEGER NOT NULL, -- events removed so far: the others are newest - removed
	erased_seq   INTEGER NOT NULL, -- greatest events.seq of any owner that was erased
	answers      INTEGER NOT NULL, -- that have a text
	answer_bytes INTEGER NOT NULL, -- of these texts
	epoch        INTEGER NOT NULL -- of events.seq: 0, and a random number in a copy by Backup
) STRICT;
INSERT INTO totals VALUES (0, 0, 0, 0, 0, 0);

CREATE TRIGGER answers_more AFTER UPDATE OF text ON answers WHEN old.text IS NULL AND new.text IS NOT NULL BEGIN
	UPDATE totals SET answers = answers + 1, answer_bytes = answer_bytes + length(new.text);
END;
CREATE TRIGGER answers_less AFTER DELETE ON answers WHEN old.text IS NOT NULL BEGIN
	UPDATE totals SET answers = answers - 1, answer_bytes = answer_bytes - length(old.text);
END;
`

// newestEvent is SQL for the highest events.n ever assigned, 0 if there is none.
const newestEvent = `(SELECT max(totals.newest, coalesce((SELECT max(n) FROM events), 0)) FROM totals)`

// views show the logs with human-readable times and amounts.
var views = strings.NewReplacer("{published}", readable("e.published_at"), "{detected}", readable("e.detected_at"),
	"{committed}", readable("e.committed_at"), "{due}", readable("d.due_at"), "{attempted}", readable("a.at"), "{entered}", readable("l.at"),
).Replace(`
CREATE VIEW delivery_log AS SELECT
	d.id AS delivery, d.state, e.owner, e.source_kind, e.source_id, e.source_name, d.endpoint_id,
	(SELECT p.url FROM endpoints p WHERE p.id = d.endpoint_id) AS url,
	e.id AS event, e.seq, e.tweet_id, e.author_username, e.text_preview, e.tweet_url, e.platform,
	{published} AS published, {detected} AS detected, {committed} AS committed,
	e.latency / 1000000 AS latency_ms, {committed} AS created, {due} AS due,
	d.attempts, d.endpoint_deleted
	FROM deliveries d JOIN events e ON e.n = d.event ORDER BY d.n;

CREATE VIEW attempt_log AS SELECT
	d.id AS delivery, e.owner, d.endpoint_id, a.attempt, {attempted} AS at,
	a.duration / 1000000 AS duration_ms, a.status_code, a.error, a.response_preview
	FROM attempts a JOIN deliveries d ON d.n = a.delivery JOIN events e ON e.n = d.event
	ORDER BY a.delivery, a.place;

CREATE VIEW billing_log AS SELECT
	l.id AS entry, l.owner, {entered} AS at, l.kind, l.amount / 1000.0 AS credits,
	l.balance / 1000.0 AS balance_credits, l.source_id, l.source_name, l.endpoint,
	l.num_accounts, l.tier_label, l.rate / 1000.0 AS credits_per_account_day
	FROM ledger_entries l ORDER BY l.n;
`)

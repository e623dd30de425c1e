package sqlite

import "strings"

// applicationID marks a file as this package's. It spells "strm". SQLite and file(1) look for it in
// the file's header.
const applicationID = 0x7374726d

// schemaVersion is the version of the schema below. It is stored in PRAGMA user_version.
const schemaVersion = 3

// schema creates an empty store. The command .schema of the sqlite3 program shows the comments
// within a table.
//
// A column n numbers the rows in the order of creation. Times are Unix nanoseconds, NULL for
// none; durations are nanoseconds; amounts are thousandths of a credit.
const schema = `
CREATE TABLE records (
	n           INTEGER PRIMARY KEY,
	kind        TEXT NOT NULL, -- monitor, rule, endpoint or key
	id          TEXT NOT NULL,
	owner       TEXT NOT NULL,
	parent_kind TEXT NOT NULL, -- empty for none
	parent      TEXT NOT NULL, -- id of an endpoint's monitor or rule, empty for none
	name        TEXT, -- of an endpoint its URL, NULL for none
	lookup      TEXT, -- of a key the beginning of its hash, NULL for none
	status      TEXT NOT NULL,
	size        INTEGER NOT NULL, -- number of accounts
	price       INTEGER NOT NULL, -- amount a day
	version     INTEGER NOT NULL,
	created_at  INTEGER,
	updated_at  INTEGER,
	note        TEXT NOT NULL DEFAULT '',
	data        BLOB, -- the other fields, JSON, secrets as given
	UNIQUE (kind, id)
) STRICT;
CREATE UNIQUE INDEX records_by_name ON records (owner, kind, parent_kind, parent, name) WHERE name IS NOT NULL;
CREATE UNIQUE INDEX records_by_lookup ON records (kind, lookup) WHERE lookup IS NOT NULL;
-- Each of these ends with n.
CREATE INDEX records_of_owner ON records (owner, kind);
CREATE INDEX records_by_status ON records (owner, kind, status);
CREATE INDEX records_of_parent ON records (owner, parent_kind, parent, kind, status) WHERE parent <> '';

CREATE TABLE record_sums ( -- of the records with this owner, kind and status
	owner  TEXT NOT NULL,
	kind   TEXT NOT NULL,
	status TEXT NOT NULL,
	count  INTEGER NOT NULL,
	size   INTEGER NOT NULL,
	price  INTEGER NOT NULL,
	PRIMARY KEY (owner, kind, status)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER records_added AFTER INSERT ON records BEGIN
	INSERT INTO record_sums VALUES (new.owner, new.kind, new.status, 1, new.size, new.price)
		ON CONFLICT DO UPDATE SET count = count + 1, size = size + excluded.size, price = price + excluded.price;
END;
CREATE TRIGGER records_removed AFTER DELETE ON records BEGIN
	UPDATE record_sums SET count = count - 1, size = size - old.size, price = price - old.price
		WHERE owner = old.owner AND kind = old.kind AND status = old.status;
	DELETE FROM record_sums WHERE owner = old.owner AND kind = old.kind AND status = old.status AND count = 0;
END;
CREATE TRIGGER records_changed AFTER UPDATE OF status, size, price ON records
WHEN (old.status, old.size, old.price) IS NOT (new.status, new.size, new.price) BEGIN
	INSERT INTO record_sums VALUES (new.owner, new.kind, new.status, 1, new.size, new.price)
		ON CONFLICT DO UPDATE SET count = count + 1, size = size + excluded.size, price = price + excluded.price;
	UPDATE record_sums SET count = count - 1, size = size - old.size, price = price - old.price
		WHERE owner = old.owner AND kind = old.kind AND status = old.status;
	DELETE FROM record_sums WHERE owner = old.owner AND kind = old.kind AND status = old.status AND count = 0;
END;

CREATE TABLE feed ( -- of changes to records, the newest only
	n     INTEGER PRIMARY KEY,
	kind  TEXT NOT NULL,
	id    TEXT NOT NULL,
	owner TEXT NOT NULL -- empty after it was erased, and for kind owner: id is then its record.OwnerID
) STRICT;

CREATE TABLE gone ( -- owners that are refused after they were erased
	owner_id TEXT PRIMARY KEY, -- record.OwnerID
	until    INTEGER NOT NULL -- time
) STRICT, WITHOUT ROWID;

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
` + later + `

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

CREATE TABLE state ( -- small values
	version    INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
	space      TEXT NOT NULL,
	owner      TEXT NOT NULL,
	id         TEXT NOT NULL,
	expires_at INTEGER, -- NULL for a value of the engine, which does not expire
	data       BLOB NOT NULL,
	UNIQUE (space, owner, id)
) STRICT;
CREATE INDEX state_of_owner ON state (owner) WHERE expires_at IS NOT NULL;
CREATE INDEX state_by_age ON state (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE totals ( -- one row
	newest       INTEGER NOT NULL, -- greatest events.n when events were last removed
	removed      INTEGER NOT NULL, -- events removed so far: the others are newest - removed
	erased_seq   INTEGER NOT NULL, -- greatest events.seq of any owner that was erased
	state_values INTEGER NOT NULL, -- that expire
	state_bytes  INTEGER NOT NULL, -- of the data of these
	epoch        INTEGER NOT NULL -- of events.seq: 0, and a random number in a copy by Backup
	-- It is also that of the ids of deliveries, unless there is a table delivery_epoch (epoch): a copy
	-- of another store has one if these differ there.
) STRICT;
INSERT INTO totals VALUES (0, 0, 0, 0, 0, 0);

CREATE TRIGGER state_more AFTER INSERT ON state WHEN new.expires_at IS NOT NULL BEGIN
	UPDATE totals SET state_values = state_values + 1, state_bytes = state_bytes + length(new.data);
END;
CREATE TRIGGER state_less AFTER DELETE ON state WHEN old.expires_at IS NOT NULL BEGIN
	UPDATE totals SET state_values = state_values - 1, state_bytes = state_bytes - length(old.data);
END;
`

// later is the part of the schema that Open adds to a file without it.
const later = `CREATE INDEX IF NOT EXISTS deliveries_by_endpoint ON deliveries (endpoint_id); -- ends with n`

// newestEvent is SQL for the highest events.n ever assigned, 0 if there is none.
const newestEvent = `(SELECT max(totals.newest, coalesce((SELECT max(n) FROM events), 0)) FROM totals)`

// views show the logs with human-readable times and amounts.
var views = strings.NewReplacer("{published}", readable("e.published_at"), "{detected}", readable("e.detected_at"),
	"{committed}", readable("e.committed_at"), "{due}", readable("d.due_at"), "{attempted}", readable("a.at"), "{entered}", readable("l.at"),
).Replace(`
CREATE VIEW delivery_log AS SELECT
	d.id AS delivery, d.state, e.owner, e.source_kind, e.source_id, e.source_name, d.endpoint_id,
	(SELECT r.name FROM records r WHERE r.kind = 'endpoint' AND r.id = d.endpoint_id) AS url,
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

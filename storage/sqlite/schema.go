package sqlite

import "strings"

// applicationID marks a file as this package's: "strm", in the header where
// SQLite and file(1) look for it.
const applicationID = 0x7374726d

// migrations lead from each version of the schema to the next: the first makes
// it, and PRAGMA user_version counts those that were applied. One that was
// released is never changed.
var migrations = []string{firstSchema + views(), waitsOfDeliveries, endpointsDeleted, detectedEvents}

// waitsOfDeliveries: "earlier" counts, beside the attempts before a delivery was
// reopened, those that its receiver answered with a wait.
const waitsOfDeliveries = `ALTER TABLE deliveries ADD COLUMN waited INTEGER NOT NULL DEFAULT 0; -- nanoseconds
`

// endpointsDeleted marks the deliveries that the deletion of their endpoint ended.
const endpointsDeleted = `ALTER TABLE deliveries ADD COLUMN endpoint_deleted INTEGER NOT NULL DEFAULT 0`

// detectedEvents lets events be searched by when they were detected. Those entered
// before it have NULL: their packs tell.
const detectedEvents = `ALTER TABLE events ADD COLUMN detected_at INTEGER`

// In every table n counts rows in the order they were made, the oldest being
// removed first, so that a number means nothing once its row is gone.
const firstSchema = `
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
	since   INTEGER,
	user_id TEXT NOT NULL,
	gaps    TEXT -- JSON, NULL for none
) STRICT, WITHOUT ROWID;

CREATE TABLE owners (
	owner     TEXT PRIMARY KEY,
	last_seq  INTEGER NOT NULL DEFAULT 0, -- of the newest event, as far as those removed need it
	available INTEGER NOT NULL DEFAULT 0 CHECK (available >= 0), -- thousandths of a credit
	reserved  INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0)
) STRICT, WITHOUT ROWID;

-- The ids of all events, those that are removed included, and not those of packs
-- that are not entered yet: packs.entered. They sort by the age of
-- posts, as those of deliveries: new ones come where the index ends, not each on a
-- page of its own.
CREATE TABLE event_ids (
	id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- What polls found, some events to a row: event_log shows them one by one, and
-- newest_cursors the cursors. A row without events has only cursors.
CREATE TABLE packs (
	n       INTEGER PRIMARY KEY,
	total   INTEGER NOT NULL, -- events, ever
	entered INTEGER NOT NULL, -- the pack up to which event_ids, events and settled have all
	cursors TEXT, -- that have moved: JSON, an array of [target, since, user_id, gaps], each on a line
	fields  TEXT, -- JSON, an array of an array for each event, each on a line
	bodies  BLOB  -- one after the other
) STRICT;

-- What entered events are searched by.
CREATE TABLE events (
	owner       TEXT NOT NULL,
	seq         INTEGER NOT NULL,
	n           INTEGER NOT NULL, -- that of the pack << 10, and from 0 within it
	source_kind TEXT NOT NULL,
	source_id   TEXT NOT NULL,
	author_key  TEXT NOT NULL, -- without case
	PRIMARY KEY (owner, seq)
) STRICT, WITHOUT ROWID;

-- Packs of which events were removed, and how many.
CREATE TABLE thinned (
	pack   INTEGER PRIMARY KEY,
	events INTEGER NOT NULL
) STRICT;

CREATE TABLE deliveries (
	n           INTEGER PRIMARY KEY, -- that of the event << 16, and from 0 within it
	event       INTEGER NOT NULL AS (n >> 16),
	id          TEXT NOT NULL UNIQUE,
	endpoint_id TEXT NOT NULL,
	state       TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'retrying', 'delivered', 'failed')),
	due_at      INTEGER, -- NULL once the state is final
	earlier     INTEGER NOT NULL DEFAULT 0 -- attempts before it was reopened last
) STRICT;
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_lane ON deliveries (endpoint_id, due_at) WHERE due_at IS NOT NULL;

CREATE TABLE replays (
	endpoint_id TEXT PRIMARY KEY,
	owner       TEXT NOT NULL,
	due_at      INTEGER, -- NULL once it is done
	record      TEXT NOT NULL -- all fields, JSON
) STRICT, WITHOUT ROWID;
CREATE INDEX replays_due ON replays (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE attempts (
	delivery         INTEGER NOT NULL,
	place            INTEGER NOT NULL, -- in the delivery's log, from 0
	attempt          INTEGER NOT NULL, -- from 1, each once
	at               INTEGER,
	duration         INTEGER NOT NULL, -- nanoseconds
	status_code      INTEGER NOT NULL, -- 0 without an HTTP answer
	error            TEXT NOT NULL,
	response_preview TEXT NOT NULL,
	PRIMARY KEY (delivery, place)
) STRICT, WITHOUT ROWID;

-- Entered events, and those with deliveries, of which none is open, in the order in
-- which they became so: one, or all from first to last.
CREATE TABLE settled (
	settled_at INTEGER NOT NULL,
	first      INTEGER NOT NULL,
	last       INTEGER NOT NULL,
	PRIMARY KEY (settled_at, first)
) STRICT, WITHOUT ROWID;

CREATE TABLE totals (
	events  INTEGER NOT NULL, -- ever, unless a pack has more
	removed INTEGER NOT NULL, -- events
	folded  INTEGER NOT NULL, -- the pack up to which cursors has all
	entered INTEGER NOT NULL  -- as in packs, unless the newest has more
) STRICT;
INSERT INTO totals VALUES (0, 0, 0, 0);

CREATE TABLE ledger_entries (
	n            INTEGER PRIMARY KEY,
	id           TEXT NOT NULL UNIQUE,
	owner        TEXT NOT NULL,
	kind         TEXT NOT NULL,
	amount       INTEGER NOT NULL, -- thousandths of a credit
	balance      INTEGER NOT NULL, -- available after this entry
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

CREATE TABLE reservations (
	id         TEXT PRIMARY KEY,
	owner      TEXT NOT NULL,
	amount     INTEGER NOT NULL,
	expires_at INTEGER -- NULL when it does not expire
) STRICT, WITHOUT ROWID;
CREATE INDEX reservations_expiring ON reservations (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX reservations_of_owner ON reservations (owner, expires_at) WHERE expires_at IS NOT NULL;

-- Ids that are still known though their rows are gone.
CREATE TABLE removed_events (
	n INTEGER PRIMARY KEY, id TEXT NOT NULL, recorded_at INTEGER NOT NULL
) STRICT;
CREATE TABLE removed_entries (
	n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, recorded_at INTEGER NOT NULL
) STRICT;
CREATE TABLE resolved_reservations (
	n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, recorded_at INTEGER NOT NULL,
	outcome TEXT NOT NULL CHECK (outcome IN ('committed', 'given back'))
) STRICT;
CREATE INDEX ledger_entries_by_age ON ledger_entries (recorded_at);
CREATE INDEX removed_events_by_age ON removed_events (recorded_at);
CREATE INDEX removed_entries_by_age ON removed_entries (recorded_at);
CREATE INDEX resolved_reservations_by_age ON resolved_reservations (recorded_at);
`

// packedFields are the columns of an event's array f in its pack: see packer.
const packedFields = `f ->> 9 AS id, f ->> 10 AS owner, f ->> 11 AS seq, f ->> 12 AS source_kind, f ->> 13 AS source_id,
	f ->> 14 AS source_name, f ->> 15 AS tweet_id, f ->> 16 AS author_username, f ->> 17 AS text_preview, f ->> 18 AS tweet_url,
	(f ->> 2) - (f ->> 4) AS published_at, (f ->> 2) - (f ->> 8) AS detected_at, f ->> 2 AS committed_at, f ->> 3 AS latency`

// views are the logs for people: doc.go shows how to ask them.
func views() string {
	return strings.NewReplacer(
		"{fields}", packedFields, "{enteredPack}", enteredPack, "{due}", readable("e.due_at"),
		"{published}", readable("e.published_at"), "{detected}", readable("e.detected_at"),
		"{committed}", readable("e.committed_at"), "{attempted}", readable("a.at"), "{entered}", readable("l.at"),
	).Replace(`
CREATE VIEW newest_cursors AS SELECT target, since, user_id, gaps FROM (
	SELECT *, row_number() OVER (PARTITION BY target ORDER BY n DESC, place DESC) AS age FROM (
		SELECT 0 AS n, 0 AS place, target, since, user_id, gaps FROM cursors UNION ALL
		SELECT p.n, c.key, c.value ->> 0, c.value ->> 1, c.value ->> 2, nullif(c.value -> 3, 'null')
		FROM packs p, json_each(p.cursors) c WHERE p.n > (SELECT folded FROM totals))) WHERE age = 1;

CREATE VIEW event_log AS SELECT n, {fields}, substr(bodies, (f ->> 0) + 1, f ->> 1) AS body
	FROM (SELECT e.n, p.bodies, p.fields -> (e.n & 1023) AS f FROM events e JOIN packs p ON p.n = e.n >> 10
		UNION ALL SELECT p.n << 10 | l.key, p.bodies, l.value FROM packs p, json_each(p.fields) l WHERE p.n > {enteredPack});

CREATE VIEW delivery_log AS SELECT
	e.delivery, e.state, e.owner, e.source_kind, e.source_id, e.source_name, e.endpoint_id,
	(SELECT p.url FROM endpoints p WHERE p.id = e.endpoint_id) AS url,
	e.id AS event, e.seq, e.tweet_id, e.author_username, e.text_preview, e.tweet_url,
	{published} AS published, {detected} AS detected, {committed} AS committed,
	e.latency / 1000000 AS latency_ms, {committed} AS created, {due} AS due,
	(SELECT count(*) FROM attempts a WHERE a.delivery = e.n) AS attempts
	FROM (SELECT n, delivery, state, endpoint_id, due_at, {fields} FROM (
		SELECT d.n, d.id AS delivery, d.state, d.endpoint_id, d.due_at, p.fields -> (d.event & 1023) AS f
		FROM deliveries d JOIN packs p ON p.n = d.event >> 10)) e ORDER BY e.n;

CREATE VIEW attempt_log AS SELECT
	d.id AS delivery, p.fields -> (d.event & 1023) ->> 10 AS owner, d.endpoint_id, a.attempt, {attempted} AS at,
	a.duration / 1000000 AS duration_ms, a.status_code, a.error, a.response_preview
	FROM attempts a JOIN deliveries d ON d.n = a.delivery JOIN packs p ON p.n = d.event >> 10
	ORDER BY a.delivery, a.place;

CREATE VIEW billing_log AS SELECT
	l.id AS entry, l.owner, {entered} AS at, l.kind, l.amount / 1000.0 AS credits,
	l.balance / 1000.0 AS balance_credits, l.source_id, l.source_name, l.endpoint,
	l.num_accounts, l.tier_label, l.rate / 1000.0 AS credits_per_account_day
	FROM ledger_entries l ORDER BY l.n;
`)
}

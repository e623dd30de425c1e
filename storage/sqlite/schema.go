package sqlite

// applicationID marks a file as this package's: "strm", in the header where
// SQLite and file(1) look for it.
const applicationID = 0x7374726d

// migrations lead from each version of the schema to the next: the first makes
// it, and PRAGMA user_version counts those that were applied. One that was
// released is never changed.
var migrations = []string{firstSchema + views(), waitsOfDeliveries, endpointsDeleted, detectedEvents, sourceTotals + deliveryView()}

// waitsOfDeliveries: "earlier" counts, beside the attempts before a delivery was
// reopened, those that its receiver answered with a wait.
const waitsOfDeliveries = `ALTER TABLE deliveries ADD COLUMN waited INTEGER NOT NULL DEFAULT 0; -- nanoseconds
`

// endpointsDeleted marks the deliveries that the deletion of their endpoint ended.
const endpointsDeleted = `ALTER TABLE deliveries ADD COLUMN endpoint_deleted INTEGER NOT NULL DEFAULT 0`

// detectedEvents lets events be searched by when they were detected. Those entered
// before it have NULL: their packs tell.
const detectedEvents = `ALTER TABLE events ADD COLUMN detected_at INTEGER`

// sourceTotals sums up the entries of each monitor and rule. Those of a file that
// was made before it begin with the entries that it still has.
const sourceTotals = `
CREATE TABLE source_totals (
	owner     TEXT NOT NULL,
	kind      TEXT NOT NULL,
	source_id TEXT NOT NULL,
	total     INTEGER NOT NULL, -- thousandths of a credit, below zero for charges
	PRIMARY KEY (owner, kind, source_id)
) STRICT, WITHOUT ROWID;
INSERT INTO source_totals SELECT owner, kind, source_id, sum(amount) FROM ledger_entries
	WHERE kind IN ('monitor', 'rule') AND source_id <> '' GROUP BY owner, kind, source_id;
`

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

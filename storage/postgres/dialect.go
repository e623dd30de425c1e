package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

// dialect is PostgreSQL's. Transactions lock rows in this order: those of owners, what says that
// events have no open delivery, deliveries by number, the end of the feed.
//
// Who changes whether an event has an open delivery locks its first delivery, n << 16. Otherwise two
// transactions that each end one of its last two deliveries would not see each other.
var dialect = sqlstore.Dialect{
	LockDeliveries: `WITH asked AS MATERIALIZED (SELECT n FROM deliveries WHERE id IN {texts ?})
		SELECT FROM deliveries WHERE n IN (SELECT n FROM asked UNION SELECT n >> 16 << 16 FROM asked) ORDER BY n FOR UPDATE`,
	LockEndpoint: `WITH asked AS MATERIALIZED (SELECT n FROM deliveries WHERE endpoint_id = ? AND due_at IS NOT NULL)
		SELECT FROM deliveries WHERE n IN (SELECT n FROM asked UNION SELECT n >> 16 << 16 FROM asked) ORDER BY n FOR UPDATE`,
	LockReplayed: `WITH asked AS (SELECT n FROM events WHERE owner = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq LIMIT 256),
		past AS (SELECT FROM settled WHERE event IN (SELECT n FROM asked) ORDER BY event FOR UPDATE),
		first AS (SELECT FROM deliveries WHERE n IN (SELECT n << 16 FROM asked) ORDER BY n FOR UPDATE)
		SELECT (SELECT count(*) FROM past) + (SELECT count(*) FROM first)`,
	Settling: `WITH asked AS MATERIALIZED (SELECT n FROM deliveries WHERE id IN ({rows text})),
		locked AS MATERIALIZED (SELECT * FROM deliveries WHERE n IN (SELECT n FROM asked UNION SELECT n >> 16 << 16 FROM asked) ORDER BY n FOR UPDATE)
		SELECT * FROM locked WHERE n IN (SELECT n FROM asked)`,
	SkipLocked: ` FOR UPDATE SKIP LOCKED`,
	FirstDue: `SELECT d.n FROM deliveries d WHERE d.due_at <= coalesce(
		(SELECT due_at FROM deliveries WHERE due_at <= ?1 ORDER BY due_at LIMIT 1 OFFSET %d), ?1) AND `,
	// LATERAL has each lane's deliveries read once. Of an IN with a LIMIT, PostgreSQL makes a query for
	// each pair of a lane and a delivery.
	ClaimLanes: `WITH RECURSIVE
		lane (id) AS (
			(SELECT endpoint_id FROM deliveries WHERE due_at IS NOT NULL ORDER BY endpoint_id, due_at, n LIMIT 1)
			UNION ALL
			SELECT (SELECT d.endpoint_id FROM deliveries d WHERE d.due_at IS NOT NULL AND d.endpoint_id > lane.id
				ORDER BY d.endpoint_id, d.due_at, d.n LIMIT 1)
			FROM lane WHERE lane.id IS NOT NULL),
		head (id) AS (
			SELECT lane.id FROM lane, LATERAL (SELECT f.n, f.due_at, f.endpoint_id, f.part FROM deliveries f
				WHERE f.endpoint_id = lane.id AND f.due_at <= ?1 ORDER BY f.due_at, f.n LIMIT 1) AS d
			WHERE %s
			ORDER BY d.due_at, d.n LIMIT ?2)
		SELECT d.n FROM head, LATERAL (SELECT f.n, f.due_at FROM deliveries f
			WHERE f.endpoint_id = head.id AND f.due_at <= ?1 ORDER BY f.due_at, f.n LIMIT ?2) AS d
		ORDER BY d.due_at, d.n LIMIT ?2`,
	Feed:  `UPDATE feed_end SET last = last + ? RETURNING last`,
	Epoch: `(SELECT epoch FROM fleet)`,
	// An event goes a minute after it is no longer shown: no call that found it just before is then
	// under way.
	Removable: `SELECT event FROM settled WHERE settled_at <= ?3 - 60000000000 AND ?2::int IS NOT NULL
		ORDER BY settled_at, event LIMIT ?1 FOR UPDATE SKIP LOCKED`,
	NextDueIn: `SELECT d.due_at FROM unnest(?::bigint[]) AS p (part), LATERAL (SELECT due_at FROM deliveries
		WHERE part = p.part AND due_at IS NOT NULL ORDER BY due_at LIMIT 1) AS d ORDER BY d.due_at LIMIT 1`,
	Lanes: true,
	// As a join it would read the events of all owners: the server takes the deliveries of an event
	// for a ninth of all.
	CountByEvent: true,
	Totals:       totals,
}

// errNoOwner means that an owner has no row that could be locked. Write then begins again, and makes
// one.
var errNoOwner = errors.New("postgres: an owner has no row")

// LockOwners implements sqlstore.Backend.
func (b backend) LockOwners(t sqlstore.Tx, owners ...string) error {
	if len(owners) == 0 {
		return nil
	}
	own, list := t.(*tx), arguments([]any{sqlstore.Texts(owners)})
	if own.makesOwners {
		own.queue("INSERT INTO owners (owner) SELECT unnest($1::text[]) ORDER BY 1 ON CONFLICT (owner) DO NOTHING", list, done)
	}
	own.queue("SELECT FROM owners WHERE owner = ANY($1) ORDER BY owner FOR UPDATE", list, func(r pgx.BatchResults) error {
		tag, err := r.Exec()
		if err == nil && int(tag.RowsAffected()) < len(owners) {
			err = errNoOwner
		}
		return wrap(err)
	})
	return nil
}

// NumberEvents implements sqlstore.Backend. Numbers that are not used in the end are lost.
func (b backend) NumberEvents(t sqlstore.Tx, count int, to *[]int64) error {
	return t.Ask("SELECT array_agg(nextval('event_numbers')) FROM generate_series(1, ?::int)", []any{count},
		func(rows sqlstore.Rows) error { return rows.Scan(to) })
}

// totals returns the query for the totals of sources.
func totals(sources []billing.Source) (query string, args []any) {
	var owners, kinds, ids sqlstore.Texts
	for _, src := range sources {
		owners, kinds, ids = append(owners, src.Owner), append(kinds, string(src.Kind)), append(ids, src.ID)
	}
	return `SELECT s.i - 1, t.total FROM unnest(?::text[], ?::text[], ?::text[]) WITH ORDINALITY AS s (owner, kind, id, i)
		JOIN source_totals t ON t.owner = s.owner AND t.kind = s.kind AND t.source_id = s.id`, []any{owners, kinds, ids}
}

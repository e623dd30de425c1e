package sqlite

import "strings"

// packedFields are the columns of an event's array f in its pack: see packer.
const packedFields = `f ->> 9 AS id, f ->> 10 AS owner, f ->> 11 AS seq, f ->> 12 AS source_kind, f ->> 13 AS source_id,
	f ->> 14 AS source_name, f ->> 15 AS tweet_id, f ->> 16 AS author_username, f ->> 17 AS text_preview, f ->> 18 AS tweet_url,
	(f ->> 2) - (f ->> 4) AS published_at, (f ->> 2) - (f ->> 8) AS detected_at, f ->> 2 AS committed_at, f ->> 3 AS latency`

// views are the logs for people, but for delivery_log: doc.go shows how to ask them.
func views() string {
	return withColumns(`
CREATE VIEW newest_cursors AS SELECT target, since, user_id, gaps FROM (
	SELECT *, row_number() OVER (PARTITION BY target ORDER BY n DESC, place DESC) AS age FROM (
		SELECT 0 AS n, 0 AS place, target, since, user_id, gaps FROM cursors UNION ALL
		SELECT p.n, c.key, c.value ->> 0, c.value ->> 1, c.value ->> 2, nullif(c.value -> 3, 'null')
		FROM packs p, json_each(p.cursors) c WHERE p.n > (SELECT folded FROM totals))) WHERE age = 1;

CREATE VIEW event_log AS SELECT n, {fields}, substr(bodies, (f ->> 0) + 1, f ->> 1) AS body
	FROM (SELECT e.n, p.bodies, p.fields -> (e.n & 1023) AS f FROM events e JOIN packs p ON p.n = e.n >> 10
		UNION ALL SELECT p.n << 10 | l.key, p.bodies, l.value FROM packs p, json_each(p.fields) l WHERE p.n > {enteredPack});

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

// deliveryView takes the place of a view that had no endpoint_deleted.
func deliveryView() string {
	return withColumns(`
DROP VIEW IF EXISTS delivery_log;
CREATE VIEW delivery_log AS SELECT
	e.delivery, e.state, e.owner, e.source_kind, e.source_id, e.source_name, e.endpoint_id,
	(SELECT p.url FROM endpoints p WHERE p.id = e.endpoint_id) AS url,
	e.id AS event, e.seq, e.tweet_id, e.author_username, e.text_preview, e.tweet_url,
	{published} AS published, {detected} AS detected, {committed} AS committed,
	e.latency / 1000000 AS latency_ms, {committed} AS created, {due} AS due,
	(SELECT count(*) FROM attempts a WHERE a.delivery = e.n) AS attempts,
	e.endpoint_deleted
	FROM (SELECT n, delivery, state, endpoint_id, endpoint_deleted, due_at, {fields} FROM (
		SELECT d.n, d.id AS delivery, d.state, d.endpoint_id, d.endpoint_deleted, d.due_at, p.fields -> (d.event & 1023) AS f
		FROM deliveries d JOIN packs p ON p.n = d.event >> 10)) e ORDER BY e.n;
`)
}

// withColumns fills in what several views have in common.
func withColumns(views string) string {
	return strings.NewReplacer("{fields}", packedFields, "{enteredPack}", enteredPack, "{due}", readable("e.due_at"),
		"{published}", readable("e.published_at"), "{detected}", readable("e.detected_at"),
		"{committed}", readable("e.committed_at"), "{attempted}", readable("a.at"), "{entered}", readable("l.at"),
	).Replace(views)
}

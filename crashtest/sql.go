package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// dialect is how a kind of store writes what differs in the SQL of others.
type dialect struct {
	driver string // of package sql
	tables string // query for the number of tables
	damage string // query for what the database itself finds damaged
	object string // the beginning of a JSON object
	flag   func(condition string) string
	fields string // the fields of a record that are in no column
	time   func(column string) string
}

// consistent is a query for what contradicts itself. The store keeps these values beside those that
// they follow from.
const consistent = `
	SELECT {object}'What', 'event ' || id || ' has an open delivery and is settled, or neither') FROM events e
		WHERE (n IN (SELECT event FROM settled)) = (n IN (SELECT event FROM deliveries WHERE due_at IS NOT NULL))
	UNION ALL SELECT {object}'What', 'a row of settled is of no event') FROM settled WHERE event NOT IN (SELECT n FROM events)
	UNION ALL SELECT {object}'What', 'a row of attempts is of no delivery') FROM attempts WHERE delivery NOT IN (SELECT n FROM deliveries)
	UNION ALL SELECT {object}'What', 'delivery ' || id || ' has another number of attempts than rows of attempts') FROM deliveries
		LEFT JOIN (SELECT delivery, count(*) AS there FROM attempts GROUP BY delivery) AS a ON delivery = n WHERE attempts <> coalesce(there, 0)
	UNION ALL SELECT {object}'What', 'the reservations of ' || owner || ' have another sum than the owner') FROM owners o
		WHERE o.reserved <> coalesce((SELECT sum(r.amount) FROM reservations r WHERE r.owner = o.owner), 0)
	UNION ALL SELECT {object}'What', 'the entries of ' || source_id || ' have another sum than the source') FROM source_totals t
		WHERE EXISTS (SELECT 1 FROM records r WHERE r.id = t.source_id) AND t.total <> coalesce(
			(SELECT sum(l.amount) FROM ledger_entries l WHERE (l.owner, l.kind, l.source_id) = (t.owner, t.kind, t.source_id)), 0)
	UNION ALL SELECT {object}'What', 'the sums of records of ' || owner || ' are not those of their ' || kind || 's') FROM (
		SELECT owner, kind, status, count, size, price FROM record_sums
		EXCEPT SELECT owner, kind, status, count(*), sum(size), sum(price) FROM records GROUP BY owner, kind, status) AS wrong
	UNION ALL SELECT {object}'What', 'the sums of records of ' || owner || ' lack ' || kind || 's') FROM (
		SELECT owner, kind, status FROM records EXCEPT SELECT owner, kind, status FROM record_sums) AS lacking`

// readSQL reads a whole store with SQL. It reads tables, or one of the store's views where that has
// the same values without rounding.
func readSQL(ctx context.Context, d dialect, name string) (s state, err error) {
	db, err := sql.Open(d.driver, name)
	if err != nil {
		return s, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	r := &reader{ctx: ctx, db: db, words: strings.NewReplacer("{object}", d.object, "{open}", d.flag("d.due_at IS NOT NULL"), "{fields}", d.fields,
		"{committed_at}", d.time("committed_at"), "{since}", d.time("since"), "{created_at}", d.time("created_at"),
		"{hook}", `'Hook', `+d.object+`'URL', coalesce(`+d.fields+` ->> 'WebhookURL', ''), 'ID', coalesce(`+d.fields+` ->> 'WebhookID', ''))`)}
	if tables := query[int](r, d.tables); r.err != nil || tables[0] == 0 {
		return s, r.err
	}
	for _, text := range []string{d.damage, consistent} {
		for _, found := range query[struct{ What string }](r, text) {
			s.Damage += " " + found.What + ";"
		}
	}
	s.Events = query[event](r, `SELECT {object}'ID', id, 'Owner', owner, 'Source', source_id, 'Tweet', tweet_id, 'Author', author_username,
		'Seq', seq, 'Committed', {committed_at}) FROM events ORDER BY owner, seq`)
	s.Cursors = make(map[string]time.Time)
	for _, c := range query[struct {
		Target string
		Since  time.Time
	}](r, `SELECT {object}'Target', target, 'Since', {since}) FROM cursors WHERE since IS NOT NULL`) {
		s.Cursors[c.Target] = c.Since
	}
	s.Deliveries = query[delivery](r, `SELECT {object}'ID', d.id, 'Event', coalesce(e.id, ''), 'Endpoint', d.endpoint_id, 'State', d.state,
		'Open', {open}) FROM deliveries d LEFT JOIN events e ON e.n = d.event`)
	at := make(map[string]*delivery)
	for i := range s.Deliveries {
		at[s.Deliveries[i].ID] = &s.Deliveries[i]
	}
	for _, a := range query[struct {
		Delivery string
		attempt
	}](r, `SELECT {object}'Delivery', delivery, 'N', attempt, 'Status', status_code, 'Error', error) FROM attempt_log ORDER BY delivery, attempt`) {
		at[a.Delivery].Attempts = append(at[a.Delivery].Attempts, a.attempt)
	}
	s.Entries = query[entry](r, `SELECT {object}'ID', id, 'Owner', owner, 'Amount', amount, 'Balance', balance) FROM ledger_entries ORDER BY n`)
	s.Balances = make(map[string]balance)
	for _, b := range query[struct {
		Owner string
		balance
	}](r, `SELECT {object}'Owner', owner, 'Available', available, 'Reserved', reserved) FROM owners`) {
		s.Balances[b.Owner] = b.balance
	}
	for _, m := range query[struct {
		watch
		Status  string
		Created time.Time
	}](r, `SELECT {object}'ID', id, 'Owner', owner, 'Name', name, 'Status', status, 'Created', {created_at}, 'Accounts', {fields} -> 'Accounts', {hook})
		FROM records WHERE kind = 'monitor'`) {
		m.Active = m.Status == "active"
		for i := range m.Accounts {
			if m.Accounts[i].Since.IsZero() { // not stored: watched since the monitor was made
				m.Accounts[i].Since = m.Created
			}
		}
		s.Monitors = append(s.Monitors, m.watch)
	}
	s.Rules = query[filterRule](r, `SELECT {object}'ID', id, 'Tag', name, {hook}) FROM records WHERE kind = 'rule'`)
	s.Endpoints = query[endpoint](r, `SELECT {object}'ID', id, 'Source', parent, 'URL', name) FROM records WHERE kind = 'endpoint'`)
	return s, r.err
}

// reader runs queries, and keeps the first error.
type reader struct {
	ctx   context.Context
	db    *sql.DB
	words *strings.Replacer // of the dialect
	err   error
}

// query returns the rows of a query. Each row is one JSON text.
func query[T any](r *reader, text string) (list []T) {
	if r.err != nil || text == "" {
		return nil
	}
	rows, err := r.db.QueryContext(r.ctx, r.words.Replace(text))
	if err != nil {
		r.err = fmt.Errorf("crashtest: %s: %w", text, err)
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var doc []byte
		var v T
		if err = rows.Scan(&doc); err == nil {
			err = json.Unmarshal(doc, &v)
		}
		if err != nil {
			r.err = fmt.Errorf("crashtest: %s: %w", text, err)
			return nil
		}
		list = append(list, v)
	}
	r.err = rows.Err()
	return list
}

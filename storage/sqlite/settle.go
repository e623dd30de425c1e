package sqlite

import (
	"database/sql"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// conclude applies checked settlements of different deliveries.
func (t *tx) conclude(ss []deliver.Settlement, now time.Time) error {
	open, err := t.openDeliveries(ss)
	if err != nil {
		return err
	}
	var attempts, changes, alone, events []any
	ended := make(map[int64]bool)
	final := make(map[deliver.State][]any) // deliveries, by what they have become
	var deleted, late []any                // that ended with their endpoint: now, and before their attempt did
	end := func(d openDelivery) {
		if event := d.n >> placeBits; !ended[event] {
			ended[event] = true
			if d.alone {
				alone = append(alone, nanos(now), event, event)
			} else {
				events = append(events, event, nanos(now))
			}
		}
	}
	for i := range ss {
		st := &ss[i]
		d, ok := open[st.DeliveryID]
		if !ok {
			continue
		}
		n := d.n
		a := st.Attempt
		if a == nil && d.orphaned {
			continue
		}
		if a == nil && st.EndpointDeleted {
			deleted = append(deleted, n)
			end(d)
			continue
		}
		if a == nil { // given back
			changes = append(changes, n, nil, nanos(st.Due), 0, 0)
			continue
		}
		attempts = append(attempts, n, d.attempts, a.N, optional(a.At), int64(a.Duration), a.StatusCode, a.Error, a.ResponsePreview)
		if d.orphaned { // it was under way
			if st.State == deliver.StateDelivered {
				late = append(late, n)
			}
			continue
		}
		if !st.State.Final() {
			uncounted := 0
			if st.Wait > 0 {
				uncounted = 1
			}
			changes = append(changes, n, string(st.State), nanos(st.Due), uncounted, max(0, int64(st.Wait)))
			continue
		}
		final[st.State] = append(final[st.State], n)
		end(d)
	}
	err = t.execRows(`INSERT INTO attempts (delivery, place, attempt, at, duration, status_code, error, response_preview) VALUES {rows}`, 8, attempts)
	if err != nil {
		return err
	}
	crashpoint.Hit("sqlite.settle.attempt")
	err = t.execRows(`WITH change (n, state, due_at, uncounted, wait) AS (VALUES {rows})
		UPDATE deliveries SET state = coalesce(change.state, deliveries.state), due_at = change.due_at,
			earlier = earlier + change.uncounted, waited = waited + change.wait
		FROM change WHERE deliveries.n = change.n`, 5, changes)
	if err != nil {
		return err
	}
	for state, ns := range final {
		err = t.execRows(`UPDATE deliveries SET state = '`+string(state)+`', due_at = NULL WHERE n IN (VALUES {rows})`, 1, ns)
		if err != nil {
			return err
		}
	}
	err = t.execRows(`UPDATE deliveries SET state = 'failed', due_at = NULL, endpoint_deleted = 1 WHERE n IN (VALUES {rows})`, 1, deleted)
	if err != nil {
		return err
	}
	err = t.execRows(`UPDATE deliveries SET state = 'delivered', endpoint_deleted = 0 WHERE n IN (VALUES {rows})`, 1, late)
	if err != nil {
		return err
	}
	if err := t.execRows(`INSERT INTO settled (settled_at, first, last) VALUES {rows}`, 3, alone); err != nil {
		return err
	}
	return t.settle(events)
}

// openDelivery is one that may be settled.
type openDelivery struct {
	n        int64
	attempts int  // recorded so far
	alone    bool // its event has no other
	orphaned bool // its endpoint's deletion ended it
}

// openedMost bounds the deliveries remembered that were made and not settled yet.
const openedMost = 1 << 16

// openDeliveries gives those that may be settled and lack the attempt, by id: those
// that are open, and those that ended with their endpoint. Most were
// made a moment ago, and nothing has happened to them since.
func (t *tx) openDeliveries(ss []deliver.Settlement) (map[string]openDelivery, error) {
	open := make(map[string]openDelivery, len(ss))
	values := make([]any, 0, 2*len(ss))
	for i := range ss {
		if d, ok := t.w.known.opened[ss[i].DeliveryID]; ok {
			delete(t.w.known.opened, ss[i].DeliveryID) // even if the call is undone
			open[ss[i].DeliveryID] = d
			continue
		}
		var attempt any
		if ss[i].Attempt != nil {
			attempt = ss[i].Attempt.N
		}
		values = append(values, ss[i].DeliveryID, attempt)
	}
	err := t.eachRows(`WITH asked (id, attempt) AS (VALUES {rows})
		SELECT o.id, o.n, o.endpoint_deleted, (SELECT count(*) FROM attempts a WHERE a.delivery = o.n) FROM asked CROSS JOIN deliveries o ON o.id = asked.id
		WHERE (o.due_at IS NOT NULL OR o.endpoint_deleted) AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.delivery = o.n AND a.attempt = asked.attempt)`,
		2, values, func(rows *sql.Rows) error {
			var id string
			var d openDelivery
			err := rows.Scan(&id, &d.n, &d.orphaned, &d.attempts)
			open[id] = d
			return wrap(err)
		})
	// One that was made in this transaction is not as it was made any more.
	if len(values) > 0 && len(t.opened) > 0 {
		t.opened = slices.DeleteFunc(slices.Clone(t.opened), func(d openedDelivery) bool {
			_, found := open[d.id]
			return found
		})
	}
	return open, err
}

// settle notes those events that have no open delivery any more: they may be
// removed. Values are events, of each of which a delivery has ended, and the
// time.
func (t *tx) settle(values []any) error {
	return t.execRows(`WITH ended (event, at) AS (VALUES {rows})
		INSERT INTO settled (settled_at, first, last) SELECT at, event, event FROM ended
		WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE `+ofEvent("d.n", "ended.event")+` AND d.due_at IS NOT NULL)`, 2, values)
}

package memory_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// withLog returns a store with events of acme for the tweets 1 to 5. The even ones are
// by ESA and of the source m2. Each has a delivery to one handler, 5 to two; that of 1
// was delivered, that of 2 failed. Globex has one event, for tweet 9.
func withLog(t *testing.T) (*memory.Store, []deliver.Delivery) {
	s, _ := open(t, memory.Options{})
	var evs []deliver.Event
	for i := 1; i <= 5; i++ {
		ev := handled(acme, fmt.Sprint(i), "a")
		if i%2 == 0 {
			ev = handled(acme2, fmt.Sprint(i), "a")
			ev.AuthorUsername = "ESA"
		}
		evs = append(evs, ev)
	}
	evs[4].Handlers = []string{"a", "b"}
	ds := commitAt(t, s, start, append(evs, handled(globex, "9", "a"))...).Deliveries
	must(t, s.Outbox().Settle(t.Context(),
		deliver.Settlement{DeliveryID: ds[0].ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateDelivered},
		deliver.Settlement{DeliveryID: ds[1].ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateFailed},
	))
	return s, ds
}

func TestDeliveryLog(t *testing.T) {
	type query = deliver.LogQuery
	for _, row := range []struct {
		name  string
		q     query
		want  string // tweet and handler
		total int
	}{
		{"the newest first", query{Owner: "acme"}, "5b 5a 4a 3a 2a 1a", 6},
		{"the oldest first", query{Owner: "acme", Asc: true}, "1a 2a 3a 4a 5a 5b", 6},
		{"first page", query{Owner: "acme", Page: 1, PageSize: 4}, "5b 5a 4a 3a", 6},
		{"second page", query{Owner: "acme", Page: 2, PageSize: 4}, "2a 1a", 6},
		{"second page, oldest first", query{Owner: "acme", Page: 2, PageSize: 4, Asc: true}, "5a 5b", 6},
		{"beyond the last page", query{Owner: "acme", Page: 3, PageSize: 4}, "", 6},
		{"far beyond", query{Owner: "acme", Page: math.MaxInt, PageSize: deliver.MaxLogPage}, "", 6},
		{"of one source", query{Owner: "acme", SourceID: acme2.ID}, "4a 2a", 2},
		{"of one author, whatever the case", query{Owner: "acme", AuthorUsername: "nAsA"}, "5b 5a 3a 1a", 4},
		{"in one state", query{Owner: "acme", State: deliver.StateFailed}, "2a", 1},
		{"pages of one state", query{Owner: "acme", State: deliver.StatePending, Page: 2, PageSize: 3}, "3a", 4},
		{"all filters", query{Owner: "acme", SourceID: acme2.ID, AuthorUsername: "esa", State: deliver.StatePending}, "4a", 1},
		{"another owner's", query{Owner: "globex"}, "9a", 1},
		{"another owner's source", query{Owner: "globex", SourceID: acme.ID}, "", 0},
		{"of an owner never seen", query{Owner: "initech"}, "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, _ := withLog(t)
			page, err := s.Log().Deliveries(t.Context(), row.q)
			must(t, err)
			var got []string
			for _, e := range page.Entries {
				name, _ := deliver.HandlerName(e.EndpointID)
				got = append(got, e.Event.TweetID+name)
				want(t, "attempts", len(e.Log), e.Attempts)
			}
			want(t, "entries", strings.Join(got, " "), row.want)
			want(t, "total", page.Total, row.total)
		})
	}
}

func TestLoggedDelivery(t *testing.T) {
	s, ds := withLog(t)
	for _, row := range []struct {
		name, owner, id string
		want            error
	}{
		{"one's own", "acme", ds[0].ID, nil},
		{"one's own, open", "acme", ds[3].ID, nil},
		{"another owner's", "globex", ds[0].ID, deliver.ErrDeliveryNotFound},
		{"unknown", "acme", "unknown", deliver.ErrDeliveryNotFound},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, err := s.Log().Delivery(t.Context(), row.owner, row.id)
			wantErr(t, err, row.want)
			if row.want == nil {
				want(t, "id", e.ID, row.id)
			}
		})
	}
}

func TestLoggedEvents(t *testing.T) {
	s, _ := withLog(t)
	for _, row := range []struct {
		name, owner string
		after       uint64
		limit       int
		want        string
	}{
		{"from the beginning", "acme", 0, 100, "1:1 2:2 3:3 4:4 5:5"},
		{"after one seen", "acme", 3, 100, "4:4 5:5"},
		{"no more than the limit", "acme", 1, 2, "2:2 3:3"},
		{"after the last", "acme", 5, 100, ""},
		{"after one that is not there yet", "acme", math.MaxUint64, 100, ""},
		{"limit zero", "acme", 0, 0, ""},
		{"another owner's", "globex", 0, 100, "1:9"},
		{"of an owner never seen", "initech", 0, 100, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			evs, err := s.Log().Events(t.Context(), row.owner, row.after, row.limit)
			must(t, err)
			want(t, "events", tweets(evs), row.want)
		})
	}
}

package search_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/search"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

var begin = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// forgetful is a store whose feed has no old entries.
type forgetful struct{ record.Store }

func (f forgetful) Since(ctx context.Context, after uint64, limit int) ([]record.Entry, uint64, error) {
	_, last, err := f.Store.Since(ctx, after, limit)
	if err == nil && after < last {
		err = record.ErrTooOld
	}
	return nil, last, err
}

func put(t *testing.T, records record.Store, list ...interface {
	Record() (record.Record, error)
}) {
	t.Helper()
	for _, of := range list {
		r, err := of.Record()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := records.Apply(t.Context(), record.Change{Put: []record.Record{r}}); err != nil {
			t.Fatal(err)
		}
	}
}

func names(t *testing.T, x *search.Index, q search.Query) string {
	t.Helper()
	if q.Size == 0 {
		q.Size = 10
	}
	page, err := x.List(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range page.Entries {
		list = append(list, e.Name)
	}
	return strings.Join(list, " ")
}

// The index has what is in the store whenever it is used, whether it follows changes or reads all.
func TestIndex(t *testing.T) {
	for name, wrap := range map[string]func(record.Store) record.Store{
		"by the feed": func(s record.Store) record.Store { return s },
		"anew":        func(s record.Store) record.Store { return forgetful{s} },
	} {
		t.Run(name, func(t *testing.T) {
			ports := memory.New(memory.Options{}).Ports()
			records := wrap(ports.Records)
			x := search.New(records)
			if got := names(t, x, search.Query{Kind: record.Monitor, All: true}); got != "" {
				t.Errorf("an empty store has %q", got)
			}
			put(t, records,
				monitor.Monitor{ID: "mon_1", Owner: "acme", Name: "space", Accounts: []monitor.Account{{Username: "NASA"}}, Status: monitor.Active, CreatedAt: begin},
				monitor.Monitor{ID: "mon_2", Owner: "globex", Name: "sea", Accounts: []monitor.Account{{Username: "noaa"}}, Status: monitor.Paused, CreatedAt: begin.Add(time.Second)},
				rule.Rule{ID: "rul_1", Owner: "acme", Tag: "launch", Query: "Lift Off", Status: rule.Active, CreatedAt: begin},
				deliver.Endpoint{ID: "whk_1", Source: deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_1", Owner: "acme", Name: "space"}, URL: "https://user:word@hooks.example.com/in?token=x", Status: deliver.EndpointActive, PausedSince: begin, CreatedAt: begin},
				apikey.Key{ID: "key_1", Owner: "acme", Name: "ci", Hash: "a", Prefix: "sw_live_ab", CreatedAt: begin, ExpiresAt: begin.Add(time.Hour)},
				apikey.Key{ID: "key_2", Owner: "acme", Name: "old", Hash: "b", Prefix: "sw_live_cd", CreatedAt: begin, RevokedAt: begin})
			for _, row := range []struct {
				q    search.Query
				want string
			}{
				{search.Query{Kind: record.Monitor, All: true}, "sea space"},
				{search.Query{Kind: record.Monitor, Owner: "acme"}, "space"},
				{search.Query{Kind: record.Monitor}, ""},
				{search.Query{Kind: record.Monitor, All: true, Find: "nasa"}, "space"},
				{search.Query{Kind: record.Monitor, All: true, Find: "MON_2"}, "sea"},
				{search.Query{Kind: record.Monitor, All: true, State: "paused"}, "sea"},
				{search.Query{Kind: record.Monitor, All: true, State: "failing", Troubled: map[record.Key]bool{{Kind: record.Monitor, ID: "mon_1"}: true}}, "space"},
				{search.Query{Kind: record.Monitor, All: true, Troubled: map[record.Key]bool{{Kind: record.Monitor, ID: "mon_1"}: true}}, "space sea"},
				{search.Query{Kind: record.Rule, All: true, Find: "lift off"}, "launch"},
				{search.Query{Kind: record.Endpoint, All: true, Find: "hooks.example"}, "https://hooks.example.com/in …"},
				{search.Query{Kind: record.Endpoint, All: true, Find: "token"}, ""},
				{search.Query{Kind: record.Endpoint, All: true, Find: "word"}, ""},
				{search.Query{Kind: record.Endpoint, All: true, State: "paused"}, "https://hooks.example.com/in …"},
				{search.Query{Kind: record.APIKey, All: true, State: "active", Now: begin}, "ci"},
				{search.Query{Kind: record.APIKey, All: true, State: "expired", Now: begin.Add(time.Hour)}, "ci"},
				{search.Query{Kind: record.APIKey, All: true, State: "revoked"}, "old"},
			} {
				if got := names(t, x, row.q); got != row.want {
					t.Errorf("%+v: %q, want %q", row.q, got, row.want)
				}
			}
			if owner, ok, err := x.OwnerOf(t.Context(), record.Key{Kind: record.Endpoint, ID: "whk_1"}); owner != "acme" || !ok || err != nil {
				t.Errorf("the endpoint is of %q: %t, %v", owner, ok, err)
			}
			list, total, err := x.Owners(t.Context(), "", "", 1)
			if err != nil || total != 2 || len(list) != 1 || list[0] != (search.Owner{Name: "acme", Monitors: 1, Rules: 1, Endpoints: 1, Keys: 2}) {
				t.Errorf("owners %+v of %d: %v", list, total, err)
			}
			if list, _, err := x.Owners(t.Context(), "", "acme", 9); err != nil || len(list) != 1 || list[0].Name != "globex" {
				t.Errorf("owners behind acme: %+v, %v", list, err)
			}
			if _, err := records.Apply(t.Context(), record.Change{Delete: []record.Ref{{Key: record.Key{Kind: record.Monitor, ID: "mon_1"}, Owner: "acme"}}}); err != nil {
				t.Fatal(err)
			}
			renamed := monitor.Monitor{ID: "mon_2", Owner: "globex", Name: "ocean", Accounts: []monitor.Account{{Username: "noaa"}}, Status: monitor.Active, CreatedAt: begin.Add(time.Second), Version: 1}
			put(t, records, renamed)
			if got := names(t, x, search.Query{Kind: record.Monitor, All: true}); got != "ocean" {
				t.Errorf("after a change and a deletion: %q", got)
			}
			if got := names(t, x, search.Query{Kind: record.Endpoint, All: true}); got != "" {
				t.Errorf("the endpoint of a deleted monitor is there: %q", got)
			}
			if o, err := x.Owner(t.Context(), "acme"); err != nil || o != (search.Owner{Name: "acme", Rules: 1, Keys: 2}) {
				t.Errorf("acme has %+v, %v", o, err)
			}
			// An erased owner's records vanish without changes of their own.
			if _, err := records.Apply(t.Context(), record.Change{Gone: &record.Gone{Owner: "acme", Until: time.Now().Add(time.Hour)}}); err != nil {
				t.Fatal(err)
			}
			if _, err := ports.Sweeper.Sweep(t.Context(), "acme"); err != nil {
				t.Fatal(err)
			}
			if got := names(t, x, search.Query{Kind: record.Rule, All: true}) + names(t, x, search.Query{Kind: record.APIKey, All: true}); got != "" {
				t.Errorf("of an erased owner there is %q", got)
			}
			if list, total, err := x.Owners(t.Context(), "", "", 9); err != nil || total != 1 || list[0].Name != "globex" {
				t.Errorf("owners after an erasure: %+v, %v", list, err)
			}
			if got := names(t, x, search.Query{Kind: record.Monitor, All: true}); got != "ocean" {
				t.Errorf("another owner's monitors after an erasure: %q", got)
			}
		})
	}
}

// Each record comes once on the pages, also those of one moment, and also if others come and go.
func TestPages(t *testing.T) {
	records := memory.New(memory.Options{}).Ports().Records
	x := search.New(records)
	for n := range 25 {
		put(t, records, rule.Rule{ID: fmt.Sprintf("rul_%02d", n*7%25), Owner: "acme", Tag: fmt.Sprintf("%02d", n), Query: "q", Status: rule.Active, CreatedAt: begin.Add(time.Duration(n/5) * time.Second)})
	}
	seen := map[string]bool{}
	q := search.Query{Kind: record.Rule, Owner: "acme", Size: 10}
	for pages := 1; ; pages++ {
		page, err := x.List(t.Context(), q)
		if err != nil || page.Counts["active"] < 25 {
			t.Fatalf("%+v, %v", page.Counts, err)
		}
		for _, e := range page.Entries {
			if seen[e.Name] {
				t.Errorf("%s comes again", e.Name)
			}
			seen[e.Name] = true
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			if pages != 3 {
				t.Errorf("%d pages, want 3", pages)
			}
			break
		}
		put(t, records, rule.Rule{ID: fmt.Sprint("rul_new", pages), Owner: "acme", Tag: fmt.Sprint("new", pages), Query: "q", Status: rule.Active, CreatedAt: begin.Add(time.Hour)})
	}
	if len(seen) != 25 {
		t.Errorf("%d rules, want 25", len(seen))
	}
	for _, cursor := range []string{"x", "1", ".a", "x.rul_1"} {
		if _, err := x.List(t.Context(), search.Query{Kind: record.Rule, All: true, Cursor: cursor}); !errors.Is(err, search.ErrCursor) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := search.New(records).List(ended, q); err == nil {
		t.Error("no error of an ended context")
	}
}

package enginehttp_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

// A node dies after it has carried a request out, and before it has stored the answer. The
// key is taken until 10 s after the longest time that a request may take. Then a repetition
// through another node is carried out, and nothing is there twice.
func TestIdempotencyKeyOfANodeThatDiedWithTheAnswer(t *testing.T) {
	second := map[string]struct { // what the repetition gets
		status int
		text   string
	}{
		"create_key":         {201, `"key":"sw_live_`}, // another one
		"create_monitor":     {409, "a monitor of this name exists already"},
		"create_webhook":     {409, "the monitor or rule has a webhook of this URL already"},
		"create_filter_rule": {409, "a filter rule of this tag exists already"},
		"test_webhook":       {200, `"success":true`},
		"rotate_webhook":     {200, `"secret":"whsec_`},
		"recover_webhook":    {200, `"redelivers":0`},
		"replay_webhook":     {202, `"status":"done"`},
		"redeliver":          {200, `"delivery_status":"pending"`},
	}
	named := enginehttp.Names(newWorld(t).handler)
	names := enginehttp.Once(newWorld(t).handler)
	for _, e := range endpoints {
		name := named[e.pattern]
		if !slices.Contains(names, name) {
			continue
		}
		want, ok := second[name]
		if !ok {
			t.Errorf("%s: what does a repetition get?", name)
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				died, gone := make(chan struct{}), make(chan struct{})
				one := newWorld(t, func(s *setup) {
					s.options.Timeout = 20 * time.Second
					s.faults = func(below storage.Store) storage.Store {
						return swapping{below, func(_ swap, _ uint64, value []byte) (uint64, error) {
							if !answers(value) {
								return 0, errPass
							}
							close(died) // to all others
							<-gone
							return 0, record.ErrConflict
						}}
					}
				})
				two := one.other()
				before := two.totals()
				ended := make(chan answer)
				go func() { ended <- one.once("k", e.method(), e.path, e.body) }()
				<-died
				made := two.totals()
				<-time.After(30*time.Second - 1)
				if a := two.once("k", e.method(), e.path, e.body); a.status != 409 || a.header.Get("Retry-After") != "1" {
					t.Errorf("before the lease is over: %d %s", a.status, a.body)
				}
				<-time.After(1)
				a := two.once("k", e.method(), e.path, e.body)
				if a.status != want.status || !strings.Contains(a.body, want.text) || a.header.Get("Idempotent-Replayed") != "" {
					t.Errorf("after it: %d %s, want %d %s", a.status, a.body, want.status, want.text)
				}
				if got := two.totals(); name != "create_key" && !slices.Equal(got, made) {
					t.Errorf("there were %q, then %q; after the repetition %q", before, made, got)
				}
				if a.status < 300 {
					if again := two.once("k", e.method(), e.path, e.body); again.body != a.body || again.header.Get("Idempotent-Replayed") != "true" {
						t.Errorf("a third time: %d %s, want what the second got", again.status, again.body)
					}
				}
				close(gone)
				<-ended
			})
		})
	}
}

// totals is how many of each thing an owner has.
func (w *world) totals() (all []string) {
	w.Helper()
	for _, path := range []string{"/v1/account/keys", monitors, webhooks, rules} {
		_, total, _ := strings.Cut(w.do(mine, "GET", path, "").body, `"total":`)
		total, _, _ = strings.Cut(total, ",")
		all = append(all, path+" "+total)
	}
	return all
}

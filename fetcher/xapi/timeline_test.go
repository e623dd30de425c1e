package xapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

// rig is a Fetcher of a fake server, with a clock that stands still, and the queries
// that the server got.
type rig struct {
	*xapitest.Server
	*xapi.Fetcher
	t     testing.TB
	mu    sync.Mutex
	now   time.Time
	asked []url.Values
	paths []string
	slow  time.Duration   // how long an answer takes
	known map[string]bool // what the caller has dealt with
}

func newRig(t testing.TB, server xapitest.Config, change func(*xapi.Config)) *rig {
	r := &rig{t: t, now: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC), known: map[string]bool{}}
	server.Now = r.clock
	r.Server = xapitest.New(server)
	cfg := xapi.Config{Token: "token", Now: r.clock, HTTP: &http.Client{Transport: r}}
	if change != nil {
		change(&cfg)
	}
	var err error
	if r.Fetcher, err = xapi.New(cfg); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// RoundTrip has the server answer.
func (r *rig) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.asked, r.paths = append(r.asked, req.URL.Query()), append(r.paths, req.URL.Path)
	r.mu.Unlock()
	select {
	case <-time.After(r.slow):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w.Result(), nil
}

// last is the last request's parameter.
func (r *rig) last(parameter string) string { return r.asked[len(r.asked)-1].Get(parameter) }

// read reads an account as an engine does that has dealt with everything it got.
func (r *rig) read(q fetcher.TimelineQuery) fetcher.Page {
	r.t.Helper()
	q.Seen = func(id string) bool { return r.known[id] }
	page, err := r.Timeline(context.Background(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, tw := range page.Tweets {
		r.known[tw.ID] = true
	}
	return page
}

func texts(p fetcher.Page) (all []string) {
	for _, tw := range p.Tweets {
		all = append(all, tw.Text)
	}
	return all
}

// An account is read from the newest known post on, and from the overlap on where that
// is not known, or older.
func TestTimelineIsBoundedBelow(t *testing.T) {
	r := newRig(t, xapitest.Config{}, nil)
	id := r.AddAccount("ann")
	overlap := func() time.Time { return r.clock().Add(-5 * time.Minute) }
	for range 8 {
		r.Post("ann", "old")
		r.pass(time.Second)
	}
	if p := r.read(fetcher.TimelineQuery{Username: "ann"}); len(p.Tweets) != 5 || r.last("max_results") != "5" || r.last("since_id")+r.last("start_time") != "" || p.Next == "" {
		t.Errorf("the first read has %d posts, asked for with %v: want the newest 5, and Next", len(p.Tweets), r.asked)
	}
	r.pass(time.Hour)
	since := overlap()
	p := r.read(fetcher.TimelineQuery{Username: "ann", Since: since})
	if want := since.Add(-15 * time.Minute).UTC().Format(time.RFC3339); r.last("start_time") != want || r.last("since_id") != "" || r.last("max_results") != "100" {
		t.Errorf("the second read asks for %v: want what is newer than %s", r.asked[len(r.asked)-1], want)
	}
	if len(p.Tweets) != 0 || p.Next != "" || !p.OldestAt.Equal(since) || p.UserID != id || p.Billed != (fetcher.Billed{}) {
		t.Errorf("nothing new: %+v, want an empty page back to %s that costs nothing", p, since)
	}
	newest := r.Post("ann", "new")
	r.pass(time.Minute)
	if p = r.read(fetcher.TimelineQuery{Username: "ann", Since: overlap()}); len(p.Tweets) != 1 || p.Billed.Posts != 1 {
		t.Errorf("one post is new: %+v", p)
	}
	if p = r.read(fetcher.TimelineQuery{Username: "ann", Since: overlap()}); len(p.Tweets)+p.Skipped != 0 || r.last("since_id") != newest || r.last("start_time") != "" || !p.OldestAt.Equal(overlap()) {
		t.Errorf("the post is read again: %+v, asked for with %v: want what follows it", p, r.asked[len(r.asked)-1])
	}
	r.known = map[string]bool{} // the commit failed
	if p = r.read(fetcher.TimelineQuery{Username: "ann", Since: overlap()}); len(p.Tweets) != 1 || r.last("since_id") != "" {
		t.Errorf("a post that was not dealt with: %+v, asked for with %v: want it again", texts(p), r.asked[len(r.asked)-1])
	}
	r.pass(10 * time.Minute)
	if r.read(fetcher.TimelineQuery{Username: "ann", Since: overlap()}); r.last("since_id") != "" {
		t.Errorf("the newest post is older than the overlap, and is asked for with %v: want by time", r.asked[len(r.asked)-1])
	}
	if n := r.Calls("/2/users/by"); n != 1 {
		t.Errorf("%d look-ups of the account, want one", n)
	}
}

// A post that becomes visible behind one that is known is found by the next audit, though
// the overlap does not reach it any more.
func TestAuditFindsWhatBecameVisibleLate(t *testing.T) {
	r := newRig(t, xapitest.Config{}, func(cfg *xapi.Config) { cfg.AuditEvery = 30 * time.Minute })
	r.AddAccount("ann")
	read := func() fetcher.Page {
		r.pass(90 * time.Second)
		return r.read(fetcher.TimelineQuery{Username: "ann", Since: r.clock().Add(-3 * time.Minute)})
	}
	read() // an audit
	r.Post("ann", "one")
	at := r.clock()
	read()
	r.Publish("ann", xapitest.Post{Text: "late", At: at.Add(-4 * time.Second)})
	found := time.Duration(0)
	for found == 0 && r.clock().Sub(at) < 2*time.Hour {
		if slices.Contains(texts(read()), "late") {
			found = r.clock().Sub(at)
		}
	}
	if found == 0 || found > 33*time.Minute {
		t.Errorf("the late post is found after %s, want within an audit's interval of 30 minutes", found)
	}
	if b := r.Billed(); b.Posts != 2 {
		t.Errorf("billed for %d posts, want the two that there are", b.Posts)
	}
}

// Such a post is found as well when the process was started anew meanwhile, by the first read.
func TestStartFindsWhatBecameVisibleLate(t *testing.T) {
	r := newRig(t, xapitest.Config{}, nil)
	r.AddAccount("ann")
	read := func() []string {
		r.pass(90 * time.Second)
		return texts(r.read(fetcher.TimelineQuery{Username: "ann", Since: r.clock().Add(-3 * time.Minute)}))
	}
	read()
	r.Post("ann", "one")
	at := r.clock()
	read()
	r.Publish("ann", xapitest.Post{Text: "late", At: at.Add(-4 * time.Second)})
	for range 3 {
		if slices.Contains(read(), "late") {
			t.Fatal("the late post is found before the audit")
		}
	}
	r.asked, r.Fetcher = nil, mustNew(t, r)
	if !slices.Contains(read(), "late") {
		t.Errorf("the late post is not found after a start: asked for %v", r.asked)
	}
}

// A read of several pages keeps its bound, in the next process as well, and what it has
// shown counts only at its end.
func TestCursorCarriesTheBound(t *testing.T) {
	r := newRig(t, xapitest.Config{}, nil)
	r.AddAccount("ann")
	r.Post("ann", "before")
	r.pass(20 * time.Minute)
	since := r.clock()
	for i := range 12 {
		r.Post("ann", fmt.Sprint("number ", i))
		r.pass(10 * time.Second)
	}
	q := fetcher.TimelineQuery{Username: "ann", Since: since, Limit: 5}
	p := r.read(q)
	var all []string
	pages := 0
	for ; ; p = r.read(q) {
		all = append(all, texts(p)...)
		pages++
		if p.Next == "" {
			break
		}
		if !p.OldestAt.After(since) {
			t.Errorf("page %d says that it reaches back to %s", pages, p.OldestAt)
		}
		q.Cursor, q.Since = p.Next, time.Time{} // as a gap is read
		r.asked, r.Fetcher = nil, mustNew(t, r) // with a memory of its own
	}
	if len(all) != 12 || pages != 3 || !p.OldestAt.Equal(since) {
		t.Errorf("%d pages with %q back to %s: want the 12 posts since %s on 3", pages, all, p.OldestAt, since)
	}
	if r.last("start_time") != since.Add(-15*time.Minute).Format(time.RFC3339) || r.last("pagination_token") == "" {
		t.Errorf("the last page is asked for with %v: want the bound of the first", r.asked)
	}
}

func mustNew(t testing.TB, r *rig) *xapi.Fetcher {
	f, err := xapi.New(xapi.Config{Token: "token", Now: r.clock, HTTP: &http.Client{Transport: r}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCursorsAreChecked(t *testing.T) {
	r := newRig(t, xapitest.Config{}, nil)
	r.AddAccount("ann")
	for _, cursor := range []string{"x", "x1~~~~~~", "x1~a~~~~~tok", "x1~~-1~~~~tok", "x1~~~~~~tok&since_id=1", "x1~~~~~~" + strings.Repeat("a", 2000), "x2~~~~~~tok", "x1~~~~~tok"} {
		if _, err := r.Timeline(context.Background(), fetcher.TimelineQuery{Username: "ann", Cursor: cursor}); err == nil || !strings.Contains(err.Error(), "cursor is not allowed") {
			t.Errorf("cursor %.40q: %v, want it refused", cursor, err)
		}
	}
	if n := r.Calls("/2/users/:id/tweets"); n != 0 {
		t.Errorf("%d calls with such cursors, want none", n)
	}
}

// A post with an impossible id is no lower bound: it would hide what follows.
func TestAPostOfTheFutureIsNoBound(t *testing.T) {
	r := newRig(t, xapitest.Config{}, nil)
	r.AddAccount("ann")
	since := func() time.Time { return r.clock().Add(-5 * time.Minute) }
	r.read(fetcher.TimelineQuery{Username: "ann", Since: since()})
	r.Publish("ann", xapitest.Post{Text: "future", At: r.clock().Add(time.Hour)})
	r.pass(time.Minute)
	r.read(fetcher.TimelineQuery{Username: "ann", Since: since()})
	r.Post("ann", "present")
	r.pass(time.Minute)
	if p := r.read(fetcher.TimelineQuery{Username: "ann", Since: since()}); !slices.Contains(texts(p), "present") {
		t.Errorf("after a post with an id of the future the next one is hidden: %v", r.asked[len(r.asked)-1])
	}
}

// A page with something that is no post is no end of a read: what was left out would lie
// behind its newest post.
func TestABrokenPostIsNotPassedBy(t *testing.T) {
	r := newRig(t, xapitest.Config{}, nil)
	id := r.AddAccount("ann")
	q := func() fetcher.TimelineQuery {
		return fetcher.TimelineQuery{UserID: id, Since: r.clock().Add(-5 * time.Minute)}
	}
	r.read(q())
	newest := r.Post("ann", "whole")
	r.Instead(says(200, `{"data":[{"id":"`+newest+`","text":"whole"},{"id":{"torn":1}}],"meta":{"result_count":2}}`))
	if p := r.read(q()); len(p.Tweets) != 2 || !p.Tweets[1].PublishedAt.IsZero() {
		t.Errorf("the page is %+v: want the post, and one that is dropped", p)
	}
	r.Instead(nil)
	if r.read(q()); r.last("since_id") != "" {
		t.Errorf("after a broken post, what follows %s is asked for: want the broken one again", r.last("since_id"))
	}
}

// Accounts that wait at the same time are looked up together.
func TestLookUpsGoTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, xapitest.Config{}, nil)
		const n = 250
		for i := range n {
			r.AddAccount(fmt.Sprint("user", i))
		}
		r.slow = time.Second
		pages := make([]fetcher.Page, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				var err error
				if pages[i], err = r.Timeline(context.Background(), fetcher.TimelineQuery{Username: fmt.Sprint("USER", i)}); err != nil {
					t.Error(err)
				}
			})
			if i == 0 {
				synctest.Wait() // it asks for itself alone
			}
		}
		wg.Wait()
		if calls := r.Calls("/2/users/by"); calls != 4 {
			t.Errorf("%d look-ups of %d accounts, want one, and then three of those that waited for it", calls, n)
		}
		var billed fetcher.Billed
		for _, p := range pages {
			billed = billed.Plus(p.Billed)
		}
		if billed.Users != n || r.Billed() != billed {
			t.Errorf("billed %+v, by the server %+v: want %d accounts", billed, r.Billed(), n)
		}
	})
}

// A look-up of several whose first one gives up goes on for the others.
func TestLookUpGoesOnForTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, xapitest.Config{}, nil)
		for i := range 3 {
			r.AddAccount(fmt.Sprint("user", i))
		}
		r.slow = time.Second
		patience := []time.Duration{time.Hour, 1500 * time.Millisecond, time.Hour}
		errs := make([]error, len(patience))
		var wg sync.WaitGroup
		for i, d := range patience {
			ctx, cancel := context.WithTimeout(context.Background(), d)
			defer cancel()
			wg.Go(func() {
				_, errs[i] = r.Timeline(ctx, fetcher.TimelineQuery{Username: fmt.Sprint("user", i)})
			})
			synctest.Wait()
		}
		wg.Wait() // the second asks for itself and the third from 1 s on
		if errs[0] != nil || !errors.Is(errs[1], context.DeadlineExceeded) || errs[2] != nil {
			t.Errorf("errors %v: want one of the second alone, whose time was up", errs)
		}
	})
}

func TestLookUpOfNobodyFailsAlone(t *testing.T) {
	r := newRig(t, xapitest.Config{}, nil)
	r.AddAccount("ann")
	r.AddAccount("gone")
	r.SetSuspended("gone", true)
	for name, want := range map[string]error{"nobody": fetcher.ErrNotFound, "gone": fetcher.ErrProtected, "no handle!": fetcher.ErrNotFound, "ann": nil} {
		_, err := r.Timeline(context.Background(), fetcher.TimelineQuery{Username: name})
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
	if b := r.Billed(); b.Users != 1 {
		t.Errorf("billed for %d accounts, want the one that there is", b.Users)
	}
}

// An answer that does not say what an account is says nothing about it.
func TestLookUpThatIsNotWhole(t *testing.T) {
	for name, row := range map[string]struct {
		answer string
		want   error
	}{
		"an error of the whole answer": {`{"errors":[{"type":"https://api.x.com/2/problems/internal-error","title":"Internal Error"}]}`, nil},
		"an error beside another":      {`{"data":[{"id":"12","username":"bob"}],"errors":[{"type":"https://api.x.com/2/problems/internal-error","title":"Internal Error"}]}`, nil},
		"nothing":                      {`{"meta":{}}`, fetcher.ErrMalformed},
		"another account":              {`{"data":[{"id":"12","username":"bob"}]}`, fetcher.ErrNotFound},
		"an account without a handle":  {`{"data":[{"id":"12"}]}`, fetcher.ErrNotFound},
		"an error of the account":      {`{"errors":[{"type":"https://api.x.com/2/problems/resource-not-found","value":"ANN","parameter":"usernames"}]}`, fetcher.ErrNotFound},
	} {
		r := newRig(t, xapitest.Config{}, nil)
		r.Instead(says(200, row.answer))
		_, err := r.Timeline(context.Background(), fetcher.TimelineQuery{Username: "ann"})
		if err == nil || errors.Is(err, fetcher.ErrNotFound) != (row.want == fetcher.ErrNotFound) || row.want != nil && !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v alone", name, err, row.want)
		}
	}
}

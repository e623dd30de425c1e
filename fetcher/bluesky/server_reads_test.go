package bluesky_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/bluesky"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
)

// The contract of a Fetcher, on a real PDS. What no client can make a server do is
// tested on a fake one, by TestFetcher.
func TestServerFetcher(t *testing.T) {
	s := needServer(t)
	accounts := s.people(3)
	made := map[*person][]string{} // keys of the posts that are there
	open := func(t testing.TB) fetchertest.Upstream {
		byHandle := map[string]*person{}
		var handles []string
		for _, p := range accounts {
			if len(made[p]) > 0 { // of the case before
				p.clear(made[p])
				delete(made, p)
			}
			byHandle[p.handle] = p
			handles = append(handles, p.handle)
		}
		n := 0
		return fetchertest.Upstream{
			New:      func(t testing.TB) fetcher.Fetcher { return s.fetcher(bluesky.Config{PDS: s.url, PageSize: 8}) },
			Accounts: handles,
			Post: func(account, words string, at time.Time) {
				// The last bits of a key tell posts of one moment apart.
				const digits = "234567abcdefghijklmnopqrstuvwxyz"
				key := timestampID(at)[:11] + string(digits[n/32%32]) + string(digits[n%32])
				n++
				p := byHandle[account]
				made[p] = append(made[p], key)
				_, err := p.put(t.Context(), key, text(words, at))
				s.must(err)
			},
			Missing: "nobody-" + handles[0],
		}
	}
	fetchertest.TestFetcher(t, fetchertest.Kit{PageSize: 8, Open: open})
}

// png is a picture of one pixel.
var png, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

func TestServerTimeline(t *testing.T) {
	s := needServer(t)
	people := s.people(2)
	ann, bob := people[0], people[1]
	theirs, theirCID := bob.create(postCollection, text("by bob", time.Now()))
	subject := object{"uri": theirs, "cid": theirCID}

	var picture struct{ Blob object }
	s.must(s.call(t.Context(), ann.token, "com.atproto.repo.uploadBlob", png, &picture))
	began := time.Now().Truncate(time.Second)
	plain, _ := ann.create(postCollection, text("plain", began.AddDate(-1, 0, 0)))
	reply := text("a reply", began)
	reply["reply"] = object{"root": subject, "parent": subject}
	replied, _ := ann.create(postCollection, reply)
	pictured := text("see #this", began)
	pictured["facets"] = []object{{"index": object{"byteStart": 4, "byteEnd": 9}, "features": []object{{"$type": "app.bsky.richtext.facet#tag", "tag": "this"}}}}
	pictured["embed"] = object{"$type": "app.bsky.embed.images", "images": []object{{"image": picture.Blob, "alt": "a dot", "aspectRatio": object{"width": 1, "height": 1}}}}
	shown, _ := ann.create(postCollection, pictured)
	reposted, _ := ann.create(repostCollection, object{"$type": repostCollection, "subject": subject, "createdAt": text("", began)["createdAt"]})

	f := s.fetcher(bluesky.Config{PDS: s.url})
	page := s.whole(f, fetcher.TimelineQuery{Username: ann.handle})
	if got, want := ids(page), []string{reposted, shown, replied, plain}; !slices.Equal(got, want) {
		t.Fatalf("posts %q, want %q", got, want)
	}
	if page.UserID != ann.did || page.ServerTime.IsZero() {
		t.Errorf("page of %q, server time %s", page.UserID, page.ServerTime)
	}
	for i, tw := range page.Tweets {
		// createdAt is a year ago for one of them: the keys are the server's clock.
		if at := tw.PublishedAt; at.Before(began) || at.After(page.ServerTime.Add(time.Second)) {
			t.Errorf("post %d: published at %s, not between %s and %s", i, at, began, page.ServerTime)
		}
		if tw.UserID != ann.did || tw.Username != ann.handle {
			t.Errorf("post %d is by %q, %q", i, tw.UserID, tw.Username)
		}
	}
	if tw := page.Tweets[0]; !tw.IsRetweet || tw.RetweetedStatusID != theirs {
		t.Errorf("repost %+v", tw)
	}
	if tw := page.Tweets[2]; tw.Text != "a reply" || tw.InReplyToStatusID != theirs || tw.InReplyToUserID != bob.did {
		t.Errorf("reply %+v", tw)
	}
	tw := page.Tweets[1]
	if len(tw.Hashtags) != 1 || len(tw.Media) != 1 {
		t.Fatalf("picture %+v", tw)
	}
	resp, err := s.http.Get(tw.Media[0].URL)
	s.must(err)
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(b, png) {
		t.Errorf("%s is %d bytes, %v, want the picture", tw.Media[0].URL, len(b), err)
	}

	// By the DID, and after an edit, a deletion and a restart of the program.
	_, err = ann.put(t.Context(), plain[len(plain)-13:], text("edited", began))
	s.must(err)
	ann.remove(replied)
	page = s.whole(s.fetcher(bluesky.Config{PDS: s.url}), fetcher.TimelineQuery{Username: "x", UserID: ann.did})
	if got, want := ids(page), []string{reposted, shown, plain}; !slices.Equal(got, want) || page.Tweets[2].Text != "edited" {
		t.Errorf("posts %q, want %q; the last is %+v", got, want, page.Tweets[len(page.Tweets)-1])
	}
}

// whole reads a timeline to its end. A page ends where a list of the server does, for
// all that the adapter knows: its cursor says that there may be more.
func (s *realServer) whole(f *bluesky.Fetcher, q fetcher.TimelineQuery) (all fetcher.Page) {
	s.t.Helper()
	for range 5 {
		page, err := f.Timeline(s.t.Context(), q)
		s.must(err)
		page.Tweets = append(all.Tweets, page.Tweets...)
		all, q.Cursor = page, page.Next
		if page.Next == "" {
			return all
		}
	}
	s.t.Fatalf("a timeline of %d posts has more than 5 pages", len(all.Tweets))
	return all
}

func ids(page fetcher.Page) (list []string) {
	for _, tw := range page.Tweets {
		list = append(list, tw.ID)
	}
	return list
}

// statuses counts the answers by status.
type statuses struct {
	next http.RoundTripper
	mu   sync.Mutex
	n    map[int]int
}

func (c *statuses) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.n[resp.StatusCode]++
	}
	return resp, err
}

// A page that is the same costs the server no body.
func TestServerUnchanged(t *testing.T) {
	s := needServer(t)
	ann := s.people(1)[0]
	ann.create(postCollection, text("one", time.Now()))
	count := &statuses{next: s.from, n: map[int]int{}}
	f := s.fetcher(bluesky.Config{PDS: s.url, HTTP: &http.Client{Transport: count}})
	unseen := func(string) bool { return false }
	first, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: ann.handle, Seen: unseen})
	s.must(err)
	again, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: ann.handle, Seen: unseen, Known: first.Version})
	s.must(err)
	if !again.Unchanged || count.n[http.StatusNotModified] != 2 {
		t.Errorf("unchanged %t, answers by status %v, want 304 of both lists", again.Unchanged, count.n)
	}
	two, _ := ann.create(postCollection, text("two", time.Now()))
	last, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: ann.handle, Seen: unseen, Known: first.Version})
	s.must(err)
	if last.Unchanged || len(last.Tweets) != 2 || last.Tweets[0].ID != two {
		t.Errorf("after a post: unchanged %t, %q", last.Unchanged, ids(last))
	}
}

func TestServerErrors(t *testing.T) {
	s := needServer(t)
	gone := s.people(1)[0]
	known := s.fetcher(bluesky.Config{PDS: s.url})
	_, err := known.Timeline(t.Context(), fetcher.TimelineQuery{Username: gone.handle})
	s.must(err)
	gone.deactivate()
	for name, c := range map[string]struct {
		fetcher *bluesky.Fetcher
		query   fetcher.TimelineQuery
	}{
		"a handle of nobody":                      {known, fetcher.TimelineQuery{Username: "nobody-" + gone.handle}},
		"a DID of nobody":                         {known, fetcher.TimelineQuery{Username: "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"}},
		"a deactivated account":                   {known, fetcher.TimelineQuery{Username: gone.handle}},
		"a deactivated account of a new program":  {s.fetcher(bluesky.Config{PDS: s.url}), fetcher.TimelineQuery{Username: gone.handle}},
		"a deactivated account, by its DID alone": {s.fetcher(bluesky.Config{PDS: s.url}), fetcher.TimelineQuery{Username: gone.did}},
	} {
		if _, err := c.fetcher.Timeline(t.Context(), c.query); !errors.Is(err, fetcher.ErrNotFound) {
			t.Errorf("%s: %v, want %v", name, err, fetcher.ErrNotFound)
		}
	}
}

// A real refusal for too many requests, by a server's own limit for an address.
func TestServerRateLimit(t *testing.T) {
	s := needServer(t)
	if u, err := url.Parse(s.url); err != nil || net.ParseIP(u.Hostname()) == nil || !net.ParseIP(u.Hostname()).IsLoopback() {
		t.Skipf("SKIPPED: THE RATE LIMIT IS NOT REACHED: %s is not on loopback, and this test makes thousands of requests", s.url)
	}
	ann := s.people(1)[0]
	f := s.fetcher(bluesky.Config{PDS: s.url})
	before := time.Now()
	page, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: ann.handle})
	s.must(err)
	limit := page.RateLimit
	if !limit.Known || limit.Limit < 100 || limit.Limit > 10_000 {
		t.Skipf("SKIPPED: THE RATE LIMIT IS NOT REACHED: the server says %+v: want a limit of 100 to 10,000 calls", limit)
	}
	// The reset is a whole second.
	if limit.Remaining >= limit.Limit || limit.Reset.Before(before.Add(-time.Second)) || limit.Reset.After(before.Add(10*time.Minute)) {
		t.Errorf("rate limit %+v at %s", limit, before)
	}
	var left atomic.Int64
	left.Store(int64(limit.Remaining) + 1)
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for left.Add(-1) >= 0 {
				_ = s.call(t.Context(), "", "com.atproto.server.describeServer", nil, nil)
			}
		})
	}
	calls.Wait()
	_, err = f.Timeline(t.Context(), fetcher.TimelineQuery{Username: ann.handle})
	var refused *fetcher.RateLimitError
	if !errors.As(err, &refused) {
		t.Fatalf("after %d calls: %v, want a *fetcher.RateLimitError", limit.Limit, err)
	}
	if refused.Target || refused.RetryAfter <= 0 || refused.RetryAfter > 10*time.Minute {
		t.Errorf("refused with %+v, want a wait until the server's reset, for the whole source", refused)
	}
	elsewhere := needServer(t)
	_, err = elsewhere.fetcher(bluesky.Config{PDS: s.url}).Timeline(context.Background(), fetcher.TimelineQuery{Username: ann.handle})
	s.must(err)
}

// The profiles that a probe reads are an AppView's. A PDS passes on the call to the
// AppView it is set up with, and the one of .ci/bluesky has none.
func TestServerProbe(t *testing.T) {
	s := needServer(t)
	people := s.people(2)
	people[0].create(postCollection, text("one", time.Now()))
	accounts := []fetcher.Account{{Username: people[0].handle}, {Username: people[1].did}}
	if _, err := s.fetcher(bluesky.Config{PDS: s.url}).Probe(t.Context(), accounts); !errors.Is(err, fetcher.ErrUnsupported) {
		t.Errorf("a source that is a PDS: %v, want %v", err, fetcher.ErrUnsupported)
	}
	view := s.fetcher(bluesky.Config{BaseURL: s.url})
	probe, err := view.Probe(t.Context(), accounts)
	if errors.Is(err, fetcher.ErrUnsupported) {
		t.Skipf("SKIPPED: NO REAL PROFILES: this server has no AppView to ask, and says so: %v", err)
	}
	s.must(err)
	if probe.Marks[0] == fetcher.NoMark || probe.Marks[1] == fetcher.NoMark {
		t.Fatalf("marks %v, want one for each account", probe.Marks)
	}
	people[0].create(postCollection, text("two", time.Now()))
	until(t, "the mark of an account with a new post changes", func() bool {
		now, err := view.Probe(t.Context(), accounts)
		s.must(err)
		return now.Marks[0] != probe.Marks[0]
	})
}

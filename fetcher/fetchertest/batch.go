package fetchertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func batchCases() []testCase {
	return []testCase{
		{"pages come in the order of the queries", func(t *test) {
			t.postEach()
			t.pages() // more posts of the first account than fit into the answer
			t.followed(t.batch(t.account)[0], t.account)
			accounts := slices.Clone(t.up.Accounts[:3])
			for range 2 {
				for i, p := range t.batch(accounts...) {
					t.followed(p, accounts[i])
				}
				slices.Reverse(accounts)
			}
		}},
		{"OldestAt does not reach further than what was read", func(t *test) {
			t.pages()
			t.post(t.up.Accounts[1], "old post", -time.Hour)
			p := t.batch(t.account, t.up.Accounts[1])[1]
			if p.Err != nil {
				t.Fatalf("the page of %q failed: %v", t.up.Accounts[1], p.Err)
			}
			if old := t.start.Add(-time.Hour); p.Next != "" && len(p.Tweets) == 0 && !p.OldestAt.IsZero() && !p.OldestAt.After(old) {
				t.Errorf("OldestAt is %s, but the post of %s is not on the page: it counts as read and is lost", p.OldestAt, old)
			}
			t.followed(p, t.up.Accounts[1])
		}},
		{"posts that Seen does not know are on the page", func(t *test) {
			t.postEach()
			known := map[string]bool{}
			for _, tw := range t.batch(t.up.Accounts[1])[0].Tweets {
				known[tw.ID] = true
			}
			qs := t.queries(t.up.Accounts[:3]...)
			for i := range qs {
				qs[i].Seen = func(id string) bool { return known[id] }
			}
			for i, p := range t.timelines(qs) {
				if i == 1 {
					continue
				}
				if p.Err != nil {
					t.Fatalf("the page of %q failed: %v", t.up.Accounts[i], p.Err)
				}
				t.same(once(t.texts(t.walkOn(qs[i], p, nil)...)), t.of(t.up.Accounts[i]), "posts that Seen does not know have to be on the page")
			}
		}},
		{"a Since leaves none of the newer posts out", func(t *test) {
			t.postEach()
			qs := t.queries(t.up.Accounts[:3]...)
			var newest []string
			for i, account := range t.up.Accounts[:3] {
				newest = append(newest, t.of(account)[0])
				qs[i].Since = t.posted[newest[i]]
			}
			for i, p := range t.timelines(qs) {
				if p.Err != nil {
					t.Fatalf("the page of %q failed: %v", t.up.Accounts[i], p.Err)
				}
				if count(t.texts(t.walkOn(qs[i], p, nil)...), newest[i]) == 0 {
					t.Errorf("the post %q of %q is on no page, although it is not older than Since", newest[i], t.up.Accounts[i])
				}
			}
		}},
		{"an account that does not exist fails alone", func(t *test) {
			t.batcher()
			if t.up.Missing == "" {
				t.Skip("Upstream.Missing is empty: the platform does not tell")
			}
			t.failsAlone(t.up.Missing, fetcher.ErrNotFound)
		}},
		{"an account with private posts fails alone", func(t *test) {
			t.batcher()
			if t.up.Protect == nil {
				t.Skip("Upstream.Protect is nil")
			}
			t.post(t.up.Accounts[1], "private", time.Minute)
			t.up.Protect(t.up.Accounts[1])
			t.failsAlone(t.up.Accounts[1], fetcher.ErrProtected)
		}},
		{"a context that has ended is an error", func(t *test) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			pages, err := t.batcher().Timelines(ctx, t.queries(t.up.Accounts[:3]...))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Timelines with a context that has ended gives %d pages and the error %v: want %v", len(pages), err, context.Canceled)
			}
		}},
	}
}

// batcher returns the Fetcher as a BatchFetcher. If it is not a BatchFetcher, the case is
// skipped.
func (t *test) batcher() fetcher.BatchFetcher {
	t.Helper()
	b := fetcher.RolesOf(t.fetcher).Batch
	if b == nil {
		t.Skip("the Fetcher is no fetcher.BatchFetcher")
	}
	return b
}

func (t *test) queries(accounts ...string) (qs []fetcher.TimelineQuery) {
	for _, account := range accounts {
		qs = append(qs, t.query(account))
	}
	return qs
}

// batch reads the first pages of accounts in one call.
func (t *test) batch(accounts ...string) []fetcher.Page {
	t.Helper()
	return t.timelines(t.queries(accounts...))
}

func (t *test) timelines(qs []fetcher.TimelineQuery) []fetcher.Page {
	t.Helper()
	pages, err := t.batcher().Timelines(t.Context(), qs)
	if err != nil {
		t.Fatalf("Timelines of %d accounts failed: %v", len(qs), err)
	}
	if len(pages) != len(qs) {
		t.Fatalf("Timelines of %d accounts gives %d pages: want one for each", len(qs), len(pages))
	}
	for i := range pages {
		if pages[i].Err == nil {
			t.own(qs[i].Username, &pages[i])
		}
	}
	return pages
}

// postEach publishes two posts of each of the first three accounts.
func (t *test) postEach() {
	for i, account := range t.up.Accounts[:3] {
		for n := range 2 {
			t.post(account, fmt.Sprintf("post %d of %d", n, i), time.Duration(-10*i+n-60)*time.Second)
		}
	}
}

// of returns the texts of an account's posts, newest first, as read by Timeline.
func (t *test) of(account string) []string {
	t.Helper()
	return t.texts(t.walk(t.query(account))...)
}

// followed checks that a page of a batch and the pages after it have the account's timeline.
func (t *test) followed(p fetcher.Page, account string) {
	t.Helper()
	if p.Err != nil {
		t.Errorf("the page of %q failed: %v", account, p.Err)
		return
	}
	// The next page may begin at the newest post again, so posts may be on both pages.
	t.same(once(t.texts(t.walkOn(t.query(account), p, nil)...)), t.of(account), fmt.Sprintf("the page of %q in a call for several has to lead through its timeline", account))
}

// once leaves the first of equal texts.
func once(texts []string) (out []string) {
	for _, text := range texts {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// failsAlone checks that one account in a batch fails with want and that the others are read.
func (t *test) failsAlone(account string, want error) {
	t.Helper()
	t.post(t.up.Accounts[0], "of the first", time.Minute)
	t.post(t.up.Accounts[2], "of the third", time.Minute)
	accounts := []string{t.up.Accounts[0], account, t.up.Accounts[2]}
	pages := t.batch(accounts...)
	if !errors.Is(pages[1].Err, want) {
		t.Errorf("Page.Err of %q is %v: want %v", account, pages[1].Err, want)
	}
	t.followed(pages[0], accounts[0])
	t.followed(pages[2], accounts[2])
}

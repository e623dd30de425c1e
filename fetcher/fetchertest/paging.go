package fetchertest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// maxCursor is the largest length of a cursor stored for a gap, in bytes. Package detect has
// the same limit.
const maxCursor = 4096

func pagingCases() []testCase {
	return []testCase{
		{"an account without posts has an empty page", func(t *test) {
			p := t.read(t.query(t.account))
			if shown(&p) != 0 || p.Next != "" {
				t.Errorf("the page of an account without posts has %d posts and Next %q: want none", shown(&p), p.Next)
			}
		}},
		{"a full page with older posts has Next", func(t *test) {
			n := t.pages()
			if p := t.read(t.query(t.account)); p.Next == "" && shown(&p) < n {
				t.Errorf("a page of %d posts has no Next, although the account has %d: the older ones cannot be read", shown(&p), n)
			}
		}},
		{"Next leads to the end without overlap or hole", func(t *test) {
			t.pages()
			t.same(t.texts(t.walk(t.query(t.account))...), t.newest, "Page.Next has to lead through all posts, each once")
		}},
		{"posts of the same moment are not lost between pages", func(t *test) {
			for i := range t.kit.PageSize + 2 {
				at := max(i, t.kit.PageSize/2) // the older half at one moment
				t.post(t.account, fmt.Sprintf("number %d", i), time.Duration(at)*spacing)
			}
			got := t.texts(t.walk(t.query(t.account))...)
			for _, text := range t.newest {
				if count(got, text) == 0 {
					t.Errorf("the post %q is on no page: it is of the same moment as posts on two pages", text)
					return
				}
			}
		}},
		{"a Limit reads the same posts", func(t *test) {
			t.pages()
			for _, limit := range []int{3, 10 * t.kit.PageSize} {
				q := t.query(t.account)
				q.Limit = limit
				t.same(t.texts(t.walk(q)...), t.newest, fmt.Sprintf("pages of Limit %d have to lead through all posts, each once", limit))
			}
		}},
		{"posts that come between two pages make no hole", func(t *test) {
			t.pages()
			want := slices.Clone(t.newest)
			first, n := t.read(t.query(t.account)), 0
			got := t.texts(t.walkOn(t.query(t.account), first, func() {
				n++
				t.post(t.account, fmt.Sprintf("meanwhile %d", n), time.Hour+time.Duration(n)*time.Second)
			})...)
			for _, text := range want {
				if count(got, text) == 0 {
					t.Errorf("the post %q is on no page, after posts came while the pages were read", text)
					return
				}
			}
		}},
		{"a deleted post under a cursor takes no other with it", func(t *test) {
			if t.up.Delete == nil {
				t.Skip("Upstream.Delete is nil")
			}
			n := t.kit.PageSize
			for i, gone := range [][2]int{{n - 1, n}, {n, n + 1}, {0, 1}, {0, n}} { // the last of the page, the first of the next, the newest, the whole page
				for k := range 2*n + n/2 {
					t.post(t.account, fmt.Sprintf("number %d of %d", k, i), time.Duration(i)*20*time.Minute+time.Duration(k)*spacing)
				}
				round := t.newest[:2*n+n/2]
				first := t.read(t.query(t.account))
				for _, text := range round[gone[0]:gone[1]] {
					t.up.Delete(t.account, text)
				}
				got := t.texts(t.walkOn(t.query(t.account), first, nil)...)
				for k, text := range round {
					if (k < gone[0] || k >= gone[1]) && count(got, text) == 0 {
						t.Errorf("the post %q is on no page, after posts %d to %d of the newest were deleted while the pages were read", text, gone[0]+1, gone[1])
						return
					}
				}
			}
		}},
		{"a cursor is good in the next process", func(t *test) {
			t.pages()
			first := t.read(t.query(t.account))
			restart(t)
			t.same(t.texts(t.walkOn(t.query(t.account), first, nil)...), t.newest, "a Page.Next that another Fetcher gave has to lead on: gaps keep it over a restart")
		}},
		{"a cursor is short enough to be kept", func(t *test) {
			t.pages()
			for _, p := range t.walk(t.query(t.account)) {
				if len(p.Next) > maxCursor {
					t.Errorf("Page.Next has %d bytes: want at most %d, or what a gap hides is not read later", len(p.Next), maxCursor)
				}
			}
		}},
		{"the same query has the same answer", func(t *test) {
			t.pages()
			q := t.query(t.account)
			a, b := t.read(q), t.read(q)
			t.same(t.texts(b), t.texts(a), "a first page read again has to show the same posts: each poll begins anew")
		}},
		{"accounts are read at the same time", readTogether},
	}
}

// readTogether reads several accounts concurrently. As in an engine, the reads of one account
// follow each other.
func readTogether(t *test) {
	t.pages()
	for i, account := range t.up.Accounts[1:3] {
		t.post(account, fmt.Sprintf("of other %d", i), time.Minute)
	}
	all := [][]string{t.newest, {"of other 0"}, {"of other 1"}}
	got := make([][]fetcher.Page, len(all))
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, account := range t.up.Accounts[:3] {
		wg.Go(func() {
			q := t.query(account)
			for n := 0; n < len(t.posted)+10; n++ {
				p, err := t.fetcher.Timeline(t.Context(), q)
				if errs[i] = err; err != nil {
					return
				}
				t.own(account, &p)
				got[i] = append(got[i], p)
				if q.Cursor = p.Next; p.Next == "" {
					return
				}
			}
		})
	}
	wg.Wait()
	for i, want := range all {
		if errs[i] != nil {
			t.Errorf("Timeline of %q failed while other accounts were read: %v", t.up.Accounts[i], errs[i])
			continue
		}
		t.same(t.texts(got[i]...), want, "accounts that are read at the same time have to have their own posts")
	}
}
